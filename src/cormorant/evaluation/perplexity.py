"""The paper's held-out perplexity of a fitted model, on a split made by the caller."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cormorant.backends.compiled import single_blas_thread
from cormorant.data import as_counts
from cormorant.inference.predictive import log_likelihood
from cormorant.inference.rows import Rows


def perplexity(model: Any, observed: Any, test: Any) -> float:
    """exp of minus the mean log probability of the test counts given the observed part of their rows.

    The components stay fixed; a row's weights come from its observed entries, every other column counting as zero;
    a test count falls in column i with probability proportional to the rate of i, over all columns. Rows with
    nothing observed are scored from the prior.

    Args:
        model: A fitted estimator.
        observed: Counts, rows x columns: what is shown of each row.
        test: Counts of the same shape: what is to be predicted.
    """
    check_is_fitted(model)
    observed, test = as_counts(observed), as_counts(test)
    if observed.shape != test.shape:
        raise ValueError(f"observed and test must have one shape; got {observed.shape} and {test.shape}.")
    if observed.n_columns != model.n_features_in_:
        raise ValueError(f"the model has {model.n_features_in_} columns; the rows have {observed.n_columns}.")
    with single_blas_thread():
        return float(np.exp(-log_likelihood(model._fitted_scheme, model._globals, Rows(observed), test)))
