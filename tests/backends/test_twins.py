"""Compiled functions against their NumPy twins, in both precisions and for any number of threads."""

import io
import os
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, special, stats

from cormorant.backends import cpu, logistic, numpy_reference, packing, vectors
from cormorant.backends.compiled import Threads, resolve_jobs, single_blas_thread
from cormorant.backends.select import select_backend
from cormorant.backends.stacks import LANES

# Sums are taken in another order; in single precision log theta is rounded too.
TOLERANCE = {np.float64: 1e-11, np.float32: 2e-4}


def draw_problem(dtype, n_rows=23, n_columns=17, n_components=6, largest=5, seed=0):
    """Arguments of ``allocate`` up to the sweeps; rows 0, 7 and the last have no entries."""
    rng = np.random.default_rng(seed)
    y = rng.poisson(0.6, (n_rows, n_columns)) * rng.integers(1, largest + 1, (n_rows, n_columns))
    y[[0, 7, -1]] = 0
    y = sparse.csr_matrix(y)
    return (
        y.indptr.astype(np.int64),
        y.indices,
        y.data.astype(dtype),
        rng.gamma(0.3, 1.0, (n_columns, n_components)).astype(dtype) + dtype(1e-6),
        rng.gamma(0.5, 1.0, n_components) + 0.01,
        rng.normal(0.0, 2.0, (n_rows, n_components)),
        rng.gamma(1.0, 1.0, (n_rows, n_components)),
    )


def by_column(indptr, indices, n_columns):
    """Offsets, rows and the order of the entries by column."""
    order = np.lexsort((indices, np.zeros_like(indices)))
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(indices, minlength=n_columns))])
    return offsets.astype(np.int64), rows[order], order


class TestAllocate:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("zero_order", [True, False])
    @pytest.mark.parametrize("sweeps", [1, 3])
    @pytest.mark.parametrize(("n_components", "largest"), [(6, 5), (1, 5), (6, 1_000_000), (16, 5), (50, 5)])
    def test_equals_twin(self, dtype, zero_order, sweeps, n_components, largest):
        problem = draw_problem(dtype, n_components=n_components, largest=largest)
        compiled = cpu.CpuBackend().allocate(*problem, sweeps, zero_order)
        twin = numpy_reference.allocate(*problem, sweeps, zero_order)
        tolerance = TOLERANCE[dtype]
        for got, expected in zip(compiled, twin, strict=True):
            assert got.dtype == expected.dtype
            assert np.isfinite(got).all()
        n, theta, ratio = zip(compiled, twin, strict=True)
        assert_allclose(*n, rtol=tolerance, atol=tolerance)
        assert_allclose(*theta, rtol=tolerance, atol=tolerance)
        assert_allclose(*ratio, rtol=tolerance)

    @pytest.mark.parametrize("n_entries", range(1, 10))
    def test_rows_of_few_entries(self, n_entries):
        """Entries go four at a time; whatever is left over counts once."""
        rng, y = np.random.default_rng(n_entries), np.arange(1.0, n_entries + 1.0)
        problem = (
            np.array([0, n_entries]), rng.permutation(12)[:n_entries].astype(np.int32), y,
            rng.gamma(0.5, size=(12, 20)), np.full(20, 0.3), np.zeros((1, 20)), np.ones((1, 20)),
        )  # fmt: skip
        n, theta, ratio = cpu.CpuBackend().allocate(*problem, 3, True)
        for got, expected in zip((n, theta, ratio), numpy_reference.allocate(*problem, 3, True), strict=True):
            assert_allclose(got, expected, rtol=1e-11)
        assert n.sum() == pytest.approx(y.sum())

    def test_atoms_that_are_padded_already(self):
        problem = draw_problem(np.float32, n_components=21)
        padded = vectors.pad(problem[3])
        assert padded.shape[1] == 32
        assert padded.ctypes.data % vectors.LINE == 0
        assert vectors.pad(padded) is padded
        for backend in (cpu.CpuBackend(), numpy_reference):
            found = backend.allocate(*problem, 2, True)
            for got, expected in zip(backend.allocate(*problem[:3], padded, *problem[4:], 2, True), found, strict=True):
                assert_array_equal(got, expected)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_shares_out_every_count(self, dtype):
        problem = draw_problem(dtype, largest=1000)
        n, *_ = cpu.CpuBackend().allocate(*problem, 2, False)
        totals = np.array([problem[2][a:b].sum() for a, b in zip(problem[0], problem[0][1:], strict=False)])
        assert_allclose(n.sum(axis=1), totals, rtol=50 * np.finfo(dtype).eps)

    def test_leaves_its_arguments_alone(self):
        problem = draw_problem(np.float64)
        before = [array.copy() for array in problem]
        cpu.CpuBackend().allocate(*problem, 3, False)
        for array, copy in zip(problem, before, strict=True):
            assert_array_equal(array, copy)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_far_apart_scales_stay_finite(self, dtype):
        problem = list(draw_problem(dtype))
        problem[4] = np.full(6, 1e-10)  # weights whose digamma is -1e10
        problem[6] = np.zeros_like(problem[6])
        problem[5] = problem[5] * 300.0
        for zero_order in (True, False):
            for array in cpu.CpuBackend().allocate(*problem, 3, zero_order):
                assert np.isfinite(array).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_components", [1, 6])
