"""Covariances against Monte Carlo, for every transformation and kernel, and the edges of the formulas."""

import numpy as np
import pytest
from scipy import integrate, stats

from cormorant.measures import (
    RBF,
    BernoulliLogit,
    CallableMean,
    Constant,
    CorrelatedBeta,
    CorrelatedRandomMeasure,
    CovariateFunction,
    DirichletProcess,
    GammaAtoms,
    GammaExp,
    GammaSoftplus,
    GaussianLocations,
    GaussianProcess,
    GroupMeans,
    Identity,
    Linear,
    Matern32,
    Matern52,
    StudentTProcess,
    Thinning,
    Tuples,
    UncorrelatedGamma,
    component_correlation,
    covariance_of_sets,
    diln,
    weight_moments,
)

from .helpers import TRANSFORMS, PlainGammaExp, in_covariance, in_mean

# Small variances, so that products of log-normals have an error that the sample can estimate.
KERNELS = [
    0.2 * Linear(),
    0.2 * RBF(),
    0.2 * Matern32(),
    0.2 * Matern52(),
    Constant(0.2),
    0.1 * Linear() + Constant(0.1),
    0.2 * (Linear() * RBF()),
]
# A pair that agrees, one that opposes, and one at the origin.
TUPLES = Tuples(
    atoms=np.arange(4.0)[:, np.newaxis],
    weights=np.array([0.7, 0.4, 0.5, 0.2]),
    locations=np.array([[1.0, 0.2], [0.8, -0.1], [-1.0, 0.1], [0.0, 0.0]]),
)
WEIGHTS = DirichletProcess(1.0)  # only to fill the place: the tuples are given


def measure_of(transform, function):
    return CorrelatedRandomMeasure(WEIGHTS, GammaAtoms(1), GaussianLocations(2), function, transform)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
def test_moments_match_monte_carlo(transform, kernel):
    measure = measure_of(transform, GaussianProcess(kernel, CallableMean(lambda x: 0.2 * x[:, 0])))
    moments = weight_moments(measure, TUPLES)
    draws = measure.sample_groups(20_000, 0, tuples=TUPLES).weights
    assert in_mean(draws, moments.mean, standard_errors=5)  # 5: some 250 comparisons in all
    assert in_covariance(draws, moments.covariance)


@pytest.mark.parametrize("transform", [t for t in TRANSFORMS if not t.exponential_link], ids=repr)
def test_student_t_moments_match_monte_carlo(transform):
    measure = measure_of(transform, StudentTProcess(0.5 * Linear() + Constant(0.3), degrees=12.0))
    moments = weight_moments(measure, TUPLES)
    draws = measure.sample_groups(40_000, 1, tuples=TUPLES).weights
    assert in_mean(draws, moments.mean, standard_errors=5)
    assert in_covariance(draws, moments.covariance)


@pytest.mark.parametrize("degrees", [2.5, 4.0, 200.0])
def test_student_t_moments_match_integrals_against_the_density(degrees):
    """One component with F ~ t(degrees): E mu and E mu^2 for mu = w softplus(F), to the precision of quad."""
    tuples = Tuples(np.zeros((1, 1)), np.array([0.7]), np.array([[1.0, 0.0]]))
    moments = weight_moments(measure_of(GammaSoftplus(), StudentTProcess(RBF(), degrees=degrees)), tuples)
    density = stats.t(degrees).pdf

    def expected(power):
        def integrand(F):
            return np.logaddexp(0, F) ** power * density(F)

        left = integrate.quad(integrand, -np.inf, 20, epsabs=0, limit=200)[0]
        right = integrate.quad(lambda s: integrand(np.exp(s)) * np.exp(s), np.log(20), 100, epsabs=0, limit=400)[0]
        return left + right

    assert moments.mean[0] == pytest.approx(0.7 * expected(1), rel=1e-7)
    # Var x = E Var[x | F] + Var mu, with Var[x | F] = w softplus(F)^2.
    variance = (0.7 + 0.7**2) * expected(2) - (0.7 * expected(1)) ** 2
    assert moments.covariance[0, 0] == pytest.approx(variance, rel=1e-7)


@pytest.mark.parametrize("transform", [t for t in TRANSFORMS if t.reads_function], ids=repr)
def test_locations_decide_the_sign(transform):
    covariance = weight_moments(measure_of(transform, GaussianProcess(0.3 * Linear())), TUPLES).covariance
    assert covariance[0, 1] > 0
    assert covariance[0, 2] < 0
    assert abs(covariance[0, 3]) < 1e-12


def test_quadrature_matches_the_closed_form_of_the_exp_link():
    function = GaussianProcess(0.5 * Linear() + Constant(0.2), GroupMeans([0.3, -0.3]))
    for group in (0, 1):
        closed = weight_moments(measure_of(GammaExp(), function), TUPLES, group=group)
        quadrature = weight_moments(measure_of(PlainGammaExp(), function), TUPLES, group=group)
        np.testing.assert_allclose(quadrature.mean, closed.mean, rtol=1e-10)
        np.testing.assert_allclose(quadrature.covariance, closed.covariance, rtol=1e-9, atol=1e-13)


