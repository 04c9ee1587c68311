"""What a fit leaves behind: the public attributes of a fitted model, and the record of how it came about."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cormorant.backends.select import select_backend
from cormorant.estimators.chains import Sampled, counterparts, pooled, sampled_correlation
from cormorant.estimators.covariates import Encoding
from cormorant.estimators.effects import Effects, effect_draws, effects_given_locations, effects_of_draws
from cormorant.inference.fit import Callback, Info, Outcome
from cormorant.inference.gibbs import Gibbs
from cormorant.inference.globals import sticks_of
from cormorant.inference.predictive import (
    MeanPosterior,
    PointPosterior,
    Posterior,
    SampledPosterior,
    Validation,
    with_best_rows,
)
from cormorant.inference.samples import Sample
from cormorant.inference.scheme import Scheme
from cormorant.inference.start import with_unused
from cormorant.inference.state import Globals, State, Statistics
from cormorant.inference.structured import Structured
from cormorant.measures import component_correlation
from cormorant.models.cnpf import PoissonFactorization
from cormorant.models.kernels import Kernel

USED_SHARE = 0.99  # the components in use are the fewest that together hold this share of the counts


class TruncationWarning(UserWarning):
    """Every component is in use: the truncation may be too low."""


def shares(held: np.ndarray) -> np.ndarray:
    """Share of the counts that each component holds."""
    held = np.maximum(held, 1e-300)
    return held / held.sum()


def count_used(usage: np.ndarray) -> int:
    """How many components are in use."""
    falling = np.cumsum(np.sort(usage)[::-1])
    return min(int((falling < USED_SHARE).sum()) + 1, len(falling))


def warn_if_truncated(n_used: int, n_components: int, what: str) -> None:
    """Say to whoever called `fit`, whence this is called, that the truncation may be too low."""
    if n_used == n_components and n_components > 1:
        warnings.warn(
            f"all {n_components} {what} are in use, so the data may need more: "
            f"raise n_components (for example to {2 * n_components}).",
            TruncationWarning,
            stacklevel=3,
        )


class FittedMixin:
    """Attributes that end in `_`, set from the state in which a fit or a step ended."""

    if TYPE_CHECKING:
        n_components: int
        n_jobs: int | None
        callbacks: Sequence[Callback]
        model: ClassVar[PoissonFactorization]
        _has_bound: Any
        _scheme: Any
        _model: Any
        _encoding: Encoding | None
        _per_unit: Any

    def _finish(
        self,
        scheme: Scheme,
        state: State,
        column_names: Any,
        reorder: bool = True,
        sampled: Sampled | None = None,
        others: Sequence[Globals] = (),
    ) -> None:
        """Public attributes, the components in falling order of what they explain.

        ``others``: of fits beside this one, with which it shares predictions and nothing else.
        """
        g, memory = state.globals, state.memory
        chains = [] if sampled is None else sampled.chains
        if reorder:
            order = np.argsort(-np.maximum(g.held_counts, 1e-300), kind="stable")
            g = with_unused(self.model, g.reorder(order), self.n_components)
            kept = memory.reorder(order).with_unused(self.n_components) if isinstance(memory, Statistics) else None
            state = State(g, kept, state.n_steps)
            chains = [[sample.reorder(order) for sample in chain] for chain in chains]
        self._state, self._globals = state, g
        self._set_posteriors(scheme, chains, others)
        self.diagnostics_ = {} if sampled is None else sampled.diagnostics
        self.traces_ = [] if sampled is None else sampled.traces
        self._set_effects()
        self.components_ = np.ascontiguousarray(g.atom_mean.T)
        self.components_shape_ = np.ascontiguousarray(g.atom_shape.T)
        self.components_rate_ = g.atom_rate if g.atom_rate.ndim == 1 else np.ascontiguousarray(g.atom_rate.T)
        self.weights_ = g.weights / g.beta
        self.total_, self.sticks_ = sticks_of(self.weights_)
        self.alpha_, self.c_, self.beta_ = g.alpha, g.c, g.beta
        self.locations_ = g.locations
        self.loadings_ = scheme.model.kernel.features(g.locations, g.hyper.sigma_l2)
        self._set_correlation(scheme.model.kernel)
        self.hyperparameters_ = asdict(g.hyper)
        self.base_ = g.base if len(g.base) else np.ones(len(g.atom_shape))
        self.usage_ = shares(g.held_counts)
        self.n_components_used_ = count_used(self.usage_)
        self.column_names_ = column_names

    def _with_best_rows(
        self, scheme: Scheme, outcome: Outcome, others: Sequence[Globals], validation: Validation | None
    ) -> tuple[Scheme, Outcome]:
        """The scheme by which rows are predicted from now on; after an interrupt, the one that the fit had."""
        if not isinstance(scheme, Structured) or outcome.interrupted:
            return scheme, outcome
        try:
            return with_best_rows(scheme, [outcome.state.globals, *others], validation), outcome
        except KeyboardInterrupt:
            reason = "interrupted while the allocation of new rows was chosen; they have that of the fit"
            return scheme, replace(outcome, interrupted=True, reason=reason)

    def _set_posteriors(self, scheme: Scheme, chains: list[list[Sample]], others: Sequence[Globals]) -> None:
        """What predictions are made from: samples, if there are any, else this fit and the others beside it."""
        self.samples_, self._others = chains, others
        self.row_allocation_ = scheme.solver.allocation
        self._at_point = PointPosterior(scheme.solver, self._globals)
        self._at_all: Posterior = self._at_point
        if chains and isinstance(scheme, Gibbs):
            self._at_all = SampledPosterior(scheme, chains)
        elif others:
            self._at_all = MeanPosterior([self._at_point, *(PointPosterior(scheme.solver, g) for g in others)])

    @property
    def _point_posterior(self) -> PointPosterior:
        """The one set of globals, with as many threads as `n_jobs` now says: it may be another than that of the fit."""
        return self._at_point.on(select_backend(self.n_jobs))

    @property
    def _posterior(self) -> Posterior:
        """What predictions are made from, with as many threads as `n_jobs` now says."""
        return self._at_all.on(select_backend(self.n_jobs))

    def _set_correlation(self, kernel: Kernel) -> None:
        """rho of the locations or, where they were sampled, its mean over the samples, with an interval."""
        self.correlation_ = component_correlation(self.loadings_)
        self.__dict__.pop("correlation_interval_", None)
        if self.samples_ and self.locations_.shape[1]:
            every = np.stack(3 * [self.correlation_])  # components that came into no sample keep theirs
            found = sampled_correlation(self.samples_, kernel)
            size = found.shape[1]
            every[:, :size, :size] = found
            self.correlation_, self.correlation_interval_ = every[0], every[1:]

    def _set_effects(self) -> None:
        """How covariates move components, where there are any, relative to what they do to all."""
        for name in ("covariate_names_", "covariate_effects_", "covariate_effects_interval_"):
            self.__dict__.pop(name, None)
        is_known = bool(self.samples_) or isinstance(self._state.memory, Statistics)  # not if interrupted too early
        if self._encoding is not None and is_known:
            found = self._effects(relative=True)
            self.covariate_names_ = np.array(self._encoding.names, dtype=object)
            self.covariate_effects_ = found.mean
            self.covariate_effects_interval_ = np.stack([found.low, found.high])

    def _effects(self, relative: bool, level: float = 0.9) -> Effects:
        """Effects per unit of the covariates, from the samples of all chains or from the state of a fit."""
        g, memory = self._globals, self._state.memory
        if self.samples_:
            draws = [self._effect_draws((sample.globals for sample in chain), relative) for chain in self.samples_]
            found = [known[:, None] for known in counterparts(self.samples_)]
            return effects_of_draws(pooled(draws, found), g.n_components, level)
        assert isinstance(memory, Statistics)  # what structured inference remembers
        return Effects(*map(self._per_unit, effects_given_locations(self._model, g, memory, relative, level)))

    def _effect_draws(self, samples: Iterable[Globals], relative: bool = True) -> np.ndarray:
        """Effects per unit of the covariates in each sample of a chain, samples x components x covariates."""
        return self._per_unit(effect_draws(self._model.kernel, samples, relative))

    def _restore(
        self,
        state: State,
        row_names: Any,
        column_names: Any,
        feature_names_in: Any,
        sampled: Sampled | None,
        others: Sequence[Globals],
        row_allocation: str | None,
    ) -> None:
        """Become the fitted model that a file describes."""
        scheme = self._scheme()
        if isinstance(scheme, Structured):
            scheme = replace(scheme, row_allocation=row_allocation)
        self._finish(scheme, state, column_names, reorder=False, sampled=sampled, others=others)
        self.n_features_in_ = len(state.globals.atom_shape)
        self.row_names_ = row_names
        if feature_names_in is not None:
            self.feature_names_in_ = feature_names_in

    def _record(self, history: Sequence[Info], reason: str, interrupted: bool = False) -> None:
        """What happened on the way, and why it ended."""
        self.history_ = [asdict(info) for info in history]
        bounds = [info.bound for info in history if info.bound is not None and self._has_bound]
        self.bound_ = bounds[-1] if bounds else None
        self.n_epochs_ = len(self.history_)
        self.stop_reason_ = reason
        self.interrupted_ = interrupted

    def _forget_rows(self, first: bool) -> None:
        """After a step on some rows no set of rows is the one that was fitted."""
        self._row_weights = self.row_names_ = None
        if first:
            self.history_ = []
            self.held_out_rows_ = self.validation_rows_ = np.array([], dtype=np.int64)

    def _record_step(self, seconds: float, rho: float, bound: float | None) -> None:
        """One more entry of the history, for a call of `partial_fit`."""
        history = [Info(**entry) for entry in self.history_]
        epoch = len(history) + 1
        seconds += history[-1].seconds if history else 0.0
        info = Info(epoch, epoch, self.n_components, seconds, rho, "partial_fit", bound)
        self._record([*history, info], f"partial_fit takes one step a call: {self._state.n_steps} steps so far")
        for callback in self.callbacks:
            callback(info, self._state)

    @property
    def _n_features_out(self) -> int:
        return len(self.weights_)
