"""What tables and figures need of a fitted model: a few arrays, whichever model they come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

HEAVY_SHARE = 0.9  # components are heavily used if together they hold this share of the counts


class FittedModel(Protocol):
    """The attributes of a fitted estimator that exploration reads."""

    components_: np.ndarray  # E a, components x columns
    weights_: np.ndarray  # w
    usage_: np.ndarray  # share of the counts that each component holds
    correlation_: np.ndarray  # rho, components x components
    locations_: np.ndarray  # components x D; D = 0 for the uncorrelated models
    n_components_used_: int
    column_names_: np.ndarray | None
    history_: Sequence[dict[str, Any]]


def top_columns(model: FittedModel, component: int, n: int) -> list[str]:
    """Names (numbers, where the data have no names) of the component's n largest columns, largest first."""
    best = np.argsort(-model.components_[component], kind="stable")[:n]
    names = model.column_names_
    return [str(i) if names is None else str(names[i]) for i in best]


def heavily_used(model: FittedModel, among: int | None = None) -> np.ndarray:
    """Numbers of the ``among`` most used components, most used first.

    None takes as few as together hold nine tenths of the counts: pairs of components that hold next to
    nothing have correlations too, but they tell little.
    """
    order = np.argsort(-model.usage_, kind="stable")
    if among is None:
        among = int(np.searchsorted(np.cumsum(model.usage_[order]), HEAVY_SHARE)) + 1
    elif among < 2:
        raise ValueError(f"among must be at least 2 components, since pairs are looked at; got {among}.")
    return order[:among]


def require_correlations(model: FittedModel) -> None:
    """Refuse the models whose components are independent by construction."""
    if model.locations_.shape[1] == 0:
        raise ValueError(
            f"{type(model).__name__} has no correlations: its components are independent. Fit cnpf or softplus-cnpf."
        )
