"""Where a fit begins. The starting point decides the basin, and no one start is best for all data.

Components around the column means leave it to the data to pull them apart: right where rows are short. Components half
way between the means and one random row each are told apart at once: right where rows are long. And a fit that begins
with as many components as there may be seldom gets rid of those that the data cannot feed, so each is also tried with a
quarter of them. A structured fit with rows kept aside tries all for a few epochs and goes on with the one that predicts
best (`fit.race`); chains are tried themselves (`estimators.pilots`). Components that never took part are added at the
end, holding nothing (`with_unused`). Small data are also begun with a surplus of components, which are merged after a
few epochs (`merge_components`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform

from cormorant.data import Counts
from cormorant.inference.globals import WEIGHT_FLOOR
from cormorant.inference.state import Globals
from cormorant.models.cnpf import Hyperparameters, PoissonFactorization

ROW_SHARES = (0.5, 0.0)  # the starts that are tried
FEWER, FEWEST = 4, 10  # a start may have a quarter of the components, if that leaves ten or more
SURPLUS = 3  # times as many components to start with, which are then merged,
FEW_CELLS = 100_000  # where rows x components are few
LEAST_SHARE = 0.2  # a component that holds less than this part of an equal share is not merged but dropped
ATOM_TOTAL = 20.0  # A_k at the start; the fit finds its own scale within a few steps
THIN = 0.3  # a0 of a chain's start is at most this part of the counts that a column of a component has on average
NOISE = 100.0  # shape of the gamma noise that tells components apart: a tenth of the mean


def start_globals(
    model: PoissonFactorization,
    counts: Counts,
    n_components: int,
    n_dims: int,
    hyper: Hyperparameters,
    rng: np.random.Generator,
    row_share: float,
    n_covariates: int = 0,
) -> Globals:
    """Column means mixed with ``row_share`` of a random row; q(a) as sure as an equal share of the counts allows."""
    totals = counts.column_totals() + 0.5
    shares = (1.0 - row_share) * (totals / totals.sum())[:, None]
    shares = shares + row_share * _random_rows(counts, n_components, rng)
    atoms = ATOM_TOTAL * shares * rng.gamma(NOISE, 1.0 / NOISE, size=shares.shape)
    rate = max(float(counts.total), 1.0) / (n_components * ATOM_TOTAL)
    # Not zero: there the locations would stay, at a saddle of the bound.
    locations = model.kernel.start(n_components, n_dims if model.has_locations else 0, hyper.sigma_l2, rng)
    size = model.kernel.features(locations, hyper.sigma_l2).shape[1] + model.has_level
    return Globals(
        atom_shape=atoms * rate,
        atom_rate=(atoms * rate).sum(axis=0) if model.normalised else np.full(n_components, rate),
        weights=np.full(n_components, 1.0 / n_components),
        locations=locations,
        alpha=1.0,
        c=1.0,
        hyper=hyper,
        coefficients=np.zeros((size, n_covariates)) if n_covariates else np.zeros((0, 0)),
    )


def start_a0(hyper: Hyperparameters, counts: Counts, n_components: int) -> Hyperparameters:
    """The same with an a0 that the starts of chains hold: atoms should say more of the data than of their prior.

    Learned in the first epochs, when the atoms are still alike, it would come out large; and on thin data the chain
    would stay there, with few components that are all alike.
    """
    a_cell = counts.total / (counts.n_columns * n_components)
    return replace(hyper, a0=min(hyper.a0, THIN * max(a_cell, 1e-3)))


def sizes_to_try(n_components: int) -> tuple[int, ...]:
    """Numbers of components to begin with: all, and fewer where that leaves enough."""
    fewer = n_components // FEWER
    return (n_components, fewer) if fewer >= FEWEST else (n_components,)


def starts_to_try(n_rows: int, n_components: int) -> list[tuple[float, int]]:
    """Shares of a random row, and numbers of components, to begin with."""
    sizes = sizes_to_try(n_components)
    if n_rows * n_components > FEW_CELLS:
        return [(share, size) for size in sizes for share in ROW_SHARES]
    # Merged, a surplus finds what plain starts miss; a race of a few epochs would not always see that. Here it costs
    # next to nothing, so there are two.
    return [(ROW_SHARES[0], size) for size in (SURPLUS * n_components, SURPLUS * n_components, *sizes[1:])]


def merge_components(model: PoissonFactorization, g: Globals, n_components: int) -> Globals:
    """The same fit with fewer components: those that hold little are dropped, those most alike are joined.

    Random rows seldom show every component, so a start with just as many rows as components misses some and splits
    others. With a surplus they are all there, some of them twice.
    """
    counts = np.maximum(g.atom_shape - g.prior_shape, 0.0)
    held = counts.sum(axis=0)
    order = np.argsort(-held, kind="stable")
    keep = order[: max(n_components, int((held > LEAST_SHARE * held.mean()).sum()))]
    counts, held = counts[:, keep], np.maximum(held[keep], 1e-300)
    group = np.arange(len(keep))
    if len(keep) > n_components:
        unit = counts / np.maximum(np.linalg.norm(counts, axis=0), 1e-300)
        apart = squareform(np.clip(1.0 - unit.T @ unit, 0.0, None), checks=False)
        # Just as many groups as wanted, even where distances are tied (`fcluster` would join all of a tie).
        group = cut_tree(linkage(apart, "average"), [n_components])[:, 0]
    joins = np.zeros((len(keep), n_components))
    joins[np.arange(len(keep)), group] = 1.0
    share = joins * held[:, None] / np.maximum(held @ joins, 1e-300)  # averages weigh a component by what it holds
    shape = g.prior_shape + counts @ joins
    return replace(
        g,
        atom_shape=shape,
        atom_rate=shape.sum(axis=0) if model.normalised else np.maximum(g.atom_rate[..., keep] @ share, 1e-300),
        weights=np.maximum(g.weights[keep] @ joins, WEIGHT_FLOOR),
        # Of locations that mean something beside the others (where a kernel is not linear), that of the largest.
        locations=share.T @ g.locations[keep] if model.kernel.is_linear else g.locations[keep][share.argmax(axis=0)],
    )


def with_unused(model: PoissonFactorization, g: Globals, n_components: int) -> Globals:
    """The same fit with components added that hold nothing: atoms at their prior, next to no weight, no location."""
    more = n_components - g.n_components
    if more == 0:
        return g
    n_columns, h = len(g.atom_shape), g.hyper
    rate = np.full((*g.atom_rate.shape[:-1], more), n_columns * h.a0 if model.normalised else h.b0)
    return replace(
        g,
        atom_shape=np.hstack([g.atom_shape, np.broadcast_to(g.prior_shape, (n_columns, more))]),
        atom_rate=np.concatenate([g.atom_rate, rate], axis=-1),
        weights=np.append(g.weights, np.full(more, WEIGHT_FLOOR)),
        locations=np.vstack([g.locations, np.zeros((more, g.locations.shape[1]))]),
    )


def _random_rows(counts: Counts, n: int, rng: np.random.Generator) -> np.ndarray:
    """Columns x n: rows drawn without repeats where there are enough, each scaled to sum to one."""
    candidates = np.flatnonzero(np.diff(counts.indptr))
    if len(candidates) == 0:
        return np.full((counts.n_columns, n), 1.0 / counts.n_columns)
    rows = counts.rows(rng.choice(candidates, n, replace=len(candidates) < n))
    dense = rows.tocsr().toarray().T.astype(np.float64)
    return dense / dense.sum(axis=0)
