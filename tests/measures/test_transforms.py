"""Every transformation against its own law: moments, density, Laplace transform."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import integrate, special, stats

from cormorant.measures import (
    BernoulliLog,
    BernoulliLogit,
    BetaProcess,
    CallableAtoms,
    Constant,
    CorrelatedBeta,
    CorrelatedRandomMeasure,
    DilnGamma,
    GammaExp,
    GammaProcess,
    GammaSoftplus,
    GaussianLocations,
    GaussianProcess,
    GeneralizedGammaProcess,
    Growth,
    Identity,
    StableProcess,
    Thinning,
    Transformation,
    UncorrelatedGamma,
    finiteness,
    laplace_functional,
    weight_moments,
)

from .helpers import TRANSFORMS, in_distribution, in_mean

GAMMAS = [t for t in TRANSFORMS if hasattr(t, "log_scale")]
CASES = [(0.05, -1.0), (0.3, 0.0), (0.9, 2.0), (0.5, -40.0)]


@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
@pytest.mark.parametrize(("w", "F"), CASES)
class TestLaw:
    def test_moments(self, transform, w, F):
        draws = transform.sample(np.full(20_000, w), np.full(20_000, F), np.random.default_rng(0))
        mean, variance = (
            transform.mean(np.array(w), np.array(F)),
            transform.variance(np.array(w), np.array(F)),
        )
        assert in_mean(draws, mean)
        assert in_mean((draws - mean) ** 2, variance)

    def test_laplace_transform(self, transform, w, F):
        draws = transform.sample(np.full(20_000, w), np.full(20_000, F), np.random.default_rng(1))
        complement = transform.laplace_complement(np.array(0.8), np.array(w), np.array(F))
        assert in_mean(-np.expm1(-0.8 * draws), complement)

    def test_draws_have_positive_density(self, transform, w, F):
        draws = transform.sample(np.full(50, w), np.full(50, F), np.random.default_rng(2))
        draws = draws[draws > 0] if isinstance(transform, tuple(map(type, GAMMAS))) else draws
        assert np.all(transform.log_density(draws, np.full(len(draws), w), np.full(len(draws), F)) > -np.inf)


@pytest.mark.parametrize("transform", GAMMAS, ids=repr)
def test_gamma_densities(transform):
    w, F = 0.6, 0.7
    shape, scale = transform.multiplier * w, np.exp(transform.log_scale(np.array(F)))
    x = np.array([0.01, 0.4, 2.0])
    np.testing.assert_allclose(
        transform.log_density(x, np.array(w), np.array(F)), stats.gamma(shape, scale=scale).logpdf(x)
    )
    assert transform.log_density(np.array(-1.0), np.array(w), np.array(F)) == -np.inf
    # At zero the density of a shape below one is infinite.
    edge = stats.gamma(transform.multiplier * np.array([0.1, 4.0]), scale=scale).logpdf(0.0)
    np.testing.assert_array_equal(transform.log_density(0.0, [0.1, 4.0], F), edge)


@pytest.mark.parametrize("transform", GAMMAS, ids=repr)
def test_gamma_densities_at_the_ends(transform):
    """No mass at infinity; F = -inf puts x at zero, F = inf at infinity, where the law reads F."""
    np.testing.assert_array_equal(transform.log_density(np.inf, [0.1, 1.0, 4.0], 0.7), -np.inf)
    # x = 0 under a scale of e^-800: the density of a shape below one is infinite, above one it is zero.
    np.testing.assert_array_equal(transform.log_density(0.0, [0.1, 4.0], -800.0), [np.inf, -np.inf])
    if transform.reads_function:
        x = [0.0, 1.0, np.inf]
        np.testing.assert_array_equal(transform.log_density(x, 0.6, -np.inf), [0, -np.inf, -np.inf])
        np.testing.assert_array_equal(transform.log_density(x, 0.6, np.inf), [-np.inf, -np.inf, 0])


@pytest.mark.parametrize("transform", GAMMAS, ids=repr)
@pytest.mark.parametrize(("w", "F"), CASES)
def test_gamma_draws_follow_their_law(transform, w, F):
    """log x, so that small shapes and F = -40 are seen: moments to an absolute error do not tell them from zero."""
    log_x = transform.sample_log(np.full(4000, w), np.full(4000, F), np.random.default_rng(3))
    law = stats.gamma(transform.multiplier * w)
    log_scale = float(transform.log_scale(np.array(F)))
    assert in_distribution(log_x, lambda s: law.cdf(np.exp(s - log_scale)))


def test_scales_of_the_gammas():
    F = np.array([-50.0, 0.0, 3.0])
    np.testing.assert_allclose(GammaExp().mean(2.0, F), 2 * np.exp(F))
    np.testing.assert_allclose(GammaSoftplus().mean(2.0, F), 2 * np.log1p(np.exp(F)))
    np.testing.assert_allclose(UncorrelatedGamma(3.0).mean(2.0, F), 6)
    np.testing.assert_allclose(DilnGamma(3.0).mean(2.0, F), 6 * np.exp(F))


@pytest.mark.parametrize("transform", [BernoulliLogit(), BernoulliLog(), Thinning()], ids=repr)
def test_discrete_laws_sum_to_one(transform):
    w, F = np.array([0.2, 0.7]), np.array([-1.0, 2.0])
    values = (np.zeros(2), w if isinstance(transform, Thinning) else np.ones(2))
    total = sum(np.exp(transform.log_density(x, w, F)) for x in values)
    np.testing.assert_allclose(total, 1)
    assert np.all(transform.log_density(np.full(2, 0.5), w, F) == -np.inf)


@pytest.mark.parametrize("transform", [Identity(), CorrelatedBeta()], ids=repr)
def test_deterministic_laws_are_point_masses(transform):
    w, F = np.array([0.2, 0.7]), np.array([-1.0, 2.0])
    at = transform.mean(w, F)
    assert np.all(transform.log_density(at, w, F) == 0)
    assert np.all(transform.log_density(at + 0.1, w, F) == -np.inf)


PROCESSES = [
    BetaProcess(2.0, 1.5),
    BetaProcess(2.0, 0.01),
    GammaProcess(2.0),
    GeneralizedGammaProcess(1.0, 1.0, 0.4),
    GeneralizedGammaProcess(1.0, 1.0, 0.99),
]
PAIRS = [(t, p) for t in TRANSFORMS for p in PROCESSES if p.upper == 1 or not t.unit_weights]


@pytest.mark.parametrize(("transform", "process"), PAIRS, ids=repr)
def test_closed_laplace_exponents_match_quadrature_over_the_weights(transform, process):
    t, F = np.array([0.5, 2.0]), np.array([-1.0, 1.5])
    by_rule = Transformation.laplace_exponent(transform, process, t, F)
    np.testing.assert_allclose(transform.laplace_exponent(process, t, F), by_rule, rtol=1e-9)


@pytest.mark.parametrize(("transform", "process"), PAIRS, ids=repr)
def test_closed_means_match_quadrature_over_the_weights(transform, process):
    F = np.array([-1.0, 1.5])
    by_rule = Transformation.total_mean(transform, process, F)
    np.testing.assert_allclose(transform.total_mean(process, F), by_rule, rtol=1e-9)


class TestExpectedFeatures:
    """int sigmoid(eta(w, F)) nu(dw) against closed forms, with F far beyond what exp(F) leaves of a weight.

    Generalised gamma, log w + F:  mass c^sigma U(1, 1 + sigma, c e^-F), with Tricomi's U (sigma = 0: gamma);
    stable, log w + F:             mass Gamma(sigma) e^(sigma F);
    beta of alpha = 1, logit w + F:  mass F / (1 - e^-F).
    """

    @pytest.mark.parametrize("F", [-30.0, -5.0, 0.0, 5.0, 30.0])
    @pytest.mark.parametrize(("rate", "discount"), [(2.0, 0.0), (1e4, 0.0), (2.0, 0.4), (2.0, 0.9)])
    def test_generalized_gamma(self, rate, discount, F):
        process = GeneralizedGammaProcess(3.0, rate, discount) if discount else GammaProcess(3.0, rate)
        expected = 3.0 * rate**discount * special.hyperu(1, 1 + discount, rate * np.exp(-F))
        assert BernoulliLog().total_mean(process, F) == pytest.approx(expected, rel=1e-9)

    @pytest.mark.parametrize("F", [61.0, 100.0, 300.0, 600.0, 1e4])
    def test_gamma_for_large_F(self, F):
        """e^y E1(y) -> -log y - gamma for y = c e^-F -> 0."""
        expected = 3.0 * (F - np.log(2.0) - np.euler_gamma)
        assert BernoulliLog().total_mean(GammaProcess(3.0, 2.0), F) == pytest.approx(expected, rel=1e-9)
        assert BernoulliLog().laplace_exponent(GammaProcess(3.0, 2.0), np.inf, F) == pytest.approx(expected, rel=1e-9)

    @pytest.mark.parametrize("F", [-61.0, -100.0, -300.0])
    def test_gamma_for_very_negative_F(self, F):
        """e^F E sum w to leading order."""
        assert BernoulliLog().total_mean(GammaProcess(3.0, 2.0), F) == pytest.approx(1.5 * np.exp(F), rel=1e-9)

    @pytest.mark.parametrize("F", [-800.0, -300.0, -61.0, 0.0, 61.0, 300.0, 600.0, 800.0])
    @pytest.mark.parametrize("discount", [0.01, 0.5, 0.8])
    def test_stable(self, discount, F):
        expected = 3.0 * special.gamma(discount) * np.exp(discount * F)
        assert BernoulliLog().total_mean(StableProcess(3.0, discount), F) == pytest.approx(expected, rel=1e-9)

    @pytest.mark.parametrize("F", [-300.0, -61.0, -40.0, -3.0, 3.0, 61.0, 300.0, 1e4])
    @pytest.mark.parametrize("transform", [BernoulliLogit(), CorrelatedBeta()], ids=repr)
    def test_beta(self, transform, F):
        expected = 3.0 * F / -np.expm1(-F) if F > 0 else 3.0 * F * np.exp(F) / np.expm1(F)
        assert transform.total_mean(BetaProcess(3.0, 1.0), F) == pytest.approx(expected, rel=1e-9)

    def test_weights_within_rounding_of_one(self):
        """alpha = .1 puts weights at 1 - e^-s with density .1 e^(-.1 s); at F = -40 those with s > 40 are features.

        To leading order mass e^-4; the next term is of relative order E e^(-.1 Z) - 1 = .1 pi / sin(.1 pi) - 1.
        """
        expected = 3.0 * np.exp(-4.0) * 0.1 * np.pi / np.sin(0.1 * np.pi)
        assert BernoulliLogit().total_mean(BetaProcess(3.0, 0.1), -40.0) == pytest.approx(expected, rel=1e-9)

    def test_many_values_of_F_agree_with_single_ones(self):
        F = np.random.default_rng(0).normal(0, 30, 200)
        together = CorrelatedBeta().laplace_exponent(BetaProcess(3.0, 0.5), 2.0, F)
        single = [float(CorrelatedBeta().laplace_exponent(BetaProcess(3.0, 0.5), 2.0, f)) for f in F]
        np.testing.assert_allclose(together, single, rtol=1e-9)

    def test_infinite_F(self):
        values = BernoulliLog().total_mean(GammaProcess(3.0), [-np.inf, np.inf])
        np.testing.assert_array_equal(values, [0, np.inf])
        values = CorrelatedBeta().laplace_exponent(BetaProcess(3.0), 2.0, [-np.inf, np.inf])
        np.testing.assert_array_equal(values, [0, np.inf])

    def test_every_pair_of_t_and_F(self):
        process, t, F = BetaProcess(3.0, 0.5), np.array([2.0, 0.0, 0.5, 2.0]), np.linspace(-3, 40, 6)[:, np.newaxis]
        together = CorrelatedBeta().laplace_exponent(process, t, F)
        assert together.shape == (6, 4)
        single = [[float(CorrelatedBeta().laplace_exponent(process, level, f)) for level in t] for f in F[:, 0]]
        np.testing.assert_allclose(together, single, rtol=1e-9)
        np.testing.assert_allclose(together[:, 1], 0, atol=1e-300)


def test_the_beta_exponent_against_adaptive_quadrature():
    process, transform = BetaProcess(2.0, 1.5), CorrelatedBeta()
    number, _ = integrate.quad(
        lambda w: float(process.intensity(w) * transform.laplace_complement(2.0, w, 1.5)), 0, 1, epsrel=1e-10
    )
    assert float(transform.laplace_exponent(process, 2.0, 1.5)) == pytest.approx(number, rel=1e-7)


@dataclass(frozen=True)
class Exponential(Transformation):
    """The example of the documentation: x ~ Exponential with mean w exp(F)."""

    mean_growth = Growth.EXPONENTIAL
    exponential_link = True

    def sample(self, w, F, rng):
        return rng.exponential(self.mean(w, F))

    def mean(self, w, F):
        return w * np.exp(F)

    def variance(self, w, F):
        return self.mean(w, F) ** 2

    def log_density(self, x, w, F):
        return -x / self.mean(w, F) - np.log(self.mean(w, F))


def test_a_transformation_of_ones_own():
    measure = CorrelatedRandomMeasure(
        GammaProcess(3.0),
        CallableAtoms(lambda rng, n: rng.random((n, 1))),
        GaussianLocations(2, 0.5),
        GaussianProcess(Constant(0.2)),
        Exponential(),
    )
    tuples = measure.sample_tuples(0, number=3)
    draws = measure.sample_groups(20_000, 1, tuples=tuples)
    assert in_mean(draws.weights, weight_moments(measure, tuples).mean)
    assert finiteness(measure).mean.holds is True
    assert finiteness(measure).almost_surely.holds is None
    with pytest.raises(NotImplementedError, match="Exponential needs laplace_complement"):
        laplace_functional(measure, 1.0, rng=0)
