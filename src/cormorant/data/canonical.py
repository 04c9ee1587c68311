"""The canonical form of a count matrix: one set of arrays for one matrix, whatever it came as.

Rows in order, columns sorted within a row, duplicates summed, no stored zeros; offsets in int64, column
indices in int32 where they fit; whole numbers in int32 or int64, other non-negative numbers in float64 (and
whole numbers too where their total is past 2**62, so that no sum of entries overflows).
Two equal matrices therefore have equal arrays, and whatever walks over the entries (a random split, say)
does not depend on how the matrix was stored.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cormorant.data.errors import DataError

INT32_MAX = np.iinfo(np.int32).max
INT64_MAX = np.iinfo(np.int64).max
LARGEST_WHOLE_TOTAL = 2.0**62  # half of what int64 holds, since this total is itself rounded

#: Says where an entry is: (row, column) -> "row 3, column 7 ('game')".
Place = Callable[[int, int], str]


class CSR(NamedTuple):
    """Compressed sparse rows: row r has the columns `indices[indptr[r]:indptr[r + 1]]`."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.integer[Any]]
    data: NDArray[Any]


def canonical_csr(indptr: ArrayLike, indices: ArrayLike, data: ArrayLike, shape: tuple[int, int], place: Place) -> CSR:
    """Check compressed sparse rows and bring them into canonical form, in arrays of their own."""
    offsets = np.array(indptr, dtype=np.int64)
    columns = np.asarray(indices)
    values = np.asarray(data)
    _check_structure(offsets, columns, values, shape)

    def entry(i: int) -> str:
        row = int(np.searchsorted(offsets, i, side="right")) - 1
        return place(row, int(columns[i]))

    values = as_numbers(values, entry)
    check_values(values, entry)
    if not _is_sorted(offsets, columns) or not values.all():
        offsets, columns, values = _summed(offsets, columns, values, shape)
    return CSR(offsets, columns.astype(index_dtype(shape[1])), narrowed(values))


def as_numbers(values: NDArray[Any], entry: Callable[[int], str]) -> NDArray[Any]:
    """`values` as an array of booleans, integers or floats; `entry(i)` says where the i-th (flat) is."""
    if values.dtype.kind in "biu":
        return values
    if values.dtype.kind == "f":
        return values if values.dtype.itemsize in (4, 8) else values.astype(np.float64)
    if values.dtype.kind == "O":
        for i, value in enumerate(values.flat):
            if not isinstance(value, (Real, Decimal, np.bool_)):
                raise DataError(f"Counts must be numbers, but the entry at {entry(i)} is {value!r}.")
        return values.astype(np.float64)
    raise DataError(
        f"Counts must be numbers, but the array has dtype {values.dtype}; "
        "encode text as counts first (cormorant.data.read reads raw text)."
    )


def summable(values: NDArray[Any]) -> NDArray[Any]:
    """`values` in a type that holds every sum of some of them: int64, or float64 for fractions and huge totals."""
    fits = values.dtype.kind != "f" and values.sum(dtype=np.float64) < LARGEST_WHOLE_TOTAL
    return values.astype(np.int64 if fits else np.float64, copy=False)


def narrowed(values: NDArray[Any]) -> NDArray[Any]:
    """A copy as int32 or int64 if every value is whole and their total is not huge, as float64 otherwise."""
    is_whole = values.dtype.kind != "f" or bool((values == np.floor(values)).all())
    if not is_whole or values.sum(dtype=np.float64) >= LARGEST_WHOLE_TOTAL:
        return values.astype(np.float64)
    return values.astype(np.int32 if values.max(initial=0) <= INT32_MAX else np.int64)


def index_dtype(n_columns: int) -> type[np.int32] | type[np.int64]:
    """The integer type that holds every column index."""
    return np.int32 if n_columns <= INT32_MAX else np.int64


def _check_structure(
    indptr: NDArray[np.int64], indices: NDArray[Any], data: NDArray[Any], shape: tuple[int, int]
) -> None:
    n_rows, n_columns = shape
    if indptr.shape != (n_rows + 1,):
        raise DataError(f"indptr must have n_rows + 1 = {n_rows + 1} entries, got shape {indptr.shape}.")
    if indices.ndim != 1 or indices.shape != data.shape:
        raise DataError(f"indices and data must be vectors of one length, got shapes {indices.shape} and {data.shape}.")
    if indptr[0] != 0 or indptr[-1] != len(data) or (np.diff(indptr) < 0).any():
        raise DataError(f"indptr must rise from 0 to the number of entries, {len(data)}.")
    if indices.size and indices.dtype.kind not in "iu":
        raise DataError(f"indices must be integers, got dtype {indices.dtype}.")
    if indices.size and (indices.min() < 0 or indices.max() >= n_columns):
        first = int(np.argmax((indices < 0) | (indices >= n_columns)))
        row = int(np.searchsorted(indptr, first, side="right")) - 1
        raise DataError(f"Column indices must lie in 0..{n_columns - 1}, but row {row} has index {indices[first]}.")


def check_values(values: NDArray[Any], entry: Callable[[int], str]) -> None:
    """Refuse negative, infinite, missing and overlong values; `entry(i)` says where the i-th is."""
    faulty = ~np.isfinite(values)
    if values.dtype.kind != "b":
        faulty |= values < 0
    if faulty.any():
        first = int(np.argmax(faulty))
        raise DataError(
            f"Counts must be non-negative and finite, but the entry at {entry(first)} is {values[first]}. "
            + _remedy(values[first])
        )
    if values.dtype.kind == "u" and values.max(initial=0) > INT64_MAX:
        first = int(np.argmax(values > INT64_MAX))
        raise DataError(f"The entry at {entry(first)}, {values[first]}, is past 2**63 - 1; rescale the counts.")
    with np.errstate(over="ignore"):
        total = values.sum(dtype=np.float64)
    if not np.isfinite(total):
        first = int(np.argmax(values))
        raise DataError(f"The counts sum past 1.8e308 (largest: {values[first]} at {entry(first)}); rescale them.")


def _remedy(value: Any) -> str:
    """What to do about a faulty entry, in words that scikit-learn's checks look for too."""
    if np.isnan(value):
        return "NaN is no count: put a zero there and, where the count is missing, say so in the mask of fit."
    if value < 0:
        return "Negative values in data are no counts: undo any centring or log transform, or set them to zero."
    return "Replace inf by the count it stands for."


def _is_sorted(indptr: NDArray[np.int64], indices: NDArray[Any]) -> bool:
    """Whether columns rise strictly within every row."""
    rises = indices[1:] > indices[:-1]
    starts = indptr[1:-1]
    rises[starts[(starts > 0) & (starts < len(indices))] - 1] = True
    return bool(rises.all())


def _summed(indptr: NDArray[np.int64], indices: NDArray[Any], values: NDArray[Any], shape: tuple[int, int]) -> CSR:
    """Sort each row, add duplicates in a wide type and drop zeros."""
    matrix: Any = sparse.csr_matrix((summable(values), indices, indptr), shape=shape, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return CSR(matrix.indptr.astype(np.int64), matrix.indices, matrix.data)
