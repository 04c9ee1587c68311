"""What the components are about, how widespread they are, and which rows show them best."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from cormorant.explore.fitted import FittedModel, by_usage, has_features, largest, most_used, named
from cormorant.explore.labels import described
from cormorant.explore.row_weights import row_shares, row_weights, standing_for
from cormorant.explore.scores import column_scores, probabilities

PRESENT = 0.05  # a component is present in a row if it holds this share of the row
SHOWN = 0.5  # a feature, if the row shows it with this probability


def components(model: FittedModel, n: int = 10, *, by: str = "mean") -> pd.DataFrame:
    """A line for each component that holds any counts, the most used first.

    Args:
        model: A fitted estimator.
        n: Columns to name for each component.
        by: What makes a column a top column: "mean", "lift", "frex" or "divergence" (`explore.scores`).

    Returns:
        component (its number in `components_`), label (short, no two the same), share (of the counts that the
        fit saw), weight (w of the tuple), top_columns (a list, the highest score first).
    """
    order, scores = by_usage(model), column_scores(model, by)
    return pd.DataFrame(
        {
            **described(model, order),
            "weight": model.weights_[order],
            "top_columns": [named(model.column_names_, largest(scores[k], n)) for k in order],
        }
    )


def component_columns(model: FittedModel, n: int = 10, *, by: str = "mean", among: int | None = None) -> pd.DataFrame:
    """A line for each top column of each component, with all its scores.

    Args:
        model: A fitted estimator.
        n: Columns of each component.
        by: The score that chooses and sorts them, as in `components`.
        among: How many of the most used components to list; None takes all.

    Returns:
        component, rank (from 1), column, mean (a_ki; of zeros and ones what a feature adds to the chance of a one),
        probability (of the component's counts), lift, frex.
    """
    chosen = most_used(model, among)
    ranking = column_scores(model, by)
    top = np.array([largest(ranking[k], n) for k in chosen])
    at = np.repeat(chosen, top.shape[1]), top.ravel()
    return pd.DataFrame(
        {
            "component": at[0],
            "rank": np.tile(np.arange(1, top.shape[1] + 1), len(chosen)),
            "column": named(model.column_names_, at[1]),
            "mean": column_scores(model, "mean")[at],
            "probability": probabilities(model)[at],
            "lift": column_scores(model, "lift")[at],
            "frex": column_scores(model, "frex")[at],
        }
    )


def prevalence(
    model: FittedModel, X: Any = None, *, present: float | None = None, covariates: Any = None
) -> pd.DataFrame:
    """How widespread each component is: in the counts, and in rows, of which each has the same say.

    Args:
        model: A fitted estimator.
        X: Rows to look at; None takes those that the fit saw.
        present: A component is present in a row if it holds at least this share of it (a feature: if the row shows it
            with this probability); None: 0.05, for features 0.5.
        covariates: Of the rows of X, if the model was fitted with covariates.

    Returns:
        component, label, share (of the counts that the fit saw), mean_share (over rows), rows (share of rows
        in which it is present); the most used first. Of features share is that of the rows of the fit that show them,
        and mean_share the mean of P(z = 1).
    """
    if present is None:
        present = SHOWN if has_features(model) else PRESENT
    if not 0 < present <= 1:
        raise ValueError(f"present must be a share in (0, 1], got {present!r}.")
    shares = row_shares(model, row_weights(model, X, covariates)[0])
    order = by_usage(model)
    return pd.DataFrame(
        {
            **described(model, order),
            "mean_share": shares.mean(axis=0)[order],
            "rows": (shares >= present).mean(axis=0)[order],
        }
    )


def representative_rows(
    model: FittedModel, X: Any = None, *, n: int = 3, among: int | None = None, covariates: Any = None
) -> pd.DataFrame:
    """The rows that stand for each component: they have much of it, and little else (`row_weights.standing_for`).

    Args:
        model: A fitted estimator.
        X: Rows to choose from; None takes those that the fit saw.
        n: Rows of each component.
        among: How many of the most used components to list; None takes all.
        covariates: Of the rows of X, if the model was fitted with covariates.

    Returns:
        component, rank (from 1), row (its name, or its number), share (of the row), weight (E x); of features both are
        P(z = 1).
    """
    weights, names = row_weights(model, X, covariates)
    chosen = most_used(model, among)
    found = list(standing_for(model, weights, chosen, n))
    rows, shares = (np.array(part) for part in zip(*found, strict=True))
    at = rows.ravel(), np.repeat(chosen, rows.shape[1])
    return pd.DataFrame(
        {
            "component": at[1],
            "rank": np.tile(np.arange(1, rows.shape[1] + 1), len(chosen)),
            "row": named(names, at[0]),
            "share": shares.ravel(),
            "weight": weights[at],
        }
    )
