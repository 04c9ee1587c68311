"""The averages that a link hands to the field step, against numerical derivatives and dense quadrature."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from cormorant.inference.links import LINKS, ExponentialLink, SoftplusLink

from .oracles import average, slope_of

MEANS = (-4.0, -0.7, 0.0, 0.3, 2.5, 9.0)
VARIANCES = (0.0, 0.05, 1.0, 6.0)
LOG_RATES = (-2.0, 0.0, 3.0)
CASES = [(m, v, a) for m in MEANS for v in VARIANCES for a in LOG_RATES]


def expand(link, mean, variance, log_rate, backend):
    """The expansion at one F, as numbers."""
    e = link.expand(np.array([[mean]]), np.array([[variance]]), np.array([log_rate]), backend)
    return {name: float(np.squeeze(value)) for name, value in vars(e).items()}


def test_links_are_listed_by_name():
    assert {name: link.is_bound for name, link in LINKS.items()} == {"exp": True, "softplus": False}


class TestExponential:
    link = ExponentialLink()

    @pytest.mark.parametrize(("mean", "variance", "log_rate"), CASES)
    def test_bound_is_above_and_touches_without_variance(self, backend, mean, variance, log_rate):
        bound = expand(self.link, mean, variance, log_rate, backend)["log_one"]
        exact = average(lambda f: np.logaddexp(0, f + log_rate), mean, variance)
        assert bound >= exact - 1e-12
        assert bound <= exact + variance / 8 + 1e-12  # the curvature of log(1 + exp) is at most 1/4
        if variance == 0:
            assert bound == pytest.approx(exact, rel=1e-14)

    @pytest.mark.parametrize(("mean", "variance", "log_rate"), CASES)
    def test_slope_and_curvature_are_derivatives_of_the_bound(self, backend, mean, variance, log_rate):
        e = expand(self.link, mean, variance, log_rate, backend)

        def bound(m, v):
            return expand(self.link, m, v, log_rate, backend)["log_one"]

        # c = |eta| has a kink at eta = 0 without variance; the even function of it does not.
        assert e["shape_slope"] == pytest.approx(slope_of(lambda m: bound(m, variance), mean), abs=1e-8)
        if variance > 0:
            # Var F enters through c^2 alone: dE/dvariance = curvature / 2, as Price has it.
            by_variance = slope_of(lambda v: bound(mean, v), variance)
            assert e["shape_curvature"] / 2 == pytest.approx(by_variance, abs=1e-8)
        eta = mean + log_rate
        c = np.sqrt(eta**2 + variance)
        curvature = 0.25 if c == 0 else np.tanh(c / 2) / (2 * c)
        assert e["shape_curvature"] == pytest.approx(curvature, rel=1e-12)
        assert e["shape_slope"] == pytest.approx(0.5 + curvature * eta, abs=1e-12)
        assert (e["count_slope"], e["count_curvature"]) == (1.0, 0.0)

    @pytest.mark.parametrize("eta", [-1e-9, -5.0, -40.0, -600.0])
    def test_slope_keeps_its_digits_where_it_is_tiny(self, backend, eta):
        """1/2 + curvature eta cancels there, and E x = (w + n) slope / A would come out negative."""
        assert expand(self.link, eta, 0.0, 0.0, backend)["shape_slope"] == pytest.approx(expit(eta), rel=1e-13)
        with_spread = expand(self.link, eta - 5.0, 1e-3, 5.0, backend)
        c = -eta * np.sqrt(1 + 1e-3 / eta**2)
        first = 0.5 * -np.expm1(-0.5 * np.log1p(1e-3 / eta**2))  # (1 - |eta| / c) / 2
        exact = first + expit(-c) * -eta / c
        assert with_spread["shape_slope"] == pytest.approx(exact, rel=1e-9)

    @pytest.mark.parametrize(("mean", "variance", "log_rate"), CASES)
    def test_scales(self, backend, mean, variance, log_rate):
        e = expand(self.link, mean, variance, log_rate, backend)
        assert e["log_scale"] == pytest.approx(mean - e["log_one"], abs=1e-12)
        # E x / (w + n) is minus the derivative of the bound in the rate A.
        by_rate = slope_of(
            lambda a: expand(self.link, mean, variance, np.log(a), backend)["log_one"],
            np.exp(log_rate),
            step=1e-6 * np.exp(log_rate),
        )
        assert e["mean_scale"] == pytest.approx(by_rate, rel=1e-7, abs=1e-12)
        if variance == 0:
            assert e["mean_scale"] == pytest.approx(expit(mean + log_rate) * np.exp(-log_rate), rel=1e-12)

    def test_quadratic_touches_the_logarithm_from_above_everywhere(self, backend):
        """The field step's surrogate, slope and curvature held, stays above log(1 + exp eta)."""
        eta = np.linspace(-30, 30, 401)
        for c in (1e-3, 0.5, 2.0, 10.0):
            curvature = np.tanh(c / 2) / (2 * c)
            surrogate = (eta - c) / 2 + np.logaddexp(0, c) + curvature / 2 * (eta**2 - c**2)
            assert np.all(surrogate >= np.logaddexp(0, eta) - 1e-12)

    def test_scale_is_the_exponential_up_to_a_factor(self):
        field = np.array([[0.0, 1.0, -2.0], [1e4, 2e4, 0.0]])
        assert_allclose(self.link.scale(field), [np.exp([-1.0, 0.0, -3.0]), [0.0, 1.0, 0.0]])


