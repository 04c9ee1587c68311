"""Draws of the NumPyro prior against the closed forms of the measures, and against the measures' own draws."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("numpyro", reason="needs the extra numpyro")

from measures.helpers import TRANSFORMS, in_covariance, in_mean

from cormorant.measures import (
    RBF,
    BetaProcess,
    CallableMean,
    Constant,
    CorrelatedRandomMeasure,
    DilnGamma,
    DirichletProcess,
    GammaExp,
    GammaProcess,
    GammaSoftplus,
    GaussianLocations,
    GaussianProcess,
    GroupMeans,
    Identity,
    Linear,
    Matern52,
    StudentTProcess,
    Tuples,
    diln,
    thinned,
    to_numpyro,
    weight_moments,
)

from .helpers import ATOMS, EYE, GIVEN, LOCATIONS, WEIGHTS, Lomax, prior

ROWS = 20_000
TUPLES = Tuples(EYE, WEIGHTS, LOCATIONS)
LINEAR = GaussianProcess(Linear() + Constant(0.1))


def measure_of(transform, function):
    process = BetaProcess(3.0, 2.0) if transform.unit_weights else GammaProcess(3.0)
    return CorrelatedRandomMeasure(process, ATOMS, GaussianLocations(2), function, transform)


def rows_of(measure, number=ROWS, seed=0):
    """Draws of x given the tuples: every row has a function of its own."""
    return prior(to_numpyro(measure, "gaussian", 3, **GIVEN), seed, compiled=False, rows=number)


def has_the_moments(measure):
    x, moments = rows_of(measure)["x"], weight_moments(measure, TUPLES)
    return in_mean(x, moments.mean) and in_covariance(x, moments.covariance)


@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda t: type(t).__name__)
def test_every_transformation(transform):
    assert has_the_moments(measure_of(transform, LINEAR))


FUNCTIONS = {
    "no kernel": GaussianProcess(Constant(0.0)),
    "Matern": GaussianProcess(0.3 * Matern52(0.8)),
    "RBF with a mean": GaussianProcess(0.3 * RBF() + Constant(0.1), CallableMean(lambda points: np.sin(points[:, 0]))),
    "Student-t": StudentTProcess(0.2 * Linear() + Constant(0.05), degrees=12.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function(name):
    assert has_the_moments(measure_of(GammaSoftplus(), FUNCTIONS[name]))


def test_a_transformation_of_ones_own():
    """Pareto tails have no fourth moment: the covariance's own error is unknown, so that of the square root is used."""
    measure = measure_of(Lomax(), LINEAR)
    drawn = rows_of(measure)
    assert in_mean(drawn["x"], weight_moments(measure, TUPLES).mean)
    # sqrt(x) = sqrt(2 w) exp(F / 2) sqrt(p), p ~ Lomax(3, 1): E sqrt(p) = 3 B(3/2, 5/2) = 3 pi / 16.
    K = LINEAR.kernel(LOCATIONS)
    assert in_mean(np.sqrt(drawn["x"]), np.sqrt(2 * WEIGHTS) * np.exp(np.diag(K) / 8) * 3 * np.pi / 16)


def test_the_function_has_its_covariance():
    kernel = 0.3 * Matern52(0.8) + Linear()
    F = rows_of(measure_of(GammaExp(), GaussianProcess(kernel)))["F"]
    assert in_covariance(F, kernel(LOCATIONS))


def test_rows_have_means_of_their_own():
    values = np.linspace(-1, 1, 5)
    measure = measure_of(Identity(), GaussianProcess(Constant(0.0), GroupMeans(values)))
    np.testing.assert_allclose(rows_of(measure, None)["F"], np.tile(values[:, None], 3), rtol=1e-12)


def test_thinning_by_covariates():
    """Rows at three places in turn; each keeps a component as often as its covariate says, surely or never at ends."""
    covariates = np.resize([[0.0], [1.0], [9.0]], (ROWS, 1))

    def keep(theta, points):
        return np.where(theta[0] > 5, 0.0, np.exp(-theta[0] * (points**2).sum(axis=1)))

    measure = thinned(GammaProcess(3.0), ATOMS, GaussianLocations(2), keep, covariates)
    x = rows_of(measure, None)["x"]
    for place, theta in enumerate([0.0, 1.0, 9.0]):
        assert in_mean(x[place::3], WEIGHTS * keep([theta], LOCATIONS))


def test_normalised_shares():
    """DILN: shares that sum to one, with the means and covariances of the measure's own draws."""
    measure = diln(DirichletProcess(2.0), ATOMS, GaussianLocations(2), beta=3.0)
    ours = rows_of(measure)["x"]
    theirs = measure.sample_groups(ROWS, 1, tuples=TUPLES).weights
    np.testing.assert_allclose(ours.sum(axis=1), 1.0, rtol=1e-12)
    assert in_mean(ours - theirs, 0.0)
    assert in_mean(ours[:, :2] * ours[:, 1:] - theirs[:, :2] * theirs[:, 1:], 0.0)
    assert in_mean(ours**2 - theirs**2, 0.0)


def test_tiny_weights_keep_their_shares():
    """Gammas of shape 1e-6 are far below a float64, but one of them is still the largest."""
    measure = measure_of(DilnGamma(1e-6), LINEAR).normalize()
    x = rows_of(measure)["x"]
    np.testing.assert_allclose(x.sum(axis=1), 1.0, rtol=1e-12)
    assert in_mean(x[:, 1] > 0.5, WEIGHTS[1] / WEIGHTS.sum())


def test_fixed_components_join_the_others():
    fixed = Tuples(np.ones((2, 4)), np.array([0.7, 0.2]), np.zeros((2, 2)))
    given = {name: GIVEN[name] for name in ("atoms", "locations")}
    drawn = prior(to_numpyro(replace(measure_of(Identity(), LINEAR), fixed=fixed), "gaussian", 3, **given), rows=5)
    assert drawn["x"].shape == (5, 5)
    np.testing.assert_allclose(drawn["w"][:2], fixed.weights, rtol=1e-12)
    np.testing.assert_allclose(drawn["mean"], drawn["x"] @ np.vstack([fixed.atoms, EYE]), rtol=1e-12)
    np.testing.assert_allclose(drawn["F"][:, 0], drawn["mu"], rtol=1e-12)  # at the origin
