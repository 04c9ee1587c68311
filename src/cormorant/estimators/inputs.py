"""What `fit` and `transform` accept, brought to rows for inference with scikit-learn's own checks on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from cormorant.data import Counts, Matrix, as_counts
from cormorant.inference.rows import Rows

# Wider than any count or size factor; past them single precision or the Gaussian step of a row would break down.
LEAST_ENTRY, LARGEST_ROW_TOTAL = 1e-30, 1e11
LEAST_EXPOSURE, LARGEST_EXPOSURE = 1e-100, 1e100


def to_counts(estimator: Any, X: Any, *, reset: bool) -> Counts:
    """Validated counts; remembers (``reset``) or checks the number and the names of the columns."""
    package = type(X).__module__.split(".")[0]
    # check_array would drop the mask of a masked array, which as_counts refuses.
    if not (isinstance(X, Counts | np.ma.MaskedArray) or sparse.issparse(X) or package in ("pandas", "anndata")):
        # For its messages on shapes and types; what an entry may be is said by Counts, with its place.
        array = check_array(X, estimator=estimator, dtype="numeric", ensure_all_finite=False)
    else:
        array = X
    counts = as_counts(array)
    if 0 in counts.shape:
        raise ValueError(f"X must have at least one row and one column; got shape {counts.shape}.")
    frame: Any = X if hasattr(X, "columns") and not isinstance(X, Counts) else None
    if reset:
        matrix: Any = counts.tocsr()
        validate_data(estimator, matrix if frame is None else frame, skip_check_array=True)
        return counts
    if frame is not None and hasattr(estimator, "feature_names_in_"):
        validate_data(estimator, frame, reset=False, skip_check_array=True)
    check_columns(estimator, counts)
    return counts


def check_columns(estimator: Any, counts: Counts | Matrix) -> None:
    """The columns must be those of the fit: by name where both have names, else by number."""
    given, fitted = counts.column_names, getattr(estimator, "column_names_", None)
    if given is not None and fitted is not None and not np.array_equal(given, fitted):
        known = set(fitted)
        unknown = [name for name in given if name not in known]
        what = "the columns in another order"
        if unknown:
            what = f"{len(unknown)} columns unknown to the fit ({', '.join(map(repr, unknown[:3]))})"
        elif len(given) < len(fitted):
            what = f"only {len(given)} of them"
        reader = "as_matrix" if isinstance(counts, Matrix) else "as_counts"
        raise ValueError(
            f"X must have the {len(fitted)} columns of the fit, in their order; it has {what}. "
            f"Choose them by name: {reader}(X).columns(model.column_names_)."
        )
    if counts.n_columns != estimator.n_features_in_:
        raise ValueError(
            f"X has {counts.n_columns} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )


def to_rows(counts: Counts, exposure: Any, mask: Any, theta: np.ndarray | None = None) -> Rows:
    """Rows with their exposures and covariates, less the counts at missing entries."""
    missing = None if mask is None else missing_entries(mask, counts.shape)
    if missing is not None:
        observed = counts.tocsr() - counts.tocsr().multiply(missing)
        counts = Counts.from_csr(sparse.csr_matrix(observed), counts.row_names, counts.column_names)
    _check_range(counts)
    return Rows(counts, None if exposure is None else _exposures(exposure, counts.n_rows), missing, theta)


def _check_range(counts: Counts) -> None:
    """Refuse what is too small or too large for the arithmetic of a fit."""
    if not counts.is_integer and counts.data.min() < LEAST_ENTRY:
        first = int(np.argmax(counts.data < LEAST_ENTRY))
        raise ValueError(
            f"entries of X must be zero or at least {LEAST_ENTRY:g}; the one at {counts.place(first)} is "
            f"{counts.data[first]:g}. Multiply X by a constant, or set such entries to zero."
        )
    totals = counts.row_totals()
    if totals.max(initial=0) > LARGEST_ROW_TOTAL:
        row = int(np.argmax(totals))
        raise ValueError(
            f"a row of X must sum to at most {LARGEST_ROW_TOTAL:g}; {counts.row_label(row)} sums to {totals[row]:g}. "
            "Divide X by a constant."
        )


def _exposures(exposure: Any, n_rows: int) -> np.ndarray:
    """Size factors, one a row."""
    expected = f"exposure must be {n_rows} positive numbers, one a row"
    try:
        exposures = np.asarray(exposure, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{expected}; got {exposure!r}.") from None
    if exposures.shape != (n_rows,):
        raise ValueError(f"{expected}; got shape {exposures.shape}.")
    wrong = ~((exposures >= LEAST_EXPOSURE) & (exposures <= LARGEST_EXPOSURE))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{expected}, between {LEAST_EXPOSURE:g} and {LARGEST_EXPOSURE:g}; that of row {row} is {exposures[row]:g}."
        )
    return exposures


def missing_entries(mask: Any, shape: tuple[int, int]) -> sparse.csr_matrix | None:
    """Ones at the entries to treat as missing, or None if there are none."""
    mask = mask.tocsr() if isinstance(mask, Counts) else mask
    expected = f"mask must be truth values (or numbers) of the shape of X, {shape}"
    array: Any = mask if sparse.issparse(mask) else np.asarray(mask)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{expected}; got {mask!r}.")
    if array.shape != shape:
        raise ValueError(f"{expected}; got shape {array.shape}.")
    rows, columns = (array != array).nonzero()  # NaN alone differs from itself, in dense and in sparse matrices
    if len(rows):
        raise ValueError(
            f"{expected}; the one at row {rows[0]}, column {columns[0]} is NaN. "
            "Put True where an entry is missing (np.isnan tells where X is NaN), False elsewhere."
        )
    missing = sparse.csr_matrix(array != 0, dtype=np.float64)
    return missing if missing.nnz else None
