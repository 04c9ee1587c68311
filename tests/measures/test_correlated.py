"""CorrelatedRandomMeasure and its draws."""

import numpy as np
import pytest
from scipy import stats

from cormorant.measures import (
    RBF,
    BetaProcess,
    CallableAtoms,
    Constant,
    ConstantMean,
    CorrelatedBeta,
    CorrelatedRandomMeasure,
    DirichletAtoms,
    DirichletProcess,
    GammaAtoms,
    GammaExp,
    GammaProcess,
    GaussianLocations,
    GaussianProcess,
    GroupDraws,
    GroupMeans,
    Linear,
    MeasureDraw,
    Thinning,
    Tuples,
    beta_bernoulli,
    cnpf,
    completely_random,
    correlated_beta_process,
    correlated_gamma_process,
    diln,
    gamma_bernoulli,
    hgp,
    scaled_hgp,
    softplus_cnpf,
    thinned,
)

from .helpers import in_mean

ATOMS, LOCATIONS, GAMMA = GammaAtoms(3), GaussianLocations(2, 0.4), GammaProcess(4.0, 2.0)
BETA = BetaProcess(4.0, 2.0)


def keep(theta, locations):
    """Kept near the covariate, never beyond a distance of two."""
    distance = np.linalg.norm(locations - theta, axis=1)
    return np.where(distance < 2, np.exp(-(distance**2)), 0.0)


CONSTRUCTIONS = {
    "completely_random": completely_random(GAMMA, ATOMS),
    "correlated_gamma_process": correlated_gamma_process(GAMMA, ATOMS, LOCATIONS),
    "cnpf": cnpf(GAMMA, ATOMS, LOCATIONS, mean_variance=0.5),
    "softplus_cnpf": softplus_cnpf(GAMMA, ATOMS, LOCATIONS),
    "hgp": hgp(GAMMA, ATOMS),
    "scaled_hgp": scaled_hgp(GAMMA, ATOMS, mean_variance=0.5),
    "diln": diln(DirichletProcess(3.0), DirichletAtoms(np.ones(4)), LOCATIONS, beta=5.0),
    "beta_bernoulli": beta_bernoulli(BETA, ATOMS, LOCATIONS),
    "gamma_bernoulli": gamma_bernoulli(GAMMA, ATOMS, LOCATIONS),
    "correlated_beta_process": correlated_beta_process(BETA, ATOMS, LOCATIONS),
    "thinned": thinned(GAMMA, ATOMS, LOCATIONS, keep, np.zeros((3, 2))),
}


@pytest.mark.parametrize("measure", CONSTRUCTIONS.values(), ids=CONSTRUCTIONS.keys())
class TestEveryConstruction:
    def test_groups_share_tuples_and_have_functions_of_their_own(self, measure):
        draws = measure.sample_groups(3, 0, number=20)
        assert len(draws) == 3
        assert draws.weights.shape == draws.function.shape == (3, len(draws.tuples))
        assert all(draw.tuples is draws.tuples for draw in draws)
        assert np.all(draws.weights >= 0)

    def test_a_seed_gives_the_same_draw(self, measure):
        first, second = (measure.sample_groups(3, 7, number=10).weights for _ in range(2))
        np.testing.assert_array_equal(first, second)

    def test_draws_are_immutable_and_tell_what_they_are(self, measure):
        draws = measure.sample_groups(3, 0, number=20)
        with pytest.raises(ValueError, match="read-only"):
            draws.weights[0, 0] = 1
        with pytest.raises(ValueError, match="read-only"):
            draws.tuples.weights[0] = 1
        assert repr(draws).startswith("GroupDraws(3 groups")
        assert repr(draws[0]).startswith("MeasureDraw(20 atoms")


