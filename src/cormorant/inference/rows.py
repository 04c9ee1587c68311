"""Training rows as blocks, and the memory of where each row's last visit ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy import sparse

from cormorant.data import Counts
from cormorant.inference.batch import Batch

SMALLEST_BLOCK, LARGEST_BLOCK = 1024, 4096  # the second bounds the memory
EACH_COUNT = {"each": "count"}  # metadata of a field with a value a count, not a row, one row's after the other's


@dataclass(frozen=True)
class Rows:
    """Counts with what is known of how they were looked at, and of the rows themselves."""

    counts: Counts
    exposure: np.ndarray | None = None  # e_u, one a row
    missing: sparse.csr_matrix | None = None  # ones at entries to treat as missing
    covariates: np.ndarray | None = None  # theta, rows x covariates

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.counts.n_rows

    @property
    def all(self) -> np.ndarray:
        """Numbers of the rows."""
        return np.arange(self.n_rows)

    def take(self, index: np.ndarray) -> Rows:
        """Some of the rows."""
        return Rows(
            self.counts.rows(index),
            None if self.exposure is None else self.exposure[index],
            None if self.missing is None else self.missing[index],
            None if self.covariates is None else self.covariates[index],
        )

    def check_counts(self) -> None:
        """Refuse to learn from rows that are all empty."""
        if self.counts.nnz == 0:
            raise ValueError(
                "X must have entries above zero in the rows to fit, to learn from; all are zero or missing."
            )

    def with_counts(self) -> Rows:
        """The rows that have counts: from others a model that takes their totals as given learns nothing."""
        self.check_counts()
        shown = np.flatnonzero(np.diff(self.counts.indptr))
        return self if len(shown) == self.n_rows else self.take(shown)

    def batch(self, index: np.ndarray, dtype: type) -> Batch:
        """A block of rows for a backend."""
        part = self.take(index)
        c = part.counts
        known = (part.exposure, part.missing, part.covariates)
        return Batch(c.indptr, c.indices, c.data.astype(dtype), c.n_columns, *known)

    def blocks(self, size: int, dtype: type) -> Iterator[tuple[np.ndarray, Batch]]:
        """All rows in order, in blocks of equal numbers, ``size`` at most."""
        for index in np.array_split(self.all, -(-self.n_rows // size)):
            yield index, self.batch(index, dtype)

    @property
    def block_size(self) -> int:
        """Rows to solve at a time: few enough for a processor's cache and to share among threads.

        Each block makes a table of columns x components, which should cost little beside the work on its entries.
        """
        wanted = 16 * self.counts.n_columns * self.n_rows // max(self.counts.nnz, 1)
        return min(max(wanted, SMALLEST_BLOCK), LARGEST_BLOCK)


class RowMemory:
    """Locals of every row (any dataclass of arrays), kept between visits.

    More than ``limit`` bytes are not kept, and each visit starts cold; None keeps any number. Fields with a value for
    each count need the ``totals`` of the rows, and rows that are visited in their order.
    """

    def __init__(self, n_rows: int, limit: int | None = 1 << 29, totals: np.ndarray | None = None):
        self.n_rows, self.limit = n_rows, limit
        self._type: Any = None
        self._kept: dict[str, np.ndarray] = {}
        self._lock = threading.Lock()
        self._visited = np.zeros(n_rows, bool)
        self._offsets = None if totals is None else np.concatenate([[0], np.cumsum(totals)]).astype(np.int64)

    def get(self, index: np.ndarray) -> Any:
        """Where these rows ended, if all of them have been visited."""
        if self._type is None or not self._visited[index].all():
            return None
        rows = _as_slice(index)
        return self._type(**{name: array[self._part(name, rows)] for name, array in self._kept.items()})

    def put(self, index: np.ndarray, ended: Any) -> None:
        """Remember where these rows ended."""
        arrays, rows = _arrays(ended), _as_slice(index)
        with self._lock:  # blocks may end at the same time
            if self._type is None:
                size = sum(a.nbytes // max(len(index), 1) for a in arrays.values()) * self.n_rows
                if self.limit is not None and size > self.limit:
                    return
                self._type = type(ended)
            for name in arrays.keys() - self._kept.keys():  # what rows have for the first time
                n, shape = self._part(name, slice(0, self.n_rows)).stop, arrays[name].shape[1:]
                self._kept[name] = np.zeros((n, *shape), arrays[name].dtype)
        for name, array in arrays.items():
            if array.base is not self._kept[name]:  # else it is what `get` gave
                self._kept[name][self._part(name, rows)] = array
        self._visited[index] = True

    def _part(self, name: str, rows: Any) -> Any:
        """Where these rows are in a field."""
        by_count = any(f.name == name and f.metadata == EACH_COUNT for f in fields(self._type))
        if not by_count:
            return rows
        assert self._offsets is not None  # who keeps something of counts has told how many there are
        return slice(self._offsets[rows.start], self._offsets[rows.stop])

    def handed_over(self, convert: Callable[[Any], Any], totals: np.ndarray | None = None) -> RowMemory:
        """The same rows as another scheme keeps them."""
        other = RowMemory(self.n_rows, limit=None, totals=totals)
        if self._type is not None:
            kept = convert(self._type(**self._kept))
            other._type, other._kept, other._visited = type(kept), _arrays(kept), self._visited.copy()
        return other


def _as_slice(index: np.ndarray) -> np.ndarray | slice:
    """Neighbouring rows as a slice, which copies nothing."""
    first, last = int(index[0]), int(index[-1]) + 1
    return slice(first, last) if np.array_equal(index, np.arange(first, last)) else index


def _arrays(locals_: Any) -> dict[str, np.ndarray]:
    """The fields that are there."""
    found = {f.name: getattr(locals_, f.name) for f in fields(locals_)}
    return {name: array for name, array in found.items() if array is not None}
