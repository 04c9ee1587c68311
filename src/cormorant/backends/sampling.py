"""Compiled draws of the exact sampler, a row at a time; each row (or column) has its own stream.

Numba keeps what it compiled of a function until the function's own file changes. What is compiled into these functions
from `random` is not looked at: a change there needs a change here (this number will do): 1.
"""

from __future__ import annotations

import threading

import numpy as np

from cormorant.backends import random, stacks
from cormorant.backends.compiled import Threads, compiled

LANE = 16  # components summed together when a count looks for its own
ONE_BY_ONE = 64  # entries above it are shared out by binomials, not count by count


@compiled
def _find(q, sums, target):
    """The first k with q_0 + ... + q_k >= target: over sums of lanes, then within one.

    It counts the partial sums below the target, without a branch: where it ends cannot be foreseen.
    """
    lane, total, before = 0, 0.0, 0.0
    for i in range(len(sums) - 1):
        total += sums[i]
        below = total < target
        lane += below
        before = total if below else before
    k, total, target = lane * LANE, 0.0, target - before
    for i in range(lane * LANE, lane * LANE + LANE - 1):
        total += q[i]
        k += total < target
    return k


@compiled
def _draw_counts(first, last, indptr, indices, counts, x, atoms, seed, ids, n, c):
    n_components, by_column = atoms.shape[1], len(c) > 0
    n_lanes = (n_components + LANE - 1) // LANE
    q = np.zeros(n_lanes * LANE, atoms.dtype)
    sums = np.empty(n_lanes, atoms.dtype)
    for u in range(first, last):
        s = random.stream(seed, ids[u])
        row = x[u]
        for j in range(indptr[u], indptr[u + 1]):
            i = indices[j]
            atom = atoms[i]
            for k in range(n_components):
                q[k] = row[k] * atom[k]
            z = 0.0
            for lane in range(n_lanes):
                total = atoms.dtype.type(0)
                for k in range(lane * LANE, lane * LANE + LANE):
                    total += q[k]
                sums[lane] = total
                z += total
            left = counts[j]
            if left <= ONE_BY_ONE:
                for _ in range(left):
                    k = min(_find(q, sums, random.uniform(s) * z), n_components - 1)
                    n[u, k] += 1
                    if by_column:
                        c[i, k] += 1
            else:
                for k in range(n_components):
                    share = left if k == n_components - 1 else random.binomial(s, left, min(q[k] / z, 1.0))
                    n[u, k] += share
                    if by_column:
                        c[i, k] += share
                    left -= share
                    z -= q[k]
                    if left == 0:
                        break


@compiled
def _draw_gammas(first, last, shape, seed, ids, out):
    for u in range(first, last):
        s = random.stream(seed, ids[u])
        for k in range(shape.shape[1]):
            out[u, k] = random.gamma(s, shape[u, k])


@compiled
def _draw_uniforms(seed, ids, out):
    for u in range(len(out)):
        out[u] = random.uniform(random.stream(seed, ids[u]))


@compiled
def _draw_tables(first, last, n, w, seed, ids, out):
    for u in range(first, last):
        s = random.stream(seed, ids[u])
        for k in range(n.shape[1]):
            out[u, k] = random.tables(s, n[u, k], w[k]) if n[u, k] > 0 else 0


@compiled
def _draw_polya_gammas(first, last, n, w, eta, seed, ids, out):
    for u in range(first, last):
        s = random.stream(seed, ids[u])
        for k in range(eta.shape[1]):
            out[u, k] = random.polya_gamma(s, w[k] + n[u, k], eta[u, k])


@compiled
def _content(indptr, indices, counts, out):
    """FNV-1a over a row's columns and counts."""
    prime = np.uint64(1099511628211)
    for u in range(len(out)):
        h = np.uint64(14695981039346656037)
        for j in range(indptr[u], indptr[u + 1]):
            h = (h ^ np.uint64(indices[j])) * prime
            h = (h ^ np.uint64(counts[j])) * prime
        out[u] = h


class Sampling:
    """The draws, over threads. A ``seed`` (64 bits) and a row's id, by default its number, decide each."""

    def __init__(self, threads: Threads):
        self.threads = threads

    def content_ids(self, indptr, indices, counts):
        """Ids that a row has wherever it stands, so that what is drawn for it does not depend on its neighbours."""
        out = np.empty(len(indptr) - 1, np.uint64)
        _content(indptr, indices, counts, out)
        return out

    def counts(self, indptr, indices, counts, x, atoms, seed, ids=None, by_column=True):
        """Share each count out: multinomial with p_k ~ x_uk a_ik. Counts by row and by column, each by component.

        The second is None unless asked for.
        """
        n = np.zeros((len(indptr) - 1, atoms.shape[1]), np.int64)
        ids = _ids(ids, len(n))
        nowhere = np.zeros((0, 0), np.int64)
        parts, own = [], threading.local()

        def work(first, last):
            # A table a thread; whole numbers add up to the same total in any order.
            if by_column and not hasattr(own, "c"):
                own.c = np.zeros(atoms.shape, np.int64)
                parts.append(own.c)
            _draw_counts(first, last, indptr, indices, counts, x, atoms, seed, ids, n, own.c if by_column else nowhere)

        self.threads.over_rows(work, indptr)
        return n, sum(parts[1:], parts[0]) if by_column else None

    def gammas(self, shape, seed, ids=None):
        """Gamma(shape, 1)."""
        out = np.empty(shape.shape)
        ids = _ids(ids, len(out))
        self.threads.over(lambda first, last: _draw_gammas(first, last, shape, seed, ids, out), len(out))
        return out

    def tables(self, n, w, seed, ids=None):
        """Tables of n customers with concentration w."""
        out = np.empty(n.shape, np.int64)
        ids = _ids(ids, len(out))
        self.threads.over(lambda first, last: _draw_tables(first, last, n, w, seed, ids, out), len(out))
        return out

    def polya_gammas(self, n, w, eta, seed, ids=None):
        """PG(w + n, eta)."""
        out = np.empty(eta.shape)
        ids = _ids(ids, len(out))
        self.threads.over(lambda first, last: _draw_polya_gammas(first, last, n, w, eta, seed, ids, out), len(out))
        return out

    def uniforms(self, n, seed, ids=None):
        """Uniform on (0, 1), one a row."""
        out = np.empty(n)
        _draw_uniforms(seed, _ids(ids, n), out)
        return out

    def gaussians(self, precision, linear, seed, ids=None):
        """N(P^-1 b, P^-1), P packed."""
        return stacks.draws(self.threads, precision, linear, seed, _ids(ids, len(linear)))


def _ids(ids, n):
    return np.arange(n, dtype=np.uint64) if ids is None else ids
