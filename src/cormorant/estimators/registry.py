"""Every model that can be fitted, by its name."""

from __future__ import annotations

from typing import Any

from cormorant.estimators import feature_parameters, parameters
from cormorant.estimators.cnpf import ESTIMATORS
from cormorant.estimators.features import FEATURE_ESTIMATORS

ALL: dict[str, Any] = {**ESTIMATORS, **FEATURE_ESTIMATORS}


def estimator_class(name: str) -> Any:
    """The estimator of the model of that name, or an error that lists the names there are."""
    if name not in ALL:
        raise ValueError(f"model must be one of {', '.join(ALL)}; got {name!r}.")
    return ALL[name]


def check_parameters(estimator: Any) -> None:
    """Refuse what is wrong with the parameters of an unfitted estimator whatever data will come."""
    kind = feature_parameters if estimator.model.name in FEATURE_ESTIMATORS else parameters
    kind.check_parameters(estimator)
