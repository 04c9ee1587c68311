"""Fitting by the sampler: each chain starts from a structured fit of its own, and all are kept for prediction."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from cormorant._words import counted
from cormorant.backends.scanning import LARGEST
from cormorant.backends.select import Backend
from cormorant.data import Counts
from cormorant.estimators.parameters import Chains
from cormorant.inference import fit as loop
from cormorant.inference.diagnostics import effective_sample_size, split_rhat
from cormorant.inference.gibbs import Gibbs
from cormorant.inference.moves import RowDraws
from cormorant.inference.rows import RowMemory, Rows
from cormorant.inference.samples import Collector, Sample, align, summarise
from cormorant.inference.schedules import Plan
from cormorant.inference.state import Globals, State
from cormorant.models.cnpf import PoissonFactorization
from cormorant.models.kernels import Kernel

logger = logging.getLogger("cormorant")
WANTED_RHAT = 1.1
MOST_AN_ENTRY = 16  # counts, on average: where there are more, it is cheaper to share each entry's out together
ALIKE = 0.5  # cosine of the columns' counts, from which on components of two chains are taken for the same


@dataclass(frozen=True)
class Run:
    """One chain: the structured fit it starts from and, unless it was interrupted before, where it ends."""

    start: loop.Outcome
    end: loop.Outcome | None = None
    collector: Collector | None = None

    @property
    def last(self) -> loop.Outcome:
        """Where it is."""
        return self.start if self.end is None else self.end


@dataclass(frozen=True)
class Sampled:
    """What the chains leave: samples of each, its traces, and one set of globals for the first."""

    chains: list[list[Sample]]
    globals: Globals
    diagnostics: dict[str, dict[str, float]]
    traces: list[dict[str, list[float]]]
    history: tuple[loop.Info, ...]
    reason: str
    interrupted: bool = False


def are_few(counts: Counts) -> bool:
    """Whether counts are drawn one by one, which goes further in a sweep but takes time and memory for each."""
    return counts.total <= MOST_AN_ENTRY * counts.nnz and counts.column_totals().max(initial=0) < LARGEST


def run_chains(
    gibbs: Gibbs,
    begin: Callable[[int, np.random.Generator, loop.Callback], loop.Outcome],
    rows: Sequence[Rows],
    chains: Chains,
    rng: np.random.Generator,
    callbacks: list[loop.Callback],
    numbers: Sequence[int],
    note: str = "",
) -> list[Run]:
    """Some (``numbers``) of as many chains as there are ``rows``, which are what each is fitted to.

    They run side by side if there are threads; a ``note`` follows their names. Each has random numbers of its own, so
    their order changes nothing. One that is interrupted ends them all.
    """
    most = rows[-1]  # the same moves for all chains, whichever rows they see
    gibbs = replace(gibbs, has_missing=most.missing is not None, one_by_one=are_few(most.counts))

    def go_on(number: int, begun: loop.Outcome, own: np.random.Generator, watch: loop.Callback, stage: str):
        return run_chain(gibbs, begun, rows[number], chains, own, watch, stage)

    splits = not gibbs.scans  # a scan takes one thread, however many there are
    return side_by_side(gibbs.backend, len(rows), begin, go_on, rng, callbacks, numbers, note, splits)


def side_by_side(
    backend: Backend,
    n_chains: int,
    begin: Callable[[int, np.random.Generator, loop.Callback], loop.Outcome],
    go_on: Callable[[int, loop.Outcome, np.random.Generator, loop.Callback, str], tuple[loop.Outcome, Collector]],
    rng: np.random.Generator,
    callbacks: list[loop.Callback],
    numbers: Sequence[int] | None = None,
    note: str = "",
    splits: bool = True,
) -> list[Run]:
    """The runs of chains, a chain a thread.

    Args:
        backend: Whose threads they are.
        n_chains: How many.
        begin: The start of a chain, by its number, its random numbers and a callback.
        go_on: The chain from there, told its number, where that is, the same, and its name.
        rng: What the random numbers of each come from.
        callbacks: The user's; one chain at a time calls them.
        numbers: Which of the chains, from zero; None: all of them.
        note: What follows their names.
        splits: Whether many threads make one chain faster: then one follows the other where there are more of them.
    """
    numbers = range(n_chains) if numbers is None else numbers
    runs: dict[int, Run] = {}
    ended, lock = threading.Event(), threading.Lock()

    def watch(info: loop.Info, state: State) -> None:
        if ended.is_set() or backend.given_up:
            raise KeyboardInterrupt  # which an outcome survives
        with lock:
            for callback in callbacks:
                callback(info, state)

    def run(item: tuple[int, np.random.Generator]) -> None:
        number, own = item
        if ended.is_set():
            return
        try:
            label = f"chain {number + 1} of {n_chains}{note}"
            begun = _placed(begin(number, own, watch), f"start of {label}")
            runs[number] = Run(begun)
            if not begun.interrupted:
                end, collector = go_on(number, begun, own, watch, label)
                runs[number] = Run(forgetful(begun), _placed(forgetful(end), label), collector)
        finally:  # after an error, too: nobody asks for it before the chains beside it have ended
            if number not in runs or runs[number].end is None or runs[number].last.interrupted:
                ended.set()

    try:
        for _ in backend.map(run, zip(numbers, rng.spawn(len(numbers)), strict=True), splits):
            pass
    except KeyboardInterrupt:  # all have ended when it comes here
        runs = {i: Run(_interrupted(r.start), r.end and _interrupted(r.end), r.collector) for i, r in runs.items()}
    return [runs[number] for number in sorted(runs)]


def _placed(outcome: loop.Outcome, where: str) -> loop.Outcome:
    """An interrupt is told with the place that it came at."""
    return replace(outcome, reason=f"{where}: {outcome.reason}") if outcome.interrupted else outcome


def forgetful(outcome: loop.Outcome) -> loop.Outcome:
    """The same without where its rows ended, which many chains would hold on to to the end."""
    return replace(outcome, memory=RowMemory(0))


def _interrupted(outcome: loop.Outcome) -> loop.Outcome:
    if outcome.interrupted:
        return outcome
    return replace(outcome, interrupted=True, reason="interrupted between two sweeps; the state so far is kept")


def run_chain(
    gibbs: Gibbs,
    start: loop.Outcome,
    rows: Rows,
    chains: Chains,
    rng: np.random.Generator,
    callback: loop.Callback,
    stage: str,
) -> tuple[loop.Outcome, Collector]:
    """One chain from where a structured fit ended."""
    collector = Collector(chains.n_sweeps, chains.n_samples)
    memory = start.memory.handed_over(
        lambda kept: RowDraws(kept.n.astype(float), kept.mean.astype(float)), rows.counts.row_totals()
    )
    plan = Plan.of_all(rows.n_rows, rows.block_size)
    settings = loop.Settings(chains.n_sweeps, 0.0, 1, "nothing", unit="sweep")
    state = gibbs.begin(start.state.globals, rng)
    end = loop.run(gibbs, state, rows, plan, settings, rng, callbacks=[collector, callback], stage=stage, memory=memory)
    return end, collector


def gather(runs: list[Run], model: PoissonFactorization) -> Sampled:
    """Samples of all chains, the components of each matched to the first's; one has come to its first sweep."""
    kept = [collector.samples for collector in collectors_of(runs)]
    if not kept:  # interrupted before the first sample: the last draw is all there is
        kept = [[Sample.of(next(run.end for run in runs if run.end).state.globals)]]
    first, size = summarise(kept[0], model.kernel), kept[0][0].n_components
    others = ([sample.with_unused(model, size) for sample in samples] for samples in kept[1:])
    chains = [kept[0], *(align(samples, first.atom_mean) for samples in others)]
    return Sampled(chains, first, **record_of(runs))


