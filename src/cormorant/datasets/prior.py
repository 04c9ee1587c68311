"""Everything drawn, from what governs the process to the data: the stories of `cormorant.models` as they are told."""

from __future__ import annotations

from typing import Any

import numpy as np

from cormorant.datasets import features, thinned
from cormorant.datasets.checks import check_choice, check_positive, check_sizes
from cormorant.datasets.rows import OVERFLOWS, draw_counts, draw_covariates, draw_rows, in_range, shares
from cormorant.datasets.simulators import Simulation
from cormorant.models.cnpf import MODELS, PROCESSES, WITH_RATE, Hyperparameters, PoissonFactorization
from cormorant.models.features import FEATURE_MODELS, FeaturePriors
from cormorant.models.kernels import (
    KERNELS,
    WITH_FREQUENCIES,
    Kernel,
    default_length_scale,
    draw_frequencies,
    make_kernel,
)
from cormorant.models.thinned import Thinning

# Few large weights, clear correlations, rows of very different length.
PRIOR = Hyperparameters(
    a0=0.1, b0=0.1, sigma_l2=0.5, sigma_m2=0.25, a_alpha=10.0, b_alpha=2.0, a_c=10.0, b_c=10.0, a_beta=10.0, b_beta=2.0
)  # fmt: skip
NAMES = (*MODELS, Thinning.name, *FEATURE_MODELS)
OF_KERNELS = ("kernel", "length_scale", "nu", "n_frequencies")


@OVERFLOWS
def simulate_prior(
    model: str = "cnpf",
    n_rows: int = 1000,
    n_columns: int = 200,
    n_components: int = 50,
    n_dims: int = 5,
    *,
    tuples: str | None = None,
    top: str | None = None,
    kernel: str | None = None,
    length_scale: float | None = None,
    nu: float | None = None,
    n_frequencies: int | None = None,
    df: float | None = None,
    n_covariates: int | None = None,
    row_total: float | None = None,
    likelihood: str | None = None,
    hyper: Hyperparameters | Thinning | FeaturePriors | None = None,
    seed: int | np.random.Generator = 0,
) -> Simulation | thinned.ThinnedSimulation | features.FeatureSimulation:
    """Draw everything, from what governs the weights to the data: the story that the model's file tells.

    An option that a model does not have is refused; None leaves it as the paper has it.

    Args:
        model: Any of the models' names, such as `cnpf`, `diln`, `thinned` or `beta-features`.
        n_rows: Rows.
        n_columns: Columns.
        n_components: Truncation T of the process: components or features.
        n_dims: Dimension D of the locations, where a model has any (with kernel="groups" and "brownian": places).
        tuples: The process of the weights of a Poisson model: "gamma" (as None), "pitman-yor", "dirichlet" or "beta".
        top: The same of `diln`, whose own is "dirichlet".
        kernel: What the locations of `cnpf` and `softplus-cnpf` mean: "linear" (as None), "rbf", "matern", "brownian"
            or "groups".
        length_scale: Of "rbf" and "matern"; None: sqrt(D / 2).
        nu: Smoothness of "matern"; None: 1.5.
        n_frequencies: Frequencies that stand for "rbf" and "matern"; None: 32.
        df: Degrees of freedom of a Student-t field in place of the Gaussian. With the exponential link of `cnpf` rows
            then have no expected total, and those of a small df are refused.
        n_covariates: Covariates of the rows, standard normal: of `thinned` (None: 2), and of the models with locations
            (None: none), where they move the mean of f_u.
        row_total: Expected total of a row of a normalised model, whose story takes the totals as given; None: 100.
        likelihood: Of features: "gaussian" (as None), "poisson" or "bernoulli".
        hyper: The numbers that are given, not drawn: `Hyperparameters` (but for df, see above), `Thinning` or, of
            features, `FeaturePriors`. None: numbers that give clear data.
        seed: Seed or generator.
    """
    check_choice("model", model, NAMES)
    check_sizes(n_rows=n_rows, n_columns=n_columns, n_components=n_components, n_dims=n_dims)
    options = {
        "tuples": tuples, "top": top, "kernel": kernel, "length_scale": length_scale, "nu": nu,
        "n_frequencies": n_frequencies, "df": df, "n_covariates": n_covariates, "row_total": row_total,
        "likelihood": likelihood,
    }  # fmt: skip
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        if name not in options_of(model):
            raise ValueError(f"{name}={value!r} does nothing with model={model!r}; leave it out.")
    rng, size = np.random.default_rng(seed), (n_rows, n_columns, n_components)
    if model in FEATURE_MODELS:
        priors = _hyper(model, hyper, features.PRIOR)
        return features.draw_prior(FEATURE_MODELS[model], *size, n_dims, priors=priors, rng=rng, **given)
    if model == Thinning.name:
        return thinned.draw_prior(*size, hyper=_hyper(model, hyper, thinned.PRIOR), rng=rng, **given)
    return _draw_counts_prior(MODELS[model], *size, n_dims, _hyper(model, hyper, PRIOR), rng, **given)


def options_of(model: str) -> tuple[str, ...]:
    """The options of `simulate_prior` that a model has."""
    if model in FEATURE_MODELS:
        return ("likelihood",)
    if model == Thinning.name:
        return ("n_covariates",)
    spec = MODELS[model]
    process = ("top",) if spec.has_locations else ()  # HDP with another process would not be HDP
    of_weights = (*process, "row_total") if spec.normalised else ("tuples",)
    of_locations = ("df", "n_covariates", *(() if spec.normalised else OF_KERNELS)) if spec.has_locations else ()
    return of_weights + of_locations


