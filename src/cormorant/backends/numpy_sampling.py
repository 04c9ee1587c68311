"""NumPy twins of the draws of `sampling`, `scanning` and `stacks`: a row at a time, from the same streams.

What is single precision there is single precision here, summed in the same order, so that a target that falls beside
an edge falls on the same side of it.
"""

from __future__ import annotations

import math

import numpy as np

from cormorant.backends import numpy_random as random
from cormorant.backends.packing import unpack
from cormorant.backends.sampling import ONE_BY_ONE
from cormorant.backends.scanning import LEAST
from cormorant.backends.vectors import LANES, pad

SMALLEST_POWER = math.exp(-708.0)  # as low as `logistic.exp_negative` goes


def sum_up(weights):
    """Sums of weights, component k in lane k % 16: down the lanes (vectors x lanes), and of the last along the lanes.

    Along them by doubling: every lane takes the lane before, then the one two before, four and eight.
    """
    down = np.cumsum(weights.reshape(-1, LANES), axis=0)
    along = down[-1].copy()
    for shift in (1, 2, 4, 8):
        along[shift:] += along[:-shift].copy()
    return down, along


def find(sums, target):
    """The component at which the sums pass the target: first its lane, and then its vector."""
    down, along = sums
    lane = int((along < target).sum())
    reach = (target - along[lane]) + down[-1, lane]
    return int((down[:-1, lane] < reach).sum()) * LANES + lane


def redraw(h, table, i, a, u, came, with_it, left, without_it, taken):
    """The component at which the sums of h_k (table_ik + a) pass the share u of them all, after two have changed.

    Changes h in place; -1 is no component.
    """
    column = table[i].copy()
    if came >= 0:
        h[came] = with_it
    if left >= 0:
        h[left] = without_it
        column[left] -= taken
    sums = sum_up(h * (column + a))
    return find(sums, u * sums[1][-1])


def choose(s, weights, is_chosen):
    """A component with probability in proportion to its weight, drawn until one is found that can be chosen."""
    sums = sum_up(weights)
    while True:
        k = find(sums, np.float32(random.uniform(s)) * sums[1][-1])
        if is_chosen(k):
            return k


def share_out(s, left, x, a):
    """Multinomial(left, p), p ~ x a, by binomials; all to the first if no component has a share."""
    q = x.astype(np.float64) * a
    shares, last = np.zeros(len(q), np.int64), max(np.flatnonzero(q), default=0)
    for k in np.flatnonzero(q[:last]):
        shares[k] = random.binomial(s, left, q[k] / q[k:].sum())
        left -= shares[k]
        if left == 0:
            break
    shares[last] += left
    return shares


def counts(indptr, indices, counts, x, atoms, seed, ids):
    """Each count to component k with probability ~ x_uk a_ik; sums by row and by column."""
    n_rows, n_components = x.shape
    n, c = np.zeros((n_rows, n_components), np.int64), np.zeros((len(atoms), n_components), np.int64)
    x, atoms = pad(x, np.float32), pad(atoms, np.float32)
    for u in range(n_rows):
        s = random.stream(seed, ids[u])
        for j in range(indptr[u], indptr[u + 1]):
            i, weights = indices[j], x[u] * atoms[indices[j]]
            if counts[j] > ONE_BY_ONE:
                shares = share_out(s, int(counts[j]), x[u, :n_components], atoms[i, :n_components])
            else:
                shares, none = np.zeros(n_components, np.int64), not weights.any()
                for _ in range(counts[j]):
                    shares[choose(s, weights, lambda k: none or weights[k] > 0.0)] += 1  # noqa: B023 (called at once)
            n[u] += shares
            c[i] += shares
    return n, c


def weight(w, n, factor, total):
    """(w_k + n_uk) factor_uk / total, kept just visible."""
    return np.maximum((w + n) * (factor / total), LEAST)


