"""`as_counts`: whatever holds a count matrix in memory, as `Counts`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from cormorant.data.canonical import as_numbers
from cormorant.data.counts import Counts
from cormorant.data.errors import DataError
from cormorant.data.names import index_names


def as_counts(X: Any, *, row_names: Any = None, column_names: Any = None, layer: str | None = None) -> Counts:
    """Check a count matrix and make it `Counts`.

    Sparse input stays sparse throughout. Entries may be non-negative real numbers (weights); whole numbers of
    any type become integers.

    Args:
        X: `Counts` (returned as it is, but for names given here), a scipy sparse matrix or array of any
            format, a 2-D array or nested list, a wide pandas DataFrame (index and columns give the names,
            unless they only number), or an AnnData (obs and var give the names).
        row_names: One name a row, instead of those X brings.
        column_names: One name a column, instead of those X brings.
        layer: The layer of an AnnData to take instead of its X.

    Raises:
        DataError: if X is not a matrix of non-negative finite numbers; the message names the first bad entry.
    """
    if layer is None and isinstance(X, Counts):
        return X.named(row_names, column_names)
    return Counts.from_csr(*unsummed(X, row_names, column_names, layer))


def unsummed(X: Any, row_names: Any, column_names: Any, layer: str | None) -> tuple[Any, Any, Any]:
    """The CSR matrix of what `as_counts` takes, not yet checked, repeated coordinates still apart; its names."""
    if layer is not None and not _is_a(X, "anndata", "AnnData"):
        raise DataError(f"layer={layer!r} needs an AnnData, got {type(X).__name__}.")
    if _is_a(X, "anndata", "AnnData"):
        names = X.obs_names, X.var_names
        X = _anndata_matrix(X, layer)
    elif _is_a(X, "pandas", "DataFrame"):
        names = index_names(X.index), index_names(X.columns)
        X = _frame_matrix(X)
    else:
        names = None, None
    rows = names[0] if row_names is None else row_names
    columns = names[1] if column_names is None else column_names
    return _sparse_rows(X), rows, columns


def _is_a(X: Any, package: str, name: str) -> bool:
    """Whether X is an instance of `package`'s class `name`, found without importing the package."""
    return any(c.__name__ == name and c.__module__.split(".")[0] == package for c in type(X).__mro__)


def _sparse_rows(X: Any) -> Any:
    """A sparse or dense matrix as CSR, not yet checked."""
    return _as_csr(X) if sparse.issparse(X) else _dense_rows(X)


def _as_csr(X: Any) -> Any:
    if X.ndim != 2:
        raise DataError(f"Counts need a matrix (2-D), got a sparse array of {X.ndim} dimension(s).")
    return _coordinates_by_row(X) if X.format == "coo" else X.tocsr()


def _coordinates_by_row(X: Any) -> Any:
    """Coordinates sorted by row, repeated ones still apart: `Counts` checks each before it sums them."""
    order = np.argsort(X.row, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(X.row, minlength=X.shape[0]))])
    return sparse.csr_matrix((X.data[order], X.col[order], indptr), shape=X.shape)


def _dense_rows(X: Any) -> Any:
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise DataError(
            f"Counts need a number at every entry, but this masked array hides {np.ma.count_masked(X)}; "
            "pass X.filled(0) and, so that fit takes them as missing, mask=X.mask."
        )
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise DataError(f"Counts need rows of one length: {error}") from error
    if array.ndim != 2:
        hint = "; give one row as a matrix of one row, X.reshape(1, -1)" if array.ndim == 1 else ""
        raise DataError(f"Counts need a matrix (2-D), got {array.ndim} dimension(s) from {type(X).__name__}{hint}.")

    def entry(i: int) -> str:
        row, column = divmod(i, array.shape[1])
        return f"row {row}, column {column}"

    return sparse.csr_matrix(as_numbers(array, entry))


def _frame_matrix(frame: Any) -> Any:
    """The matrix of a wide data frame: sparse columns stay sparse, beside dense ones too."""
    import pandas as pd

    is_sparse = np.array([isinstance(dtype, pd.SparseDtype) for dtype in frame.dtypes], dtype=bool)
    if not is_sparse.any():
        return frame.to_numpy()
    for name, dtype in frame.dtypes[is_sparse].items():
        if dtype.fill_value != 0:
            raise DataError(f"Sparse column {name!r} must have the fill value 0, got {dtype.fill_value!r}.")
    order = np.argsort(np.concatenate([np.flatnonzero(is_sparse), np.flatnonzero(~is_sparse)]))
    parts = [frame.loc[:, is_sparse].sparse.to_coo(), _sparse_rows(frame.loc[:, ~is_sparse].to_numpy())]
    return sparse.hstack(parts, format="csr")[:, order]


def _anndata_matrix(adata: Any, layer: str | None) -> Any:
    if layer is not None and layer not in adata.layers:
        raise DataError(f"The AnnData has no layer {layer!r}; it has {sorted(adata.layers) or 'none'}.")
    matrix = adata.X if layer is None else adata.layers[layer]
    if matrix is None:
        raise DataError(f"The AnnData has no X; choose a layer of {sorted(adata.layers)}.")
    return matrix.to_memory() if hasattr(matrix, "to_memory") else matrix  # backed by a file
