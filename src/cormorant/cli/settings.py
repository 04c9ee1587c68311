"""The options of a fit as an unfitted estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cormorant.cli.expand import Given
from cormorant.cli.options import FIT


def make_estimator(model: str, given: Given, seed: int, callbacks: Sequence[Any] = ()) -> Any:
    """The unfitted estimator of a model, less the settings that it does not have (`check_settings` refuses those)."""
    cls = _estimator_class(model)
    own = {name: value for name, value in given.items() if name in cls._get_param_names()}
    return cls(**own, random_state=seed, callbacks=tuple(callbacks))


def check_settings(models: Sequence[str], given: Given) -> None:
    """Refuse an option that none of the models has: it would do nothing."""
    known = {name for model in models for name in _estimator_class(model)._get_param_names()}
    for setting in FIT:
        if setting.parameter in given and setting.parameter not in known:
            raise ValueError(f"{setting.flag} does nothing here: {', '.join(models)} has none; leave it out.")


def _estimator_class(model: str) -> Any:
    from cormorant.estimators import ESTIMATORS
    from cormorant.models.cnpf import get_model

    return ESTIMATORS[get_model(model).name]
