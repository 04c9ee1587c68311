"""DILN and HDP as estimators: what differs from the Poisson models."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from cormorant import load_nyt
from cormorant.datasets import simulate
from cormorant.estimators import DILN, HDP, TruncationWarning

pytestmark = pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")


@pytest.fixture(scope="module")
def counts():
    return simulate("diln", n_rows=150, n_columns=40, n_components=4, row_total=30.0, seed=3).counts


def small(cls=DILN, **parameters):
    defaults = {"n_components": 6, "max_epochs": 6, "random_state": 0, "n_sweeps": 12}
    if cls is DILN:
        defaults["n_dims"] = 3
    return cls(**{**defaults, **parameters})


@pytest.mark.parametrize("cls", [DILN, HDP])
def test_an_exposure_is_refused(cls, counts):
    exposure = np.ones(150)
    model = small(cls, inference="structured").fit(counts)
    for call in (small(cls).fit, small(cls).partial_fit, model.transform, model.perplexity):
        with pytest.raises(ValueError, match=f"{cls.__name__} is normalised: .* Leave exposure out, or fit CNPF"):
            call(counts, exposure=exposure)


def test_mean_field_and_unknown_tops_are_refused(counts):
    with pytest.raises(ValueError, match="'mean-field' is the paper's algorithm for Poisson factorisation, and HDP"):
        small(HDP, inference="mean-field").fit(counts)
    with pytest.raises(ValueError, match="top must be one of dirichlet, gamma, beta, pitman-yor; got 'levy'"):
        small(top="levy").fit(counts)
    with pytest.raises(ValueError, match="b_beta must be a positive number"):
        small(b_beta=-1.0).fit(counts)


@pytest.mark.parametrize("inference", ["structured", "gibbs"])
def test_empty_rows_change_nothing(inference, counts):
    """They are left out of the fit, and keep the prior's proportions."""
    matrix = counts.tocsr(copy=True)
    padded = sparse.vstack([sparse.csr_matrix((5, 40), dtype=matrix.dtype), matrix]).tocsr()
    full = matrix[np.diff(matrix.indptr) > 0]
    with_empty = small(inference=inference, validation=0).fit(padded)
    without = small(inference=inference, validation=0).fit(full)
    assert np.array_equal(with_empty.components_, without.components_)
    assert with_empty.n_rows_seen_ == full.shape[0]
    weights = with_empty.transform(padded)
    assert np.allclose(weights.sum(axis=1), 1.0)
    assert np.allclose(weights[:5], weights[0])
    assert np.allclose(with_empty.column_probabilities(padded[:7]).sum(axis=1), 1.0)
    for call in (small().fit, small().partial_fit):
        with pytest.raises(ValueError, match="X must have entries above zero"):
            call(np.zeros((4, 40)))


@pytest.mark.parametrize("inference", ["structured", "gibbs"])
def test_masked_entries_are_not_zeros(inference):
    """Two groups of columns that go together; half of the rows never look at the second half of each group."""
    rng = np.random.default_rng(0)
    groups = np.kron(np.eye(2), np.full((1, 10), 0.1))
    truth = rng.dirichlet([0.2, 0.2], size=300)
    y = np.array([rng.multinomial(60, p) for p in truth @ groups])
    mask = np.zeros_like(y, dtype=bool)
    mask[:150, 5:10] = mask[:150, 15:20] = True
    # Thirty sweeps leave the ratio below .8 to .95, by the seed; after a hundred and twenty it is .89 to .97.
    model = HDP(4, inference=inference, random_state=0, n_sweeps=120, validation=0).fit(y, mask=mask)
    of_groups = model.column_probabilities(y[:150], mask=mask[:150])[:, :10]
    # A column that a row did not look at is as likely as those beside it: within a fifth, on average.
    assert of_groups[:, 5:].mean() == pytest.approx(of_groups[:, :5].mean(), rel=0.2)
    blind = HDP(4, inference=inference, random_state=0, n_sweeps=30, validation=0).fit(np.where(mask, 0, y))
    wrong = blind.column_probabilities(np.where(mask, 0, y)[:150])[:, :10]
    assert wrong[:, 5:].mean() < 0.7 * wrong[:, :5].mean()


@pytest.mark.parametrize("cls", [DILN, HDP])
def test_steps_count_rows_with_counts(cls, counts):
    padded = np.vstack([counts.tocsr().toarray()[:20], np.zeros((3, 40), int)])
    assert small(cls).partial_fit(padded).n_rows_seen_ == int((padded.sum(axis=1) > 0).sum())


def test_std_of_proportions(counts):
    mean, std = small().fit(counts).transform(counts, return_std=True)
    assert mean.shape == std.shape == (150, 6)
    assert np.all((std > 0) & (std < 0.6))  # of a number between 0 and 1 it is at most a half, to first order


def matched(found, wanted):
    """Which found component is which, by cosine, and the cosines."""
    unit = [a / np.linalg.norm(a, axis=1, keepdims=True) for a in (wanted, found)]
    cosine = unit[0] @ unit[1].T
    rows, columns = linear_sum_assignment(-cosine)
    return columns, cosine[rows, columns]


def test_planted_topics_and_correlations_are_found():
    """Six topics in two camps: within a camp they go together, across they avoid each other."""
    locations = 1.5 * np.array([[1.0, 0.1], [1.0, 0.0], [1.0, -0.1], [-1.0, 0.1], [-1.0, 0.0], [-1.0, -0.1]])
    truth = simulate("diln", 800, 120, 6, locations=locations, row_total=120.0, a0=0.1, weight=0.6, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        model = DILN(6, n_dims=3, random_state=0).fit(truth.counts)
    match, cosine = matched(model.components_, truth.atoms)
    assert cosine.min() > 0.95
    rho = model.correlation_[np.ix_(match, match)]
    off = ~np.eye(6, dtype=bool)
    assert np.all(np.sign(rho[off]) == np.sign(truth.correlation[off]))
    # E pi follows the true proportions, which scatter by a tenth around what 120 counts show of them.
    apart = np.abs(model.transform(truth.counts)[:, match] - truth.proportions).mean()
    assert apart < 0.05
    assert model.beta_ == pytest.approx(truth.beta, rel=0.5)


@pytest.mark.slow
def test_new_york_times_correlation_helps():
    """2,000 rows to fit and 500 others to score, T = 50: DILN below HDP at both observed fractions."""
    rows = np.random.default_rng(1).permutation(8447)[1000:3500]  # the first thousand are the tests' held-out rows
    counts = load_nyt()
    train, validation = counts.rows(np.sort(rows[:2000])), counts.rows(np.sort(rows[2000:]))
    models = [cls(50, random_state=0, n_jobs=2).fit(train) for cls in (DILN, HDP)]
    for observed, seed in ((0.1, 1), (0.5, 2)):
        diln, hdp = (model.perplexity(validation, observed, random_state=seed) for model in models)
        assert diln < hdp
