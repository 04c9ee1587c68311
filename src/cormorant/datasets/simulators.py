"""Counts drawn from the models with components that weigh the same, with the truth that a fit should find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cormorant.data import Counts
from cormorant.datasets.checks import check_positive, check_sizes
from cormorant.datasets.rows import (
    OVERFLOWS,
    draw_counts,
    draw_covariates,
    draw_rows,
    given_locations,
    in_range,
    shares,
)
from cormorant.measures import component_correlation
from cormorant.models.cnpf import get_model


@dataclass(frozen=True)
class Simulation:
    """Counts and what they were drawn from: y ~ Poisson(x a), x ~ Gamma(w, 1 / r(F)), F = d (sigma phi(l))^T + mu.

    With covariates theta, F also has theta e^T, with e the effects.

    Normalised models: y ~ Multinomial(N, pi a), pi = x / sum x, x ~ Gamma(beta w, exp(-F)), F = d l^T.
    """

    counts: Counts
    atoms: np.ndarray  # a, components x columns
    weights: np.ndarray  # w_k = s v_k prod_{j<k} (1 - v_j)
    total: float  # s
    sticks: np.ndarray  # v, the last of them 1
    locations: np.ndarray  # l, components x D
    loadings: np.ndarray  # sigma phi(l), components x features; of the linear kernel the locations themselves
    field: np.ndarray  # F, rows x components
    x: np.ndarray  # rows x components; of a normalised model up to a factor where a row is too large for numbers
    alpha: float | None = None  # mass (or concentration) of the process that the weights were drawn from, if they were
    c: float | None = None  # its rate, if it is a gamma process
    beta: float | None = None  # what scales the weights of a normalised model, or those that sum to one
    covariates: np.ndarray | None = None  # theta, rows x covariates, if there are any
    effects: np.ndarray | None = None  # e, components x covariates: what a unit of theta adds to F
    frequencies: np.ndarray | None = None  # of the kernel's features, if it has any

    @property
    def proportions(self) -> np.ndarray:
        """pi_uk = x_uk / sum_j x_uj, rows x components."""
        return self.x / self.x.sum(axis=1, keepdims=True)

    @property
    def correlation(self) -> np.ndarray:
        """rho_km = Cov(F_uk, F_um) scaled to a unit diagonal, given mu_u; zero where a component has no location.

        With the linear kernel that is l_k . l_m / (|l_k| |l_m|).
        """
        return component_correlation(self.loadings)


@OVERFLOWS
def simulate(
    model: str = "cnpf",
    n_rows: int = 1000,
    n_columns: int = 200,
    n_components: int = 10,
    n_dims: int = 5,
    *,
    row_total: float = 100.0,
    a0: float = 0.1,
    weight: float = 0.5,
    sigma_l2: float = 0.5,
    sigma_m2: float = 0.25,
    locations: np.ndarray | None = None,
    n_covariates: int = 0,
    sigma_g2: float = 1.0,
    df: float | None = None,
    seed: int | np.random.Generator = 0,
) -> Simulation:
    """Draw a data set of a wanted size from a model whose components weigh the same (`simulate_prior` draws them too).

    Args:
        model: `cnpf`, `softplus-cnpf`, `scaled-hgp`, `hgp`, `diln` or `hdp`.
        n_rows: Rows u.
        n_columns: Columns i.
        n_components: Components k.
        n_dims: Dimension D of the locations.
        row_total: Expected total of an average row; sets the scale of the atoms. The totals of a normalised model,
            given in its story, are drawn as Poisson(row_total).
        a0: Shape of the atoms' gamma draws: small means few columns a component.
        weight: w (of a normalised model beta w), the same for every component.
        sigma_l2: Variance of the locations.
        sigma_m2: Variance of the row means mu_u.
        locations: Components x D, in place of drawn ones (to plant correlations).
        n_covariates: Covariates of the rows, standard normal; they move the mean of f_u (models with locations).
        sigma_g2: Variance of their coefficients, in units of Var f.
        df: Degrees of freedom of a Student-t field in place of the Gaussian; the smaller, the more rows are outliers.
            With the exponential link of `cnpf` their totals have no mean, and the smaller df is, the fewer rows hold
            nearly all counts of a draw, whose average is `row_total` still; where x is too large for a number, it is in
            units of the largest (and so are the atoms). `softplus-cnpf` and `diln` have rows of moderate totals.
        seed: Seed or generator.
    """
    spec = get_model(model)
    check_sizes(n_rows=n_rows, n_columns=n_columns, n_components=n_components, n_dims=n_dims)
    check_positive(row_total=row_total, a0=a0, weight=weight)
    check_positive(or_zero=True, sigma_l2=sigma_l2, sigma_m2=sigma_m2, sigma_g2=sigma_g2)
    if df is not None:
        check_positive(df=df)
    rng = np.random.default_rng(seed)
    locations = given_locations(locations, n_components, n_dims, sigma_l2, rng)
    locations = locations if spec.has_locations else np.zeros((n_components, 0))
    weights = np.full(n_components, float(weight))
    shift, known = draw_covariates(spec, n_rows, locations, sigma_m2, n_covariates, sigma_g2, rng)
    field, gammas, x = draw_rows(spec, n_rows, weights, locations, sigma_m2, df, shift, rng)
    atoms = rng.gamma(a0, size=(n_components, n_columns)) + 1e-12
    atoms /= atoms.sum(axis=1, keepdims=True)
    sticks = 1.0 / np.arange(n_components, 0, -1)  # of equal weights
    total = float(weights.sum())
    if spec.normalised:
        x = in_range(x, gammas, field)
        counts = draw_counts(row_total * shares(x), atoms, rng)
        weights, total, known = weights / total, 1.0, {**known, "beta": total}
    else:
        if df is not None and spec.link == "exp" and not np.isfinite(x.sum()):
            log_x = np.log(gammas) + field
            x = np.exp(log_x - log_x.max())
        atoms *= row_total / x.mean(axis=0).sum()
        counts = draw_counts(x, atoms, rng)
    return Simulation(counts, atoms, weights, total, sticks, locations, locations, field, x, **known)
