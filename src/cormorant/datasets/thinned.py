"""Counts thinned by covariates, with the truth that a fit should find (`cormorant.models.thinned`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from cormorant.data import Counts
from cormorant.datasets.checks import check_positive, check_sizes
from cormorant.datasets.rows import OVERFLOWS, draw_counts
from cormorant.measures.log_gamma import draw_log_gamma
from cormorant.models.thinned import Thinning, field_correlation

# Where weights are drawn: a few large ones, rows of about a hundred counts, clear effects.
PRIOR = Thinning(alpha=5.0, a_c=10.0, b_c=600.0, sigma_l2=4.0, sigma_b2=0.25)


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
    c: float | None = None  # rate of the process that the weights were drawn from, if they were

    @property
    def correlation(self) -> np.ndarray:
        """What the covariates, whose variance is one, make components share."""
        return field_correlation(self.effects, np.eye(self.effects.shape[1]))


@OVERFLOWS
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
    check_sizes(n_rows=n_rows, n_columns=n_columns, n_components=n_components, n_covariates=n_covariates)
    check_positive(row_total=row_total)
    weights = np.full(n_components, 2.0 * row_total / n_components)
    hyper = Thinning(a0=a0, sigma_l2=sigma_l2, sigma_b2=sigma_b2)
    return _draw(weights, n_rows, n_columns, n_covariates, hyper, np.random.default_rng(seed))


def draw_prior(
    n_rows: int,
    n_columns: int,
    n_components: int,
    *,
    hyper: Thinning,
    rng: np.random.Generator,
    n_covariates: int = 2,
) -> ThinnedSimulation:
    """The whole story, with c ~ Gamma(a_c, b_c) and w_k ~ Gamma(alpha / T, c), for covariates that are N(0, 1)."""
    check_sizes(n_covariates=n_covariates)
    c = rng.gamma(hyper.a_c) / hyper.b_c
    weights = np.exp(draw_log_gamma(np.full(n_components, hyper.alpha / n_components), rng)) / c
    return _draw(weights, n_rows, n_columns, n_covariates, hyper, rng, c)


def _draw(
    weights: np.ndarray,
    n_rows: int,
    n_columns: int,
    n_covariates: int,
    hyper: Thinning,
    rng: np.random.Generator,
    c: float | None = None,
) -> ThinnedSimulation:
    """Covariates, the other parts of the tuples, z and counts, given the weights."""
    theta = rng.normal(size=(n_rows, n_covariates))
    coefficients = rng.normal(size=(len(weights), n_covariates + 1)) * np.sqrt(hyper.prior_variances(n_covariates))
    effects, intercepts = coefficients[:, :-1], coefficients[:, -1]
    z = (rng.random((n_rows, len(weights))) < expit(theta @ effects.T + intercepts)).astype(float)
    atoms = rng.gamma(hyper.a0, size=(len(weights), n_columns)) + 1e-12
    atoms /= atoms.sum(axis=1, keepdims=True)
    return ThinnedSimulation(draw_counts(z * weights, atoms, rng), theta, atoms, weights, effects, intercepts, z, c)
