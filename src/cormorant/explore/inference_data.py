"""Posterior draws in ArviZ's shape: (chain, draw, ...), with named dimensions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from cormorant.data import Counts
from cormorant.explore.feature_draws import feature_draws
from cormorant.explore.fitted import check_number, has_features, is_normalised, is_thinned, largest, named
from cormorant.explore.given_rows import GivenRows
from cormorant.explore.replicates import ThinnedReplicator, gamma_draws
from cormorant.inference.features.state import Table
from cormorant.inference.thinned import ThinnedGlobals
from cormorant.measures import component_correlation
from cormorant.models.cnpf import PoissonFactorization
from cormorant.models.thinned import field_correlation

MOST_NUMBERS = 1 << 27  # a gigabyte


def inference_data(
    arviz: Any, model: Any, rows: GivenRows | None, n_draws: int, n_columns: int, rng: np.random.Generator
) -> Any:
    """InferenceData, or the DataTree that took its place in ArviZ 1; see `export.to_arviz`."""
    check_number("n_draws", n_draws)
    columns = np.unique([largest(np.abs(a), n_columns) for a in model.components_])  # a feature may take away
    counts = None if rows is None else rows.counts
    chains = sampled_chains(model)
    if has_features(model):
        table = None if rows is None else _table(rows, chains, n_draws)
        posterior = feature_draws(model, chains, table, columns, n_draws, rng)
        constants = {} if chains else _feature_points(model)
        observed = {} if table is None else _observed_entries(table, columns)
        return _groups(arviz, model, posterior, constants, observed, _coordinates(model, counts, columns))
    if chains:
        sampled = (
            _thinned(model, chains, columns) if is_thinned(model) else _sampled(chains, columns, model._model, rng)
        )
        posterior, constants = sampled, {}
        if hasattr(model, "covariate_names_"):
            draws = np.stack([model._effect_draws(chain) for chain in chains])
            posterior["effect"] = ("chain", "draw", "component", "covariate"), draws
    else:
        posterior, constants = {"a": _atoms(model, columns, n_draws, rng)}, _points(model)
    if rows is not None:
        draw = _thinned_rows if is_thinned(model) else _rows
        posterior["x"] = draw(rows, posterior["a"][1].shape[:3], rng)
    coordinates = _coordinates(model, counts, columns)
    return _groups(arviz, model, posterior, constants, _observed(counts, columns), coordinates)


def _groups(
    arviz: Any,
    model: Any,
    posterior: dict[str, Any],
    constants: dict[str, Any],
    observed: dict[str, Any],
    coordinates: dict[str, Any],
) -> Any:
    """The groups that there are, in the class of the installed version."""
    import xarray

    groups = {
        "posterior": posterior,
        "constant_data": {"share": (("component",), model.usage_[: posterior["a"][1].shape[2]]), **constants},
        "observed_data": observed,
    }
    datasets = {name: _dataset(variables, coordinates) for name, variables in groups.items() if variables}
    return arviz.InferenceData(**datasets) if hasattr(arviz, "InferenceData") else xarray.DataTree.from_dict(datasets)


def _table(rows: GivenRows, chains: list[list[Any]], n_draws: int) -> Table:
    """Rows of features, not too many to hold draws of all."""
    n_kept = sum(map(len, chains)) if chains else n_draws
    _check_size(n_kept * rows.counts.n_rows * len(rows.model.components_))
    return rows.model._table(rows.counts, None)


def _observed_entries(table: Table, columns: np.ndarray) -> dict[str, Any]:
    """Entries of features, NaN where they are missing."""
    return {"y": (("row", "column"), np.where(table.observed, table.values, np.nan)[:, columns])}


def _feature_points(model: Any) -> dict[str, Any]:
    """What a structured fit of features gives as points."""
    noise = {"noise": ((), np.array(model.noise_))} if model.likelihood == "gaussian" else {}
    return {**_points(model), **noise}


def sampled_chains(model: Any) -> list[list[Any]]:
    """The globals of each sample of each chain, chains cut to one length; none where the inference does not sample."""
    chains = getattr(model, "samples_", [])
    length = min(map(len, chains), default=0)
    return [[getattr(sample, "globals", sample) for sample in chain[:length]] for chain in chains]


def _sampled(
    chains: list[list[Any]], columns: np.ndarray, model: PoissonFactorization, rng: np.random.Generator
) -> dict[str, Any]:
    """A draw of everything for each sample; the atoms given the rest are gamma, in a normalised model Dirichlet."""

    def stacked(number: Callable[[Any], Any]) -> np.ndarray:
        return np.array([[number(g) for g in chain] for chain in chains])

    def atoms(g: Any) -> np.ndarray:
        if model.normalised:
            return _dirichlet(g.atom_shape[columns].T, g.atom_rate, rng)
        rate = g.atom_rate if g.atom_rate.ndim == 1 else g.atom_rate[columns]
        return (rng.standard_gamma(g.atom_shape[columns]) / rate).T

    found: dict[str, Any] = {
        "a": (("chain", "draw", "component", "column"), stacked(atoms)),
        "w": (("chain", "draw", "component"), stacked(lambda g: g.weights / g.beta)),
        "alpha": (("chain", "draw"), stacked(lambda g: g.alpha)),
        "c": (("chain", "draw"), stacked(lambda g: g.c)),
    }
    if model.normalised:
        found["beta"] = ("chain", "draw"), stacked(lambda g: g.beta)
    if chains[0][0].locations.shape[1]:
        rho = stacked(lambda g: component_correlation(model.kernel.features(g.locations, g.hyper.sigma_l2)))
        found["correlation"] = ("chain", "draw", "component", "other"), rho
    return found


def _thinned(model: Any, chains: list[list[ThinnedGlobals]], columns: np.ndarray) -> dict[str, Any]:
    """A thinned model's samples as they are."""

    def stacked(number: Callable[[ThinnedGlobals], Any]) -> np.ndarray:
        return np.array([[number(g) for g in chain] for chain in chains])

    rho = stacked(lambda g: field_correlation(g.locations, model._covariance))
    return {
        "a": (("chain", "draw", "component", "column"), stacked(lambda g: g.atoms[columns].T)),
        "w": (("chain", "draw", "component"), stacked(lambda g: g.weights)),
        "b": (("chain", "draw", "component"), stacked(lambda g: g.coefficients[:, -1])),
        "c": (("chain", "draw"), stacked(lambda g: g.c)),
        "correlation": (("chain", "draw", "component", "other"), rho),
    }


