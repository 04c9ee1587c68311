"""From constructor parameters to a scheme: what "auto" and None mean, and what is refused."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from cormorant.backends.select import Backend
from cormorant.inference.gibbs import Gibbs
from cormorant.inference.meanfield import MeanField
from cormorant.inference.prior import WIDE_LEVEL
from cormorant.inference.schedules import RobbinsMonro
from cormorant.inference.scheme import Scheme
from cormorant.inference.structured import Structured
from cormorant.models.cnpf import PROCESSES, WITH_BETA, WITH_RATE, Hyperparameters, PoissonFactorization
from cormorant.models.kernels import KERNELS, WITH_FREQUENCIES, default_length_scale, draw_frequencies

ALLOCATIONS = ("zero-order", "digamma")
FIELDS = ("gaussian", "student-t")
FULL_BATCH_ROWS = 20_000  # up to here every step visits every row
MINIBATCH_ROWS = 4_096
# The atoms' posterior rate is b0 + sum_u E x_uk, so this makes the prior worth the same share of any number of rows.
B0_ROWS = 0.15
MOST_COMPONENTS = 2**16 - 1  # the component of a count is kept in 16 bits
SWEEPS_FOR_EFFECTS = 3, 12  # times as many sweeps by default where rows have covariates, at least and at most,
FEW_CELLS = 20_000  # and rows x components up to which they are the most
MANY_CELLS = 40_000_000  # rows x components from which on there are fewer chains (of the usual sweeps)
USUAL_SWEEPS = 90  # by default
FEWEST_CHAINS, USUAL_CHAINS = 4, 8  # likewise; each finds another mode, and their average predicts better than any
MOST_TIMES = 2  # as many chains where so many promise enough (`pilots`)
FIRST_EPOCHS, START_EPOCHS = 10, 3  # of the structured fit that the first chain starts from, and any other
# Parameters that are read only if another has one of these values.
ONLY_WITH = (
    ("a_beta", "top", WITH_BETA),
    ("a_c", "top", WITH_RATE),
    ("a_c", "tuples", WITH_RATE),
    ("b_beta", "top", WITH_BETA),
    ("b_c", "top", WITH_RATE),
    ("b_c", "tuples", WITH_RATE),
    ("df", "field", ("student-t",)),
    ("discount", "tuples", ("pitman-yor",)),
    ("discount", "top", ("pitman-yor",)),
    ("length_scale", "kernel", WITH_FREQUENCIES),
    ("n_frequencies", "kernel", WITH_FREQUENCIES),
    ("nu", "kernel", ("matern",)),
)
KERNEL_VARIANCE = 1.0  # of F at a location, where a kernel is not linear: what a structured fit learns from


@dataclass(frozen=True)
class SchemeDefaults:
    """What a scheme takes where the user says None."""

    a0: float
    b0: float | None  # None: a share of the number of rows
    sigma_l2: float
    sigma_m2: float
    learns_a0: bool
    learning_offset: float
    learning_decay: float


DEFAULTS = {
    "structured": SchemeDefaults(0.1, None, 0.04, WIDE_LEVEL, True, 10.0, 0.7),
    "gibbs": SchemeDefaults(0.1, None, 0.04, WIDE_LEVEL, True, 10.0, 0.7),  # its chains start from structured fits
    # The paper's own settings, but for sigma_m2, which it does not tell.
    "mean-field": SchemeDefaults(0.01, 10.0, 1.0 / 250.0, WIDE_LEVEL, False, 50.0, 0.9),
}


def resolve_inference(inference: str, allocation: str, stopping: str, batch_size: Any) -> str:
    """The scheme that a name stands for.

    "auto" is the sampler, unless something is asked for that only structured inference has. (Where chains predict no
    better, a fit by "auto" ends with a structured one: `pilots`.)
    """
    if inference == "auto":
        only_structured = allocation == "digamma" or stopping == "bound" or isinstance(batch_size, int | np.integer)
        return "structured" if only_structured else "gibbs"
    if inference not in DEFAULTS:
        raise ValueError(f"inference must be 'auto' or one of {', '.join(DEFAULTS)}; got {inference!r}.")
    return inference


def make_scheme(
    inference: str,
    allocation: str,
    learns_a0: bool,
    learns_sigma_l2: bool,
    learns_sigma_m2: bool,
    model: PoissonFactorization,
    backend: Backend,
) -> Scheme:
    """The scheme with its options checked."""
    check_allocation(allocation)
    if inference == "mean-field":
        return MeanField(model, backend)
    if inference == "gibbs":
        return Gibbs(model, backend, learns_a0, learns_sigma_l2, learns_sigma_m2)
    learned = {"a0": learns_a0, "sigma_l2": learns_sigma_l2 and model.has_locations and not model.kernel.is_linear}
    return Structured(model, backend, allocation, frozenset(name for name, is_so in learned.items() if is_so))


def check_top(parameter: str, name: Any) -> str:
    """The process that a parameter names."""
    if name not in PROCESSES:
        raise ValueError(f"{parameter} must be one of {', '.join(PROCESSES)}; got {name!r}.")
    return name


def make_frequencies(
    kernel: Any, n_dims: Any, length_scale: Any, nu: Any, n_frequencies: Any, rng: np.random.Generator
) -> np.ndarray | None:
    """The frequencies of the features of an rbf or matern kernel, its settings checked; the others have none."""
    if kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)}; got {kernel!r}.")
    if kernel not in WITH_FREQUENCIES:
        return None
    check_count("n_dims", n_dims)
    check_count("n_frequencies", n_frequencies)
    length_scale = default_length_scale(n_dims) if length_scale is None else length_scale
    for name, value in (("length_scale", length_scale), ("nu", nu)):
        check_number(name, value)
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be a positive number, got {value!r}.")
    return draw_frequencies(n_frequencies, n_dims, length_scale, nu if kernel == "matern" else None, rng)


def check_kernel(estimator: Any) -> np.ndarray | None:
    """The settings of the kernel, by drawing frequencies that nobody will use."""
    e, rng = estimator, np.random.default_rng(0)
    return make_frequencies(e.kernel, e.n_dims, e.length_scale, e.nu, e.n_frequencies, rng)


def check_mean_field(model: PoissonFactorization, name: str) -> None:
    """The paper's algorithm is for the paper's model, and is kept as it is."""
    if model.normalised:
        raise ValueError(
            f"inference='mean-field' is the paper's algorithm for Poisson factorisation, and {name} "
            "is normalised; use inference='structured' or 'gibbs'."
        )
    if model.top != "gamma" or not model.kernel.is_linear or model.has_covariates or model.heavy_tails:
        raise ValueError(
            "inference='mean-field' is the paper's algorithm, for tuples='gamma' and kernel='linear', with neither "
            "covariates nor a Student-t field; others need inference='structured' or 'gibbs'."
        )


def check_parameters(estimator: Any) -> None:
    """Refuse what is wrong with the parameters of an unfitted factorisation whatever data will come."""
    for name in ("n_components", "max_epochs", "patience"):
        check_count(name, getattr(estimator, name))
    if estimator.n_components > MOST_COMPONENTS:
        raise ValueError(f"n_components must be at most {MOST_COMPONENTS:,}, got {estimator.n_components:,}.")
    if estimator.model.has_locations:
        check_count("n_dims", estimator.n_dims)
    model = estimator._model_of(check_kernel(estimator), has_covariates=False)
    inference = resolve_inference(estimator.inference, estimator.allocation, estimator.stopping, estimator.batch_size)
    if inference == "mean-field":
        check_mean_field(model, type(estimator).__name__)
    check_allocation(estimator.allocation)
    check_validation(estimator.validation)
    resolve_chains(estimator.n_chains, estimator.n_sweeps, estimator.n_samples, 1, 1)
    resolve_batch_size(estimator.batch_size, 1)
    resolve_stopping(estimator.stopping, has_validation=estimator.validation != 0)
    check_tol(estimator.tol)
    make_schedule(estimator.learning_offset, estimator.learning_decay, DEFAULTS[inference])
    make_hyperparameters(given_hyperparameters(estimator), DEFAULTS[inference], 1)
    check_callbacks(estimator.callbacks)
    for name, why in idle_parameters(estimator).items():
        if getattr(estimator, name) != default_of(estimator, name):
            raise ValueError(why)


def idle_parameters(estimator: Any) -> dict[str, str]:
    """Parameters that do nothing beside the others as they are, and what to say of each."""
    own = estimator.get_params(deep=False)
    return {
        name: f"{name}={own[name]!r} does nothing with {other}={own[other]!r}, only with "
        f"{' or '.join(f'{other}={value!r}' for value in values)}; leave it out."
        for name, other, values in ONLY_WITH
        if name in own and other in own and own[other] not in values
    }


def default_of(estimator: Any, name: str) -> Any:
    """What a parameter is where nobody says."""
    return inspect.signature(type(estimator)).parameters[name].default


def given_hyperparameters(estimator: Any) -> dict[str, Any]:
    """The paper's numbers as the user gave them; a restriction lacks those that it does not use."""
    return {f.name: getattr(estimator, f.name) for f in fields(Hyperparameters) if hasattr(estimator, f.name)}


