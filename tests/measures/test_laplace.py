"""The Laplace functional against closed forms and against Monte Carlo."""

import math

import numpy as np
import pytest

from cormorant.measures import (
    RBF,
    BernoulliLog,
    BetaProcess,
    CallableLocations,
    CallableMean,
    Constant,
    CorrelatedRandomMeasure,
    DirichletProcess,
    GammaAtoms,
    GammaExp,
    GammaProcess,
    GaussianAtoms,
    GaussianLocations,
    GaussianProcess,
    GeneralizedGammaProcess,
    GroupMeans,
    Linear,
    StableProcess,
    StudentTProcess,
    Tuples,
    beta_bernoulli,
    cnpf,
    completely_random,
    correlated_beta_process,
    correlated_gamma_process,
    gamma_bernoulli,
    hgp,
    laplace_functional,
    scaled_hgp,
    softplus_cnpf,
    thinned,
)

ATOMS = GaussianAtoms([0.0], 1.0)
GAMMA, BETA, LOCATIONS = GammaProcess(3.0, 2.0), BetaProcess(3.0, 2.0), GaussianLocations(2, 0.5)
FIXED = Tuples(np.array([[1.0], [-1.0]]), np.array([0.5, 0.8]), np.array([[1.0, 0.0], [0.0, -1.0]]))


def positive(atoms):
    return atoms[:, 0] > 0


class TestUncorrelatedLimit:
    """Where F does not vary the functional is that of a completely random measure, with no sampling error."""

    @pytest.mark.parametrize("r", [0.0, 0.3, 5.0])
    def test_gamma_process(self, r):
        estimate = laplace_functional(completely_random(GAMMA, ATOMS), r, 2.0, rng=0)
        assert estimate.value == pytest.approx((1 + 2 * r / 2) ** -3, rel=1e-12)
        assert estimate.error < 1e-12

    def test_other_processes(self):
        generalized = completely_random(GeneralizedGammaProcess(1.0, 2.0, 0.5), ATOMS)
        expected = math.exp(-((2 + 0.7) ** 0.5 - 2**0.5) / 0.5)
        assert laplace_functional(generalized, 0.7, rng=0).value == pytest.approx(expected)
        stable = laplace_functional(completely_random(StableProcess(1.0, 0.5), ATOMS), 0.7, rng=0)
        assert stable.value == pytest.approx(math.exp(-(0.7**0.5) / 0.5))

    def test_hierarchical_gamma_process(self):
        """x ~ Gamma(w, 1): E exp(-r M) = (1 + log(1 + r) / c)^-mass."""
        estimate = laplace_functional(hgp(GAMMA, ATOMS), 0.7, rng=0)
        assert estimate.value == pytest.approx((1 + math.log1p(0.7) / 2) ** -3, rel=1e-12)

    def test_correlated_gamma_process_with_every_location_at_the_origin(self):
        measure = correlated_gamma_process(GAMMA, ATOMS, GaussianLocations(2, 0.0))
        expected = (1 + math.log1p(0.7) / 2) ** -3
        assert laplace_functional(measure, 0.7, rng=0).value == pytest.approx(expected, rel=1e-12)

    def test_a_constant_mean_scales(self):
        function = GaussianProcess(Constant(0.0), GroupMeans([0.0, 1.0]))
        measure = CorrelatedRandomMeasure(GAMMA, ATOMS, LOCATIONS, function, GammaExp())
        expected = (1 + math.log1p(0.7 * math.e) / 2) ** -3
        assert laplace_functional(measure, 0.7, rng=0, group=1).value == pytest.approx(expected, rel=1e-12)

    def test_a_set_of_the_gamma_process(self):
        """g = 1_A with H(A) = 3/2: the share of sampled atoms in A is random, and the error says how much."""
        estimate = laplace_functional(completely_random(GAMMA, ATOMS), 1.0, positive, rng=1)
        assert abs(estimate.value - 1.5**-1.5) < 4 * estimate.error
        assert estimate.error < 0.01


def keep(theta, locations):
    return 1 / (1 + np.exp(-locations @ theta))


def with_fixed(transform, function):
    return CorrelatedRandomMeasure(GAMMA, ATOMS, LOCATIONS, function, transform, fixed=FIXED)


MEASURES = {
    "cnpf": cnpf(GAMMA, ATOMS, LOCATIONS, mean_variance=0.5),
    "softplus": softplus_cnpf(GAMMA, ATOMS, LOCATIONS),
    "scaled_hgp": scaled_hgp(GAMMA, ATOMS, mean_variance=0.5),
    "beta_bernoulli": beta_bernoulli(BETA, ATOMS, LOCATIONS),
    "gamma_bernoulli": gamma_bernoulli(GAMMA, ATOMS, LOCATIONS),
    "correlated_beta": correlated_beta_process(BETA, ATOMS, LOCATIONS),
    "thinned": thinned(GAMMA, ATOMS, LOCATIONS, keep, [[1.0, -2.0]]),
    "rbf": correlated_gamma_process(GAMMA, ATOMS, LOCATIONS, GaussianProcess(RBF())),
    "callable mean": correlated_gamma_process(
        GAMMA, ATOMS, LOCATIONS, GaussianProcess(Linear(), CallableMean(lambda x: x[:, 0]))
    ),
    "callable locations": correlated_gamma_process(
        GAMMA, ATOMS, CallableLocations(lambda rng, n: rng.uniform(-1, 1, (n, 2)), 2)
    ),
    "student": correlated_gamma_process(GAMMA, ATOMS, LOCATIONS, StudentTProcess(Linear(), degrees=3.0)),
    "fixed, linear": with_fixed(GammaExp(), GaussianProcess(Linear() + Constant(0.3))),
    "fixed, rbf": with_fixed(BernoulliLog(), GaussianProcess(RBF())),
}


