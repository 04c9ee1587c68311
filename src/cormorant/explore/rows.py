"""What the model says of single rows: their components, what they would show next, which rows are like them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from cormorant.explore.fitted import by_usage, check_number, has_features, largest, named, top_columns
from cormorant.explore.given_rows import GivenRows, expected_columns, given_rows
from cormorant.explore.labels import labels_of
from cormorant.explore.row_weights import divided, row_place, row_shares, row_weights


def row_profile(
    model: Any, row: int | str, X: Any = None, *, n: int = 5, n_columns: int = 5, covariates: Any = None
) -> pd.DataFrame:
    """The components that hold most of a row, among those that hold any counts of the fit.

    Args:
        model: A fitted estimator.
        row: Number or name of the row.
        X: Where the row is; None: among the rows that the fit saw, of which it kept E x but no standard deviation.
        n: Components to list.
        n_columns: Columns to name for each.
        covariates: Of the rows of X, if the model was fitted with covariates.

    Returns:
        component, label, share (of the row's expected counts), weight (E x), std (of x; only if X is given),
        top_columns; the largest share first. Of features share and weight are both P(z = 1), and there is no std.
    """
    check_number("n", n)
    x, std = _one_row(model, row, X, covariates)
    share, used = row_shares(model, x), by_usage(model)
    chosen = used[largest(share[used], n)]
    return pd.DataFrame(
        {
            "component": chosen,
            "label": labels_of(model, chosen),
            "share": share[chosen],
            "weight": x[chosen],
            **({} if std is None else {"std": std[chosen]}),
            "top_columns": [top_columns(model, k, n_columns) for k in chosen],
        }
    )


def next_columns(model: Any, row: int | str, X: Any = None, *, n: int = 10, covariates: Any = None) -> pd.DataFrame:
    """The columns that a row's next count falls in most likely, p_i = sum_k x_k a_ki / sum_j sum_k x_k a_kj.

    Args:
        model: A fitted estimator.
        row: Number or name of the row.
        X: Where the row is; columns that it shows are then left out. None: among the rows that the fit saw; what
            they showed is not kept, so that their own columns are listed too.
        n: Columns to list.
        covariates: Of the rows of X, if the model was fitted with covariates.

    Returns:
        rank (from 1), column, probability. Of features, of counts or zeros and ones: expected, which is E y, in place
        of the probability.
    """
    check_number("n", n)
    rows = given_rows(model, X, covariates)
    if rows is not None:
        return _one_of(rows, row).top_columns(n).drop(columns="row")
    if has_features(model):
        mean = model.inverse_transform(_one_row(model, row, None, None)[0][np.newaxis])
        return expected_columns(model, mean, np.zeros(mean.shape, bool), n).drop(columns="row")
    rates = _one_row(model, row, None, None)[0] @ model.components_
    best = largest(rates, n)
    return pd.DataFrame(
        {
            "rank": np.arange(1, len(best) + 1),
            "column": named(model.column_names_, best),
            "probability": rates[best] / rates.sum(),
        }
    )


def similar_rows(model: Any, row: int | str, X: Any = None, *, n: int = 10, covariates: Any = None) -> pd.DataFrame:
    """Rows of the fit that divide their counts among components as this row does.

    The similarity of shares p and q is Hellinger's affinity sum_k sqrt(p_k q_k): 1 for equal shares, 0 where no
    component is in both. Unlike the cosine of the weights it neither depends on how long rows are nor is decided by
    the one largest component. Of features the shares are P(z = 1), divided by their sum.

    Args:
        model: A fitted estimator that kept the weights of its rows.
        row: Number or name of the row.
        X: Where the row is; None: among the rows that the fit saw, and then it is not listed itself.
        n: Rows to list.
        covariates: Of the rows of X, if the model was fitted with covariates.

    Returns:
        row (its name, or its number), similarity; the most similar first.
    """
    check_number("n", n)
    fitted, names = row_weights(model)
    share = divided(row_shares(model, _one_row(model, row, X, covariates)[0]))
    similarity = np.sqrt(divided(row_shares(model, fitted))) @ np.sqrt(share)
    order = largest(similarity, n + 1)
    if X is None:
        order = order[order != row_place(row, len(fitted), names)]
    best = order[:n]
    # Rounding may take the similarity of equal rows above one.
    return pd.DataFrame({"row": named(names, best), "similarity": np.minimum(similarity[best], 1.0)})


def _one_row(model: Any, row: int | str, X: Any, covariates: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """E x of a row and, where its counts are given, the standard deviation of x."""
    rows = given_rows(model, X, covariates)
    if rows is not None and has_features(model):
        return _one_of(rows, row).weights()[0], None
    if rows is not None:
        mean, std = _one_of(rows, row).moments()
        return mean[0], std[0]
    weights, names = row_weights(model)
    return weights[row_place(row, len(weights), names)], None


def _one_of(rows: GivenRows, row: int | str) -> GivenRows:
    """One row of those given."""
    return rows.take([row_place(row, rows.counts.n_rows, rows.counts.row_names)])