class TestDraws:
    draw = CONSTRUCTIONS["cnpf"].sample(1, number=30)

    def test_sets_add_up(self):
        def first(atoms):
            return atoms[:, 0] > 1

        inside = self.draw.measure(first)
        outside = self.draw.measure(lambda atoms: ~first(atoms))
        assert inside + outside == pytest.approx(self.draw.total)
        assert self.draw.measure(np.ones(30, dtype=bool)) == pytest.approx(self.draw.total)
        assert self.draw.measure(np.zeros(30, dtype=bool)) == 0

    def test_integrals(self):
        np.testing.assert_allclose(self.draw.integral(), self.draw.weights @ self.draw.atoms)
        assert self.draw.integral(lambda a: np.ones(len(a))) == pytest.approx(self.draw.total)
        groups = CONSTRUCTIONS["cnpf"].sample_groups(4, 1, number=30)
        np.testing.assert_allclose(groups.integral()[2], groups[2].integral())
        np.testing.assert_allclose(groups.measure(lambda a: a[:, 0] > 1)[3], groups[3].measure(lambda a: a[:, 0] > 1))

    def test_normalize(self):
        normal = self.draw.normalize()
        assert normal.total == pytest.approx(1)
        np.testing.assert_allclose(normal.weights * self.draw.total, self.draw.weights)
        np.testing.assert_allclose(CONSTRUCTIONS["diln"].sample_groups(5, 0, number=20).total, 1)

    def test_slices_are_groups_as_well(self):
        groups = CONSTRUCTIONS["cnpf"].sample_groups(4, 1, number=30)
        some = groups[1:3]
        assert isinstance(some, GroupDraws)
        assert len(some) == 2
        np.testing.assert_array_equal(some.weights, groups.weights[1:3])
        np.testing.assert_array_equal(some[1].function, groups[2].function)
        assert repr(groups[4:]).startswith("GroupDraws(0 groups, from")
        with pytest.raises(TypeError, match="group: expected a whole number or a slice, got 'a'"):
            groups["a"]

    def test_the_truncation_is_reported(self):
        assert CONSTRUCTIONS["cnpf"].sample(0, tail_mass=0.01).left_out == 0.01
        assert "left out 0.01" in repr(CONSTRUCTIONS["cnpf"].sample_tuples(0, tail_mass=0.01))

    def test_an_empty_measure_cannot_be_normalised(self):
        silent = thinned(GAMMA, ATOMS, LOCATIONS, lambda theta, x: np.zeros(len(x)), np.zeros((1, 2)))
        draw = silent.sample(0, number=10)
        assert draw.total == 0
        with pytest.raises(ValueError, match="normalize: expected a positive finite total mass"):
            draw.normalize()

    def test_wrong_sets_and_functions(self):
        with pytest.raises(ValueError, match="of: expected 30 truth values"):
            self.draw.measure(np.ones(4, dtype=bool))
        with pytest.raises(ValueError, match="of: expected 30 truth values"):
            self.draw.measure(np.ones(30))
        with pytest.raises(ValueError, match="function: expected a value for each of 30 atoms"):
            self.draw.integral(lambda atoms: np.ones(3))


class TestFixedComponents:
    fixed = Tuples(np.full((2, 3), 9.0), np.array([0.5, 0.25]), np.array([[1.0, 0.0], [0.0, 0.0]]))
    measure = CorrelatedRandomMeasure(GAMMA, ATOMS, LOCATIONS, GaussianProcess(Linear()), GammaExp(), fixed=fixed)

    def test_they_head_every_draw(self):
        tuples = self.measure.sample_tuples(0, number=5)
        assert len(tuples) == 7
        assert tuples.fixed == 2
        np.testing.assert_array_equal(tuples.atoms[:2], 9.0)
        np.testing.assert_array_equal(tuples.weights[:2], self.fixed.weights)
        assert "2 fixed" in repr(tuples)

    def test_only_their_x_is_random(self):
        draws = self.measure.sample_groups(20_000, 1, number=5)
        # E x = w exp(|l|^2 / 2) under the linear kernel.
        assert in_mean(draws.weights[:, :2], np.array([0.5 * np.exp(0.5), 0.25]))

    def test_they_must_fit(self):
        with pytest.raises(ValueError, match="fixed: expected locations of dimension 1, got 2"):
            CorrelatedRandomMeasure(
                GAMMA, ATOMS, GaussianLocations(1), GaussianProcess(Linear()), GammaExp(), self.fixed
            )


