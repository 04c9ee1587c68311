"""Compiled steps for the processor. Each names its NumPy twin in ``numpy_reference``, and a test compares them."""

from __future__ import annotations

import math

import numpy as np

from cormorant.backends.compiled import Threads, compiled
from cormorant.backends.sampling import Sampling


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


@compiled
def _propensities(weights, n, log_scale, zero_order, floor, theta):
    """Write theta_k = exp(E log x_k) with the largest taken out."""
    top = -np.inf
    for k in range(len(theta)):
        shape = weights[k] + n[k]
        log_theta = (math.log(shape) if zero_order else digamma(shape)) + log_scale[k]
        theta[k] = log_theta
        top = max(top, theta[k])  # as rounded, so that no exponent below is positive
    for k in range(len(theta)):
        theta[k] = max(math.exp(theta[k] - top), floor)


@compiled
def _allocate(
    first,
    last,
    indptr,
    indices,
    counts,
    atoms,
    weights,
    log_scale,
    n,
    sweeps,
    zero_order,
    floor,
    theta,
    ratio,
    evidence,
):
    n_components = atoms.shape[1]
    total = np.empty(n_components, atoms.dtype)
    for u in range(first, last):
        row = theta[u]
        for _ in range(sweeps):
            _propensities(weights, n[u], log_scale[u], zero_order, floor, row)
            total[:] = 0
            for j in range(indptr[u], indptr[u + 1]):
                atom = atoms[indices[j]]
                z = atoms.dtype.type(0)
                for k in range(n_components):
                    z += row[k] * atom[k]
                r = counts[j] / z
                ratio[j] = r
                for k in range(n_components):
                    total[k] += r * atom[k]
            for k in range(n_components):
                n[u, k] = row[k] * total[k]
        total_evidence = 0.0
        for j in range(indptr[u], indptr[u + 1]):
            total_evidence += counts[j] * math.log(counts[j] / ratio[j])
        for k in range(n_components):
            total_evidence -= n[u, k] * math.log(row[k])
        evidence[u] = total_evidence


@compiled
def _column_totals(first, last, offsets, rows, ratio, theta, atoms, out):
    for i in range(first, last):
        total = np.zeros(theta.shape[1])
        for j in range(offsets[i], offsets[i + 1]):
            r = ratio[j]
            row = theta[rows[j]]
            for k in range(len(total)):
                total[k] += r * row[k]
        for k in range(len(total)):
            out[i, k] = total[k] * atoms[i, k]


@compiled
def _entry_rates(first, last, indptr, indices, x, atoms, out):
    for u in range(first, last):
        for j in range(indptr[u], indptr[u + 1]):
            rate = 0.0
            for k in range(x.shape[1]):
                rate += x[u, k] * atoms[indices[j], k]
            out[j] = rate


@compiled
def _logistic_bound(first, last, mean, variance, log_rate, log_one, slope, curvature):
    for u in range(first, last):
        for k in range(mean.shape[1]):
            eta = mean[u, k] + log_rate[u if log_rate.shape[0] > 1 else 0, k]
            c = math.sqrt(eta * eta + max(variance[u, k], 0.0))
            curve = 0.25 if c < 1e-5 else math.tanh(0.5 * c) / (2.0 * c)
            tail = math.exp(-c)
            # 1/2 - curve |eta| without the cancellation, which would leave E x of tiny rates to rounding.
            least = tail / (1.0 + tail) + curve * max(variance[u, k], 0.0) / max(c + abs(eta), 1e-300)
            log_one[u, k] = 0.5 * (eta + c) + math.log1p(tail)
            slope[u, k] = least if eta < 0.0 else 1.0 - least
            curvature[u, k] = curve


