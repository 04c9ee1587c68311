"""Every model that can be fitted, by its name, and by families that are fitted alike."""

from __future__ import annotations

from typing import Any

from cormorant.estimators.cnpf import ESTIMATORS
from cormorant.estimators.features import FEATURE_ESTIMATORS
from cormorant.estimators.thinned import ThinnedPoissonFactorization

THINNED: dict[str, type[ThinnedPoissonFactorization]] = {
    ThinnedPoissonFactorization.model.name: ThinnedPoissonFactorization
}
FAMILIES: dict[str, dict[str, Any]] = {"counts": ESTIMATORS, "thinned": THINNED, "features": FEATURE_ESTIMATORS}
ALL: dict[str, Any] = {name: cls for family in FAMILIES.values() for name, cls in family.items()}
OF_COUNTS: dict[str, Any] = {**ESTIMATORS, **THINNED}  # what a row shows next has a probability, and they a perplexity


def estimator_class(name: str) -> Any:
    """The estimator of the model of that name, or an error that lists the names there are."""
    if name not in ALL:
        raise ValueError(f"model must be one of {', '.join(ALL)}; got {name!r}.")
    return ALL[name]


def family_of(name: str) -> str:
    """The family of a model, by its name."""
    return next(family for family, members in FAMILIES.items() if name in members)
