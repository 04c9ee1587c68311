"""The components of a fitted model and the pairs that go together or avoid each other, as data frames."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cormorant.explore.fitted import FittedModel, heavily_used, require_correlations, top_columns


def components(model: FittedModel, n: int = 10) -> pd.DataFrame:
    """A line a component, the most used first.

    Args:
        model: A fitted estimator.
        n: Columns to name for each component.

    Returns:
        component (its number in `components_`), share (of the counts that the fit saw), weight (w of the
        tuple), top_columns (a list, largest first).
    """
    order = np.argsort(-model.usage_, kind="stable")
    return pd.DataFrame(
        {
            "component": order,
            "share": model.usage_[order],
            "weight": model.weights_[order],
            "top_columns": [top_columns(model, k, n) for k in order],
        }
    )


def correlated_pairs(model: FittedModel, n: int = 10, *, among: int | None = None, n_columns: int = 5) -> pd.DataFrame:
    """The most positively, then the most negatively correlated pairs of heavily used components.

    Correlations are those of the random function at the two locations, rho_km = l_k . l_m / (|l_k| |l_m|).

    Args:
        model: A fitted estimator with locations (`CNPF`, `SoftplusCNPF`).
        n: Pairs of each sign, or fewer where there are not as many.
        among: How many of the most used components to look at; None takes as few as hold 90% of the counts.
        n_columns: Columns to name for each component.

    Returns:
        sign, correlation, component, other, top_columns, other_columns: positive pairs first, the strongest
        of each sign on top; of a pair the more used component comes first.
    """
    require_correlations(model)
    heavy = heavily_used(model, among)
    first, second = np.triu_indices(len(heavy), k=1)
    component, other = heavy[first], heavy[second]
    rho = model.correlation_[component, other]
    order = np.argsort(-rho, kind="stable")
    positive = order[rho[order] > 0][:n]
    negative = order[rho[order] < 0][::-1][:n]
    chosen = np.concatenate([positive, negative])
    return pd.DataFrame(
        {
            "sign": ["positive"] * len(positive) + ["negative"] * len(negative),
            "correlation": rho[chosen],
            "component": component[chosen],
            "other": other[chosen],
            "top_columns": [top_columns(model, k, n_columns) for k in component[chosen]],
            "other_columns": [top_columns(model, k, n_columns) for k in other[chosen]],
        }
    )
