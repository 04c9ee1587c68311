"""Counts thinned by covariates, with the truth that a fit should find (`cormorant.models.thinned`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit

from cormorant.data import Counts, as_counts
from cormorant.datasets.simulators import _check_positive, _check_sizes
from cormorant.models.thinned import Thinning, field_correlation


@dataclass(frozen=True)
class ThinnedSimulation:
    """Counts and what they were drawn from: y ~ Poisson(sum_k w_k z_uk a_ki), z ~ Bernoulli(sigmoid(theta l^T + b))."""

    counts: Counts
    covariates: np.ndarray  # theta, rows x covariates
    atoms: np.ndarray  # a, components x columns; each sums to one
    weights: np.ndarray  # w
    effects: np.ndarray  # l, components x covariates
    intercepts: np.ndarray  # b
    z: np.ndarray  # rows x components

    @property
    def correlation(self) -> np.ndarray:
        """What the covariates, whose variance is one, make components share."""
        return field_correlation(self.effects, np.eye(self.effects.shape[1]))


def simulate_thinned(
    n_rows: int = 1000,
    n_columns: int = 200,
    n_components: int = 6,
    n_covariates: int = 2,
    *,
    row_total: float = 100.0,
    a0: float = 0.1,
    sigma_l2: float = 4.0,
    sigma_b2: float = 0.25,
    seed: int | np.random.Generator = 0,
) -> ThinnedSimulation:
    """Draw a data set of a wanted size; components weigh the same, and covariates are N(0, 1).

    Args:
        n_rows: Rows u.
        n_columns: Columns i.
        n_components: Components k.
        n_covariates: Covariates of a row.
        row_total: Expected total of a row that has half of the components.
        a0: Concentration of the atoms.
        sigma_l2: Variance of the effects; 4 makes them clear.
        sigma_b2: Variance of the intercepts.
        seed: Seed or generator.
    """
    _check_sizes(n_rows=n_rows, n_columns=n_columns, n_components=n_components, n_covariates=n_covariates)
    _check_positive(row_total=row_total)
    rng = np.random.default_rng(seed)
    h = Thinning(a0=a0, sigma_l2=sigma_l2, sigma_b2=sigma_b2)
    theta = rng.normal(size=(n_rows, n_covariates))
    coefficients = rng.normal(size=(n_components, n_covariates + 1)) * np.sqrt(h.prior_variances(n_covariates))
    effects, intercepts = coefficients[:, :-1], coefficients[:, -1]
    z = (rng.random((n_rows, n_components)) < expit(theta @ effects.T + intercepts)).astype(float)
    weights = np.full(n_components, 2.0 * row_total / n_components)
    atoms = rng.gamma(h.a0, size=(n_components, n_columns)) + 1e-12
    atoms /= atoms.sum(axis=1, keepdims=True)
    counts = as_counts(sparse.csr_matrix(rng.poisson((z * weights) @ atoms)))
    return ThinnedSimulation(counts, theta, atoms, weights, effects, intercepts, z)
