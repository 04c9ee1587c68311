"""Where a fit begins. The starting point decides the basin: atoms near the column means, weights small and equal."""

from __future__ import annotations

import numpy as np

from cormorant.inference.state import Globals
from cormorant.models.cnpf import Hyperparameters, PoissonFactorization

ATOM_TOTAL = 20.0  # A_k at the start; the fit finds its own scale within a few steps
SPREAD = 100.0  # shape of the gamma noise that tells the components apart: a tenth of the column mean


def start_globals(
    model: PoissonFactorization,
    column_totals: np.ndarray,
    n_components: int,
    n_dims: int,
    hyper: Hyperparameters,
    rng: np.random.Generator,
) -> Globals:
    """Components drawn around the column means, q(a) as sure of itself as an equal share of the counts allows."""
    means = (column_totals + 0.5) / (column_totals + 0.5).sum()
    noise = rng.gamma(SPREAD, 1.0 / SPREAD, size=(len(means), n_components))
    atoms = ATOM_TOTAL * means[:, None] * noise
    rate = max(float(column_totals.sum()), 1.0) / (n_components * ATOM_TOTAL)
    return Globals(
        atom_shape=atoms * rate,
        atom_rate=np.full(n_components, rate),
        weights=np.full(n_components, 1.0 / n_components),
        # Not zero: there the locations would stay, at a saddle of the bound.
        locations=rng.normal(size=(n_components, n_dims if model.has_locations else 0)) * np.sqrt(hyper.sigma_l2),
        alpha=1.0,
        c=1.0,
        hyper=hyper,
    )


def pad_components(g: Globals, n_components: int) -> Globals:
    """The same with empty components added up to the truncation: their q(a) is the prior, their weights negligible."""
    extra = n_components - g.n_components
    if extra <= 0:
        return g
    n_columns = len(g.atom_shape)
    rate = np.full((*g.atom_rate.shape[:-1], extra), g.hyper.b0)
    return Globals(
        atom_shape=np.hstack([g.atom_shape, np.full((n_columns, extra), g.hyper.a0)]),
        atom_rate=np.concatenate([g.atom_rate, rate], axis=-1),
        weights=np.append(g.weights, np.full(extra, 1e-6 * g.weights.min())),
        locations=np.vstack([g.locations, np.zeros((extra, g.locations.shape[1]))]),
        alpha=g.alpha,
        c=g.c,
        hyper=g.hyper,
    )