def test_quadrature_matches_a_grid_over_pairs():
    """E[mu_i mu_j] by a product rule in two dimensions, with the Cholesky factor of the pair."""
    function = GaussianProcess(2.0 * RBF())
    moments = weight_moments(measure_of(GammaSoftplus(), function), TUPLES)
    z, p = np.polynomial.hermite_e.hermegauss(80)
    p = p / p.sum()
    pair = function.kernel(TUPLES.locations[:2])
    lower = np.linalg.cholesky(pair)
    first = lower[0, 0] * z[:, np.newaxis]
    second = lower[1, 0] * z[:, np.newaxis] + lower[1, 1] * z
    product = 0.7 * 0.4 * np.logaddexp(0, first) * np.logaddexp(0, second)
    expected = p @ product @ p - moments.mean[0] * moments.mean[1]
    assert moments.covariance[0, 1] == pytest.approx(expected, rel=1e-9)


def covariance_on_a_grid(transform, w, K):
    """Cov(mu_1, mu_2) by sums over F_1 and over F_2 given F_1, steps of a tenth and less: good to rounding."""
    slope = K[0, 1] / K[0, 0]
    rest = np.sqrt(K[1, 1] - slope * K[0, 1])
    spread = np.sqrt(K[0, 0])
    F = np.arange(-9 * spread, 9 * spread, 0.1)
    p = np.exp(-((F / spread) ** 2) / 2)
    p = p / p.sum()
    first, second = transform.mean(w[0], F), np.zeros_like(F)
    z = np.arange(-9, 9, min(0.5, 0.4 / rest))
    q = np.exp(-(z**2) / 2)
    for node, weight in zip(z, q / q.sum(), strict=True):
        second += weight * transform.mean(w[1], slope * F + rest * node)
    return p @ (first * second) - (p @ first) * (p @ second)


@pytest.mark.parametrize("variance", [1.0, 100.0, 400.0, 1600.0])
@pytest.mark.parametrize("transform", [GammaSoftplus(), BernoulliLogit(), CorrelatedBeta(), Thinning()], ids=repr)
def test_wide_kernels(transform, variance):
    """With sd(F) = 40 a link bends within a fortieth of the normal curve, and two of the F have rho = -.9997."""
    kernel = variance * Linear()
    moments = weight_moments(measure_of(transform, GaussianProcess(kernel)), TUPLES)
    sd = np.sqrt(np.diag(moments.covariance))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        expected = covariance_on_a_grid(transform, TUPLES.weights[[i, j]], kernel(TUPLES.locations[[i, j]]))
        # 1e-7: the bound of the series at order 4096 for rho = -.9997 and sd = 40; the rest is far better.
        assert moments.covariance[i, j] == pytest.approx(expected, abs=1e-7 * sd[i] * sd[j])


@pytest.mark.parametrize("sign", [1, -1])
def test_perfectly_correlated_functions(sign):
    """Locations +-l make rho = +-1: the covariance is a one-dimensional integral."""
    tuples = Tuples(np.zeros((2, 1)), np.array([0.3, 0.6]), np.array([[1.0], [sign * 1.0]]))
    moments = weight_moments(measure_of_line(BernoulliLogit()), tuples)
    z, p = np.polynomial.hermite_e.hermegauss(100)
    p = p / p.sum()
    first = 1 / (1 + np.exp(-(np.log(0.3 / 0.7) + z)))
    second = 1 / (1 + np.exp(-(np.log(0.6 / 0.4) + sign * z)))
    expected = p @ (first * second) - (p @ first) * (p @ second)
    assert moments.covariance[0, 1] == pytest.approx(expected, rel=1e-9)
    assert np.sign(moments.covariance[0, 1]) == sign
    # A Bernoulli variable has variance p (1 - p) whatever F does: the diagonal holds E Var as well.
    np.testing.assert_allclose(np.diag(moments.covariance), moments.mean * (1 - moments.mean), rtol=1e-9)


def measure_of_line(transform):
    return CorrelatedRandomMeasure(WEIGHTS, GammaAtoms(1), GaussianLocations(1), GaussianProcess(Linear()), transform)


def test_covariance_of_two_sets_matches_monte_carlo():
    measure = measure_of(GammaExp(), GaussianProcess(0.3 * Linear()))

    def first(atoms):
        return atoms[:, 0] < 2

    second = np.array([False, True, True, False])
    draws = measure.sample_groups(40_000, 2, tuples=TUPLES)
    pair = np.column_stack([draws.measure(first), draws.measure(second)])
    expected = [[covariance_of_sets(measure, TUPLES, a, b) for b in (first, second)] for a in (first, second)]
    assert in_covariance(pair, np.array(expected))


