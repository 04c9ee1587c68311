"""How well the top columns of components hang together, and how little they repeat each other."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from cormorant.data import as_counts
from cormorant.explore.fitted import FittedModel, heavily_used, largest, most_used
from cormorant.explore.labels import described
from cormorant.explore.scores import column_scores


def coherence(model: FittedModel, X: Any, n: int = 10, *, by: str = "mean", among: int | None = None) -> pd.DataFrame:
    """Whether the top columns of a component turn up in the same rows.

    With p_i the share of rows that show column i, and p_ij of those that show both, the coherence is the mean over
    pairs of top columns of

        NPMI_ij = log(p_ij / (p_i p_j)) / -log p_ij,

    from -1 (never together) over 0 (independent) to 1 (only ever together).

    Args:
        model: A fitted estimator.
        X: Rows to count in; those of the fit, or better ones that it has not seen.
        n: Top columns of each component.
        by: What makes a column a top column (`explore.scores`).
        among: How many of the most used components to list; None takes all.

    Returns:
        component, label, share, npmi, exclusive (share of its top columns that no other listed component has).
    """
    if n < 2:
        raise ValueError(f"n must be at least 2 columns, since pairs are looked at; got {n}.")
    counts = as_counts(X)
    if counts.n_columns != model.components_.shape[1]:
        raise ValueError(f"X must have the fit's {model.components_.shape[1]} columns, got {counts.n_columns}.")
    chosen, top = _top(model, n, by, among)
    listed, place = np.unique(top, return_inverse=True)
    shown = sparse.csc_matrix(counts.tocsr()[:, listed] > 0, dtype=np.float64)
    lists = Counter(top.ravel().tolist())
    return pd.DataFrame(
        {
            **described(model, chosen),
            "npmi": [_mean_npmi(shown[:, columns]) for columns in place.reshape(top.shape)],
            "exclusive": [np.mean([lists[i] == 1 for i in columns]) for columns in top.tolist()],
        }
    )


def diversity(model: FittedModel, n: int = 25, *, by: str = "mean", among: int | None = None) -> float:
    """Share of distinct columns among the n top columns of the heavily used components (Dieng and others 2020).

    Args:
        model: A fitted estimator.
        n: Top columns of each component.
        by: What makes a column a top column (`explore.scores`).
        among: How many of the most used components to look at; None takes as few as hold 90% of the counts.
    """
    _, top = _top(model, n, by, len(heavily_used(model, among, least=1)))
    return len(np.unique(top)) / top.size


def _top(model: FittedModel, n: int, by: str, among: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The components looked at, and their top columns."""
    chosen = most_used(model, among)
    scores = column_scores(model, by)
    return chosen, np.array([largest(scores[k], n) for k in chosen])


def _mean_npmi(shown: sparse.csc_matrix) -> float:
    """Mean NPMI over pairs of a few columns of zeros and ones."""
    both = (shown.T @ shown).toarray() / shown.shape[0]
    p_i = np.diag(both)
    first, second = np.triu_indices(len(both), k=1)
    p_ij, independent = both[first, second], p_i[first] * p_i[second]
    npmi = np.full(len(p_ij), -1.0)  # the limit as p_ij falls to zero
    npmi[p_ij == 1] = 1.0  # both in every row: the limit as p_ij rises to one
    some = (p_ij > 0) & (p_ij < 1)
    npmi[some] = np.log(p_ij[some] / independent[some]) / -np.log(p_ij[some])
    return float(npmi.mean())
