"""The options of a fit as an unfitted estimator, and what is wrong with them before any data are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cormorant.cli.expand import Given
from cormorant.cli.options import FIT

OF_CHAINS = ("n_chains", "n_sweeps", "n_samples")


def make_estimator(model: str, given: Given, seed: int, callbacks: Sequence[Any] = ()) -> Any:
    """The unfitted estimator of a model, less the settings that it does not have (`check_settings` refuses those)."""
    from cormorant.estimators.registry import estimator_class

    cls = estimator_class(model)
    own = {name: value for name, value in given.items() if name in cls._get_param_names()}
    return cls(**own, random_state=seed, callbacks=tuple(callbacks))


def check_settings(models: Sequence[str], given: Given, seed: int) -> None:
    """Refuse a model that does not exist, a wrong value, and an option that would do nothing."""
    from cormorant.backends.select import select_backend

    estimators = [make_estimator(model, given, seed) for model in models]
    known = {name for estimator in estimators for name in estimator.get_params()}
    for setting in FIT:
        if setting.parameter in given and setting.parameter not in known:
            have = "has none" if len(models) == 1 else "have none"
            raise ValueError(f"{setting.flag} does nothing here: {', '.join(models)} {have}; leave it out.")
    for estimator in estimators:
        estimator._check_parameters()
        select_backend(estimator.n_jobs)
    _check_chains(estimators, given)


def is_feature_model(model: str) -> bool:
    """Whether rows of this model show features or not, in place of weighing components."""
    from cormorant.estimators import FEATURE_ESTIMATORS

    return model in FEATURE_ESTIMATORS


def check_known_rows(models: Sequence[str], covariates: Any) -> None:
    """Refuse covariates that none of the models takes, and a model that needs some where there are none."""
    from cormorant.estimators.registry import estimator_class

    kinds = [estimator_class(model).model for model in models]
    if covariates is not None and not any(kind.takes_covariates for kind in kinds):
        take = "takes" if len(models) == 1 else "take"
        raise ValueError(f"--covariates do nothing here: {', '.join(models)} {take} none; leave them out.")
    if covariates is None and (needing := [kind.name for kind in kinds if kind.needs_covariates]):
        raise ValueError(
            f"--covariates must be given: {needing[0]} has them decide which components a row has. "
            "--model cnpf can do without."
        )


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
