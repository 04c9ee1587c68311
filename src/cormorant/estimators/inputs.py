"""What `fit` and `transform` accept, brought to rows for inference with scikit-learn's own checks on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from cormorant.data import Counts, as_counts
from cormorant.inference.rows import Rows

CHECKS: dict[str, Any] = {"accept_sparse": "csr", "dtype": "numeric", "ensure_non_negative": True}


def to_counts(estimator: Any, X: Any, *, reset: bool) -> Counts:
    """Validated counts; remembers (``reset``) or checks the number and the names of the columns."""
    if isinstance(X, Counts) or type(X).__module__.split(".")[0] == "anndata":
        counts = as_counts(X)
        _check_names(estimator, counts, reset)
        matrix: Any = counts.tocsr()
        validate_data(estimator, matrix, reset=reset, skip_check_array=True)
        return counts
    names = getattr(X, "columns", None)
    if not reset and names is None:
        # A bare matrix has no names to compare with; its width is still checked.
        checked = check_array(X, estimator=estimator, **CHECKS)
        validate_data(estimator, checked, reset=False, skip_check_array=True)
        return as_counts(checked)
    checked = validate_data(estimator, X, reset=reset, **CHECKS)
    if names is None:
        return as_counts(checked)
    counts = as_counts(checked, row_names=[str(name) for name in X.index], column_names=[str(name) for name in names])
    _check_names(estimator, counts, reset)
    return counts


def _check_names(estimator: Any, counts: Counts, reset: bool) -> None:
    if reset or counts.column_names is None or getattr(estimator, "column_names_", None) is None:
        return
    if np.array_equal(counts.column_names, estimator.column_names_):
        return
    known = set(estimator.column_names_)
    unknown = [name for name in counts.column_names if name not in known]
    what = f"columns unknown to the fit: {unknown[:3]}" if unknown else "the columns in another order"
    raise ValueError(
        f"X must have the {len(estimator.column_names_)} columns of the fit, in their order; it has {what}. "
        "Select them first, for example with Counts.columns(...)."
    )


def to_rows(counts: Counts, exposure: Any, mask: Any) -> Rows:
    """Rows with their exposures, less the counts at missing entries."""
    checked_exposure = None
    if exposure is not None:
        checked_exposure = np.asarray(exposure, dtype=np.float64)
        if checked_exposure.shape != (counts.n_rows,) or not np.all(
            np.isfinite(checked_exposure) & (checked_exposure > 0)
        ):
            raise ValueError(
                f"exposure must be {counts.n_rows} positive numbers, one a row; got shape {checked_exposure.shape}"
                f" with least value {checked_exposure.min(initial=np.inf):g}."
            )
    if mask is None:
        return Rows(counts, checked_exposure)
    missing = sparse.csr_matrix(mask).astype(bool).astype(np.float64)
    if missing.shape != counts.shape:
        raise ValueError(f"mask must have the shape of X, {counts.shape}; got {missing.shape}.")
    missing.eliminate_zeros()
    if missing.nnz == 0:
        return Rows(counts, checked_exposure)
    observed = counts.tocsr() - counts.tocsr().multiply(missing)
    kept = Counts.from_csr(sparse.csr_matrix(observed), counts.row_names, counts.column_names)
    return Rows(kept, checked_exposure, missing)