def _hyper(model: str, hyper: Any, usual: Any) -> Any:
    """The numbers of a story, of the kind that it has."""
    if hyper is not None and not isinstance(hyper, type(usual)):
        raise ValueError(f"hyper must be {type(usual).__name__} for {model}; got {type(hyper).__name__}.")
    return usual if hyper is None else hyper


def _draw_counts_prior(
    spec: PoissonFactorization,
    n_rows: int,
    n_columns: int,
    n_components: int,
    n_dims: int,
    hyper: Hyperparameters,
    rng: np.random.Generator,
    *,
    tuples: str | None = None,
    top: str | None = None,
    df: float | None = None,
    n_covariates: int = 0,
    row_total: float = 100.0,
    **of_kernel: Any,
) -> Simulation:
    """The story of `cormorant.models.cnpf`.

        alpha ~ Gamma(a_alpha, b_alpha)      c ~ Gamma(a_c, b_c)
        s ~ Gamma(alpha, c)                  v_k ~ Beta(1, alpha), v_T = 1
        l_k ~ N(0, sigma_l^2 I_D)            a_ki ~ Gamma(a0, b0)

    and the rows given those; in normalised models beta ~ Gamma(a_beta, b_beta), a_k ~ Dirichlet(a0), w by their top.
    """
    check_positive(row_total=row_total)
    if df is not None:
        check_positive(df=df)
    name, chosen = ("top", top) if spec.normalised else ("tuples", tuples)
    process = check_choice(name, spec.top if chosen is None else chosen, PROCESSES)
    alpha, c = rng.gamma(hyper.a_alpha) / hyper.b_alpha, rng.gamma(hyper.a_c) / hyper.b_c
    total, sticks = _draw_sticks(process, alpha, c, hyper.discount, n_components, rng)
    locations, loadings, frequencies = np.zeros((n_components, 0)), np.zeros((n_components, 0)), None
    if spec.has_locations:
        kernel, frequencies = _draw_kernel(n_dims, rng, **of_kernel)
        locations = kernel.start(n_components, n_dims, hyper.sigma_l2, rng)
        loadings = kernel.features(locations, hyper.sigma_l2)
    atoms = rng.gamma(hyper.a0, size=(n_components, n_columns)) / hyper.b0
    weights = total * sticks * np.append(1.0, np.cumprod(1.0 - sticks[:-1]))
    beta = 1.0 if process in WITH_RATE else rng.gamma(hyper.a_beta) / hyper.b_beta
    drawn: dict[str, Any] = {"alpha": alpha, "frequencies": frequencies}
    drawn |= {"c": c} if process in WITH_RATE else {"beta": beta}
    shift, known = draw_covariates(spec, n_rows, loadings, hyper.sigma_m2, n_covariates, hyper.sigma_g2, rng)
    field, gammas, x = draw_rows(spec, n_rows, beta * weights, loadings, hyper.sigma_m2, df, shift, rng)
    rates = x
    if spec.normalised:
        atoms = np.maximum(atoms, 1e-300)
        atoms = atoms / atoms.sum(axis=1, keepdims=True)
        x, drawn["beta"] = in_range(x, gammas, field), beta
        rates = row_total * shares(x)
    counts = draw_counts(rates, atoms, rng)
    return Simulation(counts, atoms, weights, total, sticks, locations, loadings, field, x, **drawn, **known)


def _draw_sticks(
    process: str, alpha: float, c: float, discount: float, n_components: int, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    """Total and sticks of the weights."""
    if process == "beta":
        weights = np.maximum(rng.beta(alpha / n_components, alpha, size=n_components), 1e-300)
        rest = np.cumsum(weights[::-1])[::-1]
        return float(rest[0]), weights / rest
    total = 1.0 if process == "dirichlet" else rng.gamma(alpha) / c
    sigma = discount if process == "pitman-yor" else 0.0
    return total, np.append(rng.beta(1.0 - sigma, alpha + sigma * np.arange(1, n_components)), 1.0)


def _draw_kernel(
    n_dims: int,
    rng: np.random.Generator,
    kernel: str = "linear",
    length_scale: float | None = None,
    nu: float | None = None,
    n_frequencies: int | None = None,
) -> tuple[Kernel, np.ndarray | None]:
    """The kernel and, if it has any, the frequencies of its features."""
    check_choice("kernel", kernel, KERNELS)
    reads = {"length_scale": WITH_FREQUENCIES, "n_frequencies": WITH_FREQUENCIES, "nu": ("matern",)}
    given = {"length_scale": length_scale, "n_frequencies": n_frequencies, "nu": nu}
    for name, kernels in reads.items():
        if given[name] is not None and kernel not in kernels:
            raise ValueError(f"{name}={given[name]!r} does nothing with kernel={kernel!r}; leave it out.")
    if kernel not in WITH_FREQUENCIES:
        return make_kernel(kernel, n_dims, None, None), None
    length_scale = default_length_scale(n_dims) if length_scale is None else length_scale
    nu, n_frequencies = 1.5 if nu is None else nu, 32 if n_frequencies is None else n_frequencies
    check_sizes(n_frequencies=n_frequencies)
    check_positive(length_scale=length_scale, nu=nu)
    frequencies = draw_frequencies(n_frequencies, n_dims, length_scale, nu if kernel == "matern" else None, rng)
    return make_kernel(kernel, n_dims, frequencies, length_scale), frequencies
