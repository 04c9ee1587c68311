"""A fit by the sampler, stage by stage: structured starts, a few chains of each size, and what these lead to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cormorant._words import counted
from cormorant.backends.select import Backend
from cormorant.data import Counts
from cormorant.estimators import parameters as resolve
from cormorant.estimators.chains import Run, gather, run_chains
from cormorant.estimators.pilots import MOST_FITS, PILOTS, Choice, Contender, choose, worth_trying
from cormorant.estimators.progress import bars_of
from cormorant.inference import fit as loop
from cormorant.inference.ahead import compile_ahead
from cormorant.inference.gibbs import Gibbs
from cormorant.inference.predictive import Validation
from cormorant.inference.rows import Rows
from cormorant.inference.scheme import Scheme
from cormorant.inference.state import State
from cormorant.inference.structured import Structured

Start = Callable[[np.random.Generator], State]


@dataclass(frozen=True)
class Stages:
    """What the stages of one fit share: ``run`` is the estimator's loop, told a scheme, starts, rows and what to watch.

    ``rows`` lack those kept aside, ``all_rows`` do not.
    """

    run: Callable[..., loop.Outcome]
    gibbs: Gibbs
    structured: Structured
    rows: Rows
    validation: Validation | None
    all_rows: Rows
    chains: resolve.Chains
    max_epochs: int
    rng: np.random.Generator

    def rows_of(self, number: int) -> Rows:
        """What a chain is fitted to: the rows kept aside, too, if nothing is chosen by it."""
        return self.rows if number < PILOTS else self.all_rows

    def start(self, group: list[Start], epochs: int, rng: np.random.Generator, **where: Any) -> loop.Outcome:
        """A few epochs of structured inference; a0 stays where it is: `start_a0`."""
        holding = replace(self.structured, learn=self.structured.learn - {"a0"})
        seen = {"rows": self.rows, "validation": self.validation} | where
        return self.run(holding, group, rng=rng, max_epochs=min(epochs, self.max_epochs), **seen)

    def contender(
        self, group: list[Start], first: loop.Outcome, callbacks: list[loop.Callback], note: str, n_fits: int
    ) -> Contender:
        """The chains, and up to ``n_fits`` structured fits, that follow the ``first`` start of a ``group``."""
        again = [group[first.start]]

        def begin(number: int, rng: np.random.Generator, watch: loop.Callback) -> loop.Outcome:
            if number == 0:
                return first
            where: dict[str, Any] = {"callbacks": [watch], "rows": self.rows_of(number)}
            if number >= PILOTS and self.validation is not None:  # whose rows say nothing of a fit to them
                where |= {"validation": None, "watch": "nothing"}
            return self.start(again, resolve.START_EPOCHS, rng, **where)

        def chains(numbers: Sequence[int], n_chains: int) -> list[Run]:
            rows = [self.rows_of(number) for number in range(n_chains)]
            return run_chains(self.gibbs, begin, rows, self.chains, self.rng, callbacks, numbers, note)

        def fit(number: int) -> loop.Outcome:
            begun, stage = first, "fit"
            if number > 0:
                stage = f"fit {number + 1}"
                where = {"callbacks": callbacks, "stage": f"start of {stage}"}
                begun = self.start(again, resolve.FIRST_EPOCHS, self.rng, **where)
            if begun.interrupted:
                return begun
            where = {"callbacks": callbacks, "begun": begun, "stage": stage}
            return self.run(self.structured, [], self.rows, self.validation, self.rng, **where)

        return Contender(first, chains, fit if n_fits else None, n_fits)


class SamplerMixin:
    """How a factorisation is sampled."""

    if TYPE_CHECKING:
        inference: str
        inference_: str
        max_epochs: int
        n_chains: Any
        n_components: int
        n_samples: Any
        n_sweeps: Any
        warm_start: bool
        callbacks: Sequence[loop.Callback]
        _encoding: Any
        _finish: Callable[..., None]
        _record: Callable[..., None]
        _run: Callable[..., loop.Outcome]
        _with_best_rows: Callable[..., tuple[Scheme, loop.Outcome]]

        def _scheme(self, inference: str | None = None, backend: Backend | None = None) -> Scheme: ...

    def _sample(
        self,
        gibbs: Gibbs,
        starts: list[Start],
        sizes: list[int],
        rows: Rows,
        validation: Validation | None,
        all_rows: Rows,
        rng: np.random.Generator,
        counts: Counts,
    ) -> None:
        """Chains of the sampler, each from a structured fit; ``sizes`` are the components that the starts lead to.

        The first few leave out the rows kept aside (``validation``), by which is chosen; the others see ``all_rows``.
        """
        given = self.n_chains, self.n_sweeps, self.n_samples
        wanted = resolve.resolve_chains(*given, all_rows.n_rows, self.n_components, self._encoding is not None)
        structured = self._scheme("structured", gibbs.backend)
        assert isinstance(structured, Structured)
        stages = Stages(self._run, gibbs, structured, rows, validation, all_rows, wanted, self.max_epochs, rng)
        groups = [[s for s, n in zip(starts, sizes, strict=True) if n == size] for size in dict.fromkeys(sizes)]
        firsts: list[loop.Outcome] = []
        with compile_ahead():
            while len(firsts) < len(groups) and not any(first.interrupted for first in firsts):
                firsts.append(stages.start(groups[len(firsts)], resolve.FIRST_EPOCHS, rng))
        chosen = Choice(firsts[0], interrupted=firsts[-1].interrupted)
        if not chosen.interrupted:
            with bars_of(self) as bars:
                callbacks = [*bars.values(), *self.callbacks]
                notes = ["", *(f" with {first.size} components" for first in firsts[1:])]
                contenders = [
                    stages.contender(groups[i], firsts[i], callbacks, notes[i], self._n_fits)
                    for i in worth_trying(firsts)
                ]
                chosen = choose(contenders, gibbs, validation, wanted.n_chains, wanted.most_chains)
        if any(run.end for run in chosen.runs):
            self._finish_chains(gibbs, structured, chosen, rows, counts)
        else:
            self._finish_fits(structured, chosen, validation, counts)

    @property
    def _n_fits(self) -> int:
        """How many structured fits may take the place of chains."""
        # Of covariates structured inference says too little, too surely: their effects want samples.
        if self.inference != "auto" or resolve.asks_for_chains(self) or self._encoding is not None:
            return 0
        resumes = self.warm_start and hasattr(self, "_state")  # further fits would begin where the first does
        return 1 if resumes else MOST_FITS

    def _finish_chains(self, gibbs: Gibbs, structured: Structured, chosen: Choice, rows: Rows, counts: Counts) -> None:
        """The fitted model of these chains."""
        sampled, memory = gather(chosen.runs, gibbs.model), None
        state, interrupted = State(sampled.globals), sampled.interrupted or chosen.interrupted
        try:
            blocks = rows.blocks(rows.block_size, structured.dtype)
            memory = loop.sum_statistics(structured, state, blocks)  # for partial_fit: of the first chain's rows
        except KeyboardInterrupt:
            interrupted = True
        reason = sampled.reason
        if chosen.interrupted and not sampled.interrupted:
            reason = f"interrupted while chains were chosen; kept: {counted(len(chosen.runs), 'chain')}"
        self._finish(gibbs, replace(state, memory=memory), counts.column_names, sampled=sampled)
        self._record(sampled.history, reason, interrupted)

    def _finish_fits(
        self, structured: Structured, chosen: Choice, validation: Validation | None, counts: Counts
    ) -> None:
        """The fitted model of structured fits: chains predict no better, or were interrupted before there was one."""
        self.inference_ = "structured"
        outcome = chosen.runs[0].start if chosen.runs else chosen.first
        if chosen.interrupted and not outcome.interrupted:
            reason = "interrupted while starts were tried; the first is kept"
            outcome = replace(outcome, interrupted=True, reason=reason)
        others = [other.state.globals for other in chosen.others]
        scheme, outcome = self._with_best_rows(structured, outcome, others, validation)
        self._finish(scheme, outcome.state, counts.column_names, others=others)
        history = sum((other.history for other in chosen.others), outcome.history)
        self._record(history, outcome.reason, outcome.interrupted)
