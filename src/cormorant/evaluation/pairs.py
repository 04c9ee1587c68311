"""The two halves that every score takes: what is shown of each row, and what is to be predicted."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from cormorant.data import Counts
from cormorant.estimators.inputs import to_counts
from cormorant.inference.rows import Rows


def checked_pair(model: Any, observed: Any, test: Any, covariates: Any) -> tuple[Rows, Counts]:
    """Both as inference wants them, with the columns of the fit."""
    check_is_fitted(model)
    shown, wanted = (to_counts(model, part, reset=False) for part in (observed, test))
    if shown.shape != wanted.shape:
        raise ValueError(f"observed and test must have one shape; got {shown.shape} and {wanted.shape}.")
    return model._partly_shown(model._to_rows(shown, None, None, covariates), wanted), wanted
