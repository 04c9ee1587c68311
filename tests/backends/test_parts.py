"""Every compiled function has a twin. Those that only compiled functions call are compared with theirs here.

Steps are compared with theirs in `test_twins`, draws in `test_drawn_twins`.
"""

import importlib
import pkgutil
import re
from functools import cache
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numba.extending import _Intrinsic
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special

from cormorant import backends
from cormorant.backends import (
    cpu,
    features,
    logistic,
    numpy_features,
    numpy_random,
    numpy_reference,
    numpy_sampling,
    packing,
    prefetch,
    random,
    sampling,
    scanning,
    search,
    stacks,
    vectors,
)

LANES = stacks.LANES
PRECISIONS = pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 2e-5)])


def nothing(*arguments):
    """The twin of what only asks for memory: no value, and nothing changes."""


TWINS = {
    cpu.digamma: special.digamma,
    cpu._propensities: numpy_reference.propensities,
    cpu._share_row: numpy_reference.share_row,
    cpu._allocate: numpy_reference.allocate,
    cpu._column_totals: numpy_reference.column_totals,
    cpu._entry_rates: numpy_reference.entry_rates,
    features._choose: numpy_features.choose,
    features._draw_gaussian: numpy_features.gain_gaussian,
    features._draw_poisson: numpy_features.gain_poisson,
    features._draw_bernoulli: numpy_features.gain_bernoulli,
    features._log_product: np.log,
    features._column_products: numpy_features.column_products,
    features._solve_probabilities: numpy_features.solve_probabilities,
    logistic.exp_negative: np.exp,
    logistic.log_positive: np.log,
    logistic.log_one_plus: np.log1p,
    logistic._log_ratio: np.arctanh,
    logistic._half_tanh: numpy_reference.half_tanh,
    logistic.logistic_bound: numpy_reference.logistic_bound,
    logistic.logistic: numpy_reference.logistic,
    logistic.negative_binomial: numpy_reference.negative_binomial,
    logistic.softplus_averages: numpy_reference.softplus_averages,
    logistic._softplus: numpy_reference.softplus,
    logistic._add_node: numpy_reference.softplus_terms,
    prefetch.prefetch: nothing,
    random._splitmix: numpy_random.splitmix,
    random.stream: numpy_random.stream,
    random._word: numpy_random.word,
    random._unit: numpy_random.unit,
    random.uniform: numpy_random.uniform,
    random.normal: numpy_random.normal,
    random.gamma: numpy_random.gamma,
    random.gamma_above_one: numpy_random.gamma_above_one,
    random.binomial: numpy_random.binomial,
    random.tables: numpy_random.tables,
    random._inverse_gaussian: numpy_random.inverse_gaussian,
    random.polya_gamma: numpy_random.polya_gamma,
    sampling._share_out: numpy_sampling.share_out,
    sampling._draw_counts: numpy_sampling.counts,
    sampling._draw_gammas: numpy_sampling.gammas,
    sampling._draw_uniforms: numpy_sampling.uniforms,
    sampling._draw_tables: numpy_sampling.tables,
    sampling._draw_polya_gammas: numpy_sampling.polya_gammas,
    sampling._content: numpy_sampling.content_ids,
    scanning._weight: numpy_sampling.weight,
    scanning.scan: numpy_sampling.scan,
    search.room: np.zeros,
    search.fetch: nothing,
    search.sum_up: numpy_sampling.sum_up,
    search.find: numpy_sampling.find,
    search.redraw: numpy_sampling.redraw,
    stacks.pack_products: packing.pack_products,
    stacks._load: np.transpose,
    stacks._store: np.transpose,
    stacks._factor: np.linalg.cholesky,
    stacks._forward: np.linalg.solve,
    stacks._backward: np.linalg.solve,
    stacks._half_log_determinant: np.linalg.slogdet,
    stacks._inverse: np.linalg.inv,
    stacks._moments: numpy_reference.gaussian_moments,
    stacks._log_densities: numpy_reference.gaussian_log_densities,
    stacks._draw: numpy_sampling.proposals,
    vectors.dots: np.matmul,
    vectors.add_up: np.matmul,
    vectors.subtract: np.einsum,
}


