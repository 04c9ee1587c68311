"""About how long a fit will take and how much memory, from short trials on a few rows.

A pass over m rows takes g + s m: a step of the globals, and a visit of each row. The same goes for the first pass
(which finds where the rows are), for a sweep of the sampler, for what comes before and after the passes, and for the
memory: what is kept of all rows, and what the work on one block of them needs besides. Two trials of different size
give g and s of each on this machine, with this model and these settings.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cormorant.backends.compiled import resolve_jobs
from cormorant.data import Matrix
from cormorant.estimators import parameters as resolve
from cormorant.estimators.pilots import MOST_FITS, PILOTS
from cormorant.estimators.registry import family_of
from cormorant.estimators.starts import SURPLUS_EPOCHS
from cormorant.estimators.thinned_chains import START_EPOCHS
from cormorant.inference.features.start import EPOCHS
from cormorant.inference.rows import LARGEST_BLOCK
from cormorant.inference.start import FEWER, sizes_to_try
from cormorant.inference.thinned import ThinnedPosterior

if TYPE_CHECKING:
    import pandas as pd

    from cormorant.data import Counts

SMALLEST, LARGEST = 384, 2048  # rows of the larger trial; in between a twentieth of all
PASSES, SWEEPS = 4, 4
TURNS = 2  # a sweep that moves the weights, and one that moves the field
HEAT = 10  # passes of each start in the race between them


@dataclass(frozen=True)
class Forecast:
    """At most, since most fits stop before their last epoch; and about, since it follows from a few rows."""

    seconds: float
    bytes: float

    def __str__(self) -> str:
        return f"about {_duration(self.seconds)} at most and {self.bytes / 1e9:.1f} GB of memory"


@dataclass(frozen=True)
class Trial:
    """What a short fit took."""

    first: float  # seconds of the first pass
    later: float  # of a further one
    sweep: float  # of a sweep of the sampler; zero where there are none
    rest: float  # of everything else
    kept: float  # bytes held from pass to pass
    working: float  # the most bytes besides


def forecast(estimator: Any, counts: Counts | Matrix, covariates: pd.DataFrame | None = None) -> Forecast:
    """What the fit of this (unfitted) estimator to these counts, and to covariates of their rows, will take."""
    large = min(max(counts.n_rows // 20, SMALLEST), LARGEST)
    shown = _telling_rows(counts)
    rows = np.random.default_rng(0).permutation(shown if len(shown) else counts.n_rows)[:large]
    sizes = max(len(rows) // 6, 2), len(rows)
    theta = _coded(estimator, covariates, counts)
    parts = [(counts.rows(rows[:n]), None if theta is None else _varying(theta[rows[:n]])) for n in sizes]
    starts = _count_starts(estimator, *parts[0])
    trials = [run_trial(estimator, *part) for part in parts]
    return extrapolate(estimator, counts.n_rows, starts, sizes, trials, theta is not None)


def _telling_rows(counts: Counts | Matrix) -> np.ndarray:
    """Numbers of the rows that there is something to learn from."""
    if isinstance(counts, Matrix):
        return np.flatnonzero(~np.isnan(counts.values).all(axis=1))
    return np.flatnonzero(counts.row_totals())


def _coded(estimator: Any, covariates: Any, counts: Counts | Matrix) -> np.ndarray | None:
    """Covariates as numbers: a few rows may not have what a formula asks for."""
    from cormorant.estimators.covariates import Encoding

    return (
        None
        if covariates is None
        else Encoding.learn(covariates, estimator.formula, counts.n_rows, counts.row_names)[1]
    )


def _varying(theta: np.ndarray) -> np.ndarray:
    """Covariates of a few rows, with zeros where all have the same: a fit would take that for an intercept."""
    return np.where(np.ptp(theta, axis=0) > 0.0, theta, 0.0)


class Work(NamedTuple):
    """What a fit does at most, or what it may do ``instead``, whichever takes longer."""

    passes: int
    sweeps: int = 0
    batches: int = 1  # steps of a pass
    chains: int = 1  # of which at most as many as there are threads run, and hold their rows, side by side
    instead: Work | None = None


def work_on_counts(estimator: Any, n_rows: int, starts: int, samples: bool, has_covariates: bool) -> Work:
    """Passes of variational inference or of the start of each chain, its sweeps, and the race of the starts."""
    batches = -(-n_rows // resolve.resolve_batch_size(estimator.batch_size, n_rows, samples))
    keeps_aside = resolve.resolve_validation_rows(estimator.validation, n_rows) > 0
    heats = starts - 1 if keeps_aside else 0
    race = heats * min(HEAT, estimator.max_epochs)
    if not samples:
        return Work(estimator.max_epochs + race, batches=batches)
    given = estimator.n_chains, estimator.n_sweeps, estimator.n_samples
    chains = resolve.resolve_chains(*given, n_rows, estimator.n_components, has_covariates)
    first, others = (min(n, estimator.max_epochs) for n in (resolve.FIRST_EPOCHS, resolve.START_EPOCHS))
    few = min(PILOTS, chains.n_chains)

    def chosen(n_chains: int, n_fits: int) -> Work:
        """So many chains, and structured fits that are followed to their end, the first from where a chain began."""
        passes = race + first + (n_chains - 1) * others + max(n_fits * estimator.max_epochs - first, 0)
        sweeps = n_chains * chains.n_sweeps
        if heats and len(sizes_to_try(estimator.n_components)) > 1:  # a few chains with so many fewer components
            passes += -(-(first + race + others) // FEWER)
            sweeps += -(-few * chains.n_sweeps // FEWER)
        return Work(passes, sweeps, batches, n_chains)

    if keeps_aside and estimator.inference == "auto" and not resolve.asks_for_chains(estimator):
        fits_alone = chosen(few, min(MOST_FITS, chains.n_chains))  # in case that chains are no better
        return chosen(chains.most_chains, 1)._replace(instead=fits_alone)
    return chosen(chains.most_chains if keeps_aside else chains.n_chains, 0)


def work_on_thinned(estimator: Any, n_rows: int, starts: int, samples: bool, has_covariates: bool) -> Work:
    """The start of each chain and its sweeps, and those of the rows through the samples of one."""
    after = ThinnedPosterior.burn_in + ThinnedPosterior.sweeps * estimator.n_samples
    passes = estimator.n_chains * (SURPLUS_EPOCHS + START_EPOCHS)
    return Work(passes, estimator.n_chains * estimator.n_sweeps + after, chains=estimator.n_chains)


def work_on_features(estimator: Any, n_rows: int, starts: int, samples: bool, has_covariates: bool) -> Work:
    """Starts of each chain, and its sweeps; or one set of starts, and the passes of variational inference."""
    of_start = estimator.n_starts * EPOCHS
    if samples:
        return Work(estimator.n_chains * of_start, estimator.n_chains * estimator.n_sweeps)
    return Work(of_start + estimator.max_epochs)


WORK = {"counts": work_on_counts, "thinned": work_on_thinned, "features": work_on_features}


def extrapolate(
    estimator: Any,
    n_rows: int,
    starts: int,
    sizes: tuple[int, int],
    trials: list[Trial | Any],
    has_covariates: bool = False,
) -> Forecast:
    """From two trials of ``sizes`` rows to all of them."""
    most = WORK[family_of(estimator.model.name)](estimator, n_rows, starts, trials[0].sweep > 0, has_covariates)

    def at_all(name: str, batches: int = 1, rows: int = n_rows) -> float:
        small, large = (getattr(trial, name) for trial in trials)
        slope = max(large - small, 0.0) / max(sizes[1] - sizes[0], 1)
        return batches * max(small - slope * sizes[0], 0.0) + slope * rows

    def seconds(work: Work) -> float:
        passing = at_all("first", work.batches) + work.passes * at_all("later", work.batches)
        return passing + work.sweeps * at_all("sweep") + at_all("rest")

    longest = max(seconds(work) for work in (most, most.instead) if work is not None)
    at_once = min(resolve_jobs(estimator.n_jobs), most.chains)
    of_a_chain = at_all("kept") + at_all("working", rows=min(n_rows, LARGEST_BLOCK))
    return Forecast(longest, _held_already() + at_once * of_a_chain)


def run_trial(estimator: Any, counts: Counts | Matrix, theta: np.ndarray | None = None) -> Trial:
    """A few passes, and a few sweeps if it is a sampler; theta are covariates as numbers."""
    tracemalloc.start()
    begin = time.perf_counter()
    try:
        seen = _fit_shortly(estimator, counts, theta, PASSES, validation=0)
        whole, most = time.perf_counter() - begin, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    sweeps = [end.seconds for end in seen if end.stage.startswith("chain")]
    last = next(end.stage for end in reversed(seen) if not end.stage.startswith("chain"))
    passes = [end.seconds for end in seen if end.stage == last]  # each stage has its own clock
    rest = whole - passes[-1] - (sweeps[-1] if sweeps else 0.0)
    kept = max(end.bytes for end in seen)
    return Trial(passes[0], _one_more(passes), _one_more(sweeps, TURNS), max(rest, 0.0), kept, max(most - kept, 0))


def _count_starts(estimator: Any, counts: Counts | Matrix, theta: np.ndarray | None) -> int:
    """How many starts a fit with validation rows tries; on the way everything is compiled, out of the trials' time."""
    seen = _fit_shortly(estimator, counts, theta, 1, validation=counts.n_rows // 2)
    return max(len({end.stage for end in seen if end.stage.startswith("start")}), 1)


class PassEnd(NamedTuple):
    """How things stood at the end of a pass."""

    stage: str
    seconds: float
    bytes: int


def _fit_shortly(
    estimator: Any, counts: Counts | Matrix, theta: np.ndarray | None, passes: int, validation: int
) -> list[PassEnd]:
    """The ends of the passes of a short fit that is otherwise like the long one."""
    from sklearn.base import clone

    seen: list[PassEnd] = []

    def look(info: Any, state: Any) -> None:
        seen.append(PassEnd(info.stage, info.seconds, tracemalloc.get_traced_memory()[0]))

    trial: Any = clone(estimator)
    short = {"max_epochs": passes, "n_sweeps": SWEEPS, "n_chains": 1, "n_samples": 1, "n_starts": 1, "formula": None}
    short |= {"validation": validation, "callbacks": (look,)}
    if getattr(estimator, "stopping", None) == "validation":
        short["stopping"] = "auto"
    if isinstance(getattr(estimator, "batch_size", None), int):
        short["batch_size"] = max(estimator.batch_size, LARGEST)
    trial.set_params(**{name: value for name, value in short.items() if name in trial.get_params()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit itself will say it
        trial.fit(counts, **({} if theta is None else {"covariates": theta}))
    if trial.interrupted_:
        raise KeyboardInterrupt
    return seen


def _one_more(ends: list[float], turns: int = 1) -> float:
    """Seconds of a further pass, given when the first ones ended; so many kinds of them take turns."""
    steps = np.array(ends[turns:]) - np.array(ends[:-turns])
    return float(steps.min()) / turns if len(steps) else sum(ends) / max(len(ends), 1)


def _held_already() -> float:
    """Bytes of this process: the interpreter, the libraries, the counts; nothing where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _duration(seconds: float) -> str:
    if seconds < 95:
        return f"{max(10 * round(seconds / 10), 10)} seconds"
    return f"{round(seconds / 60)} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
