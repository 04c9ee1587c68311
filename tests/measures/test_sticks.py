"""Dirichlet and Pitman-Yor processes by sticks."""

import numpy as np
import pytest
from scipy import stats

from cormorant.measures import (
    CallableAtoms,
    DirichletProcess,
    GammaProcess,
    PitmanYorProcess,
    completely_random,
)

from .helpers import in_distribution, in_mean

UNIFORM = CallableAtoms(lambda rng, n: rng.random((n, 1)))
STICKS = [
    DirichletProcess(2.0),
    PitmanYorProcess(1.0, 0.5),
    PitmanYorProcess(-0.2, 0.5),
    PitmanYorProcess(2.0, 0.0),
]
EXTREMES = [
    DirichletProcess(1e-3),
    DirichletProcess(1e6),
    PitmanYorProcess(-0.499, 0.5),
    PitmanYorProcess(0.1, 0.99),
    PitmanYorProcess(-0.98, 0.99),
]


def left_part(atoms):
    return atoms[:, 0] < 0.3


@pytest.mark.parametrize("process", STICKS, ids=repr)
class TestSticks:
    def test_stick_means(self, process):
        rng = np.random.default_rng(0)
        draws = [process.sample(rng, number=6) for _ in range(4000)]
        assert in_mean([draw.values for draw in draws], process.expected_weights(6))
        assert in_mean([draw.left_out for draw in draws], process.expected_remainder(6))

    def test_what_is_left_out_is_known_exactly(self, process):
        draw = process.sample(1, number=20)
        assert draw.values.sum() + draw.left_out == pytest.approx(1, abs=1e-12)

    def test_truncation_by_tail_mass(self, process):
        draw = process.sample(2, tail_mass=0.05)
        assert draw.left_out <= 0.05
        assert draw.left_out + draw.values[-1] > 0.05


@pytest.mark.parametrize("process", [*STICKS, *EXTREMES], ids=repr)
def test_expectations_over_all_weights(process):
    """E sum w = 1 and E sum w^2 = (1 - sigma) / (1 + theta)."""
    theta, sigma = process.concentration, process.index
    assert process.expectation(lambda w: w) == pytest.approx(1, rel=1e-9)
    assert process.expectation(lambda w: w**2) == pytest.approx((1 - sigma) / (1 + theta), rel=1e-9)


def test_a_stick_within_rounding_of_one_stays_below_it():
    """Beta(1, theta) with theta = 1e-4 puts nearly all its mass there; logit w must stay a number."""
    values = np.array([DirichletProcess(1e-4).sample(seed, number=3).values[0] for seed in range(20)])
    assert np.all(values < 1)
    assert values.max() > 1 - 1e-15


def test_pitman_yor_sticks_at_a_tail_mass_out_of_reach():
    with pytest.raises(ValueError, match=r"tail_mass: expected one that at most 1,000,000 weights reach, got 1e-06"):
        PitmanYorProcess(1.0, 0.95).sample(0, tail_mass=1e-6)


def test_weights_too_small_for_a_float_are_dropped():
    draw = DirichletProcess(0.1).sample(0, number=2000)
    assert 0 < len(draw) < 2000
    assert draw.values.min() > 0
    assert draw.values.sum() + draw.left_out == pytest.approx(1)


def test_no_stick_is_broken_when_the_whole_may_be_left_out():
    draw = DirichletProcess(1.0).sample(0, tail_mass=1.0)
    assert len(draw) == 0
    assert draw.left_out == 1.0


def test_a_normalised_gamma_process_has_dirichlet_marginals():
    """(G(A_1), G(A_2), G(A_3)) ~ Dirichlet(H(A_1), H(A_2), H(A_3)): two margins and one covariance."""
    measure, rng = completely_random(GammaProcess(4.0, 2.5), UNIFORM).normalize(), np.random.default_rng(3)
    draws = [measure.sample(rng, tail_mass=1e-6) for _ in range(1500)]
    first = np.array([draw.measure(left_part) for draw in draws])
    second = np.array([draw.measure(lambda a: a[:, 0] >= 0.6) for draw in draws])
    assert np.allclose([draw.total for draw in draws], 1)
    assert in_distribution(first, stats.beta(1.2, 2.8).cdf)
    assert in_distribution(second, stats.beta(1.6, 2.4).cdf)
    # Cov(G(A), G(B)) = -p q / (1 + mass) for disjoint sets of probability p and q.
    assert in_mean((first - 0.3) * (second - 0.4), -0.3 * 0.4 / 5)


def test_dirichlet_process_sticks_have_dirichlet_marginals():
    measure, rng = completely_random(DirichletProcess(4.0), UNIFORM), np.random.default_rng(4)
    draws = [float(measure.sample(rng, tail_mass=1e-9).measure(left_part)) for _ in range(1500)]
    assert in_distribution(draws, stats.beta(1.2, 2.8).cdf)