def collectors_of(runs: list[Run]) -> list[Collector]:
    """What was collected of the chains that came to a first sample."""
    return [run.collector for run in runs if run.collector and run.collector.samples]


def record_of(runs: list[Run]) -> dict[str, Any]:
    """How the chains went, whatever they sample: traces, diagnostics, history, reason, interrupted."""
    traces = [collector.traces for collector in collectors_of(runs)]
    size = runs[0].last.size
    alike = [run for run in runs if run.last.size == size]  # with fewer components a chain is of another posterior
    found = diagnose([collector.traces for collector in collectors_of(alike)])
    worst = largest_rhat(found)
    if worst > WANTED_RHAT:
        logger.info("the largest split R-hat is %.2f: for posterior intervals, raise n_sweeps", worst)
    interrupted = [run.last for run in runs if run.last.interrupted]
    reason = (interrupted or [runs[-1].last])[0].reason
    if not interrupted:
        reason = f"{reason} of {counted(len(runs), 'chain')}; largest split R-hat {worst:.2f}"
    outcomes = (outcome for run in runs for outcome in (run.start, run.end) if outcome is not None)
    history = tuple(info for outcome in outcomes for info in outcome.history)
    return {
        "traces": traces, "diagnostics": found, "history": history, "reason": reason, "interrupted": bool(interrupted),
    }  # fmt: skip


