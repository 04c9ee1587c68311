"""Verdicts on both sides of every border, with simulations where those can show it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from cormorant.measures import (
    RBF,
    BernoulliLog,
    CallableMean,
    CorrelatedRandomMeasure,
    DilnGamma,
    DirichletProcess,
    GammaExp,
    GammaProcess,
    GammaSoftplus,
    GaussianLocations,
    GaussianProcess,
    GeneralizedGammaProcess,
    Kernel,
    Linear,
    PitmanYorProcess,
    StableProcess,
    StudentTProcess,
    Thinning,
    Tuples,
    beta_bernoulli,
    cnpf,
    completely_random,
    correlated_beta_process,
    correlated_gamma_process,
    diln,
    expected_total,
    finiteness,
    gamma_bernoulli,
    hgp,
    scaled_hgp,
    softplus_cnpf,
    thinned,
)

from .helpers import ATOMS, BETA, CAUCHY, GAMMA, LINEAR, at, in_mean

QUADRATIC = GaussianProcess(Linear() * Linear())


def keep(theta, locations):
    return np.exp(-((locations - theta) ** 2).sum(axis=1))


def exp_link(locations, function=LINEAR):
    return correlated_gamma_process(GAMMA, ATOMS, locations, function)


def on_gamma(transform, locations, function=LINEAR):
    return CorrelatedRandomMeasure(GAMMA, ATOMS, locations, function, transform)


def student(kernel, degrees):
    return StudentTProcess(kernel, degrees=degrees)


def bernoulli_on(process, variance, function=LINEAR):
    return CorrelatedRandomMeasure(process, ATOMS, at(variance), function, BernoulliLog())


YES, NO, UNKNOWN = True, False, None
STRETCHED, SMOOTH = GaussianProcess(4.0 * Linear()), GaussianProcess(RBF())
STEEP = GaussianProcess(Linear(), CallableMean(lambda x: x[:, 0] ** 4))
DILN = diln(DirichletProcess(1.0), ATOMS, at(1.2), beta=5.0)
STABLE, GENERALIZED = StableProcess(1.0, 0.5), GeneralizedGammaProcess(1.0, 1.0, 0.5)
# name: measure, finite almost surely, finite mean
CASES = {
    "CNPF below the border": (cnpf(GAMMA, ATOMS, at(0.99), mean_variance=10.0), YES, YES),
    "CNPF at the border": (cnpf(GAMMA, ATOMS, at(1.0)), YES, NO),
    "CNPF above the border": (cnpf(GAMMA, ATOMS, at(1.2)), YES, NO),
    "the kernel scaled, below": (exp_link(at(0.24), STRETCHED), YES, YES),
    "the kernel scaled, above": (exp_link(at(0.26), STRETCHED), YES, NO),
    "softplus": (softplus_cnpf(GAMMA, ATOMS, at(25.0)), YES, YES),
    "softplus, quadratic kernel": (on_gamma(GammaSoftplus(), at(25.0), QUADRATIC), YES, YES),
    "exp link, quadratic kernel": (exp_link(at(0.01), QUADRATIC), YES, NO),
    "bounded kernel": (exp_link(at(25.0), SMOOTH), YES, YES),
    "bounded kernel, any locations": (exp_link(CAUCHY, SMOOTH), YES, YES),
    "linear kernel, any locations": (exp_link(CAUCHY), UNKNOWN, UNKNOWN),
    "all at the origin": (exp_link(at(0.0)), YES, YES),
    "HGP": (hgp(GAMMA, ATOMS), YES, YES),
    "scaled HGP": (scaled_hgp(GAMMA, ATOMS, mean_variance=10.0), YES, YES),
    "DILN": (DILN, YES, YES),
    "DILN before normalising, below": (replace(DILN, locations=at(0.9), normalized=False), YES, YES),
    "DILN before normalising, above": (replace(DILN, normalized=False), YES, NO),
    "correlated Dirichlet process": (exp_link(at(4.0)).normalize(), YES, YES),
    "normalised, locations unknown": (exp_link(CAUCHY).normalize(), UNKNOWN, UNKNOWN),
    "normalised features": (gamma_bernoulli(GAMMA, ATOMS, at(0.5)).normalize(), NO, UNKNOWN),
    "beta-Bernoulli": (beta_bernoulli(BETA, ATOMS, at(0.5)), YES, YES),
    "beta-Bernoulli, variance above one": (beta_bernoulli(BETA, ATOMS, at(4.0)), YES, YES),
    "correlated beta process": (correlated_beta_process(BETA, ATOMS, at(4.0)), YES, YES),
    "gamma-Bernoulli": (gamma_bernoulli(GAMMA, ATOMS, at(0.5)), YES, YES),
    "gamma-Bernoulli, variance above one": (gamma_bernoulli(GAMMA, ATOMS, at(4.0)), YES, YES),
    "Bernoulli on sigma = 1/2, below 1 / sigma^2": (bernoulli_on(GENERALIZED, 3.9), YES, YES),
    "Bernoulli on sigma = 1/2, above 1 / sigma^2": (bernoulli_on(GENERALIZED, 4.1), YES, NO),
    "Bernoulli on sigma = 1/2, quadratic kernel": (bernoulli_on(GENERALIZED, 0.1, QUADRATIC), NO, NO),
    "Bernoulli on a stable process": (bernoulli_on(STABLE, 3.9), YES, YES),
    "Bernoulli on Pitman-Yor weights": (bernoulli_on(PitmanYorProcess(1.0, 0.5), 4.1), YES, NO),
    "thinned": (thinned(GAMMA, ATOMS, CAUCHY, keep, [[0.0, 0.0]]), YES, YES),
    "thinned, normalised": (thinned(GAMMA, ATOMS, CAUCHY, keep, [[0.0, 0.0]]).normalize(), UNKNOWN, UNKNOWN),
    "thinning by a random function, normalised": (on_gamma(Thinning(), at(1.0), SMOOTH).normalize(), YES, YES),
    "thinned stable process": (thinned(STABLE, ATOMS, CAUCHY, keep, [[0.0, 0.0]]), YES, NO),
    "gamma process": (completely_random(GAMMA, ATOMS), YES, YES),
    "stable process": (completely_random(STABLE, ATOMS), YES, NO),
    "correlated stable process": (
        CorrelatedRandomMeasure(STABLE, ATOMS, at(0.1), LINEAR, GammaExp()),
        YES,
        NO,
    ),
    "infinite base measure": (cnpf(GammaProcess(math.inf), ATOMS, at(0.5)), NO, NO),
    "Student-t, exp link": (exp_link(at(0.1), student(Linear(), 50.0)), YES, NO),
    "Student-t, exp link, bounded kernel": (exp_link(CAUCHY, student(RBF(), 50.0)), YES, NO),
    "Student-t, exp link, at the origin": (exp_link(at(0.0), StudentTProcess(Linear())), YES, YES),
    "Student-t, softplus, nu > 1": (on_gamma(GammaSoftplus(), at(2.0), student(Linear(), 1.1)), YES, YES),
    "Student-t, softplus, nu = 1": (on_gamma(GammaSoftplus(), at(2.0), student(Linear(), 1.0)), YES, NO),
    "Student-t, Bernoulli": (on_gamma(BernoulliLog(), at(2.0), student(Linear(), 3.0)), YES, YES),
    "Student-t, Bernoulli, nu = 1": (on_gamma(BernoulliLog(), at(2.0), student(Linear(), 1.0)), YES, NO),
    "callable mean": (exp_link(at(0.1), STEEP), UNKNOWN, UNKNOWN),
    "callable mean, thinning": (on_gamma(Thinning(), at(0.1), STEEP), YES, YES),
}


@pytest.mark.parametrize(("measure", "sure", "mean"), CASES.values(), ids=CASES.keys())
def test_verdicts(measure, sure, mean):
    verdict = finiteness(measure)
    assert verdict.almost_surely.holds is sure, str(verdict)
    assert verdict.mean.holds is mean, str(verdict)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("gamma process", "finite almost surely: GammaProcess is finite, and x is of order w whatever F is"),
        ("CNPF above the border", "finite almost surely: linear kernel, Gaussian locations"),
        ("CNPF above the border", "mean infinite: location variance 1.2 >= 1"),
        ("CNPF below the border", "mean finite: location variance 0.99 < 1"),
        ("the kernel scaled, above", "mean infinite: location variance 0.26 >= 0.25"),
        ("bounded kernel", "finite almost surely: bounded kernel, K(l, l) = 1"),
        ("stable process", "mean infinite: StableProcess has infinite mean"),
        ("infinite base measure", "not almost surely finite: infinite base measure, H(E) = inf"),
        ("Student-t, exp link", "mean infinite: Student-t process, under which exp(F) has no mean"),
        (
            "linear kernel, any locations",
            "mean finite? undetermined: CallableLocations may have any tail",
        ),
        (
            "exp link, quadratic kernel",
            "mean infinite: E exp(F) outgrows Gaussian locations: K(l, l) grows like |l|^4",
        ),
        ("normalised features", "not almost surely finite: the total mass is zero with positive probability"),
        ("DILN", "mean finite: a normalised measure has total mass one"),
    ],
)
def test_reasons(name, line):
    assert line in str(finiteness(CASES[name][0]))


class Quartic(Kernel):
    def matrix(self, first, second):
        return (first @ second.T) ** 2


def test_a_kernel_of_ones_own_is_undetermined_until_it_declares_its_diagonal():
    measure = correlated_gamma_process(GAMMA, ATOMS, at(0.1), GaussianProcess(Quartic()))
    assert finiteness(measure).mean.holds is None
    assert "Quartic does not declare its diagonal_polynomial" in str(finiteness(measure))


class Silent(GammaExp):
    """A transformation that declares nothing."""

    mean_growth = None
    sure_growth = None


def test_a_transformation_of_ones_own_is_undetermined_until_it_declares_its_growth():
    verdict = str(finiteness(on_gamma(Silent(), at(0.1))))
    assert "finite almost surely? undetermined: Silent does not declare its sure_growth" in verdict
    assert "mean finite? undetermined: Silent does not declare its mean_growth" in verdict


def test_fixed_components_count_in_the_mean():
    fixed = Tuples(np.zeros((1, 1)), np.array([0.5]), np.array([[1.0, 0.0]]))
    origin = exp_link(at(0.0), student(Linear(), 4.0))
    assert finiteness(origin).mean.holds is True
    assert finiteness(replace(origin, fixed=fixed)).mean.holds is False
    gaussian = correlated_gamma_process(GAMMA, ATOMS, at(0.5))
    assert finiteness(replace(gaussian, fixed=fixed)).mean.holds is True


def on_line(process, variance, function, transform):
    return CorrelatedRandomMeasure(process, ATOMS, GaussianLocations(1, variance), function, transform)


# name: measure, whether its mean is finite; each with the exponent of the tail of M(E)
SIMULATED = {
    "CNPF, sigma_l = 1/2: exponent 2": (on_line(GAMMA, 0.25, LINEAR, GammaExp()), YES),
    "CNPF, sigma_l = 3/2: exponent 2/3": (on_line(GAMMA, 2.25, LINEAR, GammaExp()), NO),
    "DILN before normalising, sigma_l = 1/2": (on_line(DirichletProcess(2.0), 0.25, LINEAR, DilnGamma(5.0)), YES),
    "DILN before normalising, sigma_l = 2": (on_line(DirichletProcess(2.0), 4.0, LINEAR, DilnGamma(5.0)), NO),
    "softplus, sigma_l = 5": (on_line(GAMMA, 25.0, LINEAR, GammaSoftplus()), YES),
    "softplus, Student-t, nu = 4": (on_line(GAMMA, 1.0, student(Linear(), 4.0), GammaSoftplus()), YES),
    "softplus, Student-t, nu = .6": (on_line(GAMMA, 1.0, student(Linear(), 0.6), GammaSoftplus()), NO),
    "exp link, Student-t": (on_line(GAMMA, 0.25, student(Linear(), 3.0), GammaExp()), NO),
    "generalised gamma process": (completely_random(GENERALIZED, ATOMS), YES),
    "stable process: exponent 1/2": (completely_random(STABLE, ATOMS), NO),
}


class TestSimulations:
    @pytest.mark.parametrize(("measure", "finite"), SIMULATED.values(), ids=SIMULATED.keys())
    def test_the_largest_total_shows_whether_there_is_a_mean(self, measure, finite):
        """The largest of n draws is a vanishing share of their sum iff the mean is finite (O'Brien 1980).

        For a tail of exponent a it is of order n^(1 / a - 1) for a > 1 (a = 2, n = 1500: .03) and stays of order
        1 - a for a < 1 (a = 2/3: a third), so that .15 tells them apart.
        """
        rng = np.random.default_rng(0)
        totals = np.array([measure.sample(rng, number=10).total for _ in range(1500)])
        assert np.isfinite(totals).all()
        assert (totals.max() < 0.15 * totals.sum()) == finite
        assert finiteness(measure).mean.holds is finite
        assert finiteness(measure).almost_surely.holds is True

    def test_below_the_border_totals_average_to_the_mean(self):
        measure, rng = cnpf(GAMMA, ATOMS, at(0.3), mean_variance=0.2), np.random.default_rng(0)
        # E M(E) = (mass / c) exp(sigma_m^2 / 2) (1 - sigma_l^2)^(-D / 2)
        expected = 1.5 * math.exp(0.1) * (1 - 0.3) ** -1
        assert expected_total(measure) == pytest.approx(expected, rel=1e-9)
        totals = [measure.sample(rng, tail_mass=1e-4).total for _ in range(3000)]
        assert in_mean(totals, expected)

    def test_above_the_border_measures_are_finite_all_the_same(self):
        """At variance 9 the laws of M(E) truncated at 1e-4 and 1e-8 agree: nothing runs away."""
        measure, rng = cnpf(GAMMA, ATOMS, at(9.0)), np.random.default_rng(2)
        samples = [np.log([measure.sample(rng, tail_mass=tail).total for _ in range(800)]) for tail in (1e-4, 1e-8)]
        assert np.isfinite(samples).all()
        # Medians have standard error 1.25 sd / sqrt(n).
        error = 1.25 * math.hypot(samples[0].std(), samples[1].std()) / math.sqrt(800)
        assert abs(np.median(samples[0]) - np.median(samples[1])) < 4 * error

    @pytest.mark.parametrize("build", [beta_bernoulli, gamma_bernoulli])
    def test_features_have_a_finite_mean_far_above_the_papers_border(self, build):
        process = BETA if build is beta_bernoulli else GAMMA
        measure, rng = build(process, ATOMS, at(4.0)), np.random.default_rng(3)
        counts = [measure.sample(rng, tail_mass=1e-6).total for _ in range(400)]
        assert in_mean(counts, expected_total(measure))

    def test_the_quadratic_kernel_with_power_law_weights_is_infinite_with_positive_probability(self):
        """F(l) = a l^2, a ~ N(0, 1): weights near w give w^(1 / (2 a sigma_l^2) - sigma) features, up to logarithms.

        So the smaller the weights the more features, without end, iff a > 1 / (2 sigma sigma_l^2) = 1/2. From one band
        of weights to the next, a hundred times smaller, they double or more for a > .7 (100^.14) and fall to a third
        or less for a < .33 (100^-.26); each mean is over a hundred functions or more.
        """
        measure = on_line(GENERALIZED, 2.0, QUADRATIC, BernoulliLog())
        assert finiteness(measure).almost_surely.holds is False
        tuples = measure.sample_tuples(4, number=15_000)
        draws = measure.sample_groups(500, 5, tuples=tuples)
        slopes = draws.function[:, 0] / tuples.locations[0] ** 2
        bands = [(1e-4, 1e-2), (1e-6, 1e-4), (1e-8, 1e-6)]
        assert tuples.weights.min() < bands[-1][0]
        features = np.column_stack(
            [draws.measure((tuples.weights > low) & (tuples.weights <= high)) for low, high in bands]
        )
        above, below = features[slopes > 0.7].mean(axis=0), features[slopes < 0.33].mean(axis=0)
        assert np.all(np.diff(above) > 0)
        assert np.all(np.diff(below) < 0)
