"""The only loop: batch or stochastic, variational or (by its scheme) sampled."""

from __future__ import annotations

import logging
import operator
import time
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from cormorant._words import counted
from cormorant.inference.batch import Batch
from cormorant.inference.predictive import PointPosterior, Validation
from cormorant.inference.rows import RowMemory, Rows
from cormorant.inference.schedules import Plan
from cormorant.inference.scheme import Scheme
from cormorant.inference.state import State
from cormorant.inference.stopping import Patience

logger = logging.getLogger("cormorant")

FAR_BEHIND = 1.1  # of the best first look: a start above that is out of the race
CLEARLY = 0.9  # what a start with fewer components has to come below, of the leader's perplexity


@dataclass(frozen=True)
class Info:
    """What one epoch has to report; values that were not looked at are None."""

    epoch: int
    max_epochs: int
    n_components: int
    seconds: float
    rho: float
    stage: str  # "fit" (a further one: "fit 2"), or which start is being tried
    bound: float | None = None
    perplexity: float | None = None


Callback = Callable[[Info, State], None]


@dataclass(frozen=True)
class Settings:
    """How long to go on. ``watch``: "perplexity" of validation rows, the "bound", or "nothing" (go on to the end)."""

    max_epochs: int
    tol: float
    patience: int
    watch: str
    check_every: int = 1
    bound_title: str = "the bound"  # for the sentence that says why a fit ended
    unit: str = "epoch"  # likewise: a chain makes sweeps


@dataclass(frozen=True)
class Outcome:
    """The state that a fit ends with: the best by what it watched, if that is the perplexity."""

    state: State
    history: tuple[Info, ...]
    reason: str
    memory: RowMemory = field(repr=False)
    interrupted: bool = False
    start: int = 0  # which of several starts it came from

    @property
    def best(self) -> float:
        """Lowest validation perplexity seen."""
        return min((i.perplexity for i in self.history if i.perplexity is not None), default=np.inf)

    @property
    def size(self) -> int:
        """Number of components."""
        return self.state.globals.n_components


def race(
    scheme: Scheme,
    states: Sequence[State],
    rows: Rows,
    plan: Plan,
    settings: Settings,
    rng: np.random.Generator,
    validation: Validation,
    callbacks: Sequence[Callback] = (),
) -> Outcome:
    """Run each start for a few epochs, and the one that predicts the validation rows best to the end.

    A start that is far behind at the first look is not followed to the second. One with fewer components than the
    leader has to be clearly better: more of them have more to gain from the epochs to come.
    """
    heat = replace(settings, max_epochs=min(2 * settings.check_every, settings.max_epochs))
    look = replace(heat, max_epochs=min(settings.check_every, settings.max_epochs))
    leader: Outcome | None = None  # the others are forgotten at once, with the rows that they remember
    first_looks: list[float] = []
    for number, state in enumerate(states):
        others = (rng, validation, callbacks, f"start {number + 1} of {len(states)}")
        last = run(scheme, state, rows, plan, look, *others)
        first_looks.append(last.best)
        if not last.interrupted and last.best <= FAR_BEHIND * min(first_looks):
            last = run(scheme, last.state, rows, plan, heat, *others, resume=last)
        last = replace(last, start=number)
        if leader is None or last.best < leader.best * (CLEARLY if last.size < leader.size else 1.0):
            leader = last
        if last.interrupted:
            return replace(leader, reason=last.reason, interrupted=True)
    assert leader is not None  # there is a start
    logger.info("start %d of %d predicts best", leader.start + 1, len(states))
    if heat.max_epochs == settings.max_epochs:
        return leader
    end = run(scheme, leader.state, rows, plan, settings, rng, validation, callbacks, resume=leader)
    return replace(end, start=leader.start)


class _Cache:
    """Blocks of a full-batch plan are the same every epoch: cut them once."""

    def __init__(self, rows: Rows, plan: Plan, dtype: type):
        self.rows, self.plan, self.dtype, self._blocks = rows, plan, dtype, {}

    def __getitem__(self, index: np.ndarray):
        if not self.plan.is_full:
            return self.rows.batch(index, self.dtype)
        key = int(index[0])
        if key not in self._blocks:
            self._blocks[key] = self.rows.batch(index, self.dtype)
        return self._blocks[key]


