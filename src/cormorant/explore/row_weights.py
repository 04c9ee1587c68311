"""Weights of rows: E x of the rows that the fit saw, or of any rows given."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

import numpy as np

from cormorant.explore.fitted import FittedModel, has_features, largest
from cormorant.explore.given_rows import given_rows


def kept_weights(model: Any) -> np.ndarray | None:
    """E x of the rows that the fit saw (of features P(z = 1)), which `save` keeps too; None where there are none.

    `partial_fit` keeps none, nor does a chain that was interrupted in its burn-in, nor do early files of features.
    """
    return getattr(model, "_row_weights", None)


def row_weights(model: Any, X: Any = None, covariates: Any = None) -> tuple[np.ndarray, np.ndarray | None]:
    """E x, rows x components, and the names of the rows of X; without X of the rows that the fit saw."""
    rows = given_rows(model, X, covariates)
    if rows is not None:
        return rows.weights(), rows.counts.row_names
    mean = kept_weights(model)
    if mean is None:
        raise ValueError(
            "X must be given: this model holds no weights of its rows (it was fitted by partial_fit, interrupted "
            "early, or has features and was saved by an earlier version)."
        )
    return mean, getattr(model, "row_names_", None)


def row_shares(model: FittedModel, weights: np.ndarray) -> np.ndarray:
    """Share of a row's expected counts that each component holds, x_uk A_k / sum_m x_um A_m with A_k = sum_i a_ki.

    A feature is shown whole or not at all, and what it adds may be negative: there P(z = 1) is told.
    """
    if has_features(model):
        return weights
    return divided(weights * model.components_.sum(axis=1))


def divided(parts: np.ndarray) -> np.ndarray:
    """Parts of each row by their sum."""
    return parts / np.maximum(parts.sum(axis=-1, keepdims=True), np.finfo(float).tiny)


def standing_for(
    model: FittedModel, weights: np.ndarray, components: np.ndarray, n: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each component the n rows that stand for it, and the share of each that it holds (`row_shares`).

    A row stands for k by x_uk A_k s_uk, with s_uk its share: many counts of it, and little else. By the share alone
    very short rows would win, by the counts alone very long ones. It stands for a feature by p_uk^2 / sum_m p_um: it
    shows that one surely, and few others.
    """
    is_whole = has_features(model)
    totals = np.ones(len(model.components_)) if is_whole else model.components_.sum(axis=1)
    of_row = np.maximum(weights @ totals, np.finfo(float).tiny)
    for k in components:  # a component at a time: the weights may be a large part of the memory
        counts = weights[:, k] * totals[k]
        rows = largest(counts * counts / of_row, n)
        yield rows, counts[rows] if is_whole else counts[rows] / of_row[rows]


def row_place(row: int | str, n_rows: int, names: np.ndarray | None) -> int:
    """Where a row is, given its number or its name."""
    if isinstance(row, str):
        return _named_place(row, names)
    if isinstance(row, bool) or not isinstance(row, int | np.integer) or not 0 <= row < n_rows:
        raise ValueError(f"row must be a number from 0 to {n_rows - 1} or a row's name, got {row!r}.")
    return int(row)


def _named_place(row: str, names: np.ndarray | None) -> int:
    if names is None:
        raise ValueError(f"row must be a number, since the rows have no names; got {row!r}.")
    found = np.flatnonzero(names == row)
    if len(found) == 0:
        near = get_close_matches(row, names.tolist(), n=3)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ValueError(f"row must be the name of one of the {len(names)} rows; none is {row!r}.{hint}")
    return int(found[0])
