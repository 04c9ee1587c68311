"""What the feature models accept: a dense or sparse matrix, NaN or a mask where entries are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from cormorant.data import Counts, Matrix
from cormorant.estimators.inputs import check_columns, missing_entries
from cormorant.inference.features.state import Table

EXPECTED = {
    "gaussian": "real numbers (likelihood='gaussian')",
    "poisson": "whole numbers of at least zero (likelihood='poisson')",
    "bernoulli": "zeros and ones (likelihood='bernoulli')",
}
ADVICE = {"poisson": "for real numbers use likelihood='gaussian'", "bernoulli": "for counts use likelihood='poisson'"}


def to_table(estimator: Any, X: Any, mask: Any, likelihood: str, *, reset: bool) -> Table:
    """Validated entries; remembers (``reset``) or checks the number and the names of the columns."""
    try:
        array = _checked_array(estimator, X, reset)
    except ValueError as error:
        if "convert string" not in str(error):
            raise
        raise ValueError(
            f"X must have {EXPECTED[likelihood]}, or NaN where entries are missing; {_text_in(X)}. Code text as zeros "
            "and ones, a column for each of its values (pandas.get_dummies), or leave its columns out."
        ) from None
    values: np.ndarray = array.toarray() if hasattr(array, "toarray") else np.array(array)  # its own copy
    observed = ~np.isnan(values)
    missing = None if mask is None else missing_entries(mask, values.shape)
    if missing is not None:
        observed &= missing.toarray() == 0
    if reset and not observed.any():
        raise ValueError("X must have at least one entry that is neither NaN nor masked; every entry is missing.")
    values[~observed] = 0.0
    _check_values(values, likelihood)
    return Table(values, observed)


def _checked_array(estimator: Any, X: Any, reset: bool) -> Any:
    """The matrix, by scikit-learn's checks; what has names of its own is checked by them."""
    options: dict[str, Any] = {"dtype": np.float64, "accept_sparse": True, "ensure_all_finite": "allow-nan"}
    if isinstance(X, Counts | Matrix):
        entries = X.tocsr(copy=True) if isinstance(X, Counts) else X.values
        if not reset:
            check_columns(estimator, X)
            return check_array(entries, estimator=estimator, **options)
        X = entries
    elif isinstance(X, np.ma.MaskedArray):  # what it hides is missing; scikit-learn's checks would uncover it
        X = np.ma.filled(X.astype(np.float64), np.nan)
    elif hasattr(X, "columns") and not reset and not hasattr(estimator, "feature_names_in_"):
        # Scikit-learn knows names that are text, and fits of frames, alone.
        entries: Any = check_array(X, estimator=estimator, **options)
        check_columns(estimator, Matrix(entries, None, _telling_names(X)))
        return entries
    return validate_data(estimator, X, reset=reset, **options)


def _telling_names(frame: Any) -> np.ndarray | None:
    """Names of the columns, or None where they only number them."""
    names = frame_columns(frame)
    return None if list(names) == [str(i) for i in range(len(names))] else names


def frame_columns(frame: Any) -> np.ndarray:
    """Names of all columns of a data frame, those that are numbers too."""
    return np.array([str(name) for name in frame.columns], dtype=object)


def _text_in(X: Any) -> str:
    """For an error: the first entry that is text and no number."""
    array = np.asarray(X, dtype=object)
    for place, value in np.ndenumerate(array):
        if isinstance(value, str | bytes) and len(place) == 2:
            try:
                float(value)
            except ValueError:
                return f"the entry at row {place[0]}, column {place[1]} is {str(value)!r}"
    return f"got text in {type(X).__name__}"


def _check_values(values: np.ndarray, likelihood: str) -> None:
    """Refuse what a likelihood cannot have drawn, with its place."""
    if likelihood == "gaussian":
        return
    wrong = (values < 0) | (values % 1.0 != 0)
    if likelihood == "bernoulli":
        wrong |= values > 1
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"X must have {EXPECTED[likelihood]}, or NaN where entries are missing; the entry at row {row}, column "
            f"{column} is {values[row, column]:g}: {ADVICE[likelihood]}."
        )
