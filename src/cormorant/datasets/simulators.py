"""Data drawn from the models themselves, with the truth that a fit should find."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from cormorant.data import Counts, as_counts
from cormorant.measures import component_correlation
from cormorant.models.cnpf import Hyperparameters, PoissonFactorization, get_model, link_function

LARGEST_ROW_TOTAL = 1e11  # expected; a fit takes no larger rows
BLOCK = 1024  # rows whose rates of all columns are held at a time

# Of numbers out of all proportion; what they lead to is refused when counts are drawn.
OVERFLOWS = np.errstate(over="ignore", invalid="ignore", divide="ignore")

# Where every number is drawn: few large weights, clear correlations, rows of very different length.
PRIOR = Hyperparameters(
    a0=0.1, b0=0.1, sigma_l2=0.5, sigma_m2=0.25, a_alpha=10.0, b_alpha=2.0, a_c=10.0, b_c=10.0, a_beta=10.0, b_beta=2.0
)  # fmt: skip


@dataclass(frozen=True)
class Simulation:
    """Counts and what they were drawn from: y ~ Poisson(x a), x ~ Gamma(w, 1 / r(F)), F = d l^T + mu.

    With covariates theta, F also has theta e^T, with e the effects.

    Normalised models: y ~ Multinomial(N, pi a), pi = x / sum x, x ~ Gamma(beta w, exp(-F)), F = d l^T.
    """

    counts: Counts
    atoms: np.ndarray  # a, components x columns
    weights: np.ndarray  # w_k = s v_k prod_{j<k} (1 - v_j)
    total: float  # s
    sticks: np.ndarray  # v, the last of them 1
    locations: np.ndarray  # l, components x D
    field: np.ndarray  # F, rows x components
    x: np.ndarray  # rows x components; of a normalised model up to a factor where a row is too large for numbers
    alpha: float | None = None  # mass (or concentration) of the process that the weights were drawn from, if they were
    c: float | None = None  # its rate, if it is a gamma process
    beta: float | None = None  # what scales the weights of a normalised model, or those that sum to one
    covariates: np.ndarray | None = None  # theta, rows x covariates, if there are any
    effects: np.ndarray | None = None  # e, components x covariates: what a unit of theta adds to F

    @property
    def proportions(self) -> np.ndarray:
        """pi_uk = x_uk / sum_j x_uj, rows x components."""
        return self.x / self.x.sum(axis=1, keepdims=True)

    @property
    def correlation(self) -> np.ndarray:
        """rho_km = l_k . l_m / (|l_k| |l_m|), zero where a component has no location."""
        return component_correlation(self.locations)


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
    _check_sizes(n_rows=n_rows, n_columns=n_columns, n_components=n_components, n_dims=n_dims)
    _check_positive(row_total=row_total, a0=a0, weight=weight)
    _check_positive(or_zero=True, sigma_l2=sigma_l2, sigma_m2=sigma_m2, sigma_g2=sigma_g2)
    if df is not None:
        _check_positive(df=df)
    rng = np.random.default_rng(seed)
    weights = np.full(n_components, float(weight))
    if locations is None:
        locations = rng.normal(size=(n_components, n_dims)) * np.sqrt(sigma_l2)
    locations = np.asarray(locations, dtype=np.float64)
    if locations.ndim != 2 or len(locations) != n_components or not np.isfinite(locations).all():
        raise ValueError(f"locations must be {n_components} components x D, finite; got shape {locations.shape}.")
    locations = locations if spec.has_locations else np.zeros((n_components, 0))
    shift, known = _draw_covariates(spec, n_rows, locations, sigma_m2, n_covariates, sigma_g2, rng)
    field, gammas, x = _draw_rows(spec, n_rows, weights, locations, sigma_m2, rng, df, shift)
    atoms = rng.gamma(a0, size=(n_components, n_columns)) + 1e-12
    atoms /= atoms.sum(axis=1, keepdims=True)
    sticks = 1.0 / np.arange(n_components, 0, -1)  # of equal weights
    total = float(weights.sum())
    if spec.normalised:
        x = _in_range(x, gammas, field)
        counts = _draw_counts(row_total * _shares(x), atoms, rng)
        return Simulation(counts, atoms, weights / total, 1.0, sticks, locations, field, x, beta=total, **known)
    if df is not None and spec.link == "exp" and not np.isfinite(x.sum()):
        log_x = np.log(gammas) + field
        x = np.exp(log_x - log_x.max())
    atoms *= row_total / x.mean(axis=0).sum()
    return Simulation(_draw_counts(x, atoms, rng), atoms, weights, total, sticks, locations, field, x, **known)


@OVERFLOWS
def simulate_prior(
    model: str = "cnpf",
    n_rows: int = 1000,
    n_columns: int = 200,
    n_components: int = 50,
    n_dims: int = 5,
    *,
    top: str | None = None,
    row_total: float = 100.0,
    hyper: Hyperparameters = PRIOR,
    seed: int | np.random.Generator = 0,
) -> Simulation:
    """Draw everything, from alpha and c to the counts: the generative story of `cormorant.models.cnpf`.

        alpha ~ Gamma(a_alpha, b_alpha)      c ~ Gamma(a_c, b_c)
        s ~ Gamma(alpha, c)                  v_k ~ Beta(1, alpha), v_T = 1
        l_k ~ N(0, sigma_l^2 I_D)            a_ki ~ Gamma(a0, b0)

    and the rows given those; in normalised models beta ~ Gamma(a_beta, b_beta), a_k ~ Dirichlet(a0), w by their top.

    Args:
        model: `cnpf`, `softplus-cnpf`, `scaled-hgp`, `hgp`, `diln` or `hdp`.
        n_rows: Rows u.
        n_columns: Columns i.
        n_components: Truncation T of the process at the top.
        n_dims: Dimension D of the locations.
        top: The process of the weights: `gamma` (the default), `pitman-yor`, `dirichlet` (DILN's default) or `beta`.
        row_total: Expected total of a row of a normalised model, whose story takes the totals as given.
        hyper: The numbers that are given, not drawn.
        seed: Seed or generator.
    """
    spec = get_model(model)
    _check_sizes(n_rows=n_rows, n_columns=n_columns, n_components=n_components, n_dims=n_dims)
    rng = np.random.default_rng(seed)
    _check_positive(row_total=row_total)
    top = _checked_top(spec, top)
    alpha, c = rng.gamma(hyper.a_alpha) / hyper.b_alpha, rng.gamma(hyper.a_c) / hyper.b_c
    total, sticks = _draw_top(top, alpha, c, hyper.discount, n_components, rng)
    locations = rng.normal(size=(n_components, n_dims if spec.has_locations else 0)) * np.sqrt(hyper.sigma_l2)
    atoms = rng.gamma(hyper.a0, size=(n_components, n_columns)) / hyper.b0
    weights = total * sticks * np.append(1.0, np.cumprod(1.0 - sticks[:-1]))
    has_rate = top in ("gamma", "pitman-yor")
    beta = 1.0 if has_rate else rng.gamma(hyper.a_beta) / hyper.b_beta
    rate, scale = (c, None) if has_rate else (None, beta)
    field, gammas, x = _draw_rows(spec, n_rows, beta * weights, locations, hyper.sigma_m2, rng)
    if not spec.normalised:
        counts = _draw_counts(x, atoms, rng)
        return Simulation(counts, atoms, weights, total, sticks, locations, field, x, alpha, rate, scale)
    atoms = np.maximum(atoms, 1e-300)
    atoms = atoms / atoms.sum(axis=1, keepdims=True)
    x = _in_range(x, gammas, field)
    counts = _draw_counts(row_total * _shares(x), atoms, rng)
    return Simulation(counts, atoms, weights, total, sticks, locations, field, x, alpha, rate, beta)


def _checked_top(spec: PoissonFactorization, top: str | None) -> str:
    """The model's own top, or another; HDP with another would not be HDP."""
    if top is None or top == spec.top:
        return spec.top
    if spec.name == "hdp" or top not in ("gamma", "pitman-yor", "dirichlet", "beta"):
        raise ValueError(
            f"top must be gamma, pitman-yor, dirichlet or beta (of hdp: left out); got {top!r} for {spec.name}."
        )
    return top


def _draw_top(
    top: str, alpha: float, c: float, discount: float, n_components: int, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    """Total and sticks of the weights."""
    if top == "beta":
        weights = np.maximum(rng.beta(alpha / n_components, alpha, size=n_components), 1e-300)
        rest = np.cumsum(weights[::-1])[::-1]
        return float(rest[0]), weights / rest
    total = 1.0 if top == "dirichlet" else rng.gamma(alpha) / c
    sigma = discount if top == "pitman-yor" else 0.0
    return total, np.append(rng.beta(1.0 - sigma, alpha + sigma * np.arange(1, n_components)), 1.0)


def _in_range(x: np.ndarray, gammas: np.ndarray, field: np.ndarray) -> np.ndarray:
    """x = g exp(F), its rows whose sums are too large or too small for a number divided by their largest entry.

    Of a normalised model only the shares of x matter.
    """
    totals = x.sum(axis=1)
    wrong = ~(np.isfinite(totals) & (totals > 0)) & (gammas > 0).any(axis=1) & np.isfinite(field).all(axis=1)
    log_x = np.log(gammas[wrong]) + field[wrong]
    x = x.copy()
    x[wrong] = np.exp(log_x - log_x.max(axis=1, keepdims=True))
    return x


def _shares(x: np.ndarray) -> np.ndarray:
    """Each row divided by its sum; a row that is all zero (weights too small to tell) goes to the first component."""
    x = x + np.where(x.sum(axis=1, keepdims=True) > 0, 0.0, np.eye(1, x.shape[1]))
    return x / x.sum(axis=1, keepdims=True)


def _draw_rows(
    spec: PoissonFactorization,
    n_rows: int,
    weights: np.ndarray,
    locations: np.ndarray,
    sigma_m2: float,
    rng: np.random.Generator,
    df: float | None = None,
    shift: np.ndarray | float = 0.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """F_uk = l_k . d_u + mu_u + shift_uk, g_uk ~ Gamma(w_k, 1) and x_uk = r(F_uk) g_uk, rows x components."""
    d = rng.normal(size=(n_rows, locations.shape[1]))
    if df is not None:
        d /= np.sqrt(rng.gamma(df / 2, 2 / df, size=(n_rows, 1)))
    field = d @ locations.T + shift
    if spec.has_mean:
        field = field + rng.normal(size=(n_rows, 1)) * np.sqrt(sigma_m2)
    gammas = rng.gamma(weights, size=field.shape)
    return field, gammas, gammas * link_function(spec.link, field)


def _draw_covariates(
    spec: PoissonFactorization,
    n_rows: int,
    locations: np.ndarray,
    sigma_m2: float,
    n_covariates: int,
    sigma_g2: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray | float, dict[str, Any]]:
    """What covariates add to F, and they themselves with their effects e_kc = l_k . Gamma_.c + Gamma_mu,c."""
    if n_covariates == 0:
        return 0.0, {}
    _check_sizes(n_covariates=n_covariates)
    if not spec.has_locations:
        raise ValueError(f"n_covariates must be 0 for {spec.name}: without locations covariates have nothing to move.")
    theta = rng.normal(size=(n_rows, n_covariates))
    effects = locations @ rng.normal(size=(locations.shape[1], n_covariates)) * np.sqrt(sigma_g2)
    if spec.has_mean:
        effects = effects + rng.normal(size=n_covariates) * np.sqrt(sigma_g2 * sigma_m2)
    return theta @ effects.T, {"covariates": theta, "effects": effects}


def _draw_counts(x: np.ndarray, atoms: np.ndarray, rng: np.random.Generator) -> Counts:
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


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if not isinstance(size, int | np.integer) or size < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {size!r}.")


def _check_positive(or_zero: bool = False, **numbers: float) -> None:
    for name, value in numbers.items():
        if not (isinstance(value, Real) and np.isfinite(value) and (value > 0 or (or_zero and value == 0))):
            raise ValueError(f"{name} must be positive{' or zero' if or_zero else ''}, got {value!r}.")
