"""Ranking metrics for recommendation: of the columns that a row has not shown, are its test columns near the top?"""

from __future__ import annotations

from typing import Any

import numpy as np

from cormorant.backends.compiled import single_blas_thread
from cormorant.data import Counts
from cormorant.evaluation.pairs import checked_pair
from cormorant.inference.predictive import column_probabilities

DENSE_ENTRIES = 1 << 21  # scores held at a time


def ranking_metrics(model: Any, observed: Any, test: Any, n: int = 20, covariates: Any = None) -> dict[str, float]:
    """recall@n and NDCG@n, averaged over the rows that have something to find.

    With W_u the columns that row u has in ``test`` and not in ``observed``, and i_1, i_2, ... the columns that it has
    not shown, likeliest first:

        recall@n = #{r <= n: i_r in W_u} / #W_u
        NDCG@n   = sum_{r <= n} 1[i_r in W_u] / log2(r + 1)  over the same sum with all of W_u first,
                   sum_{r <= min(n, #W_u)} 1 / log2(r + 1)

    So recall@n cannot reach one for a row with more than n test columns; NDCG@n can.

    Args:
        model: A fitted estimator.
        observed: Counts shown of each row; their columns are not recommended again.
        test: Counts whose columns (nonzero) are to be found.
        n: Length of the list that is recommended.
        covariates: Of the rows, if the model was fitted with covariates.
    """
    rows, wanted = checked_pair(model, observed, test, covariates)
    if not isinstance(n, int | np.integer) or not 0 < n <= wanted.n_columns:
        raise ValueError(f"n must be a whole number between 1 and the {wanted.n_columns} columns, got {n!r}.")
    size = max(1, DENSE_ENTRIES // wanted.n_columns)
    with single_blas_thread():
        parts = []
        for first in range(0, wanted.n_rows, size):
            block = np.arange(first, min(first + size, wanted.n_rows))
            likely = column_probabilities(model._posterior, rows.take(block))
            parts.append(rank(likely, rows.counts.rows(block), wanted.rows(block), int(n)))
    recall, ndcg = (np.concatenate(values) for values in zip(*parts, strict=True))
    if len(recall) == 0:
        raise ValueError("no row has a test entry outside its observed columns, so there is nothing to find.")
    return {f"recall@{n}": float(recall.mean()), f"ndcg@{n}": float(ndcg.mean())}


def rank(scores: np.ndarray, seen: Counts, test: Counts, n: int) -> tuple[np.ndarray, np.ndarray]:
    """recall@n and NDCG@n of each row that has something to find, from scores of rows x columns."""
    shown = _nonzero(seen)
    scores = np.where(shown, -np.inf, scores)
    relevant = _nonzero(test) & ~shown
    top = np.argpartition(-scores, n - 1, axis=1)[:, :n]
    order = np.argsort(-np.take_along_axis(scores, top, axis=1), axis=1, kind="stable")
    hits = np.take_along_axis(relevant, np.take_along_axis(top, order, axis=1), axis=1)
    n_wanted = relevant.sum(axis=1)
    hits, n_wanted = hits[n_wanted > 0], n_wanted[n_wanted > 0]
    discount = 1.0 / np.log2(np.arange(2, n + 2))
    ideal = np.cumsum(discount)[np.minimum(n_wanted, n) - 1]
    return hits.sum(axis=1) / n_wanted, (hits @ discount) / ideal


def _nonzero(counts: Counts) -> np.ndarray:
    """True where a count is, rows x columns."""
    found = np.zeros(counts.shape, bool)
    found[np.repeat(np.arange(counts.n_rows), np.diff(counts.indptr)), counts.indices] = True
    return found
