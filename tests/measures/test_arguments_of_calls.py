"""Wrong arguments of methods and functions: tuples, weights, groups, and what a user's function returns."""

import math
from dataclasses import replace

import numpy as np
import pytest

from cormorant.measures import (
    BetaProcess,
    CallableAtoms,
    CallableMean,
    Constant,
    CorrelatedRandomMeasure,
    DirichletAtoms,
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
    Tuples,
    beta_bernoulli,
    cnpf,
    correlated_beta_process,
    covariance_of_sets,
    expected_total,
    hgp,
    laplace_functional,
    thinned,
    weight_moments,
)

from .helpers import ATOMS, BETA, GAMMA, LOCATIONS, MEASURE, ONES, TRANSFORMS, TUPLES

NAN = float("nan")


class TestGivenTuples:
    """Weights and spaces that do not fit the measure, wherever tuples are handed in."""

    heavy = Tuples(ONES, np.array([2.0, 3.0]), ONES)
    elsewhere = Tuples(ONES, np.array([0.2, 0.3]), np.ones((2, 3)))

    @pytest.mark.parametrize("build", [beta_bernoulli, correlated_beta_process])
    def test_weights_above_one(self, build):
        measure, everything = build(BETA, ATOMS, LOCATIONS), np.ones(2, dtype=bool)
        for call in (
            lambda: measure.sample(0, tuples=self.heavy),
            lambda: weight_moments(measure, self.heavy),
            lambda: covariance_of_sets(measure, self.heavy, everything, everything),
        ):
            with pytest.raises(ValueError, match=r"tuples: expected weights in \(0, 1\), got 3.0"):
                call()

    def test_locations_and_atoms_of_another_space(self):
        for call in (
            lambda: MEASURE.sample(0, tuples=self.elsewhere),
            lambda: weight_moments(MEASURE, self.elsewhere),
        ):
            with pytest.raises(ValueError, match="tuples: expected locations of dimension 1, got 3"):
                call()
        with pytest.raises(ValueError, match="tuples: expected atoms of dimension 4, got 1"):
            cnpf(GAMMA, GammaAtoms(4), LOCATIONS).sample(0, tuples=TUPLES)

    def test_fixed_atoms_of_another_space_are_refused_at_once(self):
        for base in (GammaAtoms(4), DirichletAtoms(np.ones(4)), GaussianAtoms(np.zeros(4))):
            with pytest.raises(ValueError, match="fixed: expected atoms of dimension 4, got 1"):
                CorrelatedRandomMeasure(GAMMA, base, LOCATIONS, GaussianProcess(Linear()), GammaExp(), fixed=TUPLES)
        free = CallableAtoms(lambda rng, n: rng.random((n, 4)))
        late = CorrelatedRandomMeasure(GAMMA, free, LOCATIONS, GaussianProcess(Linear()), GammaExp(), fixed=TUPLES)
        with pytest.raises(ValueError, match="fixed: expected atoms of dimension 4, got 1"):
            late.sample(0, number=3)

    def test_sets_are_named(self):
        both, wrong = np.ones(2, dtype=bool), np.ones(3, dtype=bool)
        with pytest.raises(ValueError, match="first: expected 2 truth values"):
            covariance_of_sets(MEASURE, TUPLES, wrong, both)
        with pytest.raises(ValueError, match="second: expected 2 truth values"):
            covariance_of_sets(MEASURE, TUPLES, both, lambda atoms: np.ones(2))


