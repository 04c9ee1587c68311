"""Levy intensities, their tails, and draws by the inverse of the tail."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from cormorant.measures import (
    BetaProcess,
    CallableAtoms,
    GammaProcess,
    GeneralizedGammaProcess,
    StableProcess,
    completely_random,
)

from .helpers import in_distribution, in_independence, in_mean

PROCESSES = [
    GammaProcess(2.0, 3.0),
    GammaProcess(0.01, 1e-3),
    GammaProcess(1e-8, 1e-6),
    GammaProcess(50.0, 100.0),
    BetaProcess(2.0, 0.3),
    BetaProcess(1.0, 1.0),
    BetaProcess(3.0, 40.0),
    BetaProcess(3.0, 1e4),
    BetaProcess(3.0, 1e8),
    BetaProcess(2.0, 0.01),
    BetaProcess(1e-6, 1e-4),
    GeneralizedGammaProcess(2.0, 3.0, 0.5),
    GeneralizedGammaProcess(2.0, 0.01, 0.01),
    GeneralizedGammaProcess(2.0, 3.0, 0.95),
    GeneralizedGammaProcess(2.0, 3.0, 0.9999),
    GeneralizedGammaProcess(1e-6, 3.0, 1e-12),
    StableProcess(1.0, 0.5),
    StableProcess(2.0, 0.1),
    StableProcess(2.0, 0.99),
    StableProcess(1e-3, 0.01),
]
UNIFORM = CallableAtoms(lambda rng, n: rng.random((n, 1)))


def left_part(atoms):
    return atoms[:, 0] < 0.3


@pytest.mark.parametrize("process", PROCESSES, ids=repr)
class TestIntensity:
    def test_the_tail_is_the_integral_of_the_intensity(self, process):
        ends = [1e-12, 1e-6, 1e-3, 0.05, 0.3]
        for low, high in itertools.pairwise(ends):
            number, _ = integrate.quad(
                lambda s: float(process.intensity(math.exp(s)) * math.exp(s)),
                math.log(low),
                math.log(high),
                epsabs=0,
                epsrel=1e-10,
                limit=200,
            )
            difference = float(process.tail(low) - process.tail(high))
            assert difference == pytest.approx(number, rel=1e-8, abs=1e-13 * process.mass)

    def test_the_mass_below_is_the_integral_of_w(self, process):
        number, _ = integrate.quad(
            lambda s: float(process.intensity(math.exp(s)) * math.exp(2 * s)),
            math.log(1e-8),
            math.log(0.2),
            epsabs=0,
            epsrel=1e-10,
            limit=200,
        )
        difference = float(process.mass_below(0.2) - process.mass_below(1e-8))
        assert difference == pytest.approx(number, rel=1e-8)

    def test_the_inverse_tail_undoes_the_tail(self, process):
        arrivals = np.array([0.05, 0.5, 3.0, 20.0, 100.0, 600.0])
        arrivals = arrivals[arrivals < process.tail(1e-300)]
        weights = process.inverse_tail(arrivals)
        assert np.all(np.diff(weights) <= 0)
        inside = weights < 1 - 1e-12  # nearer to one a float64 holds no digits of 1 - w
        np.testing.assert_allclose(process.tail(weights)[inside], arrivals[inside], rtol=1e-8)

    def test_the_inverse_of_the_mass_below(self, process):
        mass = 1e-3 * min(process.mean, 1.0)
        threshold = process.inverse_mass_below(mass)
        if threshold < 1e-300:  # so much of the mass lies in weights that no float64 tells from zero
            assert float(process.mass_below(1e-300)) > mass
        else:
            assert float(process.mass_below(threshold)) == pytest.approx(mass, rel=1e-10)

    def test_quadrature_agrees_with_the_closed_forms(self, process):
        for t in (0.01, 1.0, 30.0):
            by_rule = process.expectation(lambda w, t=t: -np.expm1(-t * w))
            assert by_rule == pytest.approx(float(process.laplace_exponent(t)), rel=1e-9)
        if not isinstance(process, StableProcess):
            assert process.expectation(lambda w: w) == pytest.approx(process.mean, rel=1e-9)
            assert process.expectation(lambda w: w**2) == pytest.approx(process.variance, rel=1e-9)


def test_beta_laplace_exponent_against_adaptive_quadrature():
    process = BetaProcess(2.0, 0.7)
    number, _ = integrate.quad(lambda w: float(process.intensity(w)) * -math.expm1(-3 * w), 0, 1, epsrel=1e-10)
    assert float(process.laplace_exponent(3.0)) == pytest.approx(number, rel=1e-7)


def test_the_stable_process_says_that_its_mean_is_infinite():
    assert StableProcess(1.0, 0.5).mean == math.inf
    assert StableProcess(1.0, 0.5).variance == math.inf


@pytest.mark.parametrize("discount", [1e-6, 1e-9, 1e-12])
def test_the_generalized_gamma_process_tends_to_the_gamma_process(discount):
    """To first order they differ by a factor 1 + discount (log 1/w + O(1)), with log 1/w below 23 here."""
    near, gamma = GeneralizedGammaProcess(2.0, 3.0, discount), GammaProcess(2.0, 3.0)
    w = np.array([1e-10, 1e-4, 0.1, 1.0, 30.0, 200.0])
    np.testing.assert_allclose(near.tail(w), gamma.tail(w), rtol=25 * discount + 1e-12)


@pytest.mark.parametrize("alpha", [1e7, 1e10, 1e14, 1e200])
def test_the_beta_process_tends_to_the_gamma_process(alpha):
    """N(x / alpha) = mass alpha E1(x) up to a factor 1 + O(x^2 / alpha), with x below 20 here."""
    x = np.array([1e-3, 0.5, 2.9, 3.1, 20.0])
    process = BetaProcess(3.0, alpha)
    np.testing.assert_allclose(process.tail(x / alpha), 3.0 * alpha * special.exp1(x), rtol=400 / alpha + 1e-12)
    weights = process.inverse_tail(process.tail(x / alpha))
    np.testing.assert_allclose(weights, x / alpha, rtol=1e-8)


class TestDraws:
    def test_weights_come_largest_first(self):
        values = GammaProcess(5.0).sample(0, number=100).values
        assert np.all(np.diff(values) < 0)
        assert values.flags.writeable is False

    def test_the_number_of_weights_above_a_level_is_poisson(self):
        process, rng = GammaProcess(3.0, 2.0), np.random.default_rng(1)
        above = np.array([(process.sample(rng, number=60).values > 0.05).sum() for _ in range(2000)])
        expected = float(process.tail(0.05))
        assert in_mean(above, expected)
        assert in_mean((above - expected) ** 2, expected)

    def test_the_measure_of_a_set_is_gamma(self):
        """M(A) ~ Gamma(H(A), c), with H(A) = 2 x 0.3 and c = 3."""
        measure, rng = completely_random(GammaProcess(2.0, 3.0), UNIFORM), np.random.default_rng(2)
        draws = [float(measure.sample(rng, tail_mass=1e-6).measure(left_part)) for _ in range(2000)]
        # A set with no atom above the threshold has mass zero here, and at most about 1e-6 in truth.
        assert in_distribution(np.maximum(draws, 1e-8), stats.gamma(0.6, scale=1 / 3).cdf)

    @pytest.mark.parametrize("process", [BetaProcess(2.0, 3.0), BetaProcess(2.0, 0.4)], ids=repr)
    def test_the_beta_process_has_its_mean_and_variance(self, process):
        measure, rng = completely_random(process, UNIFORM), np.random.default_rng(3)
        draws = np.array([measure.sample(rng, tail_mass=1e-4).measure(left_part) for _ in range(700)])
        mean, variance = 0.3 * process.mass, 0.3 * process.mass / (1 + process.concentration)
        assert in_mean(draws + 0.3e-4, mean)
        assert in_mean((draws - mean) ** 2, variance)

    @pytest.mark.parametrize("process", [GeneralizedGammaProcess(2.0, 1.0, 0.3), StableProcess(1.0, 0.3)], ids=repr)
    def test_totals_have_the_laplace_transform_of_the_process(self, process):
        rng = np.random.default_rng(4)
        totals = np.array([process.sample(rng, tail_mass=1e-3).values.sum() for _ in range(2000)])
        # The weights left out have mean 1e-3, which shifts exp(-M) by less than that.
        assert in_mean(np.exp(-totals - 1e-3), math.exp(-float(process.laplace_exponent(1.0))))

    def test_disjoint_sets_of_a_completely_random_measure_are_independent(self):
        measure, rng = completely_random(GammaProcess(3.0, 2.0), UNIFORM), np.random.default_rng(5)
        draws = [measure.sample(rng, tail_mass=1e-4) for _ in range(2000)]
        left = np.array([draw.measure(left_part) for draw in draws])
        right = np.array([draw.total for draw in draws]) - left
        assert in_independence(left, right)
        assert in_independence(np.exp(-left), np.exp(-right))

    def test_the_mass_left_out_is_what_is_missing_on_average(self):
        for process in (
            GammaProcess(4.0, 2.0),
            BetaProcess(4.0, 2.0),
            GeneralizedGammaProcess(2.0, 1.0, 0.4),
        ):
            rng = np.random.default_rng(6)
            draws = [process.sample(rng, number=8) for _ in range(500)]
            assert in_mean([draw.values.sum() + draw.left_out for draw in draws], process.mean)

    @pytest.mark.parametrize(
        "truncation", [{"number": 1}, {"number": 3}, {"tail_mass": 1.5}, {"tail_mass": 0.2}], ids=str
    )
    @pytest.mark.parametrize(
        "concentration", [pytest.param(0.1, marks=pytest.mark.slow), 0.01, pytest.param(1e-6, marks=pytest.mark.slow)]
    )
    def test_the_mass_left_out_of_weights_within_rounding_of_one(self, concentration, truncation):
        """alpha = .01 has (1e-16)^alpha = 69% of its large weights where a float64 holds no digits of 1 - w."""
        process, rng = BetaProcess(3.0, concentration), np.random.default_rng(8)
        draws = [process.sample(rng, **truncation) for _ in range(500)]
        assert in_mean([draw.values.sum() + draw.left_out for draw in draws], process.mean)

    def test_truncation_by_tail_mass_leaves_out_that_much(self):
        process, rng = GammaProcess(4.0, 2.0), np.random.default_rng(7)
        draws = [process.sample(rng, tail_mass=0.2) for _ in range(3000)]
        assert all(draw.left_out == 0.2 for draw in draws)
        assert in_mean([draw.values.sum() for draw in draws], process.mean - 0.2)

    def test_a_tail_mass_above_the_mean_leaves_all_out(self):
        draw = GammaProcess(1.0).sample(0, tail_mass=2.0)
        assert len(draw) == 0
        assert draw.left_out == 1.0

    def test_weights_too_small_for_a_float_are_left_out(self):
        draw = GammaProcess(0.1).sample(0, number=1000)
        assert 0 < len(draw) < 1000
        assert draw.values.min() > 0
        assert draw.left_out < 1e-290

    def test_a_seed_gives_the_same_draw(self):
        first, second = (GammaProcess(2.0).sample(11, number=5).values for _ in range(2))
        np.testing.assert_array_equal(first, second)

    def test_repr_tells_the_size_and_what_is_missing(self):
        text = repr(GammaProcess(4.0).sample(0, tail_mass=0.01))
        assert "weights, total" in text
        assert "left out 0.01" in text
