"""Cormorant: correlated random measures for count data.

Names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cormorant._version import __version__

if TYPE_CHECKING:
    from cormorant.data import Counts, as_counts, read
    from cormorant.datasets import load_nyt
    from cormorant.estimators import (
        CNPF,
        DILN,
        HDP,
        HGP,
        IBP,
        BetaBernoulliFeatures,
        GammaBernoulliFeatures,
        ScaledHGP,
        SoftplusCNPF,
        ThinnedPoissonFactorization,
        load,
    )
    from cormorant.evaluation import compare

_HOMES = {
    "CNPF": "estimators",
    "SoftplusCNPF": "estimators",
    "ScaledHGP": "estimators",
    "HGP": "estimators",
    "DILN": "estimators",
    "HDP": "estimators",
    "BetaBernoulliFeatures": "estimators",
    "GammaBernoulliFeatures": "estimators",
    "IBP": "estimators",
    "ThinnedPoissonFactorization": "estimators",
    "load": "estimators",
    "Counts": "data",
    "as_counts": "data",
    "read": "data",
    "load_nyt": "datasets",
    "compare": "evaluation",
}

__all__ = [
    "CNPF",
    "DILN",
    "HDP",
    "HGP",
    "IBP",
    "BetaBernoulliFeatures",
    "Counts",
    "GammaBernoulliFeatures",
    "ScaledHGP",
    "SoftplusCNPF",
    "ThinnedPoissonFactorization",
    "__version__",
    "as_counts",
    "compare",
    "load",
    "load_nyt",
    "read",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cormorant' has no attribute {name!r}")
    return getattr(import_module(f"cormorant.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