@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
class TestTransformations:
    @pytest.mark.parametrize("method", ["mean", "variance"])
    def test_weights_and_function(self, transform, method):
        call = getattr(transform, method)
        with pytest.raises(ValueError, match="w: expected finite numbers, got NaN"):
            call(NAN, 0.0)
        with pytest.raises(ValueError, match=r"w: expected positive numbers, got -1\.0"):
            call([-1.0, 0.5], 0.0)
        with pytest.raises(ValueError, match="F: expected numbers, got NaN"):
            call(0.5, [0.0, NAN])
        with pytest.raises(ValueError, match=r"F: expected a shape that goes with \(2,\), got \(3,\)"):
            call([0.5, 0.2], np.zeros(3))
        with pytest.raises(TypeError, match="w: expected an array of numbers, got 'a'"):
            call("a", 0.0)
        if transform.unit_weights:
            with pytest.raises(ValueError, match=r"w: expected weights in \(0, 1\), got 1\.0"):
                call(1.0, 0.0)

    def test_what_is_drawn_or_scored(self, transform):
        with pytest.raises(ValueError, match="w: expected finite numbers"):
            transform.sample(NAN, 0.0, 0)
        with pytest.raises(ValueError, match="F: expected numbers, got NaN"):
            transform.sample_log(0.5, NAN, 0)
        with pytest.raises(ValueError, match="x: expected numbers, got NaN"):
            transform.log_density(NAN, 0.5, 0.0)
        assert transform.log_density(-1.0, 0.5, 0.0) == -math.inf  # outside the support, but a number

    def test_laplace_transforms(self, transform):
        with pytest.raises(ValueError, match="t: expected zero or positive numbers, got -1"):
            transform.laplace_complement(-1.0, 0.5, 0.0)
        with pytest.raises(ValueError, match="t: expected zero or positive numbers, got -1"):
            transform.laplace_exponent(BETA, -1.0, 0.0)
        with pytest.raises(ValueError, match="F: expected numbers, got NaN"):
            transform.laplace_exponent(BETA, 1.0, NAN)
        with pytest.raises(ValueError, match="F: expected numbers, got NaN"):
            transform.total_mean(BETA, NAN)

    def test_processes(self, transform):
        with pytest.raises(TypeError, match="process: expected a WeightProcess, got 3"):
            transform.total_mean(3, 0.0)
        with pytest.raises(TypeError, match="process: expected a LevyProcess, got DirichletProcess"):
            transform.laplace_exponent(DirichletProcess(1.0), 1.0, 0.0)  # sticks are not Poisson
        if transform.unit_weights:
            with pytest.raises(ValueError, match=r"process: \w+ needs weights in \(0, 1\), but GammaProcess"):
                transform.total_mean(GAMMA, 0.0)
            with pytest.raises(ValueError, match=r"process: \w+ needs weights in \(0, 1\), but GammaProcess"):
                transform.laplace_exponent(GAMMA, 1.0, 0.0)


class TestProcesses:
    processes = (GAMMA, BETA, GeneralizedGammaProcess(1.0, 1.0, 0.5), StableProcess(1.0, 0.5))

    @pytest.mark.parametrize("process", processes, ids=repr)
    @pytest.mark.parametrize("method", ["intensity", "tail", "mass_below"])
    def test_weights(self, process, method):
        call = getattr(process, method)
        with pytest.raises(ValueError, match=r"w: expected positive numbers, got -1\.0"):
            call(-1.0)
        with pytest.raises(ValueError, match="w: expected finite numbers"):
            call([0.5, NAN])
        if process.upper == 1:
            with pytest.raises(ValueError, match=r"w: expected weights in \(0, 1\], got 1\.5"):
                call(1.5)

    @pytest.mark.parametrize("process", processes, ids=repr)
    def test_other_arguments(self, process):
        with pytest.raises(ValueError, match="t: expected zero or positive numbers, got -1"):
            process.laplace_exponent(-1.0)
        with pytest.raises(ValueError, match="arrivals: expected positive numbers"):
            process.inverse_tail([0.0])
        with pytest.raises(ValueError, match="mass: expected a positive number, got -1"):
            process.inverse_mass_below(-1.0)
        with pytest.raises(ValueError, match="function: expected it to return"):
            process.expectation(lambda w: 1.0)
        with pytest.raises(ValueError, match="function: expected one of order w near zero"):
            process.expectation(np.ones_like)

    @pytest.mark.parametrize("process", processes[:3], ids=repr)
    def test_more_mass_below_than_there_is(self, process):
        with pytest.raises(ValueError, match=f"mass: expected a number below the mean {process.mean:g}, got 10"):
            process.inverse_mass_below(10.0)

    @pytest.mark.parametrize(
        ("process", "function"),
        [
            (StableProcess(1.0, 0.5), lambda w: w),
            (GAMMA, lambda w: np.expm1(3 * w)),
            (GAMMA, lambda w: np.expm1(1.9 * w)),  # finite, but beyond the nodes
            (BetaProcess(1.0, 0.1), lambda w: -np.log1p(-w)),  # finite, but a fortieth lies within rounding of one
        ],
    )
    def test_expectations_that_the_rule_cannot_reach(self, process, function):
        with pytest.raises(ValueError, match=f"function: expected one that levels off, .* {type(process).__name__}"):
            process.expectation(function)

    def test_expectations_of_functions_that_grow(self):
        """int (e^w - 1) 3 e^(-2 w) / w dw = 3 log 2; int -log(1 - w) 3 alpha / w (1 - w)^(alpha - 1) dw."""
        assert GAMMA.expectation(np.expm1) == pytest.approx(3 * math.log(2), rel=1e-10)
        assert BETA.expectation(lambda w: -np.log1p(-w)) == pytest.approx(6 * (math.pi**2 / 6 - 1), rel=1e-10)

    def test_stable_weights_that_no_float_holds(self):
        with pytest.raises(ValueError, match=r"discount: expected one under which weights fit a float64, got 0\.001"):
            StableProcess(1.0, 0.001).sample(0, number=5)
        with pytest.raises(ValueError, match="mass: expected one that weights of a float64 reach"):
            StableProcess(1.0, 0.9).inverse_mass_below(1e200)

    @pytest.mark.parametrize("process", [GammaProcess(1.0, 1e200), GeneralizedGammaProcess(1.0, 1e200, 0.5)], ids=repr)
    def test_large_rates_have_a_variance(self, process):
        assert 0 <= process.variance < 1e-200


