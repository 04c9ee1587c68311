"""Compiled steps for the processor. Each names its NumPy twin in ``numpy_reference``, and a test compares them."""

from __future__ import annotations

import math

import numpy as np

from cormorant.backends import logistic as kernels
from cormorant.backends import stacks
from cormorant.backends.compiled import Threads, compiled, inner
from cormorant.backends.sampling import Sampling
from cormorant.backends.vectors import add_up, aligned, dots, pad

ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@compiled
def digamma(x):
    """The digamma function for x > 0 (twin: ``scipy.special.digamma``)."""
    shift = 0.0
    while x < 8.0:
        shift -= 1.0 / x
        x += 1.0
    r = 1.0 / (x * x)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * 691 / 32760)))))
    return shift + math.log(x) - 0.5 / x - series


@inner
def _propensities(weights, n, log_scale, scale, zero_order, floor, theta):
    """Write theta_k = exp(E log x_k) with the largest taken out; ``scale`` is exp(log_scale), its largest taken out."""
    top = -np.inf
    if zero_order:
        for k in range(len(n)):
            top = max(top, (weights[k] + n[k]) * scale[k])
        share = 1.0 / top
        for k in range(len(n)):
            theta[k] = max((weights[k] + n[k]) * scale[k] * share, floor)
        return
    for k in range(len(n)):
        theta[k] = digamma(weights[k] + n[k]) + log_scale[k]
        top = max(top, theta[k])  # as rounded, so that no exponent below is positive
    for k in range(len(n)):
        theta[k] = max(math.exp(theta[k] - top), floor)


@inner
def _share_row(first, last, indices, counts, atoms, theta, ratio, total):
    """ratio_j = y_j / sum_k theta_k a_jk and total_k = sum_j ratio_j a_jk, over one row's entries, four at a time.

    The numbers of the entries are unsigned: of others Numba asks whether they are below zero. Where fewer than four are
    left the last of them stands in for the others, and is added once.
    """
    zero, end, j0 = atoms.dtype.type(0), last - 1, np.uint64(first)
    for k in range(len(total)):
        total[k] = zero
    while j0 + FOUR <= np.uint64(last):
        j1, j2, j3 = j0 + ONE, j0 + TWO, j0 + THREE
        i = (np.int64(indices[j0]), np.int64(indices[j1]), np.int64(indices[j2]), np.int64(indices[j3]))
        z = dots(theta, atoms, i)
        r = (counts[j0] / z[0], counts[j1] / z[1], counts[j2] / z[2], counts[j3] / z[3])
        ratio[j0], ratio[j1], ratio[j2], ratio[j3] = r
        add_up(total, atoms, i, r)
        j0 += FOUR
    if j0 < np.uint64(last):
        j1, j2 = min(np.int64(j0 + ONE), end), min(np.int64(j0 + TWO), end)
        i = (np.int64(indices[j0]), np.int64(indices[j1]), np.int64(indices[j2]), np.int64(indices[j2]))
        z = dots(theta, atoms, i)
        r0, r1, r2 = counts[j0] / z[0], counts[j1] / z[1], counts[j2] / z[2]
        ratio[j0], ratio[j1], ratio[j2] = r0, r1, r2
        add_up(total, atoms, i, (r0, r1 if j1 > np.int64(j0) else zero, r2 if j2 > j1 else zero, zero))


@compiled
def _allocate(
    first, last, indptr, indices, counts, atoms, weights, log_scale, n, sweeps, zero_order, floor, theta, ratio, room
):
    n_components, own, total = n.shape[1], room[0], room[1]
    scale = np.empty(n_components)
    for u in range(first, last):
        if zero_order:
            top = -np.inf
            for k in range(n_components):
                top = max(top, log_scale[u, k])
            for k in range(n_components):
                scale[k] = math.exp(log_scale[u, k] - top)
        for _ in range(sweeps):
            _propensities(weights, n[u], log_scale[u], scale, zero_order, floor, own)
            _share_row(indptr[u], indptr[u + 1], indices, counts, atoms, own, ratio, total)
            for k in range(n_components):
                n[u, k] = own[k] * total[k]
        for k in range(n_components):
            theta[u, k] = own[k]


@compiled
def _column_totals(first, last, offsets, rows, ratio, theta, atoms, out):
    """c_ik = a_ik sum_u ratio_ui theta_uk, products and sums in double precision.

    (``float`` of a single-precision number stays one inside compiled functions.) With 50 components that is 7% faster
    than products in single precision, with 200 it is 12% slower, of what is 2 to 3% of a fit.
    """
    n_components = theta.shape[1]
    total = np.empty(n_components)
    for i in range(first, last):
        for k in range(n_components):
            total[k] = 0.0
        j, end = offsets[i], offsets[i + 1]
        while j + 4 <= end:
            t0, t1, t2, t3 = theta[rows[j]], theta[rows[j + 1]], theta[rows[j + 2]], theta[rows[j + 3]]
            r0, r1 = np.float64(ratio[j]), np.float64(ratio[j + 1])
            r2, r3 = np.float64(ratio[j + 2]), np.float64(ratio[j + 3])
            for k in range(n_components):
                total[k] += r0 * t0[k] + r1 * t1[k] + r2 * t2[k] + r3 * t3[k]
            j += 4
        while j < end:
            t0, r0 = theta[rows[j]], np.float64(ratio[j])
            for k in range(n_components):
                total[k] += r0 * t0[k]
            j += 1
        for k in range(n_components):
            out[i, k] = total[k] * atoms[i, k]


