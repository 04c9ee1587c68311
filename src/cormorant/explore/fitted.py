"""What tables and figures need of a fitted model: a few arrays, whichever model they come from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from scipy.special import expit

from cormorant._words import counted
from cormorant.models.features import LatentFeatures
from cormorant.models.thinned import Thinning

NOTHING = 1e-12  # a component with no larger share of the counts holds none
HEAVY_SHARE = 0.9  # components are heavily used if together they hold this share of the counts


class FittedModel(Protocol):
    """The attributes of a fitted estimator that exploration reads."""

    components_: np.ndarray  # E a, components x columns
    weights_: np.ndarray  # w
    usage_: np.ndarray  # share of the counts that each component holds (of a feature: of the rows that show it)
    correlation_: np.ndarray  # rho, components x components
    locations_: np.ndarray  # components x D; D = 0 for the uncorrelated models
    n_components_used_: int
    column_names_: np.ndarray | None
    history_: Sequence[dict[str, Any]]


def named(names: np.ndarray | None, index: Iterable[int]) -> list[str]:
    """Names of the rows or columns at ``index``; their numbers, where the data have no names."""
    return [str(i) if names is None else str(names[i]) for i in index]


def top_columns(model: FittedModel, component: int, n: int) -> list[str]:
    """Names (numbers, where the data have no names) of the component's n largest columns, largest first."""
    return named(model.column_names_, largest(added(model)[component], n))


def added(model: Any) -> np.ndarray:
    """What each component adds to E y, components x columns: a_ki, but of features of zeros and ones

        sigmoid(a_0i + a_ki) - sigmoid(a_0i),

    what it adds to the chance of a one. A logit tells little by itself: where the background is far below zero, or far
    above, one or five more are the same to the data.
    """
    if getattr(model, "likelihood", None) != "bernoulli":
        return model.components_
    return expit(model.background_ + model.components_) - expit(model.background_)


def largest(values: np.ndarray, n: int) -> np.ndarray:
    """Places of the n largest values, largest first; of equal ones the first comes first."""
    check_number("n", n)
    return np.argsort(-values, kind="stable")[:n]


def by_usage(model: FittedModel) -> np.ndarray:
    """Numbers of the components that hold any counts, the most used first.

    A fit that began with fewer components than the truncation has others that took no part: there is nothing to tell
    of them.
    """
    order = np.argsort(-model.usage_, kind="stable")
    return order[: max(1, int((model.usage_ > NOTHING).sum()))]


def most_used(model: FittedModel, among: int | None = None) -> np.ndarray:
    """Numbers of the ``among`` most used components, most used first; None takes all that hold any counts."""
    return by_usage(model) if among is None else heavily_used(model, among, least=1)


def heavily_used(model: FittedModel, among: int | None = None, least: int = 2) -> np.ndarray:
    """Numbers of the ``among`` most used components, most used first.

    None takes as few as together hold nine tenths of the counts: pairs of components that hold next to
    nothing have correlations too, but they tell little.
    """
    order = by_usage(model)
    if among is None:
        held = np.cumsum(model.usage_[order])
        among = int(np.searchsorted(held, HEAVY_SHARE * held[-1])) + 1
    elif among < least:
        reason = ", since pairs are looked at" if least == 2 else ""
        raise ValueError(f"among must be at least {counted(least, 'component')}{reason}; got {among}.")
    return order[:among]


def require_correlations(model: FittedModel) -> None:
    """Refuse the models whose components are independent by construction."""
    if model.locations_.shape[1] == 0:
        raise ValueError(
            f"{type(model).__name__} has no correlations: its components are independent. "
            f"Fit {'beta-features or gamma-features' if has_features(model) else 'cnpf, softplus-cnpf or diln'}."
        )


def has_features(model: Any) -> bool:
    """Whether components are features, which rows show or not (`BetaBernoulliFeatures` and its kin)."""
    return isinstance(getattr(model, "model", None), LatentFeatures)


def is_thinned(model: Any) -> bool:
    """Whether rows have components whole or not at all, as covariates say (`ThinnedPoissonFactorization`)."""
    return getattr(model, "model", None) is Thinning


def is_normalised(model: Any) -> bool:
    """Whether the rows' weights are proportions and the atoms sum to one (`DILN`, `HDP`)."""
    return getattr(getattr(model, "model", None), "normalised", False)


def check_number(name: str, value: int) -> None:
    """Refuse numbers of things below one."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
