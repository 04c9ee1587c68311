"""How covariates of the rows move components."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from cormorant.explore.fitted import is_normalised, is_thinned, most_used
from cormorant.explore.labels import labels_of


def covariate_effects(model: Any, *, among: int | None = None, relative: bool | None = None) -> pd.DataFrame:
    """What a unit of each covariate adds to F_uk, the logarithm (softplus: about the size) of a component's weight.

    Of a thinned model F_uk is the log odds that a row has the component.

    Args:
        model: An estimator that was fitted with covariates (`CNPF`, `SoftplusCNPF`, `DILN`,
            `ThinnedPoissonFactorization`).
        among: How many of the most used components to look at; None takes all that hold any counts.
        relative: Whether to take out what a covariate does to all components alike, sum_k p_k e_kc with p_k the shares
            of the counts, which is a change of the rows' totals. Normalised models know no other effects, thinned ones
            none of that kind; None takes those of ``model.covariate_effects_``.

    Returns:
        component, label, covariate, effect, and low and high, the ends of a 90% interval; for each covariate the
        largest effect first.
    """
    require_covariates(model)
    relative = are_relative(model, relative)
    if not relative and is_normalised(model):
        raise ValueError(
            f"relative must be True for {type(model).__name__}: it takes the totals of rows as given, so what a "
            "covariate does to all components alike cancels."
        )
    found = model._effects(relative)
    chosen, names = most_used(model, among), model.covariate_names_
    size = (len(chosen), len(names))
    table = pd.DataFrame(
        {
            "component": np.repeat(chosen, len(names)),
            "label": np.repeat(np.array(labels_of(model, chosen), dtype=object), len(names)),
            "covariate": np.tile(names, len(chosen)),
            **{
                name: part[chosen].reshape(size).ravel()
                for name, part in zip(("effect", "low", "high"), found, strict=True)
            },
        }
    )
    place = {name: i for i, name in enumerate(names)}
    order = np.lexsort([-table["effect"], table["covariate"].map(place)])
    return table.iloc[order].reset_index(drop=True)


def are_relative(model: Any, relative: bool | None) -> bool:
    """Whether effects are relative to what a covariate does to all components, if nobody says."""
    return not is_thinned(model) if relative is None else relative


def require_covariates(model: Any) -> None:
    """Refuse models that were fitted without covariates."""
    if not hasattr(model, "covariate_names_"):
        raise ValueError(
            "this model was fitted without covariates, so there are no effects: "
            "fit(X, covariates=...) with CNPF, SoftplusCNPF, DILN or ThinnedPoissonFactorization."
        )