def largest_rhat(diagnostics: dict[str, dict[str, float]]) -> float:
    """The worst split R-hat of all summaries."""
    return max((v["rhat"] for v in diagnostics.values() if np.isfinite(v["rhat"])), default=1.0)


def diagnose(traces: list[dict[str, list[float]]]) -> dict[str, dict[str, float]]:
    """Effective sample size and split R-hat of every summary, over the chains that ran to one length."""
    if not traces or not traces[0]:
        return {}
    found: dict[str, Any] = {}
    for name in traces[0]:
        longest = max(len(t.get(name, [])) for t in traces)
        whole = np.array([t[name] for t in traces if len(t.get(name, [])) == longest])
        found[name] = {"ess": effective_sample_size(whole), "rhat": split_rhat(whole)}
    return found


def sampled_correlation(chains: list[list[Sample]], kernel: Kernel, level: float = 0.9) -> np.ndarray:
    """Mean of rho_km over the samples of all chains, and the ends of its equal-tailed credible interval: 3 x T x T."""
    return pooled_correlation([_correlations(chain, kernel) for chain in chains], counterparts(chains), level)


def counterparts(chains: list[list[Sample]]) -> list[np.ndarray]:
    """For each chain after the first, which components of the first it has found, too (masks)."""
    return [are_found(chain, chains[0]) for chain in chains[1:]]


def pooled_correlation(draws: list[np.ndarray], found: list[np.ndarray], level: float = 0.9) -> np.ndarray:
    """The same from the correlations in each sample of each chain, samples x T x T.

    Chains need not find the same components. Where one has no counterpart of a component of the first (``found``: masks
    for the chains after it), it has nothing to say of its pairs, and the first chain's samples stand in.
    """
    return with_interval(pooled(draws, [np.outer(known, known) for known in found]), level)


def pooled(draws: list[np.ndarray], said: list[np.ndarray]) -> np.ndarray:
    """Draws of all chains, one after the other; what a later chain has not ``said`` (a mask) is the first's."""
    first = draws[0]
    others = (
        np.where(told, drawn[: len(first)], first[: len(drawn)]) for drawn, told in zip(draws[1:], said, strict=True)
    )
    return np.concatenate([first, *others])


def with_interval(draws: np.ndarray, level: float) -> np.ndarray:
    """Mean over the draws, and the ends of the equal-tailed interval, which holds it however skewed they are."""
    mean, (low, high) = draws.mean(axis=0), interval_of(draws, level)
    return np.stack([mean, np.minimum(low, mean), np.maximum(high, mean)])


def interval_of(draws: np.ndarray, level: float) -> np.ndarray:
    """Low and high end of the equal-tailed interval.

    An end at rank p (n + 1) of n draws leaves the next draw outside with probability p; NumPy's own, p (n - 1) + 1,
    would make 86% of the 90% that forty draws are asked for.
    """
    return np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0, method="weibull")


def _correlations(samples: list[Sample], kernel: Kernel) -> np.ndarray:
    """rho of each sample."""
    from cormorant.measures import component_correlation

    features = (kernel.features(s.rest.locations, s.rest.hyper.sigma_l2) for s in samples)
    return np.stack([component_correlation(phi) for phi in features])


def are_found(samples: list[Sample], reference: list[Sample]) -> np.ndarray:
    """Which components of a chain, already matched, hold the columns that their counterparts hold (a mask)."""
    ours, theirs = (sum((s.counts for s in chain[1:]), chain[0].counts) for chain in (samples, reference))
    return are_alike(ours, theirs)


def alike_to_the_first(tables: Iterable[np.ndarray]) -> list[np.ndarray]:
    """For each chain after the first the components whose atoms, columns x components, are like the first's (masks)."""
    first, *others = map(sparse.csr_matrix, tables)
    return [are_alike(other, first) for other in others]


def are_alike(ours: Any, theirs: Any) -> np.ndarray:
    """Which components of two tables, columns x components, sparse, have a cosine that is large enough."""
    norm = [np.sqrt(np.asarray(c.multiply(c).sum(axis=0)).ravel()) for c in (ours, theirs)]
    product = np.asarray(ours.multiply(theirs).sum(axis=0)).ravel()
    return product > ALIKE * np.maximum(norm[0] * norm[1], 1e-300)
