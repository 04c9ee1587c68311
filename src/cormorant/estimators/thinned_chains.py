"""Chains of the thinned model: where each starts, and how their samples come together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cormorant.estimators.chains import Run, alike_to_the_first, collectors_of, pooled_correlation, side_by_side
from cormorant.estimators.parameters import B0_ROWS, Chains
from cormorant.estimators.starts import prepare
from cormorant.inference import fit as loop
from cormorant.inference.rows import Rows
from cormorant.inference.samples import matching
from cormorant.inference.schedules import Plan
from cormorant.inference.start import SURPLUS, start_globals
from cormorant.inference.state import Globals, State
from cormorant.inference.structured import Structured
from cormorant.inference.thinned import ThinnedCollector, ThinnedGibbs, ThinnedGlobals
from cormorant.models.cnpf import MODELS, Hyperparameters
from cormorant.models.thinned import Thinning, field_correlation

START_EPOCHS = 20  # of the uncorrelated factorisation that a chain starts from


@dataclass(frozen=True)
class ThinnedFit:
    """What a fit is made of."""

    gibbs: ThinnedGibbs
    rows: Rows  # with covariates, a column of ones last
    hyper: Thinning
    n_components: int
    chains: Chains

    def run(self, rng: np.random.Generator, callbacks: list[loop.Callback]) -> list[Run]:
        """All chains, each from a start of its own."""

        def begin(number: int, own: np.random.Generator, watch: loop.Callback) -> loop.Outcome:
            return self._start(own, watch)

        def go_on(
            number: int, begun: loop.Outcome, own: np.random.Generator, watch: loop.Callback, stage: str
        ) -> tuple[loop.Outcome, ThinnedCollector]:
            return self._go_on(begun, own, watch, stage)

        return side_by_side(self.gibbs.backend, self.chains.n_chains, begin, go_on, rng, callbacks)

    def gather(self, runs: list[Run]) -> list[list[ThinnedGlobals]]:
        """Samples of all chains, the components of each matched to the first's.

        Of a fit that was interrupted before the first sample the last draw is all there is, or the start.
        """
        kept = [collector.samples for collector in collectors_of(runs)]
        if not kept:
            ended: list[Any] = [run.end.state.globals for run in runs if run.end]
            kept = [[*ended, self._thinned(runs[0].start.state.globals)][:1]]
        reference = mean_atoms(kept[0])
        matched = [(samples, matching(mean_atoms(samples), reference)) for samples in kept[1:]]
        return [kept[0], *([g.reorder(order) for g in samples] for samples, order in matched)]

    @property
    def _plan(self) -> Plan:
        return Plan.of_all(self.rows.n_rows, self.rows.block_size)

    def _start(self, rng: np.random.Generator, callback: loop.Callback) -> loop.Outcome:
        """A factorisation without correlations, a surplus of components merged."""
        scheme = Structured(MODELS["hgp"], self.gibbs.backend)
        plain, size = Rows(self.rows.counts, self.rows.exposure), SURPLUS * self.n_components
        numbers = Hyperparameters(0.1, B0_ROWS * plain.n_rows, 1.0, 1.0)
        g = start_globals(scheme.model, plain.counts, size, 0, numbers, rng, row_share=0.5)
        settings = loop.Settings(START_EPOCHS, 0.0, 1, "nothing")
        ready = prepare(scheme, State(g), self.n_components, plain, self._plan, settings, rng, [callback])
        if ready.interrupted:
            return ready
        end = loop.run(
            scheme, ready.state, plain, self._plan, settings, rng, callbacks=[callback], stage="start"
        )  # fmt: skip
        return replace(end, history=ready.history + end.history)

    def _thinned(self, g: Globals) -> ThinnedGlobals:
        """The atoms of a start; covariates say nothing yet, and weights are as if half of the rows had a component."""
        theta, sizes = self.rows.covariates, self.rows.exposure
        assert theta is not None  # rows of a thinned model have them
        seen = float(self.rows.n_rows if sizes is None else sizes.sum())
        return ThinnedGlobals(
            atoms=g.atom_mean / g.atom_total,
            weights=np.maximum(2.0 * g.held_counts / seen, 1e-6),
            coefficients=np.zeros((g.n_components, theta.shape[1])),
            held_counts=g.held_counts,
            c=1.0,
            hyper=self.hyper,
        )

    def _go_on(
        self, begun: loop.Outcome, rng: np.random.Generator, callback: loop.Callback, stage: str
    ) -> tuple[loop.Outcome, ThinnedCollector]:
        """The chain from there."""
        collector = ThinnedCollector(self.chains.n_sweeps, self.chains.n_samples)
        settings = loop.Settings(self.chains.n_sweeps, 0.0, 1, "nothing", unit="sweep")
        scheme: Any = self.gibbs
        first: Any = self._thinned(begun.state.globals)
        callbacks = [collector, callback]
        end = loop.run(
            scheme, State(first, rng), self.rows, self._plan, settings, rng, callbacks=callbacks, stage=stage
        )  # fmt: skip
        return end, collector


def mean_atoms(samples: list[ThinnedGlobals]) -> np.ndarray:
    """E a of a chain, columns x components."""
    return np.mean([g.atoms for g in samples], axis=0)


def sampled_correlation(chains: list[list[ThinnedGlobals]], covariance: np.ndarray) -> np.ndarray:
    """Mean of the field's correlation over the samples of all chains, and the ends of its 90% interval: 3 x T x T."""
    draws = [np.stack([field_correlation(g.locations, covariance) for g in chain]) for chain in chains]
    return pooled_correlation(draws, counterparts(chains))


def counterparts(chains: list[list[ThinnedGlobals]]) -> list[np.ndarray]:
    """For each chain after the first, which components of the first it has found, too (masks)."""
    return alike_to_the_first(map(mean_atoms, chains))