def test_group_means_shift_each_group():
    measure = CorrelatedRandomMeasure(
        GAMMA, ATOMS, GaussianLocations(2, 0.0), GaussianProcess(Linear(), GroupMeans([0.0, 3.0])), GammaExp()
    )
    tuples = measure.sample_tuples(0, number=10)
    ratio = [measure.sample_groups(2, seed, tuples=tuples).total for seed in range(400)]
    assert in_mean(ratio, tuples.weights.sum() * np.exp([0.0, 3.0]))


class TestThinnedMeasures:
    """B_u(A) = sum x_ui delta_ai(A), x_ui ~ w_i Bernoulli(k(theta_u, l_i)), against the correlated measure
    with sigmoid(F_u(l)) = k(theta_u, l): the two are equal in distribution.
    """

    theta = np.array([0.3, -0.2])
    measure = thinned(GammaProcess(4.0, 2.0), ATOMS, LOCATIONS, keep, theta[np.newaxis])

    def direct(self, rng):
        """The construction by thinning, without F."""
        weights = GammaProcess(4.0, 2.0).sample(rng, tail_mass=1e-4).values
        locations = LOCATIONS.sample(rng, len(weights))
        atoms = ATOMS.sample(rng, len(weights))
        x = weights * rng.binomial(1, keep(self.theta, locations))
        return np.array([x.sum(), x @ (atoms[:, 0] > 0.5)])

    def test_equal_in_distribution(self):
        rng = np.random.default_rng(8)
        direct = np.array([self.direct(rng) for _ in range(2000)])
        draws = [self.measure.sample(rng, tail_mass=1e-4) for _ in range(2000)]
        correlated = np.array([(d.total, d.measure(lambda a: a[:, 0] > 0.5)) for d in draws])
        for column in range(2):
            # A Kolmogorov-Smirnov test at level 1e-3: one false alarm in a thousand seeds.
            assert stats.ks_2samp(direct[:, column], correlated[:, column]).pvalue > 1e-3
        # And jointly, through the Laplace transform of (M(E), M(A)): 4 standard errors of a difference.
        first, second = np.exp(-direct @ [1.0, 2.0]), np.exp(-correlated @ [1.0, 2.0])
        error = np.sqrt((first.var() + second.var()) / 2000)
        assert abs(first.mean() - second.mean()) < 4 * error

    def test_given_the_tuples_each_component_is_kept_with_its_probability(self):
        many = thinned(GAMMA, ATOMS, LOCATIONS, keep, np.tile(self.theta, (4000, 1)))
        draws = many.sample_groups(4000, 0, number=10)
        kept = draws.weights > 0
        assert in_mean(kept, keep(self.theta, draws.tuples.locations))
        np.testing.assert_array_equal(draws.weights, draws.tuples.weights * kept)

    def test_each_group_follows_its_covariate(self):
        measure = thinned(GAMMA, ATOMS, LOCATIONS, keep, [[0.0, 0.0], [50.0, 0.0]])
        near, far = measure.sample_groups(2, 0, number=100)
        assert near.total > 0
        assert far.total == 0


def test_poisson_thinning_can_use_a_random_function_too():
    measure = CorrelatedRandomMeasure(GAMMA, ATOMS, LOCATIONS, GaussianProcess(RBF()), Thinning())
    totals = [measure.sample(seed, tail_mass=1e-3).total for seed in range(800)]
    assert in_mean(np.array(totals) + 0.5e-3, GAMMA.mean / 2)  # E sigmoid(F) = 1/2 by symmetry