@compiled
def _entry_rates(first, last, indptr, indices, x, atoms, out):
    for u in range(first, last):
        for j in range(indptr[u], indptr[u + 1]):
            rate = 0.0
            for k in range(x.shape[1]):
                rate += x[u, k] * atoms[indices[j], k]
            out[j] = rate


class CpuBackend:
    """Compiled steps over ``n_jobs`` threads; the results do not depend on their number."""

    def __init__(self, n_jobs: int | None = None):
        self.threads = Threads(n_jobs)
        self.sampling = Sampling(self.threads)

    @property
    def given_up(self) -> bool:
        """Whether nobody waits for the items of `map` any more."""
        return self.threads.given_up

    def map(self, function, items, splits=True):
        """``function`` of each block of rows, in their order (twin: the builtin of that name)."""
        return self.threads.map(function, items, splits)

    def product(self, a, b):
        """Matrix product (twin: ``a @ b``)."""
        return self.threads.product(a, b)

    def pack_products(self, a):
        """a_u a_u^T of each row, packed (twin: ``packing.pack_products``)."""
        out = np.empty((len(a), a.shape[1] * (a.shape[1] + 1) // 2), a.dtype)
        self.threads.over(lambda first, last: stacks.pack_products(first, last, a, out), len(a))
        return out

    def allocate(self, indptr, indices, counts, atoms, weights, log_scale, n, sweeps, zero_order):
        """Share each count out among the components, ``sweeps`` times over (twin: ``numpy_reference.allocate``)."""
        theta = np.empty(n.shape, atoms.dtype)
        ratio = np.empty(len(indices), atoms.dtype)
        n = np.array(n, dtype=atoms.dtype)
        floor = atoms.dtype.type(math.sqrt(np.finfo(atoms.dtype).tiny))
        atoms = pad(atoms)  # as they are, if they were

        def work(first, last):
            _allocate(
                first, last, indptr, indices, counts, atoms, weights, log_scale, n, sweeps, zero_order, floor,
                theta, ratio, aligned((2, atoms.shape[1]), atoms.dtype),
            )  # fmt: skip

        self.threads.over_rows(work, indptr)
        return n, theta, ratio

    def column_totals(self, offsets, rows, ratio, theta, atoms):
        """Expected counts of each column by component (twin: ``numpy_reference.column_totals``)."""
        out = np.empty((len(atoms), theta.shape[1]))
        self.threads.over_rows(
            lambda first, last: _column_totals(first, last, offsets, rows, ratio, theta, atoms, out), offsets
        )
        return out

    def entry_rates(self, indptr, indices, x, atoms):
        """Rates at the entries of a matrix (twin: ``numpy_reference.entry_rates``)."""
        out = np.empty(len(indices))
        self.threads.over_rows(lambda first, last: _entry_rates(first, last, indptr, indices, x, atoms, out), indptr)
        return out

    def logistic_bound(self, mean, variance, log_rate):
        """Jaakkola-Jordan expansion of log(1 + exp eta) (twin: ``numpy_reference.logistic_bound``)."""
        log_one, slope, curvature = (np.empty(mean.shape) for _ in range(3))
        log_rate = np.atleast_2d(log_rate)
        self.threads.over(
            lambda first, last: kernels.logistic_bound(
                first, last, mean, variance, log_rate, log_one, slope, curvature
            ),
            len(mean),
        )
        return log_one, slope, curvature

    def logistic(self, mean, log_rate):
        """log(1 + exp eta) and its slope, eta = mean + log_rate (twin: ``numpy_reference.logistic``)."""
        log_one, slope = np.empty(mean.shape), np.empty(mean.shape)
        log_rate = np.atleast_2d(log_rate)
        self.threads.over(lambda first, last: kernels.logistic(first, last, mean, log_rate, log_one, slope), len(mean))
        return log_one, slope

    def negative_binomial(self, field, log_rate, n, weights, bounded, dtype):
        """The log likelihood of F with x summed out, and its derivatives (twin: ``numpy_reference``'s of that name)."""
        value, slope, omega = np.empty(field.shape), np.empty(field.shape, dtype), np.empty(field.shape, dtype)
        log_rate = np.atleast_2d(log_rate)
        bounded = np.zeros(0, bool) if bounded is None else bounded
        self.threads.over(
            lambda first, last: kernels.negative_binomial(
                first, last, field, log_rate, n, weights, bounded, value, slope, omega
            ),
            len(field),
        )
        return value, slope, omega

    def softplus_averages(self, mean, variance, log_rate, nodes, weights):
        """Gauss-Hermite averages of the softplus link (twin: ``numpy_reference.softplus_averages``)."""
        out = np.empty((7, *mean.shape))
        log_rate = np.atleast_2d(log_rate)
        self.threads.over(
            lambda first, last: kernels.softplus_averages(first, last, mean, variance, log_rate, nodes, weights, out),
            len(mean),
        )
        return out

    def gaussian_moments(self, precision, linear):
        """Means and packed covariances (twin: ``numpy_reference.gaussian_moments``)."""
        return stacks.moments(self.threads, precision, linear)

    def gaussian_log_densities(self, precision, linear, at):
        """Log densities, one a matrix (twin: ``numpy_reference.gaussian_log_densities``)."""
        return stacks.log_densities(self.threads, precision, linear, at)
