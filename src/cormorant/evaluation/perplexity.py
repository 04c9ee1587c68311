"""The paper's held-out perplexity of a fitted model, on a split made by the caller."""

from __future__ import annotations

from typing import Any

import numpy as np

from cormorant.backends.compiled import single_blas_thread
from cormorant.evaluation.pairs import checked_pair
from cormorant.inference.predictive import log_likelihood


def perplexity(model: Any, observed: Any, test: Any, covariates: Any = None) -> float:
    """exp of minus the mean log probability of the test counts given the observed part of their rows.

    The components stay fixed; a row's weights come from its observed entries, every other column counting as zero;
    a test count falls in column i with probability proportional to the rate of i, over all columns. Rows with
    nothing observed are scored from the prior.

    Args:
        model: A fitted estimator.
        observed: Counts, rows x columns: what is shown of each row.
        test: Counts of the same shape: what is to be predicted.
        covariates: Of the rows, if the model was fitted with covariates.
    """
    rows, wanted = checked_pair(model, observed, test, covariates)
    with single_blas_thread():
        return float(np.exp(-log_likelihood(model._posterior, rows, wanted)))