@pytest.mark.parametrize("function", [GaussianProcess(Linear()), GaussianProcess(RBF())], ids=repr)
def test_a_measure_with_nothing_above_the_threshold_is_zero(function):
    measure = CorrelatedRandomMeasure(GAMMA, ATOMS, LOCATIONS, function, GammaExp())
    draw = measure.sample(0, tail_mass=5.0)
    assert draw.total == 0
    assert draw.integral().shape == (3,)
    assert draw.left_out == GAMMA.mean


def test_one_draw_of_a_measure_with_several_groups():
    measure = CorrelatedRandomMeasure(
        GAMMA, ATOMS, LOCATIONS, GaussianProcess(Linear(), GroupMeans([0.0, 1.0])), GammaExp()
    )
    with pytest.raises(ValueError, match=r"groups: expected 2, .*; draw them together with sample_groups\(2"):
        measure.sample(0, number=3)


def test_tuples_or_a_truncation_but_not_both():
    measure = CONSTRUCTIONS["cnpf"]
    tuples = measure.sample_tuples(0, number=5)
    with pytest.raises(ValueError, match="tuples: expected either tuples or a truncation"):
        measure.sample(0, number=5, tuples=tuples)


def test_atoms_from_a_callable_are_vectors():
    measure = completely_random(GAMMA, CallableAtoms(lambda rng, n: rng.random(n)))
    assert measure.sample(0, number=4).integral().shape == (1,)


class TestTinyShapes:
    """x ~ Gamma(beta w, exp(-F)) with a tiny beta: nearly every x is below what a float64 holds."""

    measure = diln(DirichletProcess(3.0), ATOMS, LOCATIONS, beta=1e-6)

    def test_normalised_draws_are_probabilities(self):
        draws = self.measure.sample_groups(200, 0, number=20)
        np.testing.assert_allclose(draws.total, 1)
        assert np.isfinite(draws.weights).all()

    def test_the_largest_takes_all_with_probability_proportional_to_its_weight(self):
        """As beta -> 0, log x = log(u) / (beta w) to leading order, so the winner is k with probability w_k."""
        tuples = self.measure.sample_tuples(1, number=6)
        draws = self.measure.sample_groups(4000, 2, tuples=tuples)
        winner = draws.weights.argmax(axis=1)[:, np.newaxis] == np.arange(6)
        assert draws.weights.max(axis=1).min() > 0.999
        assert in_mean(winner, tuples.weights / tuples.weights.sum())

    def test_tiny_probabilities_keep_their_shares(self):
        """x = sigmoid(logit w - 2000): in the limit x is proportional to w / (1 - w)."""
        function = GaussianProcess(Constant(0.0), ConstantMean(-2000.0))
        measure = CorrelatedRandomMeasure(BETA, ATOMS, LOCATIONS, function, CorrelatedBeta()).normalize()
        draw = measure.sample(0, number=5)
        odds = draw.tuples.weights / (1 - draw.tuples.weights)
        np.testing.assert_allclose(draw.weights, odds / odds.sum(), rtol=1e-10)

    def test_huge_weights_keep_their_shares(self):
        steep = GaussianProcess(Constant(0.0), ConstantMean(800.0))
        measure = CorrelatedRandomMeasure(GAMMA, ATOMS, LOCATIONS, steep, GammaExp())
        assert measure.sample(0, number=5).total == np.inf  # told, not cut off
        draw = MeasureDraw([np.inf, 1.0], [800.0, 0.0], Tuples(np.zeros((2, 3)), np.ones(2), np.zeros((2, 2))))
        assert draw.measure([False, True]) == 1  # what is infinite elsewhere does not count here
        assert draw.integral(lambda atoms: np.array([0.0, 2.0])) == 2.0
        assert draw.integral(lambda atoms: np.array([1.0, 2.0])) == np.inf
        np.testing.assert_array_equal(draw.integral(lambda atoms: np.array([[0.0, 1.0], [3.0, 1.0]])), [3.0, np.inf])
        np.testing.assert_allclose(measure.normalize().sample(0, number=5).total, 1)
