"""A compiled scan over counts, one after the other: each leaves its component and draws one given all the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cormorant.backends import random
from cormorant.backends.compiled import compiled
from cormorant.backends.search import fetch, find, room, sum_up
from cormorant.backends.vectors import padded

LARGEST = 2**24  # counts of a column: up to here whole numbers are exact in single precision
AHEAD = 2  # entries between asking for their column of the table and needing it
LEAST = 1e-18  # of a row's largest: what would vanish beside it is kept just visible


@dataclass(frozen=True)
class CountTable:
    """How many counts of each column are with each component; a scan changes it in place."""

    cells: np.ndarray  # columns x components in single precision, with zeros that fill the last vector
    totals: np.ndarray  # components: sums over the columns

    @classmethod
    def empty(cls, n_columns: int, n_components: int) -> CountTable:
        """No counts yet."""
        return cls(np.zeros((n_columns, padded(n_components)), np.float32), np.zeros(n_components))

    @classmethod
    def of(cls, counts: np.ndarray) -> CountTable:
        """Counts as they are, columns x components."""
        new = cls.empty(*counts.shape)
        new.cells[:, : counts.shape[1]], new.totals[:] = counts, counts.sum(axis=0)
        return new

    @property
    def counts(self) -> np.ndarray:
        """Columns x components, a copy."""
        return self.cells[:, : len(self.totals)].astype(np.float64)


@compiled
def scan(first, last, indptr, indices, offsets, z, is_fresh, factor, w, table, a, cells, totals, a_total, n, seed, ids):
    """Count t of column i: p(z_t = k) ~ (w_k + n_uk) factor_uk (table_ik + a) / (totals_k + a_total).

    The table is that of the counts, which change as they go, or of atoms that stay (no ``cells``, no division). Fresh
    counts have no component to leave; they are drawn given the n that the row comes with.
    """
    n_components, learns = n.shape[1], len(cells) > 0
    divides = learns and not is_fresh
    h, sums = np.zeros((1, table.shape[1]), np.float32), room(1, table)
    rest, scaled = np.empty(n_components), np.empty(n_components)
    for u in range(first, last):
        s, top = random.stream(seed, ids[u]), 0.0
        for k in range(n_components):
            rest[k] = factor[u, k] / (totals[k] + a_total) if divides else factor[u, k]
            top = max(top, (w[k] + n[u, k]) * rest[k])
        for k in range(n_components):
            rest[k], scaled[k] = rest[k] / top, factor[u, k] / top
            h[0, k] = max((w[k] + n[u, k]) * rest[k], LEAST)
        for j in range(indptr[u], indptr[u + 1]):
            i = indices[j]
            fetch(table, indices[min(j + AHEAD, len(indices) - 1)])
            for t in range(offsets[j], offsets[j + 1]):
                if not is_fresh:
                    k = z[t]
                    n[u, k] -= 1
                    if learns:
                        cells[i, k] -= 1
                        totals[k] -= 1
                        rest[k] = scaled[k] / (totals[k] + a_total)
                    h[0, k] = max((w[k] + n[u, k]) * rest[k], LEAST)
                total = sum_up(h, 0, table, i, a, sums, 0)
                k = n_components
                while k >= n_components:  # once in millions a target is rounded into the zeros that fill a vector
                    k = find(sums, 0, np.float32(random.uniform(s)) * total)
                z[t] = k
                if learns:
                    cells[i, k] += 1
                    totals[k] += 1
                if not is_fresh:
                    n[u, k] += 1
                    if learns:
                        rest[k] = scaled[k] / (totals[k] + a_total)
                    h[0, k] = max((w[k] + n[u, k]) * rest[k], LEAST)
        if is_fresh:
            for k in range(n_components):
                n[u, k] = 0
            for t in range(offsets[indptr[u]], offsets[indptr[u + 1]]):
                n[u, z[t]] += 1
