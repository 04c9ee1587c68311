"""Compiled draws of the exact sampler, a row at a time; each row (or column) has its own stream."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from cormorant.backends import random, scanning, stacks
from cormorant.backends.compiled import Threads, compiled, inner
from cormorant.backends.logistic import exp_negative, log_positive
from cormorant.backends.scanning import CountTable
from cormorant.backends.search import ZERO, find, room, sum_up
from cormorant.backends.vectors import aligned, pad

TOGETHER = 16  # entries of a row whose sums are made at a time
ONE_BY_ONE = 64  # entries above it are shared out by binomials, not count by count


@inner
def _share_out(s, left, x, a, shares):
    """Many counts at a time: component k takes Binomial(left, x_k a_k / sum_j>=k x_j a_j) of what is left.

    The sums are made from the far end, in double precision: what is left of a sum after a large share has been taken
    away is rounding, and would go to shares that are small, or none. The last share above zero takes all that is left.
    """
    last, rest = 0, np.empty(len(shares))
    total = 0.0
    for k in range(len(shares) - 1, -1, -1):
        shares[k] = 0
        if total == 0.0:
            last = k
        total += np.float64(x[k]) * np.float64(a[k])
        rest[k] = total
    for k in range(last):
        q = np.float64(x[k]) * np.float64(a[k])
        if q > 0.0:
            shares[k] = random.binomial(s, left, q / rest[k])
            left -= shares[k]
            if left == 0:
                return
    shares[last] = left


@compiled
def _draw_counts(first, last, indptr, indices, counts, x, atoms, seed, ids, n, c):
    """Each count of an entry to component k with probability ~ x_k a_k; many at a time by binomials.

    A few entries' sums come first: between them there is nothing that a processor would have to guess.
    """
    n_components, by_column = n.shape[1], len(c) > 0
    sums, normaliser = room(TOGETHER, atoms), np.zeros(TOGETHER, np.float32)
    shares = np.empty(n_components, np.int64)
    for u in range(first, last):
        s = random.stream(seed, ids[u])
        for begin in range(indptr[u], indptr[u + 1], TOGETHER):
            end = min(begin + TOGETHER, indptr[u + 1])
            for j in range(begin, end):
                normaliser[j - begin] = sum_up(x, u, atoms, indices[j], ZERO, sums, j - begin)
            for j in range(begin, end):
                i, z, left = indices[j], normaliser[j - begin], counts[j]
                if left <= ONE_BY_ONE:
                    for _ in range(left):
                        k = n_components
                        # Once in millions a target is rounded to where there is no weight.
                        while k >= n_components or (x[u, k] * atoms[i, k] == ZERO and z > ZERO):
                            k = find(sums, j - begin, np.float32(random.uniform(s)) * z)
                        n[u, k] += 1
                        if by_column:
                            c[i, k] += 1
                else:
                    _share_out(s, left, x[u], atoms[i], shares)
                    for k in range(n_components):
                        n[u, k] += shares[k]
                        if by_column:
                            c[i, k] += shares[k]


@compiled
def _draw_gammas(first, last, shape, seed, ids, out):
    """As `random.gamma`, but a row's powers u^(1 / shape) together, so that vector registers can be used."""
    n_components = shape.shape[1]
    u, power = np.empty(n_components), np.empty(n_components)
    for row in range(first, last):
        s, a, drawn = random.stream(seed, ids[row]), shape[row], out[row]
        for k in range(n_components):
            if a[k] < 1.0:
                u[k], power[k] = random.uniform(s), 1.0 / a[k]
                drawn[k] = random.gamma_above_one(s, a[k] + 1.0)
            else:
                u[k] = power[k] = 1.0
                drawn[k] = random.gamma_above_one(s, a[k])
        for k in range(n_components):
            u[k] = power[k] * log_positive(u[k])
        for k in range(n_components):
            drawn[k] *= exp_negative(u[k])


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
    """The draws, over threads. A ``seed`` (63 bits) and a row's id, by default its number, decide each.

    The methods' twins are the functions of `numpy_sampling` of the same names.
    """

    def __init__(self, threads: Threads):
        self.threads = threads

    def content_ids(self, indptr, indices, counts):
        """Ids that a row has wherever it stands, so that what is drawn for it does not depend on its neighbours."""
        out = np.empty(len(indptr) - 1, np.uint64)
        _content(indptr, indices, counts, out)
        return out

    def counts(self, indptr, indices, counts, x, atoms, seed, ids=None, by_column=True):
        """Share each count out: multinomial with p_k ~ x_uk a_ik, in single precision. Counts by row and by column.

        The second is None unless asked for.
        """
        n_rows, n_components = x.shape
        n, ids = np.zeros((n_rows, n_components), np.int64), _ids(ids, n_rows)
        x, padded = pad(x, np.float32), pad(atoms, np.float32)
        # The table of the columns is what does not fit a processor's cache.
        small = np.int32 if counts.sum() < 2**31 else np.int64
        nowhere = np.zeros((0, 0), small)
        parts, own = [], threading.local()

        def work(first, last):
            # A table a thread; whole numbers add up to the same total in any order.
            if by_column and not hasattr(own, "c"):
                own.c = np.zeros((len(atoms), n_components), small)
                parts.append(own.c)
            _draw_counts(first, last, indptr, indices, counts, x, padded, seed, ids, n, own.c if by_column else nowhere)

        self.threads.over_rows(work, indptr)
        return n, sum(parts[1:], parts[0].astype(np.int64)) if by_column else None

    def scan(self, indptr, indices, offsets, z, n, factor, w, table, seed, atoms=None, a0: Any = 0.0, ids=None):
        """Each count in turn, given where all the others are; z and n, and the table if there is one, change in place.

        ``offsets`` has the number of counts before each entry, and at its end that of all.
        p(z = k) ~ (w_k + n_uk) factor_uk (c_ki + a0_i) / (C_k + sum_i a0_i), without the count itself; or with
        ``atoms`` in place of the last two. ``a0`` is one for all columns, or one for each. A z of None is made, each
        count by the n of the row as given. A table takes one thread: every count waits for the one before.
        """
        is_fresh = z is None
        z, ids = np.empty(offsets[-1], np.uint16) if is_fresh else z, _ids(ids, len(n))
        learned = CountTable.empty(0, n.shape[1]) if table is None or is_fresh else table
        read = learned.cells if atoms is None else pad(atoms, np.float32)
        a = np.broadcast_to(a0, len(read))
        of = (read, a.astype(np.float32), learned.cells, learned.totals, float(a.sum()) if atoms is None else 1.0)

        def work(first, last):
            room = aligned((2, read.shape[1]), np.float32)
            scanning.scan(first, last, indptr, indices, offsets, z, is_fresh, factor, w, *of, n, seed, ids, room)

        self.threads.over_rows(work, indptr) if learned is not table else work(0, len(n))
        if table is not None and is_fresh:
            table.add(np.repeat(indices, np.diff(offsets)), z)
        return z

    def gammas(self, shape, seed, ids=None):
        """Gamma(shape, 1)."""
        out = np.empty(shape.shape)
        ids = _ids(ids, len(out))
        self.threads.over(lambda first, last: _draw_gammas(first, last, shape, seed, ids, out), len(out))
        return out

    def tables(self, n, w, seed, ids=None):
        """Tables of n customers with concentration w."""
        out, n = np.empty(n.shape, np.int64), np.asarray(n, np.float64)  # compiled for one type only
        ids = _ids(ids, len(out))
        self.threads.over(lambda first, last: _draw_tables(first, last, n, w, seed, ids, out), len(out), n.shape[1])
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
        return self.proposals(precision, linear, seed, ids)[0]

    def proposals(self, precision, linear, seed, ids=None):
        """The same, with the log densities of what was drawn, up to a constant."""
        return stacks.draws(self.threads, precision, linear, seed, _ids(ids, len(linear)))


def _ids(ids, n):
    return np.arange(n, dtype=np.uint64) if ids is None else ids
