"""Stacks of small positive definite matrices, each packed: the entries (p, q), q <= p, row by row.

One matrix at a time would leave a processor's vector registers idle, so ``LANES`` of them are worked on together: an
array of entries x lanes, and every inner loop runs along the lanes. What is found of a matrix does not depend on those
beside it. Sums are made in the precision that the matrices come in.
"""

from __future__ import annotations

import math

import numpy as np

from cormorant.backends import random
from cormorant.backends.compiled import Threads, compiled, inner
from cormorant.backends.logistic import log_positive
from cormorant.backends.vectors import subtract

LANES = 64
TILE = 16  # entries turned round at a time, so that what is written stays in the nearest cache


@compiled
def pack_products(first, last, a, out):
    """a_u a_u^T of each row."""
    for u in range(first, last):
        i = 0
        for p in range(a.shape[1]):
            for q in range(p + 1):
                out[u, i + q] = a[u, p] * a[u, q]
            i += p + 1


@inner
def _load(first, last, stack, out):
    """Entries x lanes of some of the stack; lanes left over repeat the first."""
    size = stack.shape[1]
    for begin in range(0, size, TILE):
        for lane in range(LANES):
            u = first + lane if first + lane < last else first
            for turn in range(TILE):  # of a known number, which is twice as fast; the last entry may have several
                entry = min(begin + turn, size - 1)
                out[entry, lane] = stack[u, entry]


@inner
def _store(first, last, lanes, stack):
    size = stack.shape[1]
    for begin in range(0, size, TILE):
        for lane in range(min(LANES, last - first)):
            for turn in range(TILE):
                entry = min(begin + turn, size - 1)
                stack[first + lane, entry] = lanes[entry, lane]


@inner
def _factor(size, a):
    """L L^T in place of the matrices; the diagonal holds 1 / L_pp."""
    for p in range(size):
        row = p * (p + 1) // 2
        for q in range(p + 1):
            other = q * (q + 1) // 2
            subtract(a, row + q, a, row, a, other, q)
            if p == q:
                for lane in range(LANES):
                    a[row + q, lane] = 1.0 / math.sqrt(a[row + q, lane])
            else:
                for lane in range(LANES):
                    a[row + q, lane] *= a[other + q, lane]


@inner
def _forward(size, a, y):
    """L^-1 y in place of y."""
    for p in range(size):
        row = p * (p + 1) // 2
        subtract(y, p, a, row, y, 0, p)
        for lane in range(LANES):
            y[p, lane] *= a[row + p, lane]


@inner
def _backward(size, a, y):
    """L^-T y in place of y."""
    for p in range(size - 1, -1, -1):
        row = p * (p + 1) // 2
        for lane in range(LANES):
            y[p, lane] *= a[row + p, lane]
        for q in range(p):
            subtract(y, q, a, row + q, y, p, 1)


@inner
def _half_log_determinant(size, a, out):
    for lane in range(LANES):
        out[lane] = 0.0
    for p in range(size):
        diagonal = a[p * (p + 1) // 2 + p]
        for lane in range(LANES):
            out[lane] -= log_positive(diagonal[lane])


@inner
def _inverse(size, a, t):
    """(L L^T)^-1 = L^-T L^-1 in place of L; ``t`` is room for L^-T, size^2 x lanes, whose rows are summed over."""
    for p in range(size):
        row = p * (p + 1) // 2
        for q in range(p):
            for lane in range(LANES):
                t[q * size + p, lane] = 0.0
            subtract(t, q * size + p, a, row + q, t, q * size + q, p - q)
            for lane in range(LANES):
                t[q * size + p, lane] *= a[row + p, lane]
        for lane in range(LANES):
            t[p * size + p, lane] = a[row + p, lane]
    for p in range(size):
        for q in range(p + 1):
            entry = p * (p + 1) // 2 + q
            for lane in range(LANES):
                a[entry, lane] = 0.0
            subtract(a, entry, t, p * size + p, t, q * size + p, size - p)
            for lane in range(LANES):
                a[entry, lane] = -a[entry, lane]


@compiled
def _moments(first, last, precision, linear, mean, covariance):
    size, dtype = linear.shape[1], precision.dtype
    a, y = np.empty((precision.shape[1], LANES), dtype), np.empty((size, LANES), dtype)
    room = np.empty((size * size, LANES), dtype)
    for u in range(first, last, LANES):
        _load(u, last, precision, a)
        _load(u, last, linear, y)
        _factor(size, a)
        _forward(size, a, y)
        _backward(size, a, y)
        _store(u, last, y, mean)
        _inverse(size, a, room)
        _store(u, last, a, covariance)


@compiled
def _log_densities(first, last, precision, linear, at, out):
    """With y = L^-1 b and z = L^T x - y: log |L| - z.z / 2."""
    size, dtype = linear.shape[1], precision.dtype
    a, total = np.empty((precision.shape[1], LANES), dtype), np.empty(LANES)
    y, x = np.empty((size, LANES), dtype), np.empty((size, LANES), dtype)
    for u in range(first, last, LANES):
        _load(u, last, precision, a)
        _load(u, last, linear, y)
        _load(u, last, at, x)
        _factor(size, a)
        _forward(size, a, y)
        _half_log_determinant(size, a, total)
        for q in range(size):
            diagonal = q * (q + 1) // 2 + q
            for lane in range(LANES):
                y[q, lane] -= x[q, lane] / a[diagonal, lane]
            for p in range(q + 1, size):
                subtract(y, q, a, p * (p + 1) // 2 + q, x, p, 1)
            for lane in range(LANES):
                total[lane] -= 0.5 * y[q, lane] * y[q, lane]
        for lane in range(min(LANES, last - u)):
            out[u + lane] = total[lane]


@compiled
def _draw(first, last, precision, linear, seed, ids, out, log_density):
    """L^-T (L^-1 b + z) with z standard normal; log |L| - z.z / 2."""
    size, dtype = linear.shape[1], precision.dtype
    a, y, total = np.empty((precision.shape[1], LANES), dtype), np.empty((size, LANES), dtype), np.empty(LANES)
    for u in range(first, last, LANES):
        _load(u, last, precision, a)
        _load(u, last, linear, y)
        _factor(size, a)
        _forward(size, a, y)
        _half_log_determinant(size, a, total)
        for lane in range(min(LANES, last - u)):
            s = random.stream(seed, ids[u + lane])
            for p in range(size):
                z = random.normal(s)
                y[p, lane] += z
                total[lane] -= 0.5 * z * z
            log_density[u + lane] = total[lane]
        _backward(size, a, y)
        _store(u, last, y, out)


def moments(threads: Threads, precision, linear):
    """Means and packed covariances of the Gaussians with these precisions and linear terms (twin: ``inv``)."""
    mean, covariance = np.empty(linear.shape), np.empty(precision.shape, precision.dtype)
    threads.over(lambda first, last: _moments(first, last, precision, linear, mean, covariance), len(mean))
    return mean, covariance


def log_densities(threads: Threads, precision, linear, at):
    """Log densities of such Gaussians at some point each, up to the constant of their dimension."""
    out = np.empty(len(at))
    threads.over(lambda first, last: _log_densities(first, last, precision, linear, at, out), len(at))
    return out


def draws(threads: Threads, precision, linear, seed, ids):
    """A draw of each with its log density, as `log_densities` has it; matrix u draws from the stream ``ids[u]``."""
    out, log_density = np.empty(linear.shape), np.empty(len(linear))
    threads.over(lambda first, last: _draw(first, last, precision, linear, seed, ids, out, log_density), len(out))
    return out, log_density