def test_column_totals_equal_twin(dtype, n_components):
    indptr, indices, _, atoms, *_ = problem = draw_problem(dtype, n_components=n_components, n_columns=19)
    _, theta, ratio = numpy_reference.allocate(*problem, 2, True)
    offsets, rows, order = by_column(indptr, indices, len(atoms))
    got = cpu.CpuBackend().column_totals(offsets, rows, ratio[order], theta, atoms)
    assert got.dtype == np.float64
    assert_allclose(got, numpy_reference.column_totals(offsets, rows, ratio[order], theta, atoms), rtol=1e-12)
    dense = np.zeros(atoms.shape)  # straight from the definition
    for u, i, r in zip(rows, np.repeat(np.arange(len(atoms)), np.diff(offsets)), ratio[order], strict=True):
        dense[i] += float(r) * theta[u].astype(float) * atoms[i]
    assert_allclose(got, dense, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_entry_rates_equal_twin_and_product(dtype):
    indptr, indices, _, atoms, _, x, _ = draw_problem(dtype)
    x, tolerance = np.exp(x).astype(dtype), 1e-13 if dtype is np.float64 else 1e-6
    got = cpu.CpuBackend().entry_rates(indptr, indices, x, atoms)
    assert_allclose(got, numpy_reference.entry_rates(indptr, indices, x, atoms), rtol=tolerance)
    rows = np.repeat(np.arange(len(x)), np.diff(indptr))
    assert_allclose(got, (x @ atoms.T)[rows, indices], rtol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("per_row", [False, True])
def test_logistic_bound_equals_twin(per_row, dtype):
    """The variances come in the precision of the covariances that they are made from."""
    rng = np.random.default_rng(3)
    mean, variance = rng.normal(0, 5, (11, 4)), rng.gamma(0.5, 3.0, (11, 4))
    mean[:4] = np.array([-700.0, 700.0, 0.0, 1e-7])[:, None]
    variance[:3] = 0.0
    log_rate = rng.normal(0, 2, (11, 4) if per_row else 4) * 1.0
    log_rate[..., 0] = 0.0  # with the zero mean: eta = c = 0
    variance = variance.astype(dtype)
    got = cpu.CpuBackend().logistic_bound(mean, variance, log_rate)
    for array, twin in zip(got, numpy_reference.logistic_bound(mean, variance, log_rate), strict=True):
        assert_allclose(array, twin, rtol=1e-13, atol=1e-14)
        assert np.isfinite(array).all()


@pytest.mark.parametrize("size", [1, 2, 7, 26])
@pytest.mark.parametrize("n", [1, LANES - 1, LANES, 2 * LANES + 3])
def test_stacks_equal_twins(size, n):
    precision, linear, at = draw_stack(n, size)
    backend, p = cpu.CpuBackend(), np.tril_indices(size)
    mean, covariance = backend.gaussian_moments(precision, linear)
    expected_mean, expected = numpy_reference.gaussian_moments(precision, linear)
    assert_allclose(mean, expected_mean, rtol=1e-8, atol=1e-10 * np.abs(expected_mean).max())
    assert_allclose(covariance, expected, rtol=1e-8, atol=1e-10 * np.abs(expected).max())
    assert_allclose(  # straight from the definition
        covariance, np.linalg.inv(numpy_reference.unpack(precision, size))[:, *p], rtol=1e-8, atol=1e-10
    )
    got = backend.gaussian_log_densities(precision, linear, at)
    assert_allclose(got, numpy_reference.gaussian_log_densities(precision, linear, at), rtol=1e-10)
    for u in range(min(n, 3)):
        law = stats.multivariate_normal(mean[u], numpy_reference.unpack(covariance[u], size))
        assert got[u] - 0.5 * size * np.log(2 * np.pi) == pytest.approx(law.logpdf(at[u]), rel=1e-8)


def test_stacks_in_single_precision_equal_twins():
    """Matrices in single precision, vectors in double: sums are made in the first."""
    precision, linear, at = draw_stack(LANES + 3, 7)
    backend, single = cpu.CpuBackend(), precision.astype(np.float32)
    mean, covariance = backend.gaussian_moments(single, linear)
    assert (mean.dtype, covariance.dtype) == (np.float64, np.float32)
    for got, twin in zip((mean, covariance), numpy_reference.gaussian_moments(precision, linear), strict=True):
        assert_allclose(got, twin, rtol=1e-4, atol=1e-5 * np.abs(twin).max())
    got = backend.gaussian_log_densities(single, linear, at)
    assert_allclose(got, numpy_reference.gaussian_log_densities(precision, linear, at), rtol=1e-5)


def draw_stack(n, size):
    """Packed precisions, linear terms, and points."""
    rng = np.random.default_rng(4)
    factor = rng.normal(size=(n, size, 2 * size + 3))
    p, q = np.tril_indices(size)
    return (factor @ factor.transpose(0, 2, 1))[:, p, q], *rng.normal(size=(2, n, size))


@pytest.mark.parametrize("per_row", [False, True])
def test_logistic_equals_twin(per_row):
    rng = np.random.default_rng(6)
    mean = np.concatenate([rng.normal(0, 5, (8, 4)), np.full((1, 4), -700.0), np.full((1, 4), 700.0)])
    log_rate = rng.normal(0, 2, (10, 4) if per_row else 4)
    got = cpu.CpuBackend().logistic(mean, log_rate)
    for array, twin in zip(got, numpy_reference.logistic(mean, log_rate), strict=True):
        assert_allclose(array, twin, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("per_row", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-6)])
def test_negative_binomial_equals_twin(per_row, dtype, tolerance):
    rng = np.random.default_rng(7)
    field = np.concatenate([rng.normal(0, 5, (8, 4)), np.full((1, 4), -700.0), np.full((1, 4), 700.0)])
    log_rate = rng.normal(0, 2, (10, 4) if per_row else 4)
    n, weights = rng.poisson(2.0, (10, 4)), rng.gamma(1.0, size=4)
    for bounded in (None, rng.random(10) < 0.5):
        got = cpu.CpuBackend().negative_binomial(field, log_rate, n, weights, bounded, dtype)
        twin = numpy_reference.negative_binomial(field, log_rate, n, weights, bounded, dtype)
        assert [a.dtype for a in got] == [np.float64, dtype, dtype]
        for array, expected in zip(got, twin, strict=True):
            # n - (w + n) sigma cancels: its error is one of w + n.
            assert_allclose(array, expected, rtol=tolerance, atol=tolerance * (weights + n).max())


def test_packed_products_equal_twin():
    for dtype in (np.float32, np.float64):
        a = np.random.default_rng(8).normal(size=(70, 5)).astype(dtype)
        got = cpu.CpuBackend(2).pack_products(a)
        assert got.dtype == dtype
        assert np.array_equal(got, packing.pack_products(a))


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-5)])
def test_proposals_know_their_densities(dtype, tolerance):
    """What a draw says of its own density is what the density says of the draw, to the precision of its matrix."""
    precision, linear, _ = draw_stack(2 * LANES + 3, 7)
    backend, precision = cpu.CpuBackend(), precision.astype(dtype)
    drawn, log_density = backend.sampling.proposals(precision, linear, 3)
    assert_allclose(log_density, backend.gaussian_log_densities(precision, linear, drawn), rtol=tolerance)