def _thinned_rows(
    rows: GivenRows, size: tuple[int, int, int], rng: np.random.Generator
) -> tuple[tuple[str, ...], np.ndarray]:
    """x = w z with z drawn at each sample; ``size``: chains, draws, components."""
    n_chains, n_draws, n_components = size
    _check_size(n_chains * n_draws * rows.counts.n_rows * n_components)
    found = iter(ThinnedReplicator.of(rows.model, rows.counts, covariates=rows.covariates).samples)
    drawn = [
        [(rng.random(p.shape) < p) * g.weights for p, g in islice(found, len(chain))][:n_draws]
        for chain in rows.model.samples_
    ]
    return ("chain", "draw", "row", "component"), np.array(drawn)


def _atoms(model: Any, columns: np.ndarray, n_draws: int, rng: np.random.Generator) -> tuple[tuple[str, ...], Any]:
    """Draws of q(a), one chain."""
    rate = np.asarray(model.components_rate_)
    scale = 1.0 / (rate[:, np.newaxis] if rate.ndim == 1 else rate[:, columns])
    shape = model.components_shape_[:, columns]
    if is_normalised(model):
        draws = np.stack([_dirichlet(shape, rate, rng) for _ in range(n_draws)])
        return ("chain", "draw", "component", "column"), draws[np.newaxis]
    return ("chain", "draw", "component", "column"), rng.gamma(shape, scale, (1, n_draws, *shape.shape))


def _dirichlet(shape: np.ndarray, total: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Some columns of Dirichlet draws, components x columns, whose shapes over all columns sum to ``total``."""
    shown = rng.standard_gamma(shape)
    rest = rng.standard_gamma(np.maximum(total - shape.sum(axis=1), 0.0))
    return shown / (shown.sum(axis=1) + rest)[:, np.newaxis]


def _rows(rows: GivenRows, size: tuple[int, int, int], rng: np.random.Generator) -> tuple[tuple[str, ...], Any]:
    """Gamma draws of x with the mean and variance of its posterior (proportions: scaled to sum to one).

    ``size``: chains, draws, components.
    """
    n_chains, n_draws, n_components = size
    _check_size(n_chains * n_draws * rows.counts.n_rows * n_components)
    mean, std = (part[:, :n_components] for part in rows.moments())
    draws = gamma_draws(np.broadcast_to(mean, (n_chains, n_draws, *mean.shape)), std**2, rng)
    if is_normalised(rows.model):
        draws = draws / draws.sum(axis=-1, keepdims=True)
    return ("chain", "draw", "row", "component"), draws


def _check_size(n_numbers: int) -> None:
    if n_numbers > MOST_NUMBERS:
        raise ValueError(
            f"X must have fewer rows (or n_draws be smaller): draws of rows would be {n_numbers:,} numbers, "
            f"and at most {MOST_NUMBERS:,} are held. Take some rows, for example X.rows(slice(0, 100))."
        )


def _observed(counts: Counts | None, columns: np.ndarray) -> dict[str, Any]:
    return {} if counts is None else {"y": (("row", "column"), counts.columns(columns).tocsr().toarray())}


def _points(model: Any) -> dict[str, Any]:
    """What the variational schemes give as points and not as distributions."""
    found: dict[str, Any] = {"w": (("component",), model.weights_)}
    if model.locations_.shape[1]:
        found["location"] = ("component", "dimension"), model.locations_
        found["correlation"] = ("component", "other"), model.correlation_
    if hasattr(model, "covariate_names_"):
        found["effect"] = ("component", "covariate"), model.covariate_effects_
    return found


def _coordinates(model: Any, counts: Counts | None, columns: np.ndarray) -> dict[str, Any]:
    found: dict[str, Any] = {"column": named(model.column_names_, columns)}
    if hasattr(model, "covariate_names_"):
        found["covariate"] = model.covariate_names_.tolist()
    if counts is not None:
        found["row"] = named(counts.row_names, range(counts.n_rows))
    return found


def _dataset(variables: dict[str, Any], coordinates: dict[str, Any]) -> Any:
    """Variables with the coordinates of their dimensions; what has no names is numbered."""
    import xarray

    sizes = {d: n for dimensions, values in variables.values() for d, n in zip(dimensions, values.shape, strict=True)}
    return xarray.Dataset(variables, coords={d: coordinates.get(d, np.arange(n)) for d, n in sizes.items()})
