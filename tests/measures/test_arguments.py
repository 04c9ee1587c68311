"""Wrong arguments: each error names the argument, what was expected, and what came."""

import math

import numpy as np
import pytest

from cormorant.measures import (
    RBF,
    BernoulliLogit,
    BetaProcess,
    CallableAtoms,
    CallableLocations,
    CallableMean,
    Constant,
    ConstantMean,
    CorrelatedRandomMeasure,
    CovariateFunction,
    DilnGamma,
    DirichletAtoms,
    DirichletProcess,
    GammaAtoms,
    GammaExp,
    GammaProcess,
    GaussianAtoms,
    GaussianLocations,
    GaussianProcess,
    GeneralizedGammaProcess,
    GroupDraws,
    GroupMeans,
    Linear,
    Matern32,
    MeasureDraw,
    PitmanYorProcess,
    Scale,
    StableProcess,
    StudentTProcess,
    Sum,
    Tuples,
    UncorrelatedGamma,
    Weights,
    beta_bernoulli,
    cnpf,
    component_correlation,
    diln,
    expected_total,
    finiteness,
    hgp,
    laplace_functional,
    scaled_hgp,
    softplus_cnpf,
    thinned,
    weight_moments,
)

from .helpers import ATOMS, BETA, GAMMA, LOCATIONS, MEASURE, ONES, TUPLES