@compiled
def _softplus_averages(first, last, mean, variance, log_rate, nodes, weights, out):
    for u in range(first, last):
        for k in range(mean.shape[1]):
            rate = math.exp(log_rate[u if log_rate.shape[0] > 1 else 0, k])
            spread = math.sqrt(max(variance[u, k], 0.0))
            for i in range(7):
                out[i, u, k] = 0.0
            for j in range(len(nodes)):
                field = mean[u, k] + nodes[j] * spread
                tail = math.exp(-abs(field))
                r = max(max(field, 0.0) + math.log1p(tail), 1e-300)
                sigma = 1.0 / (1.0 + tail) if field > 0.0 else tail / (1.0 + tail)
                curve = tail / ((1.0 + tail) * (1.0 + tail))
                one = 1.0 + rate * r
                log_slope, one_slope = sigma / r, rate * sigma / one
                out[0, u, k] += weights[j] * math.log(r)
                out[1, u, k] += weights[j] * math.log(one)
                out[2, u, k] += weights[j] * r / one
                out[3, u, k] += weights[j] * log_slope
                out[4, u, k] += weights[j] * (log_slope * log_slope - curve / r)
                out[5, u, k] += weights[j] * one_slope
                out[6, u, k] += weights[j] * (rate * curve / one - one_slope * one_slope)


@compiled
def _invert(first, last, precision, covariance, log_determinant):
    """Inverse through the Cholesky factor L L^T = precision, one matrix of the stack at a time."""
    size = precision.shape[1]
    for u in range(first, last):
        chol = np.zeros((size, size))
        total = 0.0
        for p in range(size):
            for q in range(p + 1):
                s = precision[u, p, q]
                for r in range(q):
                    s -= chol[p, r] * chol[q, r]
                if p == q:
                    chol[p, p] = math.sqrt(s)
                    total += math.log(chol[p, p])
                else:
                    chol[p, q] = s / chol[q, q]
        log_determinant[u] = 2.0 * total
        inverse = np.zeros((size, size))  # transposed inverse of the factor, so that inner loops run along rows
        for q in range(size):
            inverse[q, q] = 1.0 / chol[q, q]
            for p in range(q + 1, size):
                s = 0.0
                for r in range(q, p):
                    s -= chol[p, r] * inverse[q, r]
                inverse[q, p] = s / chol[p, p]
        for p in range(size):
            for q in range(p + 1):
                s = 0.0
                for r in range(p, size):
                    s += inverse[p, r] * inverse[q, r]
                covariance[u, p, q] = s
                covariance[u, q, p] = s


class CpuBackend:
    """Compiled steps over ``n_jobs`` threads; the results do not depend on their number."""

    def __init__(self, n_jobs: int | None = None):
        self.threads = Threads(n_jobs)
        self.sampling = Sampling(self.threads)

    def product(self, a, b):
        """Matrix product (twin: ``a @ b``)."""
        return self.threads.product(a, b)

    def allocate(self, indptr, indices, counts, atoms, weights, log_scale, n, sweeps, zero_order):
        """Share each count out among the components, ``sweeps`` times over (twin: ``numpy_reference.allocate``)."""
        theta = np.empty(n.shape, atoms.dtype)
        ratio = np.empty(len(indices), atoms.dtype)
        evidence = np.empty(len(n))
        n = np.array(n, dtype=atoms.dtype)
        floor = atoms.dtype.type(math.sqrt(np.finfo(atoms.dtype).tiny))

        def work(first, last):
            _allocate(
                first, last, indptr, indices, counts, atoms, weights, log_scale, n, sweeps, zero_order, floor,
                theta, ratio, evidence,
            )  # fmt: skip

        self.threads.over_rows(work, indptr)
        return n, theta, ratio, evidence

    def column_totals(self, offsets, rows, ratio, theta, atoms):
        """Expected counts of each column by component (twin: ``numpy_reference.column_totals``)."""
        out = np.empty(atoms.shape)
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
            lambda first, last: _logistic_bound(first, last, mean, variance, log_rate, log_one, slope, curvature),
            len(mean),
        )
        return log_one, slope, curvature

    def softplus_averages(self, mean, variance, log_rate, nodes, weights):
        """Gauss-Hermite averages of the softplus link (twin: ``numpy_reference.softplus_averages``)."""
        out = np.empty((7, *mean.shape))
        log_rate = np.atleast_2d(log_rate)
        self.threads.over(
            lambda first, last: _softplus_averages(first, last, mean, variance, log_rate, nodes, weights, out),
            len(mean),
        )
        return out

    def invert(self, precision):
        """Inverse and log determinant of a stack of matrices (twin: ``numpy_reference.invert``)."""
        covariance = np.empty(precision.shape)
        log_determinant = np.empty(len(precision))
        self.threads.over(
            lambda first, last: _invert(first, last, precision, covariance, log_determinant), len(precision)
        )
        return covariance, log_determinant