@dataclass(frozen=True)
class Chains:
    """How much a sampler does; ``most_chains`` where so many promise enough (`pilots`)."""

    n_chains: int
    n_sweeps: int
    n_samples: int
    most_chains: int


def asks_for_chains(estimator: Any) -> bool:
    """Whether somebody has said how many chains, sweeps or samples there are to be."""
    return any(
        getattr(estimator, name) != default_of(estimator, name) for name in ("n_chains", "n_sweeps", "n_samples")
    )


def resolve_chains(
    n_chains: Any, n_sweeps: Any, n_samples: Any, n_rows: int, n_components: int, has_covariates: bool = False
) -> Chains:
    """Eight chains and, where they promise enough, as many again; fewer where rows x components x sweeps are too many.

    Rows with covariates have more sweeps: predictions are good after few, intervals of effects are not, least of all on
    small data.
    """
    cells = max(n_rows * n_components, 1)
    least, most = SWEEPS_FOR_EFFECTS if has_covariates else (1, 1)
    times = int(np.clip(most * FEW_CELLS // cells, least, most))
    n_sweeps = USUAL_SWEEPS * times if n_sweeps is None else n_sweeps
    check_count("n_sweeps", n_sweeps)
    check_count("n_samples", n_samples)
    if n_chains is not None:
        check_count("n_chains", n_chains)
        return Chains(n_chains, n_sweeps, n_samples, most_chains=n_chains)
    affordable = USUAL_CHAINS * MANY_CELLS * USUAL_SWEEPS // (cells * n_sweeps)
    usual = int(np.clip(affordable, FEWEST_CHAINS, USUAL_CHAINS))
    return Chains(usual, n_sweeps, n_samples, most_chains=usual * (1 if has_covariates else MOST_TIMES))


def make_hyperparameters(
    given: dict[str, Any], defaults: SchemeDefaults, n_rows: int, linear: bool = True
) -> Hyperparameters:
    """The paper's numbers, None filled in; sigma_l2 of a kernel that is not ``linear`` is the variance of F itself."""
    filled: dict[str, Any] = {
        name: getattr(defaults, name, None) if value is None else value for name, value in given.items()
    }
    if given.get("sigma_l2") is None and not linear:
        filled["sigma_l2"] = KERNEL_VARIANCE
    if filled["b0"] is None:
        filled["b0"] = B0_ROWS * n_rows
    for name, value in filled.items():
        check_number(name, value)
    return Hyperparameters(**{name: float(value) for name, value in filled.items()})


def resolve_batch_size(batch_size: Any, n_rows: int, starts_chain: bool = False) -> int:
    """Rows a step visits: all of them when they are few, or when a chain starts from it.

    A few epochs of minibatches leave most components unused; the chain, which visits all rows anyway, keeps to that.
    """
    if batch_size == "auto":
        return n_rows if n_rows <= FULL_BATCH_ROWS or starts_chain else MINIBATCH_ROWS
    if batch_size is None:
        return n_rows
    check_count("batch_size", batch_size, also="'auto' or None (all rows)")
    return min(int(batch_size), n_rows)


def resolve_validation_rows(validation: Any, n_rows: int) -> int:
    """Rows kept aside to stop and to choose by: 5% (50 to 1,000), none of fewer than 200 rows."""
    if validation == "auto":
        return 0 if n_rows < 200 else min(1000, max(50, n_rows // 20))
    check_validation(validation)
    if isinstance(validation, float | np.floating):
        return max(1, int(validation * n_rows))
    if validation >= n_rows:
        raise ValueError(f"validation must be a number of rows below the {n_rows} there are; got {validation!r}.")
    return int(validation)


def resolve_stopping(stopping: str, has_validation: bool) -> str:
    """What the fit watches: "perplexity" of the rows kept aside, or the "bound"."""
    if stopping == "auto":
        return "perplexity" if has_validation else "bound"
    if stopping == "validation" and not has_validation:
        raise ValueError("stopping='validation' needs rows kept aside: set validation to a number of rows.")
    if stopping not in ("validation", "bound"):
        raise ValueError(f"stopping must be 'auto', 'validation' or 'bound'; got {stopping!r}.")
    return "perplexity" if stopping == "validation" else "bound"


def make_schedule(offset: float | None, decay: float | None, defaults: SchemeDefaults) -> RobbinsMonro:
    """Step sizes of stochastic inference."""
    offset = defaults.learning_offset if offset is None else offset
    decay = defaults.learning_decay if decay is None else decay
    check_number("learning_offset", offset)
    check_number("learning_decay", decay)
    return RobbinsMonro(offset, decay)


def check_field(field: Any) -> None:
    """The process that d_u comes from."""
    if field not in FIELDS:
        raise ValueError(f"field must be one of {', '.join(FIELDS)}; got {field!r}.")


def check_number(name: str, value: Any) -> None:
    """A number, of which its user checks the range."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        raise ValueError(f"{name} must be a number, got {value!r}.")


def check_allocation(allocation: Any) -> None:
    """One of the names there are."""
    if allocation not in ALLOCATIONS:
        raise ValueError(f"allocation must be one of {', '.join(ALLOCATIONS)}; got {allocation!r}.")


def check_validation(validation: Any) -> None:
    """ "auto", a fraction, or a whole number of at least zero."""
    is_number = isinstance(validation, int | np.integer) and not isinstance(validation, bool)
    is_fraction = isinstance(validation, float | np.floating) and 0 < validation < 1
    if not (validation == "auto" or is_fraction or (is_number and validation >= 0)):
        raise ValueError(f"validation must be 'auto', a fraction, or a number of rows; got {validation!r}.")


def check_tol(tol: Any) -> None:
    """A number of at least zero."""
    check_number("tol", tol)
    if not tol >= 0:
        raise ValueError(f"tol must be at least 0, got {tol!r}.")


def check_callbacks(callbacks: Any) -> None:
    """Functions in a list."""
    if not isinstance(callbacks, Sequence) or not all(callable(callback) for callback in callbacks):
        raise ValueError(f"callbacks must be functions of (info, state), in a list; got {callbacks!r}.")


def make_generator(random_state: Any) -> np.random.Generator:
    """One generator for all draws of a fit; scikit-learn's seeds and RandomStates are accepted."""
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def check_count(name: str, value: Any, also: str = "") -> None:
    """A whole number of at least one."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1{' or ' + also if also else ''}, got {value!r}.")
