"""Rows and their counts given the tuples, whether these weigh the same (`simulators`) or not (`prior`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from cormorant.data import Counts, as_counts
from cormorant.datasets.checks import check_sizes
from cormorant.models.cnpf import PoissonFactorization, link_function

LARGEST_ROW_TOTAL = 1e11  # expected; a fit takes no larger rows
BLOCK = 1024  # rows whose rates of all columns are held at a time

# Of numbers out of all proportion; what they lead to is refused when counts are drawn.
OVERFLOWS = np.errstate(over="ignore", invalid="ignore", divide="ignore")


def given_locations(
    planted: np.ndarray | None,
    n_components: int,
    n_dims: int,
    sigma_l2: float,
    rng: np.random.Generator,
    of: str = "components",
) -> np.ndarray:
    """Locations that somebody planted, one a row, or l_k ~ N(0, sigma_l^2 I_D)."""
    if planted is None:
        return rng.normal(size=(n_components, n_dims)) * np.sqrt(sigma_l2)
    planted = np.asarray(planted, dtype=np.float64)
    if planted.ndim != 2 or len(planted) != n_components or not np.isfinite(planted).all():
        raise ValueError(f"locations must be {n_components} {of} x D, finite; got shape {planted.shape}.")
    return planted


def draw_rows(
    spec: PoissonFactorization,
    n_rows: int,
    weights: np.ndarray,
    loadings: np.ndarray,
    sigma_m2: float,
    df: float | None,
    shift: np.ndarray | float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """F_uk = sigma phi(l_k) . d_u + mu_u + shift_uk, g_uk ~ Gamma(w_k, 1) and x_uk = r(F_uk) g_uk, rows x components.

    The loadings are sigma phi(l_k), of the linear kernel l_k itself.
    """
    d = rng.normal(size=(n_rows, loadings.shape[1]))
    if df is not None:
        d /= np.sqrt(rng.gamma(df / 2, 2 / df, size=(n_rows, 1)))
    field = d @ loadings.T + shift
    if spec.has_mean:
        field = field + rng.normal(size=(n_rows, 1)) * np.sqrt(sigma_m2)
    gammas = rng.gamma(weights, size=field.shape)
    return field, gammas, gammas * link_function(spec.link, field)


def draw_covariates(
    spec: PoissonFactorization,
    n_rows: int,
    loadings: np.ndarray,
    sigma_m2: float,
    n_covariates: int,
    sigma_g2: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray | float, dict[str, Any]]:
    """What covariates add to F; they themselves, and their effects e_kc = sigma phi(l_k) . Gamma_.c + Gamma_mu,c."""
    if n_covariates == 0:
        return 0.0, {}
    check_sizes(n_covariates=n_covariates)
    if not spec.takes_covariates:
        raise ValueError(f"n_covariates must be 0 for {spec.name}: without locations covariates have nothing to move.")
    theta = rng.normal(size=(n_rows, n_covariates))
    effects = loadings @ rng.normal(size=(loadings.shape[1], n_covariates)) * np.sqrt(sigma_g2)
    if spec.has_mean:
        effects = effects + rng.normal(size=n_covariates) * np.sqrt(sigma_g2 * sigma_m2)
    return theta @ effects.T, {"covariates": theta, "effects": effects}


def draw_counts(x: np.ndarray, atoms: np.ndarray, rng: np.random.Generator) -> Counts:
    """y_ui ~ Poisson(sum_k x_uk a_ki), never dense for more than a block of rows."""
    blocks = [sparse.csr_matrix(draw_poisson(x[i : i + BLOCK] @ atoms, rng)) for i in range(0, len(x), BLOCK)]
    return as_counts(sparse.vstack(blocks).tocsr())


def draw_poisson(rates: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Counts of these rates; refuse those that come of numbers too large or too small for the arithmetic."""
    totals = rates.sum(axis=1)
    wrong = ~(totals <= LARGEST_ROW_TOTAL)  # nor NaN
    if wrong.any():
        raise ValueError(
            f"the numbers that data are drawn with must give rows that sum to {LARGEST_ROW_TOTAL:g} at most; these "
            f"give one of {totals[wrong][0]:g}. Take them nearer to their defaults."
        )
    return rng.poisson(rates)


def in_range(x: np.ndarray, gammas: np.ndarray, field: np.ndarray) -> np.ndarray:
    """x = g exp(F), its rows whose sums are too large or too small for a number divided by their largest entry.

    Of a normalised model only the shares of x matter.
    """
    totals = x.sum(axis=1)
    wrong = ~(np.isfinite(totals) & (totals > 0)) & (gammas > 0).any(axis=1) & np.isfinite(field).all(axis=1)
    log_x = np.log(gammas[wrong]) + field[wrong]
    x = x.copy()
    x[wrong] = np.exp(log_x - log_x.max(axis=1, keepdims=True))
    return x


def shares(x: np.ndarray) -> np.ndarray:
    """Each row divided by its sum; a row that is all zero (weights too small to tell) goes to the first component."""
    x = x + np.where(x.sum(axis=1, keepdims=True) > 0, 0.0, np.eye(1, x.shape[1]))
    return x / x.sum(axis=1, keepdims=True)
