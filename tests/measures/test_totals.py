"""The mean of the total mass against draws and closed forms, up to the border where it ends."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, special, stats

from cormorant.measures import (
    RBF,
    BernoulliLog,
    CallableMean,
    Constant,
    ConstantMean,
    CorrelatedRandomMeasure,
    DirichletProcess,
    GammaExp,
    GammaSoftplus,
    GaussianProcess,
    Identity,
    Kernel,
    Linear,
    StableProcess,
    StudentTProcess,
    Thinning,
    Tuples,
    cnpf,
    completely_random,
    correlated_beta_process,
    correlated_gamma_process,
    diln,
    expected_total,
    finiteness,
    hgp,
    scaled_hgp,
    softplus_cnpf,
    thinned,
)

from .helpers import ATOMS, BETA, CAUCHY, GAMMA, LINEAR, PlainGammaExp, at, in_mean


def on_gamma(transform, locations, function=LINEAR):
    return CorrelatedRandomMeasure(GAMMA, ATOMS, locations, function, transform)


def student(kernel, degrees):
    return StudentTProcess(kernel, degrees=degrees)


def bernoulli_on(process, variance, function=LINEAR):
    return CorrelatedRandomMeasure(process, ATOMS, at(variance), function, BernoulliLog())


STABLE = StableProcess(1.0, 0.5)


class Quartic(Kernel):
    """A kernel that does not declare its diagonal."""

    def matrix(self, first, second):
        return (first @ second.T) ** 2


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
def test_against_draws(measure):
    rng = np.random.default_rng(5)
    totals = [measure.sample(rng, tail_mass=1e-5).total for _ in range(600)]
    assert in_mean(totals, expected_total(measure))


@pytest.mark.parametrize("variance", [1.0, 3.9, 3.9999])
def test_up_to_the_border_of_the_stable_process(variance):
    """E h(F) = mass Gamma(sigma) E exp(sigma F), E exp(F / 2) = (1 - variance / 4)^(-D / 2): the border is 4."""
    expected = math.gamma(0.5) / (1 - variance / 4)
    assert expected_total(bernoulli_on(STABLE, variance)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("variance", [0.5, 0.99, 0.9999])
def test_up_to_the_border_of_the_exp_link_without_its_closed_form(variance):
    function = GaussianProcess(Linear() + Constant(0.3), ConstantMean(0.2))
    closed, plain = (expected_total(on_gamma(t, at(variance), function)) for t in (GammaExp(), PlainGammaExp()))
    assert plain == pytest.approx(closed, rel=1e-9)


@pytest.mark.parametrize("variance", [0.01, 1.0, 100.0, 1e6])
def test_softplus_under_narrow_and_wide_functions(variance):
    """F ~ N(0, v): E log(1 + e^F) = E F+ + E log(1 + e^-|F|), the first sqrt(v / (2 pi)), the second by quad."""
    function = GaussianProcess(Constant(variance))
    small, _ = integrate.quad(
        lambda F: 2 * np.log1p(np.exp(-F)) * stats.norm(scale=math.sqrt(variance)).pdf(F), 0, 40, epsrel=1e-11
    )
    expected = GAMMA.mean * (math.sqrt(variance / (2 * math.pi)) + small)
    assert expected_total(on_gamma(GammaSoftplus(), at(1.0), function)) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("degrees", [1.1, 4.0, 300.0])
def test_softplus_under_heavy_tails(degrees):
    """F ~ t(nu) against its density, whose mean of F comes from far out for nu near one."""
    density = stats.t(degrees).pdf
    near, _ = integrate.quad(lambda F: np.logaddexp(0, F) * density(F), -np.inf, 20, epsabs=0, limit=200)
    far, _ = integrate.quad(lambda s: math.exp(2 * s) * density(math.exp(s)), math.log(20), 340, epsabs=0, limit=400)
    measure = on_gamma(GammaSoftplus(), at(1.0), student(RBF(), degrees))
    assert expected_total(measure) == pytest.approx(GAMMA.mean * (near + far), rel=1e-7)


def test_features_under_heavy_tails():
    """nu = 1.1 and the gamma process: h(F) = mass (F - log c - gamma) far out, beyond what exp(F) can hold."""
    density, c = stats.t(1.1).pdf, GAMMA.rate
    near, _ = integrate.quad(
        lambda F: special.hyperu(1, 1, c * math.exp(-F)) * density(F), -20, 30, epsabs=1e-12, limit=200
    )
    far, _ = integrate.quad(
        lambda s: (math.exp(s) - math.log(c) - np.euler_gamma) * math.exp(s) * density(math.exp(s)),
        math.log(30),
        340,
        epsabs=0,
        limit=400,
    )
    measure = on_gamma(BernoulliLog(), at(1.0), student(RBF(), 1.1))
    # Below F = -20 at most e^-20 of the mean is left out.
    assert expected_total(measure) == pytest.approx(GAMMA.mass * (near + far), rel=1e-7)


def test_fixed_components_add_their_share():
    fixed = Tuples(np.zeros((1, 1)), np.array([0.5]), np.array([[1.0, 0.0]]))
    measure = correlated_gamma_process(GAMMA, ATOMS, at(0.5))
    with_fixed = expected_total(replace(measure, fixed=fixed))
    assert with_fixed - expected_total(measure) == pytest.approx(0.5 * math.exp(0.5))


def test_fixed_components_need_a_mean_but_no_variance():
    """nu = 1.5: softplus(F) has a mean, E softplus(t) by quad over its density, but no variance."""
    fixed = Tuples(np.zeros((1, 1)), np.array([0.5]), np.array([[1.0, 0.0]]))
    measure = on_gamma(GammaSoftplus(), at(1.0), student(RBF(), 1.5))
    share = expected_total(replace(measure, fixed=fixed)) - expected_total(measure)
    # Each Poisson component has the same law of F here: E h(F) = E sum_i w_i E softplus(F).
    assert share == pytest.approx(0.5 * expected_total(measure) / GAMMA.mean, rel=1e-9)


@pytest.mark.parametrize("degrees", [0.5, 1.0, 3.0])
def test_fixed_features_have_a_mean_under_any_tail(degrees):
    """E sigmoid(log w + F) is at most one, whatever the degrees; the Poisson part has F = 0 at the origin."""
    fixed = Tuples(np.zeros((1, 1)), np.array([0.5]), np.array([[1.0, 0.0]]))
    still = on_gamma(BernoulliLog(), at(0.0), student(Linear(), degrees))
    share = expected_total(replace(still, fixed=fixed)) - expected_total(still)
    density = stats.t(degrees).pdf
    # With F = s and F = -s together what is left of the integrand is even and falls off like the density.
    expected, _ = integrate.quad(
        lambda s: density(s) * (special.expit(np.log(0.5) + s) + special.expit(np.log(0.5) - s)), 0, 30, epsrel=1e-11
    )
    expected += stats.t(degrees).sf(30)  # there the two add up to one, to 1e-13
    assert share == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("transform", [GammaSoftplus(), BernoulliLog()], ids=repr)
def test_heavy_tails_that_nothing_reads(transform):
    """All locations at the origin: F = 0, whatever the degrees of freedom."""
    still = on_gamma(transform, at(0.0), student(Linear(), 0.5))
    assert expected_total(still) == pytest.approx(expected_total(on_gamma(transform, at(0.0))), rel=1e-12)


def test_a_normalised_measure_has_total_one():
    assert expected_total(diln(DirichletProcess(1.0), ATOMS, at(1.2), beta=5.0)) == 1


def test_nothing_left_to_normalise():
    """Covariates that keep no atom leave a zero measure: no verdict, no total, and no draw that is NaN."""
    empty = thinned(GAMMA, ATOMS, CAUCHY, lambda theta, x: np.zeros(len(x)), [[0.0, 0.0]])
    assert "covariates can leave out every atom" in str(finiteness(empty.normalize()))
    with pytest.raises(ValueError, match=r"measure: expected a finite mean; mean finite\? undetermined: covariates"):
        expected_total(empty.normalize())
    with pytest.raises(ValueError, match="normalize: expected a positive finite total mass"):
        empty.normalize().sample(0, number=5)


def test_an_infinite_mean_is_refused_with_its_reason():
    with pytest.raises(
        ValueError, match=r"measure: expected a finite mean; mean infinite: location variance 1\.2 >= 1"
    ):
        expected_total(cnpf(GAMMA, ATOMS, at(1.2)))
    with pytest.raises(ValueError, match="measure: expected a finite mean; mean infinite: StableProcess"):
        expected_total(completely_random(STABLE, ATOMS))


def test_a_mean_that_no_float_holds():
    with pytest.raises(ValueError, match=r"measure: expected a mean that fits a float64, got one near 10\^434"):
        expected_total(scaled_hgp(GAMMA, ATOMS, mean_variance=2000.0))
    far = Tuples(np.zeros((1, 1)), np.array([0.5]), np.array([[50.0, 0.0]]))
    with pytest.raises(ValueError, match="measure: expected a mean that fits a float64, got infinity at the fixed"):
        expected_total(replace(cnpf(GAMMA, ATOMS, at(0.1)), fixed=far))


def test_what_is_not_known_in_closed_form_is_said():
    with pytest.raises(ValueError, match="measure: expected a mean function constant in l"):
        expected_total(thinned(GAMMA, ATOMS, at(1.0), lambda theta, x: np.ones(len(x)), [[0.0, 0.0]]))
    own = CorrelatedRandomMeasure(GAMMA, ATOMS, at(1.0), GaussianProcess(Quartic()), Thinning())
    with pytest.raises(ValueError, match="expected a kernel with a diagonal_polynomial, got Quartic"):
        expected_total(own)
    callable_mean = GaussianProcess(Linear(), CallableMean(lambda x: x[:, 0]))
    unread = CorrelatedRandomMeasure(GAMMA, ATOMS, at(1.0), callable_mean, Identity())
    assert expected_total(unread) == pytest.approx(GAMMA.mean)


def test_constant_kernels_do_not_depend_on_locations():
    measure = correlated_gamma_process(GAMMA, ATOMS, CAUCHY, GaussianProcess(Constant(2.0)))
    assert expected_total(measure) == pytest.approx(1.5 * math.e)