def test_disjoint_sets_covary_only_through_the_function():
    left, right = np.array([True, False, False, True]), np.array([False, True, False, False])
    for transform in (Identity(), UncorrelatedGamma()):
        assert covariance_of_sets(measure_of(transform, GaussianProcess(Linear())), TUPLES, left, right) == 0
    assert covariance_of_sets(measure_of(GammaExp(), GaussianProcess(Linear())), TUPLES, left, right) > 0


def test_component_correlation():
    rho = component_correlation(TUPLES.locations)
    first, second = TUPLES.locations[0], TUPLES.locations[1]
    assert rho[0, 1] == pytest.approx(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))
    assert rho[0, 2] < 0
    np.testing.assert_array_equal(rho[3], [0, 0, 0, 1])  # a component at the origin goes with itself alone
    np.testing.assert_allclose(component_correlation([[0.0], [1.0]], RBF())[0, 1], np.exp(-0.5))


def test_known_functions_leave_only_the_noise_of_the_transformation():
    function = CovariateFunction(lambda theta, x: x @ theta, [[1.0, 0.0], [0.0, 1.0]])
    moments = weight_moments(measure_of(Thinning(), function), TUPLES, group=1)
    keep = 1 / (1 + np.exp(-TUPLES.locations[:, 1]))
    np.testing.assert_allclose(moments.mean, TUPLES.weights * keep)
    np.testing.assert_allclose(moments.covariance, np.diag(TUPLES.weights**2 * keep * (1 - keep)), atol=1e-15)


def test_correlation_has_a_unit_diagonal_and_a_repr():
    moments = weight_moments(measure_of(GammaExp(), GaussianProcess(Linear())), TUPLES)
    correlation = moments.correlation
    np.testing.assert_array_equal(np.diag(correlation), 1)
    assert np.abs(correlation).max() <= 1
    assert "4 components" in repr(moments)


@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
def test_no_components(transform):
    nothing = Tuples(np.empty((0, 1)), np.empty(0), np.empty((0, 2)))
    moments = weight_moments(measure_of(transform, GaussianProcess(Linear())), nothing)
    assert moments.mean.shape == (0,)
    assert moments.covariance.shape == (0, 0)


def test_moments_are_read_only():
    moments = weight_moments(measure_of(GammaExp(), GaussianProcess(Linear())), TUPLES)
    for values in (moments.mean, moments.covariance):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 0


class TestRefusals:
    @pytest.mark.parametrize("transform", [t for t in TRANSFORMS if t.exponential_link], ids=repr)
    def test_student_t_with_the_exp_link(self, transform):
        measure = measure_of(transform, StudentTProcess(Linear(), degrees=30.0))
        with pytest.raises(ValueError, match=r"measure: \w+ under a Student-t process has infinite moments"):
            weight_moments(measure, TUPLES)

    def test_moments_that_no_float_holds(self):
        for transform in (GammaExp(), PlainGammaExp()):
            with pytest.raises(ValueError, match=r"measure: expected moments that fit a float64, .* up to 1600"):
                weight_moments(measure_of(transform, GaussianProcess(Constant(1600.0))), TUPLES)

    def test_kernels_too_wide_for_the_series(self):
        """Two F that are all but the same, rho = .9999995, with links as sharp as steps."""
        close = Tuples(np.zeros((2, 1)), np.array([0.3, 0.6]), np.array([[1.0, 0.0], [1.0, 1e-3]]))
        measure = measure_of(Thinning(), GaussianProcess(1e8 * Linear()))
        with pytest.raises(ValueError, match=r"measure: expected a kernel whose variances .* up to 1e\+08"):
            weight_moments(measure, close)

    def test_student_t_without_a_variance(self):
        measure = measure_of(GammaSoftplus(), StudentTProcess(Linear(), degrees=2.0))
        with pytest.raises(ValueError, match="measure: GammaSoftplus needs degrees > 2"):
            weight_moments(measure, TUPLES)

    def test_student_t_where_nothing_varies(self):
        origin = Tuples(np.zeros((1, 1)), np.array([0.5]), np.zeros((1, 2)))
        moments = weight_moments(measure_of(GammaExp(), StudentTProcess(Linear())), origin)
        assert moments.mean[0] == pytest.approx(0.5)
        moments = weight_moments(measure_of(GammaSoftplus(), StudentTProcess(Linear(), degrees=1.0)), origin)
        assert moments.mean[0] == pytest.approx(0.5 * np.log(2))

    def test_normalised_measures(self):
        measure = diln(DirichletProcess(1.0), GammaAtoms(1), GaussianLocations(2), beta=2.0)
        with pytest.raises(ValueError, match="measure: moments are of unnormalised weights"):
            weight_moments(measure, TUPLES)
