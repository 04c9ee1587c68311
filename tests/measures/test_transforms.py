"""Every transformation against its own law: moments, density, Laplace transform."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import integrate, stats

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
    Thinning,
    Transformation,
    UncorrelatedGamma,
    finiteness,
    laplace_functional,
    weight_moments,
)

from .helpers import in_mean

TRANSFORMS = [
    Identity(),
    GammaExp(),
    GammaSoftplus(),
    UncorrelatedGamma(2.0),
    DilnGamma(3.0),
    CorrelatedBeta(),
    BernoulliLogit(),
    BernoulliLog(),
    Thinning(),
]
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


PROCESSES = [BetaProcess(2.0, 1.5), GammaProcess(2.0), GeneralizedGammaProcess(1.0, 1.0, 0.4)]
PAIRS = [(t, p) for t in TRANSFORMS for p in PROCESSES if p.upper == 1 or not t.unit_weights]


@pytest.mark.parametrize(("transform", "process"), PAIRS, ids=repr)
def test_closed_laplace_exponents_match_quadrature_over_the_weights(transform, process):
    t, F = np.array([0.5, 2.0]), np.array([-1.0, 1.5])
    by_rule = Transformation.laplace_exponent(transform, process, t, F)
    np.testing.assert_allclose(transform.laplace_exponent(process, t, F), by_rule, rtol=1e-9)


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