@pytest.mark.parametrize("shape", [(0, 4, 3), (1, 1, 1), (33, 7, 5), (1100, 3, 40)])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_product_equals_twin(shape, n_jobs):
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=shape[:2]), rng.normal(size=shape[1:])
    assert_allclose(cpu.CpuBackend(n_jobs).product(a, b), numpy_reference.product(a, b), rtol=1e-12, atol=1e-13)
    transposed = cpu.CpuBackend(n_jobs).product(np.asfortranarray(a), b)
    assert_allclose(transposed, a @ b, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("ours", "theirs", "x"),
    [
        (logistic.exp_negative, np.exp, -np.append(np.geomspace(1e-12, 700.0, 20_001), 0.0)),
        (
            logistic.log_positive,
            np.log,
            np.concatenate([np.geomspace(1e-300, 1e300, 20_001), np.linspace(0.5, 2, 999)]),
        ),
        (logistic.log_one_plus, np.log1p, np.concatenate([np.geomspace(1e-300, 1.0, 20_001), np.linspace(0, 1, 999)])),
    ],
)
def test_elementary_functions_equal_the_library(ours, theirs, x):
    got = np.array([ours(value) for value in x])
    # A series of ten or twelve terms: a few units in the last place.
    assert_allclose(got, theirs(x), rtol=2e-15, atol=1e-300)