NAN = float("nan")
DRAW = MEASURE.sample(0, tuples=TUPLES)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GammaProcess(1.0, -2.0), "rate: expected a positive number, got -2.0"),
        (lambda: GammaProcess(0.0), "mass: expected a positive number, got 0.0"),
        (lambda: GammaProcess(NAN), "mass: expected a real number, got NaN"),
        (lambda: GammaProcess(1.0, math.inf), "rate: expected a finite number, got inf"),
        (lambda: BetaProcess(1.0, -1.0), "concentration: expected a positive number"),
        (lambda: GeneralizedGammaProcess(1.0, 1.0, 1.0), r"discount: expected a number in \(0, 1\), got 1.0"),
        (lambda: StableProcess(1.0, 0.0), r"discount: expected a number in \(0, 1\), got 0.0"),
        (lambda: DirichletProcess(-1.0), "concentration: expected a positive number, got -1.0"),
        (lambda: PitmanYorProcess(1.0, 1.0), r"discount: expected a number in \[0, 1\), got 1.0"),
        (lambda: PitmanYorProcess(-0.5, 0.3), "concentration: expected more than -discount = -0.3, got -0.5"),
        (lambda: GammaAtoms(3, shape=-1.0), "shape: expected a positive number"),
        (lambda: GammaAtoms(0), "dimension: expected a whole number of at least 1, got 0"),
        (lambda: DirichletAtoms([1.0, -1.0]), "concentration: expected at least two positive numbers"),
        (lambda: GaussianAtoms([NAN]), "mean: expected finite numbers, got NaN or infinity"),
        (lambda: GaussianLocations(2, -1.0), "variance: expected zero or a positive number, got -1.0"),
        (lambda: RBF(0.0), "lengthscale: expected a positive number, got 0.0"),
        (lambda: Matern32(-1.0), "lengthscale: expected a positive number"),
        (lambda: Constant(-1.0), "value: expected zero or a positive number"),
        (lambda: Scale(-1.0, Linear()), "scale: expected zero or a positive number"),
        (lambda: ConstantMean(NAN), "value: expected a real number, got NaN"),
        (lambda: GroupMeans([[1.0]]), r"values: expected an array with one axis, got shape \(1, 1\)"),
        (lambda: StudentTProcess(Linear(), degrees=0.0), "degrees: expected a positive number, got 0.0"),
        (lambda: UncorrelatedGamma(0.0), "scale: expected a positive number"),
        (lambda: DilnGamma(-1.0), "beta: expected a positive number"),
        (lambda: Linear()(np.array([[NAN]])), "first: expected finite numbers"),
        (
            lambda: component_correlation(np.ones(3)),
            r"locations: expected an array with 2 axes, got shape \(3,\)",
        ),
        (lambda: Tuples(ONES, np.ones(3), ONES), r"atoms: expected 3 rows like weights, got shape \(2, 1\)"),
        (lambda: Tuples(np.ones((3, 1)), np.ones(3), ONES), "locations: expected 3 rows like weights"),
        (lambda: Tuples(ONES, np.array([1.0, -1.0]), ONES), "weights: expected positive numbers, got -1.0"),
        (lambda: Tuples(ONES, np.array([1.0, NAN]), ONES), "weights: expected finite numbers"),
        (
            lambda: Tuples(ONES, np.ones(2), ONES, left_out=-1.0),
            "left_out: expected zero or a positive number",
        ),
        (
            lambda: Tuples(ONES, np.ones(2), ONES, fixed=99),
            "fixed: expected at most 2, the number of components, got 99",
        ),
        (lambda: Tuples([[1.0, 2.0], [3.0]], np.ones(2), ONES), "atoms: expected a rectangular array of numbers"),
        (lambda: Weights([1.0, 0.0], 0.1), "values: expected positive numbers, got 0.0"),
        (lambda: GroupMeans([]), "values: expected a mean for each of one or more groups, got none"),
        (lambda: CovariateFunction(np.matmul, np.empty((0, 2))), "covariates: expected a row for each of one or more"),
        (lambda: cnpf(GAMMA, ATOMS, LOCATIONS, mean_variance=-1.0), "mean_variance: expected zero or a positive"),
        (lambda: softplus_cnpf(GAMMA, ATOMS, LOCATIONS, mean_variance=NAN), "mean_variance: expected a real number"),
        (lambda: scaled_hgp(GAMMA, ATOMS, mean_variance=-1.0), "mean_variance: expected zero or a positive number"),
        (lambda: diln(DirichletProcess(1.0), ATOMS, LOCATIONS, beta=0.0), "beta: expected a positive number"),
        (lambda: GAMMA.quadrature(-1.0), "reach: expected zero or a positive number, got -1.0"),
        (lambda: BETA.quadrature(NAN), "reach: expected a real number, got NaN"),
        (lambda: MeasureDraw(np.ones(3), np.ones(2), DRAW.tuples), "weights: expected 1 axes with 2 components"),
        (lambda: GroupDraws(np.ones((1, 2)), np.ones(2), DRAW.tuples), "function: expected 2 axes with 2 components"),
    ],
)
def test_values(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GammaProcess("1"), "mass: expected a real number, got '1'"),
        (lambda: GammaProcess(True), "mass: expected a real number, got True"),
        (lambda: GammaAtoms(2.5), "dimension: expected a whole number, got 2.5"),
        (lambda: GammaProcess(1.0).sample("x", number=3), "rng: expected a numpy.random.Generator"),
        (lambda: GammaProcess(1.0).sample(-1, number=3), "rng: expected a numpy.random.Generator"),
        (lambda: Sum(Linear(), 2.0), "second: expected a Kernel, got 2.0"),
        (lambda: GaussianProcess(Linear), r"kernel: expected a Kernel, .*; write Linear\(...\)"),
        (lambda: GaussianProcess(Linear(), 0.0), "mean_function: expected a MeanFunction, got 0.0"),
        (lambda: Tuples(ONES, ["a", "b"], ONES), r"weights: expected an array of numbers, got \['a', 'b'\]"),
        (lambda: Tuples(ONES, np.ones(2), ONES, fixed=0.5), "fixed: expected a whole number, got 0.5"),
        (lambda: CallableAtoms(3), "function: expected a function, got 3"),
        (lambda: CallableMean(3), "function: expected a function, got 3"),
        (lambda: CallableLocations(3, 2), "function: expected a function, got 3"),
        (lambda: CovariateFunction(3, ONES), "function: expected a function, got 3"),
        (lambda: thinned(GAMMA, ATOMS, LOCATIONS, 0.5, ONES), "keep: expected a function, got 0.5"),
        (lambda: GAMMA.expectation(3), "function: expected a function, got 3"),
        (lambda: DRAW.integral(3), "function: expected a function, got 3"),
        (lambda: MeasureDraw(np.ones(2), np.ones(2), 3), "tuples: expected a Tuples, got 3"),
        (lambda: component_correlation(ONES, 3), "kernel: expected a Kernel, got 3"),
        (lambda: GaussianProcess(Linear(), np.sum), r"mean_function: .*; wrap a function in CallableMean\(...\)"),
        (lambda: cnpf(GAMMA, np.sum, LOCATIONS), r"base: .*; wrap a function in CallableAtoms\(...\)"),
        (lambda: cnpf(GAMMA, ATOMS, np.sum), r"locations: .*; wrap a function in CallableLocations\(...\)"),
        (lambda: GAMMA.quadrature("far"), "reach: expected a real number, got 'far'"),
        (lambda: cnpf(BETA, ATOMS, LOCATIONS), "process: expected a GammaProcess, got BetaProcess"),
        (lambda: hgp(BETA, ATOMS), "process: expected a GammaProcess, got BetaProcess"),
        (lambda: beta_bernoulli(GAMMA, ATOMS, LOCATIONS), "process: expected a BetaProcess, got GammaProcess"),
        (lambda: diln(GAMMA, ATOMS, LOCATIONS, beta=1.0), "process: expected a DirichletProcess, got GammaProcess"),
        (lambda: GammaExp().sample(0.5, 0.0, "seed"), "rng: expected a numpy.random.Generator"),
        (lambda: weight_moments(3, TUPLES), "measure: expected a CorrelatedRandomMeasure, got 3"),
        (lambda: weight_moments(MEASURE, 3), "tuples: expected a Tuples, got 3"),
        (lambda: expected_total(3), "measure: expected a CorrelatedRandomMeasure, got 3"),
        (lambda: finiteness(CorrelatedRandomMeasure), "measure: expected a CorrelatedRandomMeasure"),
        (lambda: laplace_functional(3, 1.0, rng=0), "measure: expected a CorrelatedRandomMeasure, got 3"),
        (lambda: laplace_functional(MEASURE, 1.0, "g", rng=0), "g: expected a real number, got 'g'"),
    ],
)
def test_types(make, message):
    with pytest.raises(TypeError, match=message):
        make()


