"""CNPF with other kernels: each does what its name says."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score

from cormorant.datasets import simulate
from cormorant.estimators import CNPF
from cormorant.measures import RBF, Matern32

pytestmark = pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")
N_COMPONENTS = 10


def planted(covariance, seed=0, n_rows=1500):
    """Counts of components with that covariance of F: those of a linear kernel whose locations are a root of it."""
    root = np.linalg.cholesky(covariance + 1e-9 * np.eye(len(covariance)))
    sizes = (n_rows, 300, len(covariance))
    return simulate("cnpf", *sizes, locations=root, row_total=300.0, weight=1.0, seed=seed)


def matched(model, truth):
    """The place of every planted component among those found, all of them found."""
    found, wanted = (a / np.linalg.norm(a, axis=1, keepdims=True) for a in (model.components_, truth.atoms))
    rows, match = linear_sum_assignment(-(wanted @ found.T))
    assert (wanted @ found.T)[rows, match].min() > 0.95
    return match


def frequencies(kernel, n):
    """The setting of the kernels that have any."""
    return {"n_frequencies": n} if kernel in ("rbf", "matern") else {}


def structured(kernel, n_dims, **settings):
    return CNPF(
        settings.pop("size", N_COMPONENTS), n_dims, kernel=kernel, inference="structured", random_state=0, **settings
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("name", "kernel"), [("rbf", RBF(0.6)), ("matern", Matern32(0.6))])
def test_a_ring_is_found(name, kernel, seed):
    """Neighbours go together and those far apart are independent, which no linear kernel of the plane can say."""
    angle = 2 * np.pi * np.arange(N_COMPONENTS) / N_COMPONENTS
    ring = np.c_[np.cos(angle), np.sin(angle)]
    rho, apart = kernel(ring, ring), np.linalg.norm(ring[:, None] - ring, axis=-1)
    truth = planted(2.0 * rho, seed)
    off, far, found = apart > 0, apart > 1.5, {}
    for tried in ("linear", name):
        model = structured(tried, 2, **frequencies(tried, 24)).fit(truth.counts)
        place = matched(model, truth)
        found[tried] = model.correlation_[np.ix_(place, place)]
    errors = {tried: np.sqrt(np.mean((rho - ours)[off] ** 2)) for tried, ours in found.items()}
    assert errors[name] < 0.5 * errors["linear"]
    assert np.abs(found[name][far]).mean() < 0.2 < np.abs(found["linear"][far]).mean()
    assert np.diagonal(np.roll(found[name], 1, axis=0)).mean() > 0.4  # neighbours


@pytest.mark.slow
def test_groups_are_recovered():
    z = np.repeat([0, 1, 2], [4, 3, 3])
    truth = planted((z[:, None] == z).astype(float))
    model = structured("groups", 6).fit(truth.counts)
    group = model.locations_[matched(model, truth)].argmax(axis=1)
    assert adjusted_rand_score(z, group) > 0.9
    assert model.hyperparameters_["sigma_l2"] == pytest.approx(1.0, rel=0.3)


@pytest.mark.slow
def test_a_brownian_motion_is_put_in_order():
    """Up to its direction, which mu_u hides."""
    tau = np.linspace(0.1, 1.0, 8)
    truth = planted(2.0 * np.minimum(tau[:, None], tau), n_rows=2000)
    model = structured("brownian", 20, size=8).fit(truth.counts)
    found = model.locations_[matched(model, truth), 0]
    assert abs(np.corrcoef(found.argsort().argsort(), np.arange(8))[0, 1]) > 0.8


@pytest.fixture(scope="module")
def counts():
    return simulate("cnpf", 150, 40, 4, 2, row_total=40.0, seed=1).counts


def test_a_warm_start_goes_on_with_the_same_features(counts):
    model = CNPF(5, 2, kernel="rbf", n_frequencies=4, inference="structured", max_epochs=3, warm_start=True)
    before = model.fit(counts).frequencies_
    assert model.fit(counts).frequencies_ is before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "poly"}, "kernel must be one of linear, rbf, matern, brownian, groups; got 'poly'"),
        ({"kernel": "rbf", "length_scale": -1.0}, "length_scale must be a positive number, got -1.0"),
        ({"kernel": "matern", "nu": "soft"}, "nu must be a number, got 'soft'"),
        ({"kernel": "rbf", "n_frequencies": 0}, "n_frequencies must be a whole number of at least 1, got 0"),
        ({"kernel": "rbf", "inference": "mean-field"}, "'mean-field' is the paper's algorithm, for tuples='gamma'"),
        ({"tuples": "pitman-yor", "inference": "mean-field"}, "others need inference='structured' or 'gibbs'"),
        ({"tuples": "levy"}, "tuples must be one of dirichlet, gamma, beta, pitman-yor; got 'levy'"),
        ({"tuples": "pitman-yor", "discount": 1.0}, "discount must be at least 0 and below 1, got 1.0"),
    ],
)
def test_what_is_refused(settings, message, counts):
    with pytest.raises(ValueError, match=message):
        CNPF(4, 2, **settings).fit(counts)
