"""The correlations as a network: components are nodes, strong correlations edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cormorant.explore.fitted import FittedModel, heavily_used, require_correlations, top_columns
from cormorant.explore.labels import labels_of

if TYPE_CHECKING:
    import networkx

LEAST = 0.5  # weaker correlations are no edges


def correlation_graph(
    model: FittedModel, *, among: int | None = None, least: float = LEAST, n_columns: int = 10
) -> networkx.Graph:
    """Heavily used components, joined where |rho_km| is at least ``least``.

    Attributes of a node (a component's number): label, share (of the counts), weight (w), columns (its largest, as
    text). Attributes of an edge: weight (|rho|, since network programs take weights for strengths), sign
    ("positive" or "negative"), correlation (rho); also low and high, if the inference gives an interval. All are
    plain numbers and text, so that every format of networkx can hold them.

    Args:
        model: A fitted estimator with locations (`CNPF`, `SoftplusCNPF`, `ThinnedPoissonFactorization`).
        among: How many of the most used components to take; None takes as few as hold 90% of the counts.
        least: The least |rho| of an edge, in [0, 1].
        n_columns: Columns to name for each component.
    """
    import networkx

    require_correlations(model)
    if not 0 <= least <= 1:
        raise ValueError(f"least must be a correlation in [0, 1], got {least!r}.")
    chosen = heavily_used(model, among)
    graph = networkx.Graph()
    for k, label in zip(chosen.tolist(), labels_of(model, chosen), strict=True):
        graph.add_node(
            k,
            label=label,
            share=float(model.usage_[k]),
            weight=float(model.weights_[k]),
            columns="; ".join(top_columns(model, k, n_columns)),
        )
    first, second = np.triu_indices(len(chosen), k=1)
    strong = np.abs(model.correlation_[chosen[first], chosen[second]]) >= least
    for k, m in zip(chosen[first[strong]].tolist(), chosen[second[strong]].tolist(), strict=True):
        graph.add_edge(k, m, **_edge(model, k, m))
    return graph


def _edge(model: FittedModel, k: int, m: int) -> dict[str, float | str]:
    rho = float(model.correlation_[k, m])
    found: dict[str, float | str] = {
        "weight": abs(rho),
        "sign": "positive" if rho >= 0 else "negative",
        "correlation": rho,
    }
    interval = getattr(model, "correlation_interval_", None)
    if interval is not None:
        found |= {"low": float(interval[0, k, m]), "high": float(interval[1, k, m])}
    return found