@pytest.mark.parametrize("g", [1.0, positive], ids=["total", "set"])
@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES.keys())
def test_monte_carlo(measure, g):
    """E exp(-r M g) from draws of the whole measure, 4 standard errors of both sides together."""
    estimate = laplace_functional(measure, 0.8, g, rng=2, functions=2048, points=128)
    rng = np.random.default_rng(3)
    draws = [measure.sample(rng, tail_mass=1e-4) for _ in range(500)]
    values = np.array([float(d.measure(positive)) if callable(g) else float(d.total) for d in draws])
    sample = np.exp(-0.8 * values)
    error = math.hypot(sample.std() / math.sqrt(500), estimate.error)
    assert abs(estimate.value - sample.mean()) < 4 * error
    assert estimate.error < 0.02


def test_the_affine_shortcut_agrees_with_sampled_locations():
    """The same law given as a callable takes the general path."""
    callable_locations = CallableLocations(lambda rng, n: rng.normal(0, math.sqrt(0.5), (n, 2)), 2)
    exact = laplace_functional(correlated_gamma_process(GAMMA, ATOMS, LOCATIONS), 1.0, rng=4)
    sampled = laplace_functional(correlated_gamma_process(GAMMA, ATOMS, callable_locations), 1.0, rng=5)
    assert abs(exact.value - sampled.value) < 4 * math.hypot(exact.error, sampled.error)


def test_few_points_under_a_wide_function_leave_a_probability_and_say_how_good_it_is():
    """Two sampled points for each of 4096 functions, against two thousand: the errors cover the difference."""
    measure = correlated_gamma_process(GammaProcess(50.0), ATOMS, LOCATIONS, GaussianProcess(25.0 * RBF()))
    rough = laplace_functional(measure, 10.0, rng=0, points=2)
    fine = laplace_functional(measure, 10.0, rng=1, points=2000, functions=512)
    assert 0 < rough.value < 1
    assert abs(rough.value - fine.value) < 4 * (rough.error + fine.error)


def test_it_decreases_in_r_from_one():
    values = [laplace_functional(MEASURES["cnpf"], r, rng=0).value for r in (0.0, 0.1, 1.0, 10.0)]
    assert values[0] == pytest.approx(1)
    assert np.all(np.diff(values) < 0)


def test_the_number_of_functions_is_rounded_up_to_the_batches():
    values = {n: laplace_functional(MEASURES["cnpf"], 1.0, rng=0, functions=n).value for n in (1, 16, 17, 32)}
    assert values[1] == values[16]
    assert values[17] == values[32] != values[16]


def test_the_error_is_stated():
    text = str(laplace_functional(MEASURES["cnpf"], 1.0, rng=0))
    assert "standard error" in text
    assert "quadrature error" in text


class TestRefusals:
    def test_sticks_are_not_poisson(self):
        with pytest.raises(TypeError, match="measure: expected Poisson tuples"):
            laplace_functional(completely_random(DirichletProcess(1.0), ATOMS), 1.0, rng=0)

    def test_infinite_base_measure(self):
        with pytest.raises(ValueError, match="measure: expected a finite base measure"):
            laplace_functional(completely_random(GammaProcess(math.inf), ATOMS), 1.0, rng=0)

    def test_normalised(self):
        with pytest.raises(ValueError, match="measure: expected an unnormalised one"):
            laplace_functional(MEASURES["cnpf"].normalize(), 1.0, rng=0)

    @pytest.mark.parametrize(("r", "g", "name"), [(-1.0, 1.0, "r"), (1.0, -1.0, "g"), (1.0, lambda a: -a[:, 0], "g")])
    def test_negative_arguments(self, r, g, name):
        with pytest.raises(ValueError, match=f"^{name}: expected"):
            laplace_functional(completely_random(GAMMA, GammaAtoms(1)), r, g, rng=0)


@pytest.mark.parametrize("concentration", [1e-3, 1e-6])
def test_weights_all_but_one(concentration):
    """Half of the mass of BetaProcess(10, .001) lies within exp(-690) of one; the rule over weights has it all.

    The weights are all but Poisson(10) many ones, E exp(-M) = exp(-10 (1 - 1/e)); the rest is of order alpha.
    """
    estimate = laplace_functional(completely_random(BetaProcess(10.0, concentration), GammaAtoms(1)), 1.0, rng=0)
    assert estimate.value == pytest.approx(math.exp(10 * math.expm1(-1.0)), rel=10 * concentration)
