"""Which components go together and which avoid each other: in the random function, and in the weights it makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from cormorant.explore.fitted import (
    FittedModel,
    has_features,
    heavily_used,
    is_thinned,
    require_correlations,
    top_columns,
)
from cormorant.explore.labels import labels_of
from cormorant.measures import GammaAtoms, GammaProcess, GaussianLocations, Tuples, cnpf, softplus_cnpf
from cormorant.measures import weight_moments as moments_of

MEASURES = {"exp": cnpf, "softplus": softplus_cnpf}  # by the link of the model


def correlated_pairs(model: FittedModel, n: int = 10, *, among: int | None = None, n_columns: int = 5) -> pd.DataFrame:
    """The most positively, then the most negatively correlated pairs of heavily used components.

    Correlations are those of the random function at the two locations, rho_km = l_k . l_m / (|l_k| |l_m|); of a thinned
    model those of the log odds over the rows, through their covariates (`models.thinned.field_correlation`).

    Args:
        model: A fitted estimator with locations (`CNPF`, `SoftplusCNPF`, `ThinnedPoissonFactorization`).
        n: Pairs of each sign, or fewer where there are not as many.
        among: How many of the most used components to look at; None takes as few as hold 90% of the counts.
        n_columns: Columns to name for each component.

    Returns:
        sign, correlation, component, other, top_columns, other_columns: positive pairs first, the strongest
        of each sign on top; of a pair the more used component comes first. If the inference gives an interval
        of the correlation, also low and high.
    """
    component, other = _pairs(model, among)
    rho = model.correlation_[component, other]
    order = np.argsort(-rho, kind="stable")
    positive = order[rho[order] > 0][:n]
    negative = order[rho[order] < 0][::-1][:n]
    chosen = np.concatenate([positive, negative])
    return pd.DataFrame(
        {
            "sign": ["positive"] * len(positive) + ["negative"] * len(negative),
            "correlation": rho[chosen],
            **_interval(model, component[chosen], other[chosen]),
            "component": component[chosen],
            "other": other[chosen],
            "top_columns": [top_columns(model, k, n_columns) for k in component[chosen]],
            "other_columns": [top_columns(model, k, n_columns) for k in other[chosen]],
        }
    )


def correlations(model: Any, *, among: int | None = None) -> pd.DataFrame:
    """Every pair of heavily used components: the correlation of the random function and that of the weights.

    Args:
        model: A fitted estimator with locations (`CNPF`, `SoftplusCNPF`).
        among: How many of the most used components to look at; None takes as few as hold 90% of the counts.

    Returns:
        component, label, other, other_label, correlation (rho_km), weight_correlation (`weight_correlation`; not of
        features and thinned models, whose rows have a component or not), the most positive first; also low and high if
        the inference gives an interval of rho.
    """
    component, other = _pairs(model, among)
    implied = {"weight_correlation": weight_correlation(model)[component, other]} if _has_weights(model) else {}
    table = pd.DataFrame(
        {
            "component": component,
            "label": labels_of(model, component),
            "other": other,
            "other_label": labels_of(model, other),
            "correlation": model.correlation_[component, other],
            **_interval(model, component, other),
            **implied,
        }
    )
    return table.sort_values("correlation", ascending=False, kind="stable", ignore_index=True)


def weight_correlation(model: Any) -> np.ndarray:
    """Correlation of the weights x_k and x_m over rows with the same mean mu_u, as the fitted tuples imply it.

    For x ~ Gamma(w, exp(-F)), F_k = l_k . d + mu and d ~ N(0, I), mu drops out:

        Corr(x_k, x_m | mu) = (exp(l_k . l_m) - 1) / (s_k s_m),   s_k^2 = (1 + 1 / w_k) exp(|l_k|^2) - 1.

    It is weaker than rho, since x scatters around what F says, the more so the smaller w. With mu free, all weights
    would go together, for no other reason than that some rows are longer. For the softplus link mu is taken at
    its mean, zero. A normalised model's x are those before they are divided by their sum, with beta w for w. Of a
    Student-t field exp F has no moments, and there is no such correlation: NaN.
    """
    require_correlations(model)
    if not _has_weights(model):
        raise ValueError(
            f"{type(model).__name__} has rows with a component or without it: there are no gamma weights to correlate. "
            "correlation_ tells of their log odds."
        )
    if getattr(model, "field", "gaussian") == "student-t":
        return np.full(model.correlation_.shape, np.nan)
    measure = MEASURES[model.model.link](
        GammaProcess(model.alpha_, model.c_),
        GammaAtoms(model.components_.shape[1], model.hyperparameters_["a0"], model.hyperparameters_["b0"]),
        GaussianLocations(model.loadings_.shape[1], model.hyperparameters_["sigma_l2"]),
    )
    shapes = model.weights_ * getattr(model, "beta_", 1.0)
    return moments_of(measure, Tuples(model.components_, shapes, model.loadings_)).correlation


def _has_weights(model: Any) -> bool:
    """Whether rows have gamma weights of components, and not components whole or not at all."""
    return not (has_features(model) or is_thinned(model))


def _pairs(model: FittedModel, among: int | None) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of heavily used components; of a pair the more used one comes first."""
    require_correlations(model)
    heavy = heavily_used(model, among)
    first, second = np.triu_indices(len(heavy), k=1)
    return heavy[first], heavy[second]


def _interval(model: FittedModel, component: np.ndarray, other: np.ndarray) -> dict[str, np.ndarray]:
    """Ends of the interval of each correlation, for inference that gives one (`correlation_interval_`, 2 x T x T)."""
    interval = getattr(model, "correlation_interval_", None)
    if interval is None:
        return {}
    low, high = interval[:, component, other]
    return {"low": low, "high": high}