WITH_GROUPS = CorrelatedRandomMeasure(
    GAMMA, ATOMS, LOCATIONS, GaussianProcess(Constant(0.1), GroupMeans([0.0, 1.0])), GammaExp()
)


@pytest.mark.parametrize("measure", [MEASURE, hgp(GAMMA, ATOMS), WITH_GROUPS], ids=["cnpf", "hgp", "groups"])
@pytest.mark.parametrize(
    "call",
    [
        lambda measure, group: weight_moments(measure, TUPLES, group=group),
        lambda measure, group: laplace_functional(measure, 1.0, rng=0, functions=16, group=group),
        lambda measure, group: expected_total(replace(measure, locations=GaussianLocations(1, 0.5)), group=group),
        lambda measure, group: measure.function.mean(ONES, group),
        lambda measure, group: measure.function.constant_mean(group),
    ],
    ids=["moments", "laplace", "total", "mean", "constant mean"],
)
def test_groups(measure, call):
    with pytest.raises(ValueError, match="group: expected a whole number of at least 0, got -1"):
        call(measure, -1)
    with pytest.raises(TypeError, match="group: expected a whole number, got 'a'"):
        call(measure, "a")
    with pytest.raises(ValueError, match=r"group: expected (0, since all groups share one law|a number below 2)"):
        call(measure, 9)
    call(measure, 0)


class TestFunctionsOfTheUser:
    """A column too many is refused, not cut."""

    def test_mean_functions(self):
        with pytest.raises(
            ValueError, match=r"function: expected it to return 2 numbers, one a row, got shape \(2, 2\)"
        ):
            CallableMean(lambda x: np.ones((len(x), 2)))(ONES)
        with pytest.raises(ValueError, match="function: expected finite numbers"):
            CallableMean(lambda x: np.full(len(x), np.inf))(ONES)

    def test_g(self):
        for measure in (MEASURE, cnpf(GAMMA, CallableAtoms(lambda rng, n: rng.random((n, 2))), LOCATIONS)):
            with pytest.raises(ValueError, match="g: expected it to return 256 numbers, one a row"):
                laplace_functional(measure, 1.0, lambda atoms: np.ones((len(atoms), 2)), rng=0)

    def test_keep(self):
        for wrong, message in (
            (lambda theta, x: np.ones((len(x), 2)), "keep: expected it to return 5 numbers"),
            (lambda theta, x: np.full(len(x), 1.5), r"keep: expected probabilities in \[0, 1\], got 1.5 to 1.5"),
            (lambda theta, x: np.full(len(x), NAN), "keep: expected numbers, got NaN"),
        ):
            with pytest.raises(ValueError, match=message):
                thinned(GAMMA, ATOMS, LOCATIONS, wrong, ONES).sample_groups(2, 0, number=5)
