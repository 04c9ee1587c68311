"""The sampler as an oracle: what the fast scheme says beside it, and how often its intervals hold the truth."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from cormorant.datasets import simulate, simulate_prior
from cormorant.estimators import CNPF, ESTIMATORS
from cormorant.models.cnpf import Hyperparameters


@pytest.mark.parametrize("model", sorted(ESTIMATORS))
@pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")  # eight for five: some share a truth
def test_fast_rates_are_those_of_the_sampler(model):
    """Within a tenth, relative root mean square over all cells."""
    counts = simulate(model, 200, 40, 5, seed=0).counts
    sizes = {"n_components": 8} | ({"n_dims": 3} if ESTIMATORS[model].model.has_locations else {})
    fast = ESTIMATORS[model](**sizes, inference="structured", random_state=0).fit(counts)
    exact = ESTIMATORS[model](**sizes, inference="gibbs", n_sweeps=200, n_samples=20, random_state=0).fit(counts)
    totals = counts.tocsr().sum(axis=1)
    ours, theirs = (np.multiply(m.column_probabilities(counts), totals) for m in (fast, exact))
    assert np.linalg.norm(ours - theirs) < 0.1 * np.linalg.norm(theirs)


def coverage(n_sets: int) -> tuple[int, int]:
    """How many 90% intervals of correlations hold the truth, and how many there are, in data drawn from the prior."""
    size, hyper = 4, Hyperparameters(0.2, 0.1, 1.0, 0.25, a_alpha=40.0, b_alpha=10.0, a_c=40.0, b_c=20.0)
    held = looked = 0
    i, j = np.triu_indices(size, 1)
    given = {name: value for name, value in vars(hyper).items() if name in CNPF().get_params()}
    for seed in range(n_sets):
        truth = simulate_prior("cnpf", 300, 60, size, 2, hyper=hyper, seed=seed)
        model = CNPF(size, 2, n_chains=1, n_sweeps=1800, n_samples=200, random_state=seed, validation=0, **given)
        model.fit(truth.counts)
        planted, found = (a / np.linalg.norm(a, axis=1, keepdims=True) for a in (truth.atoms, model.components_))
        alike = planted @ found.T
        rows, match = linear_sum_assignment(-alike)
        low, high = model.correlation_interval_[:, match][:, :, match]
        sure = alike[rows, match] > 0.9  # a component that holds next to no counts is not found, nor its correlations
        use = sure[i] & sure[j]
        inside = (low <= truth.correlation) & (truth.correlation <= high)
        held, looked = held + inside[i, j][use].sum(), looked + use.sum()
    return held, looked


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")  # all four components are there
def test_intervals_of_correlations_hold_the_truth():
    held, looked = coverage(50)
    assert looked > 150
    assert 0.80 <= held / looked <= 0.97