class TestSoftplus:
    link = SoftplusLink()

    @staticmethod
    def softplus(f):
        return np.logaddexp(0.0, f)

    @pytest.mark.parametrize("variance", [0.0, 0.05, 1.0])
    @pytest.mark.parametrize("mean", MEANS)
    @pytest.mark.parametrize("log_rate", LOG_RATES)
    def test_averages(self, backend, mean, variance, log_rate):
        e = expand(self.link, mean, variance, log_rate, backend)
        rate, sp = np.exp(log_rate), self.softplus
        tolerance = {0.0: 1e-10, 0.05: 1e-8, 1.0: 2e-3}[variance]
        log_r = average(lambda f: np.log(sp(f)), mean, variance)
        log_one = average(lambda f: np.log1p(rate * sp(f)), mean, variance)
        scale = average(lambda f: sp(f) / (1 + rate * sp(f)), mean, variance)
        assert e["log_one"] == pytest.approx(log_one, rel=tolerance, abs=1e-12)
        assert e["log_scale"] == pytest.approx(log_r - log_one, rel=tolerance, abs=tolerance)
        assert e["mean_scale"] == pytest.approx(scale, rel=tolerance)

    @pytest.mark.parametrize("variance", [0.0, 0.05, 1.0])
    @pytest.mark.parametrize("mean", MEANS)
    @pytest.mark.parametrize("log_rate", LOG_RATES)
    def test_slopes_and_curvatures(self, backend, mean, variance, log_rate):
        """Bonnet and Price: d E h / d mean = E h' (exact for any nodes), d E h / d variance = E h'' / 2."""
        e = expand(self.link, mean, variance, log_rate, backend)

        def at(m, v):
            x = expand(self.link, m, v, log_rate, backend)
            return np.array([x["log_one"] + x["log_scale"], x["log_one"]])

        slopes = [e["count_slope"], e["shape_slope"]]
        assert_allclose(slopes, slope_of(lambda m: at(m, variance), mean), rtol=1e-7, atol=1e-9)
        curvatures = [-e["count_curvature"], e["shape_curvature"]]
        second = slope_of(lambda m: slope_of(lambda k: at(k, variance), m, 1e-3), mean, 1e-3)
        assert_allclose(curvatures, second, rtol=1e-4, atol=1e-6)
        if variance > 0:
            by_variance = 2 * slope_of(lambda v: at(mean, v), variance)
            assert_allclose(curvatures, by_variance, rtol=1e-3 if variance < 1 else 0.05, atol=2e-3)

    def test_more_nodes_are_closer(self, backend):
        fine = SoftplusLink(41)
        for mean, variance, log_rate in CASES:
            e = expand(fine, mean, variance, log_rate, backend)
            exact = average(lambda f, a=log_rate: np.log1p(np.exp(a) * self.softplus(f)), mean, variance)
            assert e["log_one"] == pytest.approx(exact, rel=1e-6)

    def test_scale_is_the_softplus(self):
        field = np.array([-1e4, -2.0, 0.0, 3.0])
        assert_allclose(self.link.scale(field), np.maximum(self.softplus(field), 1e-300))


@pytest.mark.parametrize("name", ["exp", "softplus"])
@pytest.mark.parametrize("mean", [-700.0, 700.0])
@pytest.mark.parametrize("variance", [0.0, 25.0])
@pytest.mark.parametrize("log_rate", [-5.0, 5.0])
def test_extreme_fields_stay_finite(backend, name, mean, variance, log_rate):
    e = expand(LINKS[name], mean, variance, log_rate, backend)
    assert np.isfinite(list(e.values())).all(), e
    assert e["log_one"] >= 0
    assert e["mean_scale"] >= 0


@pytest.mark.parametrize("name", ["exp", "softplus"])
def test_slope_and_omega_combine_counts_and_shape(backend, name):
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=(3, 2)), rng.gamma(1.0, 0.2, (3, 2))
    n, w = rng.gamma(1.0, 1.0, (3, 2)), np.array([0.4, 2.0])
    link, log_rate = LINKS[name], np.array([0.5, -1.0])

    def objective(m, v):
        e = link.expand(m, v, log_rate, backend)
        return n * e.log_scale - w * e.log_one

    e = link.expand(mean, variance, log_rate, backend)
    step = 1e-5
    slope = (objective(mean + step, variance) - objective(mean - step, variance)) / (2 * step)
    assert_allclose(e.slope(n, w), slope, rtol=1e-6, atol=1e-8)
    by_variance = (objective(mean, variance + step) - objective(mean, variance - step)) / step
    assert_allclose(e.omega(n, w), -by_variance, rtol=1e-6 if link.is_bound else 1e-2, atol=1e-6)