def run(
    scheme: Scheme,
    state: State,
    rows: Rows,
    plan: Plan,
    settings: Settings,
    rng: np.random.Generator,
    validation: Validation | None = None,
    callbacks: Sequence[Callback] = (),
    stage: str = "fit",
    resume: Outcome | None = None,
    memory: RowMemory | None = None,
) -> Outcome:
    """Visit the rows until nothing improves, ``max_epochs`` are over, or the user interrupts.

    ``resume`` goes on from an earlier outcome: its epochs count, and its best value is the one to beat; ``memory``
    only has the rows begin where another scheme left them.
    """
    if resume is not None:
        memory = resume.memory
    elif memory is None:
        memory = scheme.memory(rows)
    batches = _Cache(rows, plan, scheme.dtype)
    by_bound = settings.watch == "bound"
    patience = Patience(
        settings.bound_title if by_bound else "the perplexity of the validation rows",
        settings.tol, settings.patience, lower_is_better=not by_bound,
    )  # fmt: skip
    history: list[Info] = [] if resume is None else list(resume.history)
    if resume is not None and not by_bound and np.isfinite(resume.best):
        patience.best = resume.best
    best = state
    begin = time.perf_counter() - (history[-1].seconds if history else 0.0)
    interrupted = False
    reason = f"stopped at max_epochs = {settings.max_epochs} before converging; raise max_epochs to go on"
    if settings.watch == "nothing":
        reason = f"made all {settings.max_epochs} {settings.unit}s"
    try:
        for epoch in range(len(history) + 1, settings.max_epochs + 1):
            state, bound = _epoch(scheme, state, batches, memory, plan, rng, by_bound)
            look = epoch % settings.check_every == 0 or epoch == settings.max_epochs
            perplexity = None
            if validation and look:
                perplexity = validation.perplexity(PointPosterior(scheme.solver, state.globals))
            info = Info(
                epoch, settings.max_epochs, state.globals.n_components, time.perf_counter() - begin,
                plan.rho(state.n_steps - 1), stage, bound, perplexity,
            )  # fmt: skip
            history.append(info)
            watched = bound if by_bound else perplexity
            if watched is None or not look:
                best = best if patience.best is not None and not by_bound else state
            elif patience.improved(watched) or by_bound:
                best = state
            for callback in callbacks:
                callback(info, state)
            if patience.exhausted:
                reason = patience.reason(epoch)
                break
    except KeyboardInterrupt:
        reason = f"interrupted after {counted(len(history), settings.unit)}; the state so far is kept"
        interrupted = True
    logger.info("%s", reason)
    return Outcome(best, tuple(history), reason, memory, interrupted)


def _epoch(
    scheme: Scheme,
    state: State,
    batches: _Cache,
    memory: RowMemory,
    plan: Plan,
    rng: np.random.Generator,
    want_bound: bool,
) -> tuple[State, float | None]:
    bounds = []
    for blocks in plan.epoch(rng):
        for _ in range(scheme.passes(state)):
            visits = ((index, batches[index]) for index in blocks)
            total = sum_statistics(scheme, state, visits, memory, want_bound)
            total = total * (plan.n_rows / total.n_rows)
            if want_bound:
                bounds.append(scheme.bound(state.globals, total))
            state = scheme.global_step(state, total, plan.rho(state.n_steps))
    return state, float(np.mean(bounds)) if bounds else None


def sum_statistics(
    scheme: Scheme,
    state: State,
    visits: Iterable[tuple[np.ndarray, Batch]],
    memory: RowMemory | None = None,
    want_bound: bool = False,
) -> Any:
    """Local steps over blocks of rows, each from where ``memory`` has it end last, and the sum of their statistics."""

    def step(block: tuple[Any, np.ndarray, Batch]) -> Any:
        view, index, batch = block
        start = None if memory is None else memory.get(index)
        ended, statistics = scheme.local_step(view, batch, start, want_bound)
        if memory is not None:
            memory.put(index, ended)
        return statistics

    view = scheme.visit(state)
    blocks = ((_apart(view), index, batch) for index, batch in visits)
    in_order = getattr(view, "in_order", False)  # of a sampler: whether what one block draws depends on those before
    return reduce(operator.add, map(step, blocks) if in_order else scheme.backend.map(step, blocks))


def _apart(view: Any) -> Any:
    """The view for one block: a sampler's has random numbers of its own, whatever the order that blocks end in."""
    if not hasattr(view, "rng"):
        return view
    own = copy(view)  # with what it has cached
    object.__setattr__(own, "rng", view.rng.spawn(1)[0])
    return own