def test_digamma_equals_scipy():
    x = np.concatenate([np.geomspace(1e-8, 1e8, 20_001), np.linspace(1.4, 1.5, 1001)])
    got = np.array([cpu.digamma(value) for value in x])
    expected = special.digamma(x)
    # Eight steps of the recurrence, each rounded: some units in the last place of the largest term.
    assert np.all(np.abs(got - expected) <= 3e-14 * np.maximum(np.abs(expected), 1.0))


def test_threads_do_not_change_a_bit():
    problem = draw_problem(np.float32, n_rows=203, n_columns=31)
    wide = draw_problem(np.float64, n_rows=203, n_columns=31)
    indptr, indices, _, atoms, _, x, variance = wide
    offsets, rows, order = by_column(indptr, indices, len(atoms))
    stack = draw_stack(203, 5)
    left, right = np.random.default_rng(9).normal(size=(2, 203, 203))

    def everything(n_jobs):
        backend = select_backend(n_jobs)
        single, double = backend.allocate(*problem, 3, True), backend.allocate(*wide, 3, False)
        return [
            *single,
            *double,
            backend.column_totals(offsets, rows, double[2][order], double[1], atoms),
            backend.entry_rates(indptr, indices, np.exp(x), atoms),
            *backend.logistic_bound(x, variance, np.log(atoms.sum(axis=0))),
            *backend.logistic(x, np.log(atoms.sum(axis=0))),
            *backend.gaussian_moments(*stack[:2]),
            backend.gaussian_log_densities(*stack),
            backend.sampling.gaussians(*stack[:2], 3),
            backend.product(left, right),
        ]

    with single_blas_thread():
        alone = everything(1)
        for n_jobs in (2, 3):
            for one, several in zip(alone, everything(n_jobs), strict=True):
                assert_array_equal(one, several)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("offsets", [[0], [0, 0, 0], [0, 9], [0, 0, 5, 5, 5, 6, 90, 90]])
def test_ranges_cover_every_row_once(n_jobs, offsets):
    seen = np.zeros(len(offsets) - 1, int)

    def work(first, last):
        seen[first:last] += 1

    Threads(n_jobs).over_rows(work, np.array(offsets))
    assert_array_equal(seen, 1)


def test_one_row_is_not_handed_to_a_thread():
    """It would cost many times what the row does: looking up one row took seconds."""
    threads, seen = Threads(3), []
    threads.over_rows(lambda first, last: seen.append(threading.get_ident()), np.array([0, 9]))
    assert seen == [threading.get_ident()]
    submitted = threads._workers._threads
    threads.product(np.ones((1, 2)), np.ones((2, 2)))
    assert not submitted


def test_n_jobs_means_what_scikit_learn_says():
    assert resolve_jobs(None) == 1
    assert resolve_jobs(3) == 3
    assert resolve_jobs(-1) == max(1, resolve_jobs(-2) + (resolve_jobs(-1) > 1))
    assert resolve_jobs(-1000) == 1
    for wrong in (0, 1.5, "two"):
        with pytest.raises(ValueError, match="n_jobs must be a non-zero whole number"):
            resolve_jobs(wrong)


def test_every_core_is_every_one_that_the_process_may_use(monkeypatch):
    """A container on a machine of 64 cores, with a quota of three and then, by its affinity, two of them."""
    quota, opened, exists = "/sys/fs/cgroup/cpu.max", open, os.path.exists
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(64)), raising=False)
    monkeypatch.setattr(os.path, "exists", lambda path: path == quota or exists(path))
    monkeypatch.setattr(
        "builtins.open", lambda path, *a, **k: io.StringIO("300000 100000") if path == quota else opened(path, *a, **k)
    )
    assert (resolve_jobs(-1), resolve_jobs(-2), resolve_jobs(8)) == (3, 2, 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {5, 9}, raising=False)
    assert (resolve_jobs(-1), resolve_jobs(-2)) == (2, 1)


class TestSoftplusAverages:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("rows_of_rate", [None, 9])
    def test_equals_twin(self, rows_of_rate, dtype):
        rng = np.random.default_rng(5)
        mean, variance = rng.normal(0.0, 8.0, (9, 4)), rng.gamma(1.0, 3.0, (9, 4))
        mean[0, 0], mean[0, 1], variance[1] = -200.0, 200.0, 0.0
        log_rate = rng.normal(size=4 if rows_of_rate is None else (rows_of_rate, 4))
        nodes, weights = np.polynomial.hermite_e.hermegauss(7)
        arguments = (mean, variance.astype(dtype), log_rate, nodes, weights / weights.sum())
        found = cpu.CpuBackend(2).softplus_averages(*arguments)
        # The curvature of log r is a difference of two nearly equal numbers where F is far below zero.
        assert_allclose(found, numpy_reference.softplus_averages(*arguments), rtol=1e-10, atol=1e-10)
