"""What the parameters of a feature model may be."""

from __future__ import annotations

from typing import Any

import numpy as np

from cormorant.estimators.parameters import check_callbacks, check_count, check_number, check_tol, default_of
from cormorant.models.features import LIKELIHOODS

INFERENCES = ("gibbs", "structured")
COUNTS = ("n_components", "n_starts", "n_chains", "n_sweeps", "n_samples", "max_epochs", "patience")
OF_CHAINS = ("n_chains", "n_sweeps", "n_samples")  # read by the sampler alone
# Where a search for the mass, the concentration or sigma_l^2 begins, and where structured inference keeps them.
FIRST = {"mass": 5.0, "concentration": 1.0, "sigma_l2": 1.0}


def given(estimator: Any, name: str) -> Any:
    """What the user fixed; a restriction lacks the parameters that it does not use."""
    return getattr(estimator, name, None)


def check_parameters(estimator: Any) -> None:
    """Refuse what no fit could use, by the parameter's name."""
    for name in (*COUNTS, *(("n_dims",) if estimator.model.has_locations else ())):
        check_count(name, getattr(estimator, name))
    check_tol(estimator.tol)
    for name in (*FIRST, "atom_variance"):
        _check_positive(name, given(estimator, name))
    _check_scheme(estimator.likelihood, estimator.inference, estimator.atom_variance)
    check_callbacks(estimator.callbacks)
    _check_idle(estimator)


def _check_idle(estimator: Any) -> None:
    """Refuse what only a sampler reads where nothing is sampled."""
    if estimator.inference == "gibbs":
        return
    for name in OF_CHAINS:
        value = getattr(estimator, name)
        if value != default_of(estimator, name):
            raise ValueError(
                f"{name}={value!r} does nothing with inference={estimator.inference!r}, only with inference='gibbs'; "
                "leave it out."
            )


def _check_positive(name: str, value: Any) -> None:
    if value is None:
        return
    check_number(name, value)
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be positive, or None to learn it; got {value!r}.")


def _check_scheme(likelihood: str, inference: str, atom_variance: float | None) -> None:
    if likelihood not in LIKELIHOODS:
        raise ValueError(f"likelihood must be one of {', '.join(LIKELIHOODS)}; got {likelihood!r}.")
    if likelihood == "poisson" and atom_variance is not None:
        raise ValueError(
            f"atom_variance is for real and binary data; the atoms of counts are gamma variables whose rate is "
            f"learned. Got atom_variance={atom_variance!r} with likelihood='poisson'; leave it at None."
        )
    if inference not in INFERENCES:
        raise ValueError(f"inference must be 'gibbs' or 'structured'; got {inference!r}.")
    if (inference, likelihood) == ("structured", "poisson"):
        raise ValueError(
            "likelihood='poisson' is sampled: a row shows a feature wherever a count is allocated to it, which no "
            "factorised approximation can say. Use inference='gibbs'."
        )
