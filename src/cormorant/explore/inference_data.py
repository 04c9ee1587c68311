"""Posterior draws in ArviZ's shape: (chain, draw, ...), with named dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from cormorant.data import Counts, as_counts
from cormorant.explore.fitted import check_number, largest, named
from cormorant.explore.replicates import gamma_draws

MOST_NUMBERS = 1 << 27  # a gigabyte


def inference_data(arviz: Any, model: Any, X: Any, n_draws: int, n_columns: int, rng: np.random.Generator) -> Any:
    """InferenceData, or the DataTree that took its place in ArviZ 1; see `export.to_arviz`."""
    import xarray

    check_number("n_draws", n_draws)
    columns = np.unique([largest(a, n_columns) for a in model.components_])
    counts = None if X is None else as_counts(X)
    coordinates = _coordinates(model, counts, columns)
    groups = {
        "posterior": _posterior(model, counts, columns, n_draws, rng),
        "constant_data": _constants(model),
        "observed_data": _observed(counts, columns),
    }
    datasets = {
        name: xarray.Dataset(variables, coords={d: coordinates[d] for d in _dimensions(variables) if d in coordinates})
        for name, variables in groups.items()
        if variables
    }
    return arviz.InferenceData(**datasets) if hasattr(arviz, "InferenceData") else xarray.DataTree.from_dict(datasets)


def _posterior(
    model: Any, counts: Counts | None, columns: np.ndarray, n_draws: int, rng: np.random.Generator
) -> dict[str, Any]:
    rate = np.asarray(model.components_rate_)
    scale = 1.0 / (rate[:, np.newaxis] if rate.ndim == 1 else rate[:, columns])
    shape = model.components_shape_[:, columns]
    found: dict[str, Any] = {
        "a": (("chain", "draw", "component", "column"), rng.gamma(shape, scale, (1, n_draws, *shape.shape)))
    }
    if counts is not None:
        _check_size(n_draws * counts.n_rows * len(model.weights_))
        mean, std = (np.asarray(part) for part in model.transform(counts, return_std=True))
        draws = gamma_draws(np.broadcast_to(mean, (1, n_draws, *mean.shape)), std**2, rng)
        found["x"] = ("chain", "draw", "row", "component"), draws
    return found


def _check_size(n_numbers: int) -> None:
    if n_numbers > MOST_NUMBERS:
        raise ValueError(
            f"X must have fewer rows (or n_draws be smaller): draws of x would be {n_numbers:,} numbers, "
            f"and at most {MOST_NUMBERS:,} are held. Take some rows, for example X.rows(slice(0, 100))."
        )


def _observed(counts: Counts | None, columns: np.ndarray) -> dict[str, Any]:
    return {} if counts is None else {"y": (("row", "column"), counts.columns(columns).tocsr().toarray())}


def _constants(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"w": (("component",), model.weights_), "share": (("component",), model.usage_)}
    if model.locations_.shape[1]:
        found["location"] = ("component", "dimension"), model.locations_
        found["correlation"] = ("component", "other"), model.correlation_
    return found


def _coordinates(model: Any, counts: Counts | None, columns: np.ndarray) -> dict[str, Any]:
    found: dict[str, Any] = {"column": named(model.column_names_, columns)}
    for dimension in ("component", "other"):
        found[dimension] = np.arange(len(model.weights_))
    if counts is not None:
        found["row"] = named(counts.row_names, range(counts.n_rows))
    return found


def _dimensions(variables: dict[str, Any]) -> set[str]:
    return {dimension for dimensions, _ in variables.values() for dimension in dimensions}