def scan(indptr, indices, offsets, z, n, factor, w, table, seed, atoms, a0, ids):
    """Count t of column i in turn: p(z_t = k) ~ (w_k + n_uk) factor_uk (c_ik + a0_i) / (C_k + sum a0), or ... a_ik.

    Fresh counts (z is None) go by the n that the row comes with. Changes z, n and the table in place, as the compiled
    one does, and returns z.
    """
    is_fresh, n_components = z is None, n.shape[1]
    z = np.empty(offsets[-1], np.uint16) if is_fresh else z
    columns = table.cells if atoms is None else pad(atoms, np.float32)
    a = np.broadcast_to(a0, len(columns))

    def totals():
        """C_k + sum_i a0_i, by which fresh counts and atoms that stay are not divided."""
        return 1.0 if table is None or is_fresh else table.totals + a.sum()

    for u in range(len(n)):
        s, top = random.stream(seed, ids[u]), ((w + n[u]) * (factor[u] / totals())).max()
        for j in range(indptr[u], indptr[u + 1]):
            for t in range(offsets[j], offsets[j + 1]):
                if not is_fresh:
                    _move(n[u], table, indices[j], z[t], -1)
                h = np.zeros((1, n_components), np.float32)
                h[0] = weight(w, n[u], factor[u] / top, totals())
                weights = pad(h)[0] * (columns[indices[j]] + np.float32(a[indices[j]]))
                z[t] = choose(s, weights, lambda k: k < n_components)
                _move(None if is_fresh else n[u], table, indices[j], z[t], 1)
        if is_fresh:
            n[u] = np.bincount(z[offsets[indptr[u]] : offsets[indptr[u + 1]]], minlength=n_components)
    return z


def _move(n, table, i, k, by):
    """A count of column i comes to component k, or leaves it."""
    if n is not None:
        n[k] += by
    if table is not None:
        table.cells[i, k] += by
        table.totals[k] += by


def uniforms(n, seed, ids):
    """Uniform on (0, 1), one a row."""
    return np.array([random.uniform(random.stream(seed, ids[u])) for u in range(n)])


def gammas(shape, seed, ids):
    """Gamma(shape, 1), never below the smallest power."""

    def draw(s, a):
        if a >= 1.0:
            return random.gamma_above_one(s, a)
        return max(random.power(random.uniform(s), a), SMALLEST_POWER) * random.gamma_above_one(s, a + 1.0)

    return _by_row(draw, seed, ids, shape)


def tables(n, w, seed, ids):
    """Tables of n customers with concentration w; none without customers."""
    return _by_row(lambda s, n, w: random.tables(s, n, w) if n > 0 else 0, seed, ids, n, w).astype(np.int64)


def polya_gammas(n, w, eta, seed, ids):
    """PG(w + n, eta)."""
    return _by_row(random.polya_gamma, seed, ids, w + n, eta)


def _by_row(draw, seed, ids, *arguments):
    """A draw of each of rows x components, the components of a row one after the other from its stream."""
    arguments = np.broadcast_arrays(*arguments)
    out = np.empty(arguments[0].shape)
    for u, row in enumerate(zip(*arguments, strict=True)):
        s = random.stream(seed, ids[u])
        out[u] = [draw(s, *each) for each in zip(*(a.tolist() for a in row), strict=True)]
    return out


def proposals(precision, linear, seed, ids):
    """L^-T (L^-1 b + z) with P = L L^T and z standard normal, and log |L| - z.z / 2."""
    factor = np.linalg.cholesky(unpack(precision, linear.shape[1]))
    z = _by_row(lambda s, _: random.normal(s), seed, ids, linear)
    moved = np.linalg.solve(factor, linear[..., None]) + z[..., None]
    log_determinant = np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
    return np.linalg.solve(factor.transpose(0, 2, 1), moved)[..., 0], log_determinant - 0.5 * (z**2).sum(axis=1)


def content_ids(indptr, indices, counts):
    """FNV-1a over a row's columns and counts, in turn."""
    out = np.empty(len(indptr) - 1, np.uint64)
    for u in range(len(out)):
        row, h = slice(indptr[u], indptr[u + 1]), 14695981039346656037
        for number in np.column_stack([indices[row], counts[row]]).ravel().tolist():
            h = (h ^ number) * 1099511628211 % random.WORDS
        out[u] = h
    return out
