"""Ranking metrics for recommendation: of the columns that a row has not shown, are its test columns near the top?"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cormorant.backends.compiled import single_blas_thread
from cormorant.data import as_counts
from cormorant.inference.predictive import predictive_weights
from cormorant.inference.rows import Rows

BLOCK = 1024  # rows whose scores of all columns are held at a time


def ranking_metrics(model: Any, observed: Any, test: Any, n: int = 20) -> dict[str, float]:
    """recall@n and NDCG@n, averaged over the rows that have something to find.

    Args:
        model: A fitted estimator.
        observed: Counts shown of each row; their columns are not recommended again.
        test: Counts whose columns (nonzero) are to be found.
        n: Length of the list that is recommended.
    """
    check_is_fitted(model)
    observed, test = as_counts(observed), as_counts(test)
    if observed.shape != test.shape:
        raise ValueError(f"observed and test must have one shape; got {observed.shape} and {test.shape}.")
    n = int(n)
    if not 0 < n <= test.n_columns:
        raise ValueError(f"n must be between 1 and the {test.n_columns} columns, got {n}.")
    with single_blas_thread():
        weights = predictive_weights(model._fitted_scheme, model._globals, Rows(observed))
        parts = [
            _block_metrics(weights[i : i + BLOCK] @ model.components_, observed, test, i, n)
            for i in range(0, test.n_rows, BLOCK)
        ]
    recall, ndcg = (np.concatenate(values) for values in zip(*parts, strict=True))
    if len(recall) == 0:
        raise ValueError("no row has a test entry, so there is nothing to find.")
    return {f"recall@{n}": float(recall.mean()), f"ndcg@{n}": float(ndcg.mean())}


def _block_metrics(scores: np.ndarray, observed: Any, test: Any, first: int, n: int):
    """Recall and NDCG of each row of a block that has a test entry."""
    rows = slice(first, first + len(scores))
    seen, wanted = observed.rows(rows), test.rows(rows)
    scores[np.repeat(np.arange(len(scores)), np.diff(seen.indptr)), seen.indices] = -np.inf
    relevant = np.zeros(scores.shape, bool)
    relevant[np.repeat(np.arange(len(scores)), np.diff(wanted.indptr)), wanted.indices] = True
    top = np.argpartition(-scores, n - 1, axis=1)[:, :n]
    order = np.argsort(-np.take_along_axis(scores, top, axis=1), axis=1, kind="stable")
    hits = np.take_along_axis(relevant, np.take_along_axis(top, order, axis=1), axis=1)
    n_wanted = np.diff(wanted.indptr)
    discount = 1.0 / np.log2(np.arange(2, n + 2))
    ideal = np.cumsum(discount)[np.minimum(n_wanted, n) - 1]
    has = n_wanted > 0
    return hits.sum(axis=1)[has] / np.minimum(n_wanted, n)[has], (hits @ discount)[has] / ideal[has]
