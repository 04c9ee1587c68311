"""Verdicts on both sides of every border, with simulations where those can show it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from cormorant.measures import (
    RBF,
    BernoulliLog,
    BetaProcess,
    CallableLocations,
    CallableMean,
    Constant,
    ConstantMean,
    CorrelatedRandomMeasure,
    DirichletProcess,
    GammaAtoms,
    GammaExp,
    GammaProcess,
    GammaSoftplus,
    GaussianLocations,
    GaussianProcess,
    GeneralizedGammaProcess,
    Identity,
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

from .helpers import in_mean

ATOMS, GAMMA, BETA = GammaAtoms(1), GammaProcess(3.0, 2.0), BetaProcess(3.0, 2.0)
CAUCHY = CallableLocations(lambda rng, n: rng.standard_cauchy((n, 2)), 2)
LINEAR, QUADRATIC = GaussianProcess(Linear()), GaussianProcess(Linear() * Linear())


def at(variance):
    return GaussianLocations(2, variance)


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


def location_integrals(variance, number, seed):
    """int exp(F) dL = exp(variance d.d / 2), one for each F = l.d in one dimension."""
    d = np.random.default_rng(seed).standard_normal(number)
    return np.exp(variance * d**2 / 2)


class TestSimulations:
    def test_below_the_border_totals_average_to_the_mean(self):
        measure, rng = cnpf(GAMMA, ATOMS, at(0.3), mean_variance=0.2), np.random.default_rng(0)
        # E M(E) = (mass / c) exp(sigma_m^2 / 2) (1 - sigma_l^2)^(-D / 2)
        expected = 1.5 * math.exp(0.1) * (1 - 0.3) ** -1
        assert expected_total(measure) == pytest.approx(expected, rel=1e-9)
        totals = [measure.sample(rng, tail_mass=1e-4).total for _ in range(3000)]
        assert in_mean(totals, expected)

    @pytest.mark.parametrize(("variance", "finite"), [(0.6, True), (1.6, False)])
    def test_the_tail_of_the_location_integral_shows_the_border(self, variance, finite):
        """P(int exp(F) dL > x) falls like x^(-1 / sigma_l^2), so the mean is finite iff sigma_l^2 < 1.

        Hill's estimate of the exponent from the k largest has standard error exponent / sqrt(k); the
        logarithm in the tail adds a bias of about 1 / log x, a tenth here.
        """
        values = np.sort(location_integrals(variance, 400_000, 1))[::-1]
        k = 400
        exponent = 1 / np.mean(np.log(values[:k] / values[k]))
        assert exponent == pytest.approx(1 / variance, rel=0.1 + 4 / math.sqrt(k))
        assert (exponent > 1) == finite
        measure = cnpf(GAMMA, ATOMS, GaussianLocations(1, variance))
        assert finiteness(measure).mean.holds is finite
        assert np.isfinite(values).all()  # each integral is finite, whatever the variance

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
        """F(l) = a l^2, a ~ N(0, 1): int exp(sigma F) dL is infinite iff a >= 1 / (2 sigma sigma_l^2)."""
        sigma, variance = 0.5, 2.0
        measure = CorrelatedRandomMeasure(GENERALIZED, ATOMS, GaussianLocations(1, variance), QUADRATIC, BernoulliLog())
        assert finiteness(measure).almost_surely.holds is False
        slopes = QUADRATIC.sample(np.array([[1.0]]), 4, groups=10_000)[:, 0]
        border = 1 / (2 * sigma * variance)
        assert in_mean(slopes >= border, 0.5 * math.erfc(border / math.sqrt(2)))


class TestExpectedTotal:
    @pytest.mark.parametrize(
        "measure",
        [
            completely_random(GAMMA, ATOMS),
            hgp(GAMMA, ATOMS),
            scaled_hgp(GAMMA, ATOMS, mean_variance=0.3),
            softplus_cnpf(GAMMA, ATOMS, at(1.5), mean_variance=0.3),
            correlated_gamma_process(GAMMA, ATOMS, CAUCHY, GaussianProcess(0.3 * RBF(), ConstantMean(0.5))),
            correlated_beta_process(BETA, ATOMS, at(1.5)),
            CorrelatedRandomMeasure(GAMMA, ATOMS, at(1.0), StudentTProcess(Linear(), degrees=4.0), GammaSoftplus()),
            CorrelatedRandomMeasure(GAMMA, ATOMS, at(1.0), GaussianProcess(RBF()), Thinning()),
        ],
        ids=lambda m: type(m.transform).__name__,
    )
    def test_against_draws(self, measure):
        rng = np.random.default_rng(5)
        totals = [measure.sample(rng, tail_mass=1e-5).total for _ in range(600)]
        assert in_mean(totals, expected_total(measure))

    def test_fixed_components_add_their_share(self):
        fixed = Tuples(np.zeros((1, 1)), np.array([0.5]), np.array([[1.0, 0.0]]))
        measure = correlated_gamma_process(GAMMA, ATOMS, at(0.5))
        with_fixed = expected_total(replace(measure, fixed=fixed))
        assert with_fixed - expected_total(measure) == pytest.approx(0.5 * math.exp(0.5))

    def test_a_normalised_measure_has_total_one(self):
        assert expected_total(CASES["DILN"][0]) == 1

    def test_an_infinite_mean_is_refused_with_its_reason(self):
        with pytest.raises(
            ValueError, match=r"measure: expected a finite mean; mean infinite: location variance 1\.2 >= 1"
        ):
            expected_total(CASES["CNPF above the border"][0])
        with pytest.raises(ValueError, match="measure: expected a finite mean; mean infinite: StableProcess"):
            expected_total(CASES["stable process"][0])

    def test_what_is_not_known_in_closed_form_is_said(self):
        with pytest.raises(ValueError, match="measure: expected a mean function constant in l"):
            expected_total(CASES["thinned"][0])
        own = CorrelatedRandomMeasure(GAMMA, ATOMS, at(1.0), GaussianProcess(Quartic()), Thinning())
        with pytest.raises(ValueError, match="expected a kernel with a diagonal_polynomial, got Quartic"):
            expected_total(own)
        callable_mean = GaussianProcess(Linear(), CallableMean(lambda x: x[:, 0]))
        unread = CorrelatedRandomMeasure(GAMMA, ATOMS, at(1.0), callable_mean, Identity())
        assert expected_total(unread) == pytest.approx(GAMMA.mean)


def test_constant_kernels_do_not_depend_on_locations():
    measure = correlated_gamma_process(GAMMA, ATOMS, CAUCHY, GaussianProcess(Constant(2.0)))
    assert expected_total(measure) == pytest.approx(1.5 * math.e)
