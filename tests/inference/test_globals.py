"""Updates of the shared quantities: each is at a maximum of the bound, by numerical differentiation."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import digamma, expit, gammaln, logit

from cormorant.backends.packing import unpack
from cormorant.inference import globals as update
from cormorant.inference.state import State
from cormorant.inference.structured import COLD

from .conftest import BOUNDED
from .oracles import allocations, contact_points, dense_bound, gradient_of, held_statistics, slope_of

positive = st.floats(1e-6, 1e3)


def coordinates(weights):
    """(log s, logit v), where the mode is sought."""
    total, sticks = update.sticks_of(weights)
    return np.append(np.log(total), logit(sticks[:-1]))


def from_coordinates(z):
    return update.weights_of(np.exp(z[0]), np.append(expit(z[1:]), 1.0))


class TestSticks:
    @given(st.lists(positive, min_size=1, max_size=12))
    def test_sticks_and_weights_are_one_to_one(self, weights):
        weights = np.array(weights)
        total, sticks = update.sticks_of(weights)
        assert sticks[-1] == 1.0
        assert np.all((sticks > 0) & (sticks <= 1))
        assert total == pytest.approx(weights.sum())
        # 1 - v loses the digits of what comes after a stick that takes nearly all.
        assert_allclose(update.weights_of(total, sticks), weights, rtol=1e-9, atol=1e-12 * total)

    @given(positive, st.lists(st.floats(0.01, 0.99), max_size=10))
    def test_weights_and_sticks_are_one_to_one(self, total, sticks):
        sticks = np.append(sticks, 1.0)
        again = update.sticks_of(update.weights_of(total, sticks))
        assert again[0] == pytest.approx(total)
        assert_allclose(again[1], sticks, rtol=1e-9)

    @given(st.lists(positive, min_size=1, max_size=8), st.floats(0.05, 20.0), st.floats(0.05, 20.0))
    def test_log_prior_is_the_density_in_unconstrained_coordinates(self, weights, alpha, c):
        weights = np.array(weights)
        total, sticks = update.sticks_of(weights)
        later = np.cumsum(weights[::-1])[::-1][1:]
        v, rest = sticks[:-1], later / (later + weights[:-1])
        density = stats.gamma.logpdf(total, alpha, scale=1 / c) + np.log(total)
        density += (np.log(alpha) + (alpha - 1) * np.log(rest) + np.log(v) + np.log(rest)).sum()
        assert update.log_prior_weights(weights, alpha, c) == pytest.approx(density, rel=1e-9, abs=1e-9)


class TestWeights:
    @staticmethod
    def draw(seed, n_components):
        rng = np.random.default_rng(seed)
        tables = rng.gamma(0.5, 20.0, n_components)
        tables[-1:] = 0.0  # a component that no row uses
        return tables, rng.gamma(2.0, 5.0, n_components), rng.gamma(1.0, 1.0, n_components) + 0.01

    @staticmethod
    def objective(weights, tables, log_one, alpha, c):
        return tables @ np.log(weights) - log_one @ weights + update.log_prior_weights(weights, alpha, c)

    @pytest.mark.parametrize("seed", [0, 1, 2])
    @pytest.mark.parametrize("n_components", [1, 2, 9])
    @pytest.mark.parametrize("alpha", [0.3, 4.0])
    def test_is_the_mode(self, seed, n_components, alpha):
        tables, log_one, weights = self.draw(seed, n_components)
        new = update.update_weights(tables, log_one, weights, alpha, 1.5)
        at_mode = self.objective(new, tables, log_one, alpha, 1.5)
        z = coordinates(new)

        def value(point):
            return self.objective(from_coordinates(point), tables, log_one, alpha, 1.5)

        assert value(z) == pytest.approx(at_mode, abs=1e-9)
        gradient = gradient_of(value, z)
        # What a Newton step could still gain, g^2 / (2 curvature), is nothing next to the value.
        curvature = np.array([-(value(z + e) + value(z - e) - 2 * value(z)) / 1e-6 for e in 1e-3 * np.eye(len(z))])
        assert np.all(curvature > 0)
        assert np.sum(gradient**2 / curvature) / 2 < 1e-6 * (1 + abs(at_mode))
        rng = np.random.default_rng(seed)
        for spread in (0.01, 0.1, 1.0):
            for _ in range(30):
                assert value(z + spread * rng.normal(size=len(z))) <= at_mode + 1e-9 * abs(at_mode)

    @pytest.mark.parametrize("n_components", [1, 6])
    def test_gradient(self, n_components):
        tables, log_one, weights = self.draw(3, n_components)
        negative = update._stick_objective(tables, log_one, 0.7, 1.5, total_shape=0.7)
        z = coordinates(weights)
        value, gradient = negative(z)
        assert_allclose(gradient, gradient_of(lambda p: negative(p)[0], z), rtol=1e-6, atol=1e-6)
        # The value is the objective up to a constant.
        shift = -value - self.objective(weights, tables, log_one, 0.7, 1.5)
        other = z + 0.3
        assert -negative(other)[0] - self.objective(
            from_coordinates(other), tables, log_one, 0.7, 1.5
        ) == pytest.approx(shift, abs=1e-9)

    def test_one_component_in_closed_form(self):
        got = update.update_weights(np.array([7.0]), np.array([3.0]), np.array([0.2]), 2.0, 1.5)
        assert got[0] == pytest.approx((7.0 + 2.0) / (3.0 + 1.5), rel=1e-4)

    def test_never_below_the_floor(self):
        tables = np.zeros(40)
        new = update.update_weights(tables, np.full(40, 1e12), np.full(40, 1e-30), 0.1, 1.0)
        assert np.all(new >= update.WEIGHT_FLOOR)

    def test_does_not_lower_its_objective_from_its_own_answer(self):
        tables, log_one, weights = self.draw(5, 8)
        values = []
        for _ in range(5):
            weights = update.update_weights(tables, log_one, weights, 1.2, 1.0)
            values.append(self.objective(weights, tables, log_one, 1.2, 1.0))
        assert np.all(np.diff(values) >= -1e-12 * abs(values[0]))


class TestScalars:
    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize("start", [1e-3, 1.0, 1e3])
    def test_alpha(self, seed, start):
        rng = np.random.default_rng(seed)
        weights, c, a, b = (
            rng.gamma(0.3, 1.0, 8) + 1e-6,
            rng.gamma(2.0),
            1.0 + rng.random(),
            0.01 + rng.random(),
        )

        def value(log_alpha):
            alpha = np.exp(log_alpha)
            return update.log_prior_weights(weights, alpha, c) + a * log_alpha - b * alpha

        alpha = update.update_alpha(weights, start, c, a, b)
        assert slope_of(value, np.log(alpha)) == pytest.approx(0.0, abs=1e-6)
        for other in np.linspace(-5, 5, 41):
            assert value(np.log(alpha) + other) <= value(np.log(alpha)) + 1e-9

    def test_alpha_of_one_component(self):
        alpha = update.update_alpha(np.array([0.5]), 1.0, 2.0, 1.0, 0.01)
        slope = slope_of(
            lambda t: update.log_prior_weights(np.array([0.5]), np.exp(t), 2.0) + t - 0.01 * np.exp(t),
            np.log(alpha),
        )
        assert slope == pytest.approx(0.0, abs=1e-7)

    def test_c(self):
        weights = np.array([0.4, 0.3, 0.01])
        c = update.update_c(weights, 1.7, 1.2, 0.3)
        value = lambda t: update.log_prior_weights(weights, 1.7, np.exp(t)) + 1.2 * t - 0.3 * np.exp(t)  # noqa: E731
        assert slope_of(value, np.log(c)) == pytest.approx(0.0, abs=1e-8)

    @pytest.mark.parametrize("a0", [1e-3, 0.3, 50.0])
    def test_a0(self, a0):
        rng = np.random.default_rng(0)
        shape, rate = rng.gamma(0.5, 3.0, (9, 4)) + 0.1, rng.gamma(4.0, 1.0, 4)
        found = update.update_a0(shape, rate, a0, 1.3)
        mean_log = digamma(shape) - np.log(rate)
        value = lambda a: (a * np.log(1.3) - gammaln(a) + (a - 1) * mean_log).sum()  # noqa: E731
        assert slope_of(value, found) == pytest.approx(0.0, abs=1e-5)
        assert value(found) >= max(value(found * 1.1), value(found / 1.1))

    def test_a0_with_a_rate_for_each_entry(self):
        rng = np.random.default_rng(1)
        shape, rate = rng.gamma(2.0, 1.0, (5, 3)), rng.gamma(4.0, 1.0, 3)
        full = np.broadcast_to(rate, shape.shape)
        assert update.update_a0(shape, full, 0.3, 1.0) == pytest.approx(update.update_a0(shape, rate, 0.3, 1.0))
        one, other = (update.update_a0_collapsed(7.3, r, 5, 1.0) for r in (rate, full))
        assert one == pytest.approx(other)

    def test_collapsed_a0_recovers_the_shape_that_drew_the_atoms(self):
        """Counts c_ki ~ Poisson(a_ki X_k), a_ki ~ Gamma(a0, b0): steps end near the a0 they came from."""
        rng = np.random.default_rng(2)
        truth, b0, exposure = 0.4, 2.0, np.array([300.0, 800.0, 2000.0])
        counts = rng.poisson(rng.gamma(truth, 1 / b0, (3000, 3)) * exposure).astype(float)
        a0 = 5.0
        for _ in range(200):
            tables = update.expected_tables(counts, np.asarray(a0), collapsed=True).sum()
            a0 = update.update_a0_collapsed(tables, exposure, len(counts), b0)
        assert a0 == pytest.approx(truth, rel=0.1)

    def test_atom_total_solves_its_equation(self):
        rng = np.random.default_rng(3)
        shape, share, omega = (rng.gamma(2.0, 10.0, 6) for _ in range(3))
        log_total = rng.normal(size=6)
        share[0], omega[0] = 0.0, 0.0  # a component that no row uses
        total = update.solve_atom_total(shape, 0.7, share, omega, log_total)
        left = 0.7 * total + share + omega * (np.log(total) - log_total)
        assert_allclose(left, shape, rtol=1e-10)
        assert total[0] == pytest.approx(shape[0] / 0.7)

    def test_locations_maximise_their_quadratic(self):
        rng = np.random.default_rng(4)
        factor = rng.normal(size=(5, 3, 4))
        precision, linear = factor @ factor.transpose(0, 2, 1), rng.normal(size=(5, 3))
        found = update.update_locations(precision, linear, 0.2)
        value = lambda l: (  # noqa: E731, E741
            -0.5 * np.einsum("kp,kpq,kq->", l, precision, l) - 0.5 * (l**2).sum() / 0.2 + (linear * l).sum()
        )
        assert np.abs(gradient_of(value, found)).max() < 1e-7


class TestTables:
    @given(st.one_of(st.just(0.0), st.floats(1.0, 1e4)), positive, positive)
    def test_lower_bound_that_touches(self, n, w, other):
        """lnGamma(w' + n) - lnGamma(w') >= the same at w + t (log w' - log w), for every w' and n >= 1."""
        t = float(update.expected_tables(np.array(n), np.array(w), collapsed=False))
        exact = lambda x: gammaln(x + n) - gammaln(x)  # noqa: E731
        scale = 1.0 + abs(gammaln(other + n)) + abs(gammaln(w + n))
        assert exact(other) >= exact(w) + t * (np.log(other) - np.log(w)) - 1e-11 * scale

    @given(st.floats(1e-3, 5.0), positive, st.floats(1e-3, 1e3))
    def test_step_to_the_mode_of_the_surrogate_never_falls(self, n, w, loss):
        """For 0 < n < 1 the surrogate t log w can lie above; its mode t / loss is an improvement even so."""
        t = float(update.expected_tables(np.array(n), np.array(w), collapsed=False))
        value = lambda x: gammaln(x + n) - gammaln(x) - loss * x  # noqa: E731
        rounding = 1e-11 * (1.0 + abs(gammaln(w + n)) + abs(gammaln(t / loss + n)) + loss * w)
        assert value(t / loss) >= value(w) - rounding

    @pytest.mark.parametrize("n", [0.0, 0.01, 1.0, 30.0])
    @pytest.mark.parametrize("w", [1e-3, 0.5, 10.0])
    def test_slope_is_that_of_the_exact_function(self, n, w):
        t = float(update.expected_tables(np.array(n), np.array(w), collapsed=False))
        by_log = slope_of(lambda z: gammaln(np.exp(z) + n) - gammaln(np.exp(z)), np.log(w))
        assert t == pytest.approx(by_log, rel=1e-6, abs=1e-9)

    @pytest.mark.parametrize("w", [1e-4, 0.01, 0.3, 2.0, 20.0])
    @pytest.mark.parametrize("n", [1e-9, 1e-3, 0.1, 1.0, 3.0, 40.0, 1000.0])
    def test_collapsed_form_against_the_sum_over_poisson_counts(self, n, w):
        """E w (psi(w + N) - psi(w)), N ~ Poisson(n): at most 7% high (Jensen; near n = 2), never low."""
        size = np.arange(int(n + 40 * np.sqrt(n + 1) + 60))
        exact = stats.poisson.pmf(size, n) @ (w * (digamma(w + size) - digamma(w)))
        got = float(update.expected_tables(np.array(n), np.array(w), collapsed=True))
        assert got >= exact * (1 - 1e-6)
        assert got <= exact * 1.07

    def test_no_counts_no_tables(self):
        for collapsed in (False, True):
            assert_array_equal(update.expected_tables(np.zeros(3), np.array([1e-9, 0.1, 5.0]), collapsed), 0.0)


class Held:
    """A problem with q(f) and the allocations held, so that the bound is a function of the globals alone."""

    def __init__(self, problem):
        self.scheme, self.model, self.problem = problem.scheme, problem.scheme.model, problem
        self.batch, g = problem.batch(), problem.globals
        self.view = self.scheme.view(g)
        self.solution = self.scheme.solve(self.view, self.batch, None, COLD)
        self.phi = allocations(self.solution, self.view, self.batch)
        mean, packed = self.solution.field.mean, self.solution.field.covariance
        self.field = mean, unpack(packed, mean.shape[1])
        self.looked = problem.rows.exposure, problem.missing

    def bound(self, g, contact=None):
        return dense_bound(self.model, g, self.problem.y, self.phi, *self.field, *self.looked, contact=contact)

    def contact(self, g):
        return contact_points(self.model, g, self.problem.y, *self.field, *self.looked)

    def step(self, g):
        statistics = held_statistics(self.scheme, g, self.batch, self.solution, self.phi)
        return self.scheme.global_step(State(g), statistics, 1.0).globals


def along(g, name):
    """How a displacement moves the globals along one of their coordinates, and the displacement zero."""
    if name == "weights":
        z = coordinates(g.weights)
        return lambda t: replace(g, weights=from_coordinates(z + t)), np.zeros_like(z)
    if name == "locations":
        return lambda t: replace(g, locations=g.locations + t), np.zeros_like(g.locations)
    if name == "a0":
        return lambda t: replace(g, hyper=replace(g.hyper, a0=g.hyper.a0 * np.exp(t[0]))), np.zeros(1)
    value = np.asarray(getattr(g, name))
    return lambda t: replace(g, **{name: value * np.exp(t)}), np.zeros_like(value)


COORDINATES = ("weights", "alpha", "c", "atom_shape", "atom_rate", "locations", "a0")


def largest_slope(value, g, name):
    """Of ``value(globals)`` along every direction of one coordinate."""
    move, zero = along(g, name)
    return np.abs(gradient_of(lambda t: value(move(t)), zero)).max(initial=0.0)


@pytest.mark.parametrize("model", BOUNDED)
@pytest.mark.parametrize("exposure", [False, True])
def test_each_update_of_a_global_step_is_stationary(make_problem, model, exposure):
    """One step from the start, each update with the others as it saw them: the surrogate's slope is zero.

    The surrogate is the bound with the points where Jaakkola and Jordan's touches held where they were.
    """
    held = Held(make_problem(model, exposure=exposure, n_rows=8, n_columns=6, n_components=3))
    old = held.problem.globals
    new = held.step(old)
    contact = held.contact(old)
    tolerance = 1e-4  # central differences of a value of some hundreds

    def largest(name, g):
        return largest_slope(lambda x: held.bound(x, contact), g, name)

    middle = replace(old, weights=new.weights, alpha=new.alpha)
    assert largest("alpha", middle) < tolerance
    middle = replace(middle, c=new.c)
    assert largest("c", middle) < tolerance
    middle = replace(middle, atom_shape=new.atom_shape, atom_rate=new.atom_rate)
    assert largest("atom_shape", middle) < tolerance
    assert largest("atom_rate", middle) < tolerance
    middle = replace(middle, locations=new.locations)
    assert largest("locations", middle) < tolerance
    assert largest("a0", new) < tolerance
    for name in COORDINATES:  # none of these would pass at the start
        assert largest(name, old) > 100 * tolerance or (name == "locations" and model != "cnpf")


@pytest.mark.parametrize("model", BOUNDED)
@pytest.mark.parametrize(("exposure", "missing"), [(False, False), (True, False), (True, True)])
def test_global_steps_end_at_a_stationary_point_of_the_bound(make_problem, model, exposure, missing):
    """Rows held, global steps repeated: at their fixed point every slope of the exact bound is zero."""
    held = Held(make_problem(model, exposure=exposure, missing=missing, n_rows=8, n_columns=6, n_components=3))
    g, values = held.problem.globals, []
    for step in range(150):
        g = held.step(g)
        if step % 10 == 0:
            values.append(held.bound(g))
    assert np.all(np.diff(values) >= -1e-9 * abs(values[-1]))
    for name in COORDINATES:
        # The weights are found by a quasi-Newton search that stops once the value changes by 1e-9 of itself.
        assert largest_slope(held.bound, g, name) < 5e-3, name
