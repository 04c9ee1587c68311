"""The only loop: batch or stochastic, variational or (by its scheme) sampled."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from cormorant.inference.predictive import Validation
from cormorant.inference.rows import RowMemory, Rows
from cormorant.inference.schedules import Plan
from cormorant.inference.scheme import Scheme
from cormorant.inference.state import State
from cormorant.inference.stopping import Patience

logger = logging.getLogger("cormorant")


@dataclass(frozen=True)
class Info:
    """What one epoch has to report; values that were not looked at are None."""

    epoch: int
    max_epochs: int
    n_components: int
    seconds: float
    rho: float
    bound: float | None = None
    perplexity: float | None = None


Callback = Callable[[Info, State], None]


@dataclass(frozen=True)
class Settings:
    """How long to go on. ``watch``: "perplexity" of validation rows, or the "bound"."""

    max_epochs: int
    tol: float
    patience: int
    watch: str
    check_every: int = 1


@dataclass(frozen=True)
class Outcome:
    """The state that a fit ends with: the best by what it watched, if that is the perplexity."""

    state: State
    history: tuple[Info, ...]
    reason: str
    memory: RowMemory = field(repr=False)

    @property
    def best(self) -> float:
        """Lowest validation perplexity seen."""
        return min((i.perplexity for i in self.history if i.perplexity is not None), default=np.inf)


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
    memory: RowMemory | None = None,
    first_epoch: int = 0,
) -> Outcome:
    """Visit the rows until nothing improves, ``max_epochs`` are over, or the user interrupts."""
    memory = RowMemory(rows.n_rows) if memory is None else memory
    batches = _Cache(rows, plan, scheme.dtype)
    by_bound = settings.watch == "bound"
    patience = Patience(
        "the bound" if by_bound else "the perplexity of the validation rows",
        settings.tol, settings.patience, lower_is_better=not by_bound,
    )  # fmt: skip
    history: list[Info] = []
    best = state
    begin = time.perf_counter()
    reason = f"stopped at max_epochs = {settings.max_epochs} before converging; raise max_epochs to go on"
    try:
        for epoch in range(first_epoch + 1, settings.max_epochs + 1):
            state, bound = _epoch(scheme, state, batches, memory, plan, rng, by_bound)
            look = epoch % settings.check_every == 0 or epoch == settings.max_epochs
            perplexity = validation.perplexity(scheme, state.globals) if validation and look else None
            info = Info(
                epoch, settings.max_epochs, state.globals.n_components, time.perf_counter() - begin,
                plan.rho(state.n_steps - 1), bound, perplexity,
            )  # fmt: skip
            history.append(info)
            for callback in callbacks:
                callback(info, state)
            watched = bound if by_bound else perplexity
            if watched is None:
                best = best if patience.best is not None else state
            elif patience.improved(watched) or by_bound:
                best = state
            if patience.exhausted:
                reason = patience.reason(epoch)
                break
    except KeyboardInterrupt:
        epoch = history[-1].epoch if history else first_epoch
        reason = f"interrupted after {epoch} epochs; the state so far is kept"
    logger.info("%s", reason)
    return Outcome(best, tuple(history), reason, memory)


def _epoch(
    scheme: Scheme,
    state: State,
    batches: _Cache,
    memory: RowMemory,
    plan: Plan,
    rng: np.random.Generator,
    want_bound: bool,
) -> tuple[State, float | None]:
    bound = None
    for blocks in plan.epoch(rng):
        view = scheme.view(state.globals)
        total = None
        for index in blocks:
            ended, statistics = scheme.local_step(view, batches[index], memory.get(index), want_bound)
            memory.put(index, ended)
            total = statistics if total is None else total + statistics
        assert total is not None
        total = total * (plan.n_rows / total.n_rows)
        if want_bound:
            bound = scheme.bound(state.globals, total)
        state = scheme.global_step(state, total, plan.rho(state.n_steps))
    return state, bound
