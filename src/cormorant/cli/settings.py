"""The options of a fit as an unfitted estimator, and what is wrong with them before any data are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cormorant.cli.expand import Given
from cormorant.cli.options import FIT

OF_CHAINS = ("n_chains", "n_sweeps", "n_samples")


def make_estimator(model: str, given: Given, seed: int, callbacks: Sequence[Any] = ()) -> Any:
    """The unfitted estimator of a model, less the settings that do nothing for it.

    `check_settings` refuses those that do nothing for any model.
    """
    from cormorant.estimators.parameters import default_of, idle_parameters

    estimator = _with_all(model, given)
    idle = {name: default_of(estimator, name) for name in idle_parameters(estimator)}
    return estimator.set_params(**idle, random_state=seed, callbacks=tuple(callbacks))


def _with_all(model: str, given: Given) -> Any:
    """The estimator of a model with all of the settings that it has."""
    from cormorant.estimators.registry import estimator_class

    cls = estimator_class(model)
    return cls(**{name: value for name, value in given.items() if name in cls._get_param_names()})


def check_settings(models: Sequence[str], given: Given, seed: int) -> None:
    """Refuse a model that does not exist, a wrong value, and an option that would do nothing."""
    from cormorant.backends.select import select_backend

    estimators = [make_estimator(model, given, seed) for model in models]
    for estimator in estimators:
        estimator._check_parameters()
        select_backend(estimator.n_jobs)
    _check_idle(models, given)
    _check_chains(estimators, given)


def _check_idle(models: Sequence[str], given: Given) -> None:
    """Refuse what does nothing for any of the models: they do not have it, or other settings leave it unread."""
    from cormorant.estimators.parameters import idle_parameters

    estimators = [_with_all(model, given) for model in models]
    idle = [idle_parameters(estimator) for estimator in estimators]
    for setting in FIT:
        name = setting.parameter
        having = [found for estimator, found in zip(estimators, idle, strict=True) if name in estimator.get_params()]
        if name in given and not having:
            have = "has none" if len(models) == 1 else "have none"
            raise ValueError(f"{setting.flag} does nothing here: {', '.join(models)} {have}; leave it out.")
        if name in given and all(name in found for found in having):
            raise ValueError(having[0][name])


def is_feature_model(model: str) -> bool:
    """Whether rows of this model show features or not, in place of weighing components."""
    from cormorant.estimators import FEATURE_ESTIMATORS

    return model in FEATURE_ESTIMATORS


def likelihood_of(models: Sequence[str], given: Given) -> str | None:
    """What entries are taken to be drawn from, where models of features are to be fitted; None for models of counts."""
    return getattr(_with_all(models[0], given), "likelihood", None)


def _check_chains(estimators: Sequence[Any], given: Given) -> None:
    """Refuse what only a sampler reads where none of the fits samples."""
    if any(estimator._samples_counts for estimator in estimators):
        return
    for setting in FIT:
        if setting.parameter in OF_CHAINS and setting.parameter in given:
            raise ValueError(
                f"{setting.flag} is for the sampler, and other options ask for variational inference; "
                "leave it out, or add --inference gibbs."
            )
