"""A compiled scan over counts, one after the other: each leaves its component and draws one given all the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cormorant.backends import random
from cormorant.backends.compiled import compiled, inlined
from cormorant.backends.search import ZERO, fetch, redraw
from cormorant.backends.vectors import aligned, padded

LARGEST = 2**24  # counts of a column: up to here whole numbers are exact in single precision
AHEAD = 2  # entries between asking for their column of the table and needing it
NOBODY = np.int32(-1)
LEAST = 1e-18  # of a row's largest: what would vanish beside it is kept just visible


@dataclass(frozen=True)
class CountTable:
    """How many counts of each column are with each component; a scan changes it in place."""

    cells: np.ndarray  # columns x components in single precision, with zeros that fill the last vector
    totals: np.ndarray  # components: sums over the columns

    @classmethod
    def empty(cls, n_columns: int, n_components: int) -> CountTable:
        """No counts yet."""
        return cls(aligned((n_columns, padded(n_components)), np.float32), np.zeros(n_components))

    @classmethod
    def of(cls, counts: np.ndarray) -> CountTable:
        """Counts as they are, columns x components."""
        new = cls.empty(*counts.shape)
        new.cells[:, : counts.shape[1]], new.totals[:] = counts, counts.sum(axis=0)
        return new

    def add(self, columns: np.ndarray, z: np.ndarray) -> None:
        """Counts of these columns, each with its component."""
        np.add.at(self.cells, (columns, z), 1)
        self.totals[:] += np.bincount(z, minlength=len(self.totals))

    @property
    def counts(self) -> np.ndarray:
        """Columns x components, a copy."""
        return self.cells[:, : len(self.totals)].astype(np.float64)


@inlined
def _weight(w, n, factor, total):
    """(w_k + n_uk) factor_uk / total."""
    return max((w + n) * (factor / total), LEAST)


@compiled
def scan(
    first, last, indptr, indices, offsets, z, is_fresh, factor, w, table, a, cells, totals, a_total, n, seed, ids, room
):
    """Count t of column i: p(z_t = k) ~ (w_k + n_uk) factor_uk (table_ik + a_i) / (totals_k + a_total).

    The table is that of the counts, which change as they go, or of atoms that stay (no ``cells``; the divisor is then
    ``a_total``). Fresh counts have no component to leave; they are drawn given the n that the row comes with.

    What a component would weigh with one count ``less`` or ``more`` is known before it is needed: the next count would
    wait for the division. (A total less one is never below zero; to say so also keeps the compiler from taking the one
    from ``a_total``, which it would round.)
    """
    n_components, learns = n.shape[1], len(cells) > 0
    taken = np.float32(1 if learns else 0)
    h, sums = room[0], room[1]
    near, scaled = np.empty((3, n_components), np.float32), np.empty(n_components)
    less, now, more = near[0], near[1], near[2]
    for u in range(first, last):
        s, top = random.stream(seed, ids[u]), 0.0
        for k in range(n_components):
            top = max(top, (w[k] + n[u, k]) * (factor[u, k] / (totals[k] + a_total)))
        for k in range(n_components):
            scaled[k] = factor[u, k] / top
        for k in range(n_components):
            less[k] = _weight(w[k], n[u, k] - 1, scaled[k], max(totals[k] - taken, 0.0) + a_total)
        for k in range(n_components):
            now[k] = _weight(w[k], n[u, k], scaled[k], totals[k] + a_total)
        for k in range(n_components):
            more[k] = _weight(w[k], n[u, k] + 1, scaled[k], totals[k] + taken + a_total)
        for k in range(n_components):
            h[k] = now[k]
        came, left, with_it, without_it = NOBODY, NOBODY, ZERO, ZERO
        for j in range(indptr[u], indptr[u + 1]):
            i = indices[j]
            fetch(table, indices[min(j + AHEAD, len(indices) - 1)])
            for t in range(offsets[j], offsets[j + 1]):
                if not is_fresh:
                    k = z[t]
                    more[k], now[k] = now[k], less[k]
                    left, without_it = np.int32(k), now[k]
                    n[u, k] -= 1
                    if learns:
                        totals[k] -= 1
                    less[k] = _weight(w[k], n[u, k] - 1, scaled[k], max(totals[k] - taken, 0.0) + a_total)
                k = n_components
                while k >= n_components:  # once in millions a target is rounded into the zeros that fill a vector
                    share = np.float32(random.uniform(s))
                    k = redraw(h, table, i, a[i], sums, share, came, with_it, left, without_it, taken)
                if learns:
                    cells[i, z[t]] -= 1
                    cells[i, k] += 1
                    totals[k] += 1
                z[t] = k
                if not is_fresh:
                    less[k], now[k] = now[k], more[k]
                    came, with_it = np.int32(k), now[k]
                    n[u, k] += 1
                    more[k] = _weight(w[k], n[u, k] + 1, scaled[k], totals[k] + taken + a_total)
        if is_fresh:
            for k in range(n_components):
                n[u, k] = 0
            for t in range(offsets[indptr[u]], offsets[indptr[u + 1]]):
                n[u, z[t]] += 1