def test_every_compiled_function_has_a_twin():
    """A new one without a line above, and a comparison to go with it, is noticed here."""
    found = set()
    for module in pkgutil.iter_modules(backends.__path__, backends.__name__ + "."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Dispatcher | _Intrinsic):
                found.add(value)
    assert {f"{f.__module__}.{f.__name__}" for f in found - TWINS.keys()} == set()
    assert len(found) == len(TWINS)
    package = Path(backends.__file__).parents[1]
    elsewhere = [path for path in package.rglob("*.py") if path.parent.name != "backends"]
    assert [path.name for path in elsewhere if re.search(r"^\s*(import|from) numba", path.read_text(), re.M)] == []


@cache
def called(function):
    """Functions that only compiled ones call, as Python can call them."""
    return numba.njit(lambda *arguments: function(*arguments))


STREAM = numpy_random.stream(5, 6)
COUNTS_OF_TABLES = [(1.0, 0.3), (33.0, 0.0), (500.0, 3.0), (1e6, 0.7), (1e9, 2e6)]
SHAPES = [0.0, 1e-320, 1e-12, 0.2, 0.999, 1.0, 7.5, 1e5]


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (random._word, [()]),
        (random.uniform, [()]),
        (random.normal, [()]),
        (random.gamma, [(shape,) for shape in SHAPES]),
        (random.gamma_above_one, [(1.0,), (1.2,), (1e5,)]),
        (random.binomial, [(n, p) for n in (0, 1, 16, 17, 1000, 10**12) for p in (0.0, 1e-9, 0.3, 1.0)]),
        (random.tables, COUNTS_OF_TABLES),
        (random._inverse_gaussian, [(mean, spread) for mean in (0.0, 0.3) for spread in (1e-3, 5.0, 1e9, np.inf)]),
        (random.polya_gamma, [(b, c) for b in SHAPES for c in (0.0, 0.5, -4.0, 40.0)]),
    ],
    ids=lambda of: getattr(of, "__name__", ""),
)
def test_draws_and_where_they_leave_the_stream(function, arguments):
    s, twins_s, call, twin = np.array(STREAM, np.uint64), list(STREAM), called(function), TWINS[function]
    for _ in range(300 // len(arguments)):
        for each in arguments:
            assert_allclose(call(s, *each), twin(twins_s, *each), rtol=1e-9, atol=1e-15)
            assert_array_equal(s, np.array(twins_s, np.uint64))


def test_streams():
    splitmix, stream, unit = called(random._splitmix), called(random.stream), called(random._unit)
    for word in (0, 1, 2**53 - 1, 2**63, 2**64 - 1):
        assert splitmix(np.uint64(word)) == numpy_random.splitmix(word)
        assert unit(np.uint64(word)) == numpy_random.unit(word)
        assert 0.0 < unit(np.uint64(word)) <= 1.0
        for row in (0, 2**63, 2**64 - 2):
            assert stream(np.uint64(word), np.uint64(row)).tolist() == numpy_random.stream(word, row)


@pytest.mark.parametrize("n_components", [1, 3, 16, 40])
def test_sums_and_searches(n_components):
    """In the same order, to the last bit; and every component with a weight is found where the sums pass it."""
    rng = np.random.default_rng(n_components)
    x, atoms = (vectors.pad(rng.gamma(0.3, size=(4, n_components)), np.float32) for _ in range(2))
    x[1] = 0.0
    sums, sum_up, find = search.room(2, atoms), called(search.sum_up), called(search.find)
    assert sums.shape == (2, atoms.shape[1] + vectors.LANES)
    assert not sums.any()
    for u, i, a in ((0, 1, 0.0), (1, 2, 0.5), (2, 3, 0.5)):
        total = sum_up(x, u, atoms, i, np.float32(a), sums, 1)
        weights = x[u] * (atoms[i] + np.float32(a))
        down, along = numpy_sampling.sum_up(weights)
        assert_array_equal(sums[1], np.append(down, along))
        assert total == along[-1] == pytest.approx(weights.sum(), rel=1e-6)
        for target in np.concatenate([along, along[-1] * rng.random(100, np.float32)]):
            assert find(sums, 1, target) == numpy_sampling.find((down, along), target)
    assert not sums[0].any()


@pytest.mark.parametrize("n_components", [1, 3, 16, 40])
def test_a_search_after_two_have_changed(n_components):
    """One component came, one has left, both or neither, and it may be the same: the count has left it."""
    rng = np.random.default_rng(n_components)
    table = vectors.pad(rng.integers(1, 4, (3, n_components)), np.float32)
    h, kept = vectors.pad(rng.gamma(0.5, size=(1, n_components)), np.float32)[0], table.copy()
    twins_h, sums, redraw = h.copy(), np.zeros_like(h), called(search.redraw)
    for u in rng.random(400, np.float32):
        came, left, i = rng.integers(-1, n_components, 2).astype(np.int32)[[0, 1, 1]]
        changed = (came, np.float32(rng.gamma(0.5)), left, np.float32(rng.gamma(0.5)), np.float32(rng.integers(2)))
        found = redraw(h, table, i % 3, np.float32(0.1), sums, u, *changed)
        assert found == numpy_sampling.redraw(twins_h, table, i % 3, np.float32(0.1), u, *changed)
        assert_array_equal(h, twins_h)
    assert_array_equal(table, kept)
    for each in ((0.0, 3.0, 0.7, 2.0), (1e-9, -1.0, 1.0, 1e-3), (0.5, 0.0, 1e-9, 1.0)):
        assert scanning._weight(*each) == numpy_sampling.weight(*each)


def test_asking_for_memory_changes_nothing():
    atoms = np.arange(64.0).reshape(2, 32)
    assert called(prefetch.prefetch)(atoms, 1, 16) is nothing(atoms, 1, 16)
    assert search.fetch(atoms, 1) is nothing(atoms, 1)
    assert_array_equal(atoms, np.arange(64.0).reshape(2, 32))


@pytest.mark.parametrize("left", [0, 65, 10**12])
@pytest.mark.parametrize("share", [[1.0], [0.0], [0.0, 1e-30, 1e30, 0.0], [0.2, 0.0, 3e-9, 0.8], [0.0, 0.0, 2.0]])
def test_many_counts_at_a_time(left, share):
    s, twins_s, x = np.array(STREAM, np.uint64), list(STREAM), np.array(share, np.float32)
    found = np.full(len(x), -1)
    called(sampling._share_out)(s, left, x, np.ones_like(x), found)
    assert_array_equal(found, numpy_sampling.share_out(twins_s, left, x, np.ones_like(x)))
    assert_array_equal(s, np.array(twins_s, np.uint64))
    assert found.sum() == left


@PRECISIONS
def test_sums_over_components(dtype, tolerance):
    rng = np.random.default_rng(1)
    atoms = vectors.pad(rng.gamma(0.5, size=(9, 21)).astype(dtype))
    x, total, i, r = atoms[8].copy(), atoms[7].copy(), (3, 0, 3, 5), tuple(rng.random(4).astype(dtype))
    assert_allclose(called(vectors.dots)(x, atoms, i), np.matmul(atoms[list(i)], x), rtol=tolerance)
    called(vectors.add_up)(total, atoms, i, r)
    assert_allclose(total, atoms[7] + np.matmul(r, atoms[list(i)]), rtol=tolerance)


@PRECISIONS
@pytest.mark.parametrize("n_entries", [0, 1, 5])
def test_the_counts_of_a_row(dtype, tolerance, n_entries):
    rng = np.random.default_rng(2)
    atoms = vectors.pad(rng.gamma(0.5, size=(9, 21)).astype(dtype))
    theta, total = vectors.aligned((1, 32), dtype)[0], np.ones(32, dtype)
    theta[:21] = rng.random(21)
    indices, y, ratio = rng.integers(0, 9, 7).astype(np.int32), rng.random(7).astype(dtype), np.zeros(7, dtype)
    called(cpu._share_row)(1, 1 + n_entries, indices, y, atoms, theta, ratio, total)
    row = slice(1, 1 + n_entries)
    expected = numpy_reference.share_row(atoms[indices[row]], y[row], theta)
    assert_allclose(ratio[row], expected[0], rtol=tolerance)
    assert_allclose(total, expected[1], rtol=tolerance)
    assert not ratio[0]
    assert not ratio[1 + n_entries :].any()


@PRECISIONS
@pytest.mark.parametrize("zero_order", [True, False])
def test_propensities(dtype, tolerance, zero_order):
    rng = np.random.default_rng(3)
    weights, log_scale = rng.gamma(0.5, size=6) + 1e-3, 5.0 * rng.normal(size=6)
    n, theta, floor = rng.gamma(1.0, size=6).astype(dtype), np.empty(6, dtype), dtype(1e-3)
    scale = np.exp(log_scale - log_scale.max())
    called(cpu._propensities)(weights, n, log_scale, scale, zero_order, floor, theta)
    expected = numpy_reference.propensities(weights + n, log_scale, zero_order, floor)
    # In single precision the logarithm is rounded before its exponential is taken.
    assert_allclose(theta, expected, rtol=tolerance)
    assert theta.max() == 1.0
    assert theta.min() == floor


def test_elementary_functions():
    for s in np.linspace(-0.172, 0.172, 101):
        assert logistic._log_ratio(s) == pytest.approx(2.0 * np.arctanh(s), rel=1e-15, abs=1e-300)
    half_tanh = called(logistic._half_tanh)
    for c in np.append(np.geomspace(1e-12, 700.0, 101), 0.0):
        assert half_tanh(c, np.exp(-c)) == pytest.approx(float(numpy_reference.half_tanh(c)), rel=1e-10)
    ratios = np.exp(np.random.default_rng(4).normal(0.0, 40.0, 50))
    for n in (0, 1, 2, 17, 50):
        assert features._log_product(ratios[:n].copy()) == pytest.approx(np.log(ratios[:n]).sum(), rel=1e-12)


def test_a_node_of_the_softplus_link():
    mean, spread = np.array([-200.0, -3.0, 0.0, 2.0, 200.0]), np.array([0.0, 1.0, 2.0, 0.5, 0.0])
    rate, (curve, sigma, r) = np.array([0.5, 2.0, 1.0, 1e-3, 7.0]), np.empty((3, 5))
    called(logistic._softplus)(mean, spread, 0.7, curve, sigma, r)
    expected = numpy_reference.softplus(mean + 0.7 * spread)
    for found, twin in zip((curve, sigma, r), expected, strict=True):
        assert_allclose(found, twin, rtol=1e-13)
    out = np.ones((7, 5))
    called(logistic._add_node)(0.3, rate, curve, sigma, r, 1.0 / (1.0 + rate * r), out)
    # The curvature of log r is a difference of two nearly equal numbers where F is far below zero.
    assert_allclose(out, 1.0 + 0.3 * numpy_reference.softplus_terms(rate, *expected), rtol=1e-12)


def test_a_feature_is_chosen():
    z, probability = np.array([[0.0, 1.0]]), np.zeros((1, 2))
    for log_odds in (-1e4, -700.1, -2.0, 0.0, 2.0, 1e4):
        for k in (0, 1):
            s, twins_s, before = np.array(STREAM, np.uint64), list(STREAM), z[0, k]
            change = features._choose(s, log_odds, z, probability, 0, k)
            p, chosen = numpy_features.choose(twins_s, log_odds)
            assert (z[0, k], change) == (chosen, chosen - before)
            assert probability[0, k] == pytest.approx(p, rel=1e-14)
            assert_array_equal(s, np.array(twins_s, np.uint64))


class TestStacks:
    """Of entries x lanes: packed matrices, a lane each."""

    SIZE = 7

    def lanes(self, dtype):
        """Packed positive matrices and vectors, entries x lanes; the matrices whole, and their factors."""
        rng = np.random.default_rng(5)
        root = rng.normal(size=(LANES, self.SIZE, 2 * self.SIZE))
        full = root @ root.transpose(0, 2, 1)
        packed, y = full[:, *np.tril_indices(self.SIZE)], rng.normal(size=(LANES, self.SIZE))
        return packed.T.astype(dtype).copy(), y.T.astype(dtype).copy(), full, np.linalg.cholesky(full)

    @PRECISIONS
    def test_along_the_lanes(self, dtype, tolerance):
        x, y, out = np.random.default_rng(6).normal(size=(3, 9, LANES)).astype(dtype)
        expected = out.astype(float)
        for row, n in ((1, 0), (2, 1), (3, 4), (4, 6), (5, 7)):
            called(vectors.subtract)(out, row, x, 2, y, 1, n)
            expected[row] -= np.einsum("rl,rl->l", x[2 : 2 + n], y[1 : 1 + n])
        assert_allclose(out, expected, rtol=tolerance, atol=tolerance)

    @PRECISIONS
    @pytest.mark.parametrize("n", [1, LANES - 1, LANES])
    def test_there_and_back(self, dtype, tolerance, n):
        """Rows 2 to n + 2 of a stack, more entries than a tile has; lanes left over repeat the first."""
        stack = np.random.default_rng(7).normal(size=(n + 4, stacks.TILE + 3))
        lanes, back = np.empty((stack.shape[1], LANES), dtype), np.zeros(stack.shape)
        called(stacks._load)(2, 2 + n, stack, lanes)
        rows = [2 + lane if lane < n else 2 for lane in range(LANES)]
        assert_array_equal(lanes, np.transpose(stack[rows]).astype(dtype))
        called(stacks._store)(2, 2 + n, lanes, back)
        assert_array_equal(back[2 : 2 + n], np.transpose(lanes)[:n])
        assert not back[[0, 1, -2, -1]].any()

    @PRECISIONS
    def test_factors_and_what_follows_from_them(self, dtype, tolerance):
        a, y, full, factor = self.lanes(dtype)
        size, given, scale = self.SIZE, y.copy(), tolerance * np.abs(full).max()
        called(stacks._factor)(size, a)
        inverted = factor.copy()
        inverted[:, range(size), range(size)] **= -1  # the diagonal holds 1 / L_pp
        assert_allclose(a.T, inverted[:, *np.tril_indices(size)], rtol=10 * tolerance, atol=scale)
        called(stacks._forward)(size, a, y)
        assert_allclose(y.T, np.linalg.solve(factor, given.T[..., None])[..., 0], rtol=scale, atol=scale)
        called(stacks._backward)(size, a, y)
        assert_allclose(y.T, np.linalg.solve(full, given.T[..., None])[..., 0], rtol=scale, atol=scale)
        half = np.empty(LANES)
        called(stacks._half_log_determinant)(size, a, half)
        assert_allclose(half, 0.5 * np.linalg.slogdet(full)[1], rtol=tolerance)
        called(stacks._inverse)(size, a, np.empty((size * size, LANES), dtype))
        assert_allclose(a.T, np.linalg.inv(full)[:, *np.tril_indices(size)], rtol=scale, atol=scale)
