"""What the page knows of a fitted model, as plain values ready for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from cormorant.explore.correlations import correlated_pairs
from cormorant.explore.fitted import FittedModel, has_features, heavily_used, most_used, require_correlations
from cormorant.explore.labels import labels_of
from cormorant.explore.layout import cluster_order, place_circles
from cormorant.explore.page.columns import Vocabulary
from cormorant.explore.page.values import rounded, row_name
from cormorant.explore.row_weights import kept_weights, standing_for

MOST_COMPONENTS = 300  # more than can be told apart on a screen
TOP_COLUMNS, TOP_ROWS, TOP_PAIRS = 15, 8, 8
LARGEST, SMALLEST = 26.0, 5.0  # radii of the nodes, in the units of their places
EDGES_PER_COMPONENT = 1.2  # how many pairs the graph shows at first
MOST_EDGES = 2000  # and at most: more are slow to draw and cannot be told apart


def document(model: FittedModel, *, title: str | None = None, among: int | None = None) -> dict[str, Any]:
    """Everything that the page shows.

    Args:
        model: A fitted estimator.
        title: Heading of the page; None names the model.
        among: How many of the most used components to show; None takes those in use, at most 300.
    """
    shown = most_used(model, min(model.n_components_used_, MOST_COMPONENTS) if among is None else among)
    vocabulary = Vocabulary(model, shown)
    lists = [vocabulary.lists(i, TOP_COLUMNS) for i in range(len(shown))]
    listed = np.unique([entry[0] for pair in lists for entries in pair for entry in entries]).astype(np.int64)
    weights = kept_weights(model)
    return {
        "title": title or f"Components of {_model_name(model)}",
        "model": _model_name(model),
        "shareOf": "rows" if has_features(model) else "counts",  # what a component's share is a share of
        "served": False,  # whether somebody answers questions about rows
        "rowsLinked": False,  # and whether those are the rows of the fit
        "nRows": None if weights is None else len(weights),
        "nColumns": model.components_.shape[1],
        "components": [
            {
                "number": int(k),
                "label": label,
                "share": rounded(model.usage_[k]),
                "weight": rounded(model.weights_[k]),
                "columns": frequent,
                "distinctive": distinctive,
                "rows": rows,
            }
            for k, label, (frequent, distinctive), rows in zip(
                shown, labels_of(model, shown), lists, _representatives(model, weights, shown), strict=True
            )
        ],
        "sticks": _sticks(model, shown),
        "columns": vocabulary.search_index(listed),
        "correlations": _correlations(model, shown),
        "independent": _why_independent(model, shown),
    }


def _representatives(model: Any, weights: np.ndarray | None, shown: np.ndarray) -> list[list[list[Any]]]:
    """For each shown component the rows that stand for it: number, name, share of the row."""
    if weights is None:
        return [[] for _ in shown]
    names = getattr(model, "row_names_", None)
    return [
        [[int(u), row_name(names, u), rounded(share)] for u, share in zip(rows, shares, strict=True)]
        for rows, shares in standing_for(model, weights, shown, TOP_ROWS)
    ]


def _sticks(model: FittedModel, shown: np.ndarray) -> dict[str, Any]:
    """All weights w by size up to the truncation, and where each is on the page (-1: not on it)."""
    order = np.argsort(-model.weights_, kind="stable")
    place = np.full(len(order), -1)
    place[shown] = np.arange(len(shown))
    return {
        "weights": rounded(model.weights_[order]),
        "components": place[order].tolist(),
        "inUse": int(model.n_components_used_),
    }


def _why_independent(model: FittedModel, shown: np.ndarray) -> str | None:
    """Why the page shows no correlations, or None if it does."""
    try:
        require_correlations(model)
    except ValueError as error:
        return str(error)
    return "Only one component is in use, so there are no pairs to show." if len(shown) < 2 else None


def _correlations(model: FittedModel, shown: np.ndarray) -> dict[str, Any] | None:
    """rho in thousandths above the diagonal, row after row, with what the drawings need."""
    if _why_independent(model, shown):
        return None
    rho = model.correlation_[np.ix_(shown, shown)]
    above = rho[np.triu_indices(len(shown), k=1)]
    radii = node_radii(model.usage_[shown])
    return {
        "thousandths": np.rint(1000 * above).astype(int).tolist(),
        "order": cluster_order(rho).tolist(),
        "radii": rounded(radii),
        "places": np.round(place_circles(rho, radii), 1).tolist(),
        "threshold": _first_threshold(np.abs(above), len(shown)),
        "lowestThreshold": _lowest_threshold(np.abs(above)),
        "pairs": _strongest_pairs(model, shown),
    }


def node_radii(usage: np.ndarray) -> np.ndarray:
    """Radii whose squares grow with the share of the counts, so that areas compare."""
    return np.maximum(LARGEST * np.sqrt(usage / usage.max()), SMALLEST)


def _first_threshold(strength: np.ndarray, n: int) -> float:
    """A |rho|, in steps of 0.05, that about six pairs for every five components reach."""
    wanted = min(len(strength), round(EDGES_PER_COMPONENT * n))
    return float(np.clip(np.floor(20 * np.sort(strength)[-wanted]) / 20, 0.05, 0.95))


def _lowest_threshold(strength: np.ndarray) -> float:
    """The smallest |rho|, in steps of 0.01, that no more pairs reach than the graph can draw."""
    if len(strength) <= MOST_EDGES:
        return 0.05
    return float(np.clip(np.ceil(100 * np.sort(strength)[-MOST_EDGES]) / 100, 0.05, 0.95))


def _strongest_pairs(model: FittedModel, shown: np.ndarray) -> dict[str, list[list[int]]]:
    """Places of the most correlated pairs of each sign among the heavily used components."""
    heavy = min(max(len(heavily_used(model)), 2), len(shown))
    table = correlated_pairs(model, TOP_PAIRS, among=heavy, n_columns=1)
    place = {int(k): at for at, k in enumerate(shown)}
    pairs: dict[str, list[list[int]]] = {"positive": [], "negative": []}
    for sign, k, m in zip(table["sign"], table["component"], table["other"], strict=True):
        pairs[sign].append([place[k], place[m]])
    return pairs


def _model_name(model: Any) -> str:
    """The name that the command line uses, or that of the class."""
    return str(getattr(getattr(model, "model", None), "name", type(model).__name__))
