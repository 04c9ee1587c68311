"""The scikit-learn face of the four models: parameters in, a fitted factorisation out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state

from cormorant.backends.compiled import single_blas_thread
from cormorant.backends.select import select_backend
from cormorant.data import Counts, hold_out_rows
from cormorant.estimators import parameters as resolve
from cormorant.estimators.inputs import to_counts, to_rows
from cormorant.estimators.persistence import PersistenceMixin
from cormorant.estimators.prediction import PredictionMixin
from cormorant.estimators.progress import progress
from cormorant.inference import fit as loop
from cormorant.inference.globals import sticks_of
from cormorant.inference.predictive import BLOCK, Validation, infer
from cormorant.inference.rows import Rows
from cormorant.inference.schedules import Plan
from cormorant.inference.scheme import Scheme
from cormorant.inference.start import start_globals
from cormorant.inference.state import Globals, State, Statistics
from cormorant.measures import component_correlation
from cormorant.models.cnpf import Hyperparameters, PoissonFactorization

USED_SHARE = 0.99  # the components in use are the fewest that together hold this share of the counts


class TruncationWarning(UserWarning):
    """Every component is in use: the truncation may be too low."""


class Factorization(
    PredictionMixin, PersistenceMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Parameters and fitting, shared by all four models; see `CNPF` for their meaning."""

    model: ClassVar[PoissonFactorization]

    def __init__(
        self,
        n_components: int = 200,
        n_dims: int = 25,
        *,
        inference: str = "auto",
        allocation: str = "zero-order",
        batch_size: int | str | None = "auto",
        max_epochs: int = 100,
        tol: float = 1e-3,
        patience: int = 3,
        stopping: str = "auto",
        validation: float | str = "auto",
        learning_offset: float | None = None,
        learning_decay: float | None = None,
        a0: float | None = None,
        b0: float | None = None,
        sigma_l2: float | None = None,
        sigma_m2: float = 10.0,
        a_alpha: float = 1.0,
        b_alpha: float = 0.01,
        a_c: float = 1.0,
        b_c: float = 0.01,
        warm_start: bool = False,
        callbacks: Sequence[loop.Callback] = (),
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.n_dims = n_dims
        self.inference = inference
        self.allocation = allocation
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.tol = tol
        self.patience = patience
        self.stopping = stopping
        self.validation = validation
        self.learning_offset = learning_offset
        self.learning_decay = learning_decay
        self.a0 = a0
        self.b0 = b0
        self.sigma_l2 = sigma_l2
        self.sigma_m2 = sigma_m2
        self.a_alpha = a_alpha
        self.b_alpha = b_alpha
        self.a_c = a_c
        self.b_c = b_c
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, exposure: Any = None, mask: Any = None) -> Self:
        """Fit the model to a count matrix.

        Args:
            X: Rows x columns: Counts, a SciPy sparse matrix, an array, a data frame or AnnData.
            y: Ignored; scikit-learn's pipelines pass it.
            exposure: Known size factor of each row (the rate is exposure times sum_k x_k a_k).
            mask: Rows x columns, true (or nonzero) at entries to treat as missing.
        """
        counts = to_counts(self, X, reset=True)
        rows = to_rows(counts, exposure, mask)
        rng = self._generator()
        scheme, states = self._begin(rows.counts, rng, resume=self.warm_start)
        kept_aside = resolve.resolve_validation_rows(self.validation, counts.n_rows)
        train, validation = rows, None
        if kept_aside:
            train_index, validation_index = hold_out_rows(counts.n_rows, kept_aside, rng)
            train = rows.take(np.sort(train_index))
            in_training = train.counts.column_totals() > 0
            validation = Validation.split(rows.take(validation_index), in_training, rng)
        with single_blas_thread():
            outcome = self._run(scheme, states, train, validation, rng)
            self._finish(scheme, outcome.state, counts.column_names)
            self._row_weights = infer(scheme, self._globals, rows).mean
        self.history_ = [asdict(info) for info in outcome.history]
        exact = self.allocation == "digamma" or resolve.resolve_inference(self.inference) == "mean-field"
        bounds = [info.bound for info in outcome.history if info.bound is not None and exact]
        self.bound_ = bounds[-1] if bounds else None
        self.n_rows_seen_ = train.n_rows
        self.stop_reason_ = outcome.reason
        self.n_epochs_ = len(outcome.history)
        self.row_names_ = counts.row_names
        self.held_out_rows_ = np.array([], dtype=np.int64)  # whoever holds rows out records them here
        self._warn_if_truncated()
        return self

    def partial_fit(self, X: Any, y: Any = None, *, exposure: Any = None, mask: Any = None) -> Self:
        """One stochastic step on these rows; the data are taken to be as many rows as have been shown so far."""
        first = not hasattr(self, "_state")
        counts = to_counts(self, X, reset=first)
        rows = to_rows(counts, exposure, mask)
        # The start around the column means: no race is run here, and it is the safer one.
        scheme, (*_, state) = self._begin(rows.counts, self._generator(), resume=not first)
        self.n_rows_seen_ = (0 if first else getattr(self, "n_rows_seen_", 0)) + counts.n_rows
        state = replace(state, globals=replace(state.globals, hyper=self._hyper(self.n_rows_seen_, state)))
        if isinstance(state.memory, Statistics):
            state = replace(state, memory=state.memory * (self.n_rows_seen_ / state.memory.n_rows))
        schedule = resolve.make_schedule(self.learning_offset, self.learning_decay, self._defaults())
        with single_blas_thread():
            total = loop.sum_statistics(scheme, state.globals, rows.blocks(BLOCK, scheme.dtype))
            state = scheme.global_step(state, total * (self.n_rows_seen_ / counts.n_rows), schedule(state.n_steps))
        self._finish(scheme, state, counts.column_names, reorder=False)
        self._row_weights = None
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return E x of the rows."""
        self.fit(X, y, **fit_params)
        return None if self._row_weights is None else self._row_weights.copy()

    def _defaults(self) -> resolve.SchemeDefaults:
        return resolve.DEFAULTS[resolve.resolve_inference(self.inference)]

    def _generator(self) -> np.random.Generator:
        """One generator for all draws of a fit; scikit-learn's seeds and RandomStates are accepted."""
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        return np.random.default_rng(seed)

    def _scheme(self) -> Scheme:
        return resolve.make_scheme(
            resolve.resolve_inference(self.inference),
            self.allocation,
            self.a0 is None and self._defaults().learns_a0,
            self.model,
            select_backend(self.n_jobs),
        )

    def _begin(self, counts: Counts, rng: np.random.Generator, resume: bool) -> tuple[Scheme, list[State]]:
        """The scheme, and the states to start from: one to go on with, or several to try."""
        resolve.check_count("n_components", self.n_components)
        resolve.check_count("max_epochs", self.max_epochs)
        resolve.check_count("patience", self.patience)
        if self.model.has_locations:
            resolve.check_count("n_dims", self.n_dims)
        resolve.check_number("tol", self.tol)
        resolve.make_schedule(self.learning_offset, self.learning_decay, self._defaults())
        if not all(callable(callback) for callback in self.callbacks):
            raise ValueError(f"callbacks must be functions of (info, state), got {self.callbacks!r}.")
        scheme = self._scheme()
        if resume and hasattr(self, "_state"):
            g = self._state.globals
            if g.atom_shape.shape != (counts.n_columns, self.n_components):
                raise ValueError(
                    f"going on from an earlier fit needs its {g.atom_shape.shape[0]} columns and n_components = "
                    f"{g.n_components}; got {counts.n_columns} columns and n_components = {self.n_components}."
                )
            if g.locations.shape[1] != (self.n_dims if self.model.has_locations else 0):
                raise ValueError(f"going on from an earlier fit needs its n_dims = {g.locations.shape[1]}.")
            hyper = self._hyper(counts.n_rows, self._state)
            return scheme, [replace(self._state, globals=replace(g, hyper=hyper))]
        hyper = self._hyper(counts.n_rows)
        return scheme, [
            State(start_globals(self.model, counts, self.n_components, self.n_dims, hyper, rng, share))
            for share in self._defaults().row_shares
        ]

    def _hyper(self, n_rows: int, state: State | None = None) -> Hyperparameters:
        """The paper's numbers for so many rows; an a0 that is being learned goes on from ``state``."""
        names = ("a0", "b0", "sigma_l2", "sigma_m2", "a_alpha", "b_alpha", "a_c", "b_c")
        hyper = resolve.make_hyperparameters({name: getattr(self, name) for name in names}, self._defaults(), n_rows)
        return replace(hyper, a0=state.globals.hyper.a0) if state is not None and self.a0 is None else hyper

    def _run(
        self,
        scheme: Scheme,
        states: list[State],
        rows: Rows,
        validation: Validation | None,
        rng: np.random.Generator,
    ) -> loop.Outcome:
        """Plan, settings and callbacks for the loop."""
        size = resolve.resolve_batch_size(self.batch_size, rows.n_rows)
        schedule = None
        if size < rows.n_rows:
            schedule = resolve.make_schedule(self.learning_offset, self.learning_decay, self._defaults())
        plan = Plan(rows.n_rows, size, min(size, BLOCK), schedule)
        watch = resolve.resolve_stopping(self.stopping, has_validation=validation is not None)
        check_every = 5 if plan.is_full else 1
        settings = loop.Settings(self.max_epochs, self.tol, self.patience, watch, check_every)
        with progress(self.verbose, self.max_epochs) as shown:
            callbacks = [*shown, *self.callbacks]
            if watch == "perplexity" and validation and len(states) > 1:
                return loop.race(scheme, states, rows, plan, settings, rng, validation, callbacks)
            return loop.run(scheme, states[0], rows, plan, settings, rng, validation, callbacks)

    def _finish(self, scheme: Scheme, state: State, column_names: Any, reorder: bool = True) -> None:
        """Public attributes, the components in falling order of what they explain."""
        g = state.globals
        if reorder:
            order = np.argsort(-_held_counts(g), kind="stable")
            g = _reorder(g, order)
            memory = state.memory.reorder(order) if isinstance(state.memory, Statistics) else None
            state = State(g, memory, state.n_steps)
        self._state, self._globals, self._fitted_scheme = state, g, scheme
        self.components_ = np.ascontiguousarray(g.atom_mean.T)
        self.components_shape_ = np.ascontiguousarray(g.atom_shape.T)
        self.components_rate_ = g.atom_rate if g.atom_rate.ndim == 1 else np.ascontiguousarray(g.atom_rate.T)
        self.weights_ = g.weights
        self.total_, self.sticks_ = sticks_of(g.weights)
        self.alpha_, self.c_ = g.alpha, g.c
        self.locations_ = g.locations
        self.correlation_ = component_correlation(g.locations)
        self.hyperparameters_ = asdict(g.hyper)
        held = _held_counts(g)
        self.usage_ = held / held.sum()
        falling = np.cumsum(np.sort(self.usage_)[::-1])
        self.n_components_used_ = min(int((falling < USED_SHARE).sum()) + 1, len(falling))
        self.column_names_ = column_names

    def _restore(self, state: State, n_columns: int, row_names: Any, column_names: Any, features: Any) -> None:
        """Become the fitted model that a file describes."""
        self._finish(self._scheme(), state, column_names, reorder=False)
        self.n_features_in_ = n_columns
        self.row_names_ = row_names
        if features is not None:
            self.feature_names_in_ = features

    def _warn_if_truncated(self) -> None:
        if self.n_components_used_ == self.n_components and self.n_components > 1:
            warnings.warn(
                f"all {self.n_components} components are in use, so the data may need more: "
                f"raise n_components (for example to {2 * self.n_components}).",
                TruncationWarning,
                stacklevel=3,
            )

    @property
    def _n_features_out(self) -> int:
        return len(self.weights_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


def _held_counts(g: Globals) -> np.ndarray:
    """Expected counts of each component in the data: what its posterior shapes have above the prior's."""
    return np.maximum((g.atom_shape - g.hyper.a0).sum(axis=0), 1e-300)


def _reorder(g: Globals, order: np.ndarray) -> Globals:
    return replace(
        g,
        # Contiguous, so that a model read from a file adds up in the same order.
        atom_shape=np.ascontiguousarray(g.atom_shape[:, order]),
        atom_rate=np.ascontiguousarray(g.atom_rate[..., order]),
        weights=g.weights[order],
        locations=g.locations[order],
    )
