"""Posterior draws of latent features in ArviZ's shape, for `inference_data`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cormorant.backends.compiled import single_blas_thread
from cormorant.inference.features.predictive import SampledFeatures, SolvedFeatures
from cormorant.inference.features.state import FeatureGlobals, Table
from cormorant.measures import component_correlation

Variables = dict[str, tuple[tuple[str, ...], np.ndarray]]
DRAWS = ("chain", "draw")


def feature_draws(
    model: Any,
    chains: list[list[FeatureGlobals]],
    table: Table | None,
    columns: np.ndarray,
    n_draws: int,
    rng: np.random.Generator,
) -> Variables:
    """Draws of the atoms and of what governs them, of some columns; with rows also of z.

    Samples are handed on as they are, with one draw of the rows' features for each. A structured fit has draws of q(a)
    and q(z), which make one chain; it gives the rest as points, which `inference_data` has.
    """
    with single_blas_thread():
        globals_, z = _sampled(model, chains, table, rng) if chains else _solved(model, table, n_draws, rng)

    def stacked(number: Callable[[FeatureGlobals], Any]) -> np.ndarray:
        return np.array([[number(g) for g in chain] for chain in globals_])

    found: Variables = {
        "a": ((*DRAWS, "component", "column"), stacked(lambda g: g.atoms[columns, 1:].T)),
        "background": ((*DRAWS, "column"), stacked(lambda g: g.atoms[columns, 0])),
    }
    if chains:
        found["w"] = (*DRAWS, "component"), stacked(lambda g: model.model.weights(g.log_odds))
        names = ["mass", "concentration"]
        names += ["noise"] if model.likelihood == "gaussian" else []
        if model.locations_.shape[1]:
            names.append("sigma_l2")
            rho = stacked(lambda g: component_correlation(g.locations))
            found["correlation"] = (*DRAWS, "component", "other"), rho
        found |= {name: (DRAWS, stacked(lambda g, name=name: getattr(g, name))) for name in names}
    if z is not None:
        found["z"] = (*DRAWS, "row", "component"), z
    return found


def _sampled(
    model: Any, chains: list[list[FeatureGlobals]], table: Table | None, rng: np.random.Generator
) -> tuple[list[list[FeatureGlobals]], np.ndarray | None]:
    """The samples, and a draw of the rows at each."""
    if table is None:
        return chains, None
    n_draws = len(chains[0])
    drawn = SampledFeatures(model._gibbs(), chains).draws(table, len(chains) * n_draws, rng)
    z = np.array([z.astype(np.int8) for z, _ in drawn])
    return chains, z.reshape(len(chains), n_draws, *z.shape[1:])


def _solved(
    model: Any, table: Table | None, n_draws: int, rng: np.random.Generator
) -> tuple[list[list[FeatureGlobals]], np.ndarray | None]:
    """One chain of draws from what structured inference found."""
    posterior = SolvedFeatures(model._structured(), model._globals)
    if table is None:
        return [[posterior.with_drawn_atoms(rng) for _ in range(n_draws)]], None
    z, drawn = zip(*posterior.draws(table, n_draws, rng), strict=True)
    return [list(drawn)], np.array(z).astype(np.int8)[np.newaxis]
