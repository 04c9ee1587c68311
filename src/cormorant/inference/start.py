"""Where a fit begins. The starting point decides the basin, and no one start is best for all data.

Components around the column means leave it to the data to pull them apart: right where rows are short. Components half
way between the means and one random row each are told apart at once: right where rows are long. A fit with rows kept
aside tries both for a few epochs and goes on with the one that predicts better (`fit.race`).
"""

from __future__ import annotations

import numpy as np

from cormorant.data import Counts
from cormorant.inference.state import Globals
from cormorant.models.cnpf import Hyperparameters, PoissonFactorization

ROW_SHARES = (0.5, 0.0)  # the starts that are tried
ATOM_TOTAL = 20.0  # A_k at the start; the fit finds its own scale within a few steps
NOISE = 100.0  # shape of the gamma noise that tells components apart: a tenth of the mean


def start_globals(
    model: PoissonFactorization,
    counts: Counts,
    n_components: int,
    n_dims: int,
    hyper: Hyperparameters,
    rng: np.random.Generator,
    row_share: float,
) -> Globals:
    """Column means mixed with ``row_share`` of a random row; q(a) as sure as an equal share of the counts allows."""
    totals = counts.column_totals() + 0.5
    shares = (1.0 - row_share) * (totals / totals.sum())[:, None]
    shares = shares + row_share * _random_rows(counts, n_components, rng)
    atoms = ATOM_TOTAL * shares * rng.gamma(NOISE, 1.0 / NOISE, size=shares.shape)
    rate = max(float(counts.total), 1.0) / (n_components * ATOM_TOTAL)
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


def _random_rows(counts: Counts, n: int, rng: np.random.Generator) -> np.ndarray:
    """Columns x n: rows drawn without repeats where there are enough, each scaled to sum to one."""
    candidates = np.flatnonzero(np.diff(counts.indptr))
    if len(candidates) == 0:
        return np.full((counts.n_columns, n), 1.0 / counts.n_columns)
    rows = counts.rows(rng.choice(candidates, n, replace=len(candidates) < n))
    dense = rows.tocsr().toarray().T.astype(np.float64)
    return dense / dense.sum(axis=0)
