"""Where a fit begins: with the best, by its bound, of a few linear-Gaussian fits from almost equal features.

A linear-Gaussian fit is quick whatever the data are, and its z is a good guess for counts and binary data, too. Atoms
near zero and noise at the variance of the data let features part one after another as the noise falls; features that
start far apart hold on to whatever they met first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cormorant.backends.packing import pack_indices
from cormorant.backends.select import Backend
from cormorant.inference import fit as loop
from cormorant.inference.features.gibbs import FeatureDraws
from cormorant.inference.features.state import BLOCK, FeatureGlobals, Table, as_rows
from cormorant.inference.features.structured import FeatureStructured, RowBeliefs
from cormorant.inference.rows import RowMemory
from cormorant.inference.schedules import Plan
from cormorant.inference.state import State
from cormorant.models.features import FeaturePriors, LatentFeatures

EPOCHS = 40  # of each linear-Gaussian fit
SETTLING = 10  # steps in which the atoms of another likelihood find their place, z held
# sigma_a^2 of binary data unless given. Learned, it runs away: a feature that tells a column's zeros from its ones
# without fail makes every larger atom likelier, and the predictions of hidden entries far too sure.
BINARY_VARIANCE = 1.0
SPREAD = 0.03  # of the first atoms, in standard deviations of the data


@dataclass(frozen=True)
class Given:
    """What the user may fix, with None filled in."""

    n_components: int
    n_dims: int
    mass: float
    concentration: float
    sigma_l2: float
    atom_variance: float | None = None  # None: learned, or for binary data BINARY_VARIANCE


def full_plan(n_rows: int) -> Plan:
    """Every step visits every row, in blocks."""
    return Plan.of_all(n_rows, BLOCK)


def make_priors(likelihood: str, table: Table) -> FeaturePriors:
    """Variances of real data are expected in units of the data's own variance."""
    if likelihood != "gaussian":
        return FeaturePriors()
    seen = table.values[table.observed]
    variance, level = float(seen.var()) or 1.0, float((seen**2).mean()) or 1.0
    return FeaturePriors(noise=(1.0, 0.01 * variance), atoms=(1.0, 0.5 * variance), background=(1.0, 0.5 * level))


def draw_start(given: Given, table: Table, rng: np.random.Generator) -> FeatureGlobals:
    """Globals of a linear-Gaussian fit that has not begun."""
    size, seen = given.n_components, np.maximum(table.observed.sum(axis=0), 1)
    spread = table.values[table.observed].std() or 1.0
    atoms = rng.normal(size=(table.n_columns, size)) * spread * SPREAD
    # q(a) from the first step on: the bound of points is not that of a q, and could fall when they become one.
    covariance = (spread * SPREAD) ** 2 * np.eye(size + 1)[pack_indices(size + 1)][None, :]
    return FeatureGlobals(
        np.column_stack([table.values.sum(axis=0) / seen, atoms]),
        np.full(size, -1.0),
        rng.normal(size=(size, given.n_dims)) * 0.3 * math.sqrt(given.sigma_l2),
        given.mass,
        given.concentration,
        given.sigma_l2,
        noise=float(spread**2),
        atom_scale=float(spread**2),
        background_scale=float((table.values**2).sum() / seen.sum()) or 1.0,
        usage=np.full(size, 0.5),
        covariance=covariance,
        priors=make_priors("gaussian", table),
    )


def best_start(
    model: LatentFeatures,
    backend: Backend,
    given: Given,
    table: Table,
    n_starts: int,
    rng: np.random.Generator,
    callbacks: list[loop.Callback],
) -> loop.Outcome:
    """The linear-Gaussian fit with the highest bound, `rarer`; one that was interrupted ends the search."""
    scheme: Any = FeatureStructured(model, "gaussian", backend)
    settings = loop.Settings(EPOCHS, 1e-6, 5, "bound")
    best: loop.Outcome | None = None
    for number in range(1, n_starts + 1):
        begin: Any = draw_start(given, table, rng)
        plan, stage = full_plan(table.n_rows), f"start {number} of {n_starts}"
        found = loop.run(scheme, State(begin), as_rows(table), plan, settings, rng, callbacks=callbacks, stage=stage)
        if best is None or _last_bound(found) > _last_bound(best):
            best = found
        if found.interrupted:
            return replace(rarer(best), interrupted=True, reason=found.reason)
    assert best is not None  # n_starts is at least one
    return rarer(best)


def rarer(outcome: loop.Outcome) -> loop.Outcome:
    """The same fit with what most rows show told by the rows without it, since the process expects rare features.

    Nothing in a linear-Gaussian fit prefers the one, and no chain finds its way from the other.
    """
    g = _globals(outcome)
    which = g.usage > 0.5

    def turn(kept: RowBeliefs) -> RowBeliefs:
        return replace(kept, rho=np.where(which, 1.0 - kept.rho, kept.rho))

    turned: Any = g.complemented(which)
    state = replace(outcome.state, globals=turned)
    return replace(outcome, state=state, memory=outcome.memory.handed_over(turn))


def _last_bound(outcome: loop.Outcome) -> float:
    bounds = [info.bound for info in outcome.history if info.bound is not None]
    return bounds[-1] if bounds else -math.inf


def translated(likelihood: str, g: FeatureGlobals, table: Table, given: Given) -> FeatureGlobals:
    """Globals of a linear-Gaussian fit as another likelihood begins with them: atoms afresh, the rest as it is."""
    if likelihood == "gaussian":
        if given.atom_variance is None:
            return g
        return replace(g, atom_scale=given.atom_variance, learns_atom_scale=False)
    seen = np.maximum(table.observed.sum(axis=0), 1)
    mean = (table.values.sum(axis=0) + 0.5) / (seen + 1.0)
    if likelihood == "bernoulli":
        atoms = np.zeros(g.atoms.shape)
        atoms[:, 0] = np.log(mean) - np.log1p(-mean)
    else:  # positive everywhere, at the fit's own sizes
        atoms = np.maximum(g.atoms, 0.1 * mean[:, None])
    variance = BINARY_VARIANCE if given.atom_variance is None else given.atom_variance
    return replace(
        g, atoms=atoms, covariance=None, noise=1.0, atom_scale=variance if likelihood == "bernoulli" else 1.0,
        background_scale=1.0, level=0.0, priors=FeaturePriors(), learns_atom_scale=likelihood == "poisson",
    )  # fmt: skip


def settled(
    scheme: FeatureStructured, start: loop.Outcome, table: Table, given: Given, rng: np.random.Generator
) -> State:
    """The state from which a structured fit goes on with the rows of ``start``."""
    g: Any = translated(scheme.likelihood, _globals(start), table, given)
    if scheme.likelihood == "gaussian":
        return State(g)
    holding: Any = replace(scheme, sweeps=0)
    few = loop.Settings(SETTLING, 0.0, SETTLING, "nothing")
    return loop.run(
        holding, State(g), as_rows(table), full_plan(table.n_rows), few, rng, memory=start.memory, stage="settling"
    ).state


def drawn_rows(start: loop.Outcome, rng: np.random.Generator) -> RowMemory:
    """The rows of a structured fit as a chain begins with them."""

    def draw(kept: RowBeliefs) -> FeatureDraws:
        return FeatureDraws((rng.random(kept.rho.shape) < kept.rho).astype(np.float64), kept.mean.copy())

    return start.memory.handed_over(draw)


def _globals(outcome: loop.Outcome) -> FeatureGlobals:
    g: Any = outcome.state.globals
    return g