@pytest.mark.parametrize("truncation", [{}, {"number": 3, "tail_mass": 0.1}])
def test_a_truncation_is_either_a_number_or_a_tail_mass(truncation):
    with pytest.raises(ValueError, match="number, tail_mass: expected exactly one of them"):
        GammaProcess(1.0).sample(0, **truncation)


@pytest.mark.parametrize(
    ("truncation", "message"),
    [
        ({"number": 0}, "number: expected a whole number of at least 1"),
        ({"tail_mass": -1.0}, "tail_mass: expected a"),
    ],
)
def test_wrong_truncations(truncation, message):
    with pytest.raises(ValueError, match=message):
        GammaProcess(1.0).sample(0, **truncation)


def test_a_tail_mass_that_needs_too_many_weights():
    for process in (StableProcess(1.0, 0.9), StableProcess(1.0, 0.999)):
        with pytest.raises(ValueError, match=r"tail_mass: expected one that .*, got 0\.0001, .* give number instead"):
            process.sample(0, tail_mass=1e-4)


@pytest.mark.parametrize("truncation", [{"number": 3}, {"tail_mass": 0.1}])
def test_an_infinite_base_measure_cannot_be_drawn(truncation):
    with pytest.raises(ValueError, match="mass: expected a finite number to draw weights, got inf"):
        GammaProcess(math.inf).sample(0, **truncation)


class TestMeasure:
    parts = (GammaProcess(1.0), GammaAtoms(1), GaussianLocations(1), GaussianProcess(Linear()), GammaExp())

    @pytest.mark.parametrize("place", range(5))
    def test_each_part_has_its_kind(self, place):
        names = ("process", "base", "locations", "function", "transform")
        parts = list(self.parts)
        parts[place] = object()
        with pytest.raises(TypeError, match=f"^{names[place]}: expected an? "):
            CorrelatedRandomMeasure(*parts)

    def test_unit_weights_where_they_are_needed(self):
        with pytest.raises(ValueError, match=r"transform: BernoulliLogit needs weights in \(0, 1\), but GammaProcess"):
            CorrelatedRandomMeasure(*self.parts[:4], BernoulliLogit())
        fixed = Tuples(np.zeros((1, 1)), np.array([1.5]), np.zeros((1, 1)))
        with pytest.raises(ValueError, match=r"fixed: expected weights in \(0, 1\), got 1.5"):
            CorrelatedRandomMeasure(BetaProcess(1.0), *self.parts[1:4], BernoulliLogit(), fixed)

    def test_normalized_is_yes_or_no(self):
        with pytest.raises(TypeError, match="normalized: expected True or False, got 'yes'"):
            CorrelatedRandomMeasure(*self.parts, normalized="yes")

    def test_number_of_groups(self):
        with pytest.raises(ValueError, match="n: expected a whole number of at least 1, got 0"):
            CorrelatedRandomMeasure(*self.parts).sample_groups(0, 0, number=3)
