"""Arguments that a method does not have, refused with what to do instead."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

#: Of models of features, by what other models take.
ADVICE_ON_FEATURES = {
    "covariates": "nothing but X is known of rows that show features; fit CNPF, SoftplusCNPF, DILN or "
    "ThinnedPoissonFactorization",
    "exposure": "rows that show features have none; leave it out",
    "return_std": "z is 0 or 1, so the standard deviation follows from p = transform(X): sqrt(p (1 - p))",
}


def refuse_misplaced(
    estimator: Any, method: str, misplaced: Mapping[str, Any], advice: Mapping[str, str] | None = None
) -> None:
    """A formula, which is a parameter of the model, is often given to `fit` beside its covariates."""
    for name, value in misplaced.items():
        cls = type(estimator)
        said = f"{cls.__name__}.{method}() has no argument {name!r}"
        if name in inspect.signature(cls).parameters:
            said += f"; it is a parameter of the model: {cls.__name__}({name}={value!r}).fit(...)"
        elif advice and name in advice:
            said += f": {advice[name]}"
        raise TypeError(f"{said}.")
