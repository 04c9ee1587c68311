"""The scikit-learn face of the models: parameters in, a fitted factorisation out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from cormorant.backends.compiled import single_blas_thread
from cormorant.backends.select import Backend, select_backend
from cormorant.data import Counts, hold_out_rows
from cormorant.estimators import parameters as resolve
from cormorant.estimators.constructor import Parameters
from cormorant.estimators.fitted import FittedMixin, warn_if_truncated
from cormorant.estimators.inputs import to_counts
from cormorant.estimators.known_rows import CovariatesMixin
from cormorant.estimators.misplaced import refuse_misplaced
from cormorant.estimators.persistence import PersistenceMixin
from cormorant.estimators.prediction import PredictionMixin
from cormorant.estimators.progress import bars_of
from cormorant.estimators.sampler import SamplerMixin, Start
from cormorant.estimators.starts import linear_model, prepare, start_dims
from cormorant.inference import fit as loop
from cormorant.inference.gibbs import Gibbs
from cormorant.inference.predictive import Validation
from cormorant.inference.rows import Rows
from cormorant.inference.schedules import Plan
from cormorant.inference.scheme import Scheme
from cormorant.inference.start import start_a0, start_globals, starts_to_try
from cormorant.inference.state import State, Statistics, flat
from cormorant.models.cnpf import Hyperparameters, PoissonFactorization
from cormorant.models.kernels import make_kernel


class Factorization(
    SamplerMixin,
    FittedMixin,
    PredictionMixin,
    CovariatesMixin,
    PersistenceMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    Parameters,
):
    """Fitting, shared by all models; see `CNPF` and `DILN` for the meaning of their parameters."""

    model: ClassVar[PoissonFactorization]

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        exposure: Any = None,
        mask: Any = None,
        covariates: Any = None,
        **misplaced: Any,
    ) -> Self:
        """Fit the model to a count matrix.

        Args:
            X: Rows x columns: Counts, a SciPy sparse matrix, an array, a data frame or AnnData.
            y: Ignored; scikit-learn's pipelines pass it.
            exposure: Known size factor of each row (the rate is exposure times sum_k x_k a_k); normalised models, which
                take a row's total as given, have none.
            mask: Rows x columns, true (or nonzero) at entries to treat as missing.
            covariates: What is known of the rows (models with locations): a data frame, of which `formula` says what to
                take, or rows x columns of numbers. Rows are matched by their order; a data frame whose index has the
                names of the rows of X, but in another order, is refused.
            **misplaced: Refused: parameters of the model, such as `formula`, belong to the constructor.
        """
        refuse_misplaced(self, "fit", misplaced)
        self._check_parameters()
        counts = to_counts(self, X, reset=True)
        self._learn_encoding(covariates, counts, first=not (self.warm_start and hasattr(self, "_state")))
        rows = self._to_rows(counts, exposure, mask, covariates)
        rng = resolve.make_generator(self.random_state)
        self._draw_frequencies(rng, keep=self.warm_start)
        self._choose(rows.counts)
        train, validation = self._keep_aside(rows, rng)
        train.check_counts()
        train = train.with_counts() if self.model.normalised else train
        starts = self._starts(train.n_rows, can_race=validation is not None)
        states = self._begin(train.counts, counts.n_rows, starts, self.warm_start, linear_model(self._model))
        scheme = self._scheme()
        with single_blas_thread():
            if isinstance(scheme, Gibbs):
                sizes = [min(size, self.n_components) for _, size in starts[: len(states)]]
                all_rows = rows.with_counts() if self.model.normalised else rows
                self._sample(scheme, states, sizes, train, validation, all_rows, rng, counts)
            else:
                outcome = self._run(scheme, states, train, validation, rng)
                scheme, outcome = self._with_best_rows(scheme, outcome, [], validation)
                self._finish(scheme, outcome.state, counts.column_names)
                self._record(outcome.history, outcome.reason, outcome.interrupted)
            self.n_rows_seen_ = train.n_rows
            self.row_names_ = counts.row_names
            self._row_weights = None  # until they are known: an interrupt leaves a model that is whole
            self._row_weights = self._point_posterior.moments(rows).mean
        warn_if_truncated(self.n_components_used_, self.n_components, "components")
        return self

    def _keep_aside(self, rows: Rows, rng: np.random.Generator) -> tuple[Rows, Validation | None]:
        """Rows to fit, and rows to stop by, whose positions become `validation_rows_`."""
        self.held_out_rows_ = np.array([], dtype=np.int64)  # whoever holds rows out records them here
        self.validation_rows_ = np.array([], dtype=np.int64)
        kept_aside = resolve.resolve_validation_rows(self.validation, rows.n_rows)
        if not kept_aside:
            return rows, None
        train_index, validation_index = hold_out_rows(rows.n_rows, kept_aside, rng)
        self.validation_rows_ = np.sort(validation_index)
        train = rows.take(np.sort(train_index))
        in_training = train.counts.column_totals() > 0
        return train, Validation.split(rows.take(validation_index), in_training, rng)

    def _check_parameters(self) -> None:
        """Refuse what is wrong with the parameters whatever data will come."""
        resolve.check_parameters(self)

    @property
    def _samples_counts(self) -> bool:
        """Whether a fit of whole numbers would sample."""
        return resolve.resolve_inference(self.inference, self.allocation, self.stopping, self.batch_size) == "gibbs"

    def _choose(self, counts: Counts, stepwise: bool = False) -> None:
        """Decide on `inference_`: a sampler needs whole numbers, and all rows at once."""
        whole = counts.is_integer or not np.any(counts.data % 1.0)
        name = resolve.resolve_inference(self.inference, self.allocation, self.stopping, self.batch_size)
        if name == "gibbs" and (stepwise or not whole):
            if self.inference == "gibbs":
                why = "visits all rows in every sweep, so it has no partial_fit" if stepwise else "needs whole numbers"
                raise ValueError(f"inference='gibbs' {why}; use inference='structured'.")
            name = "structured"
        if name == "mean-field":
            resolve.check_mean_field(self._model, type(self).__name__)
        self.inference_ = name

    @property
    def _has_bound(self) -> bool:
        """Whether the scheme has a bound of the evidence; the zero-order allocation only has something like one."""
        return self.inference_ == "mean-field" or (self.inference_ == "structured" and self.allocation == "digamma")

    def partial_fit(
        self, X: Any, y: Any = None, *, exposure: Any = None, mask: Any = None, covariates: Any = None
    ) -> Self:
        """One stochastic step on these rows; the data are taken to be as many rows as have been shown so far.

        `history_` grows by an entry a call, and the callbacks are called as after an epoch of `fit`. Covariates are
        coded by what the first call shows of them (mean, spread, and levels: declare those that come later by a
        categorical column).
        """
        begin = time.perf_counter()
        self._check_parameters()
        first = not hasattr(self, "_state")
        counts = to_counts(self, X, reset=first)
        self._learn_encoding(covariates, counts, first, more_to_come=True)
        rows = self._to_rows(counts, exposure, mask, covariates)
        rows = rows.with_counts() if self.model.normalised else rows
        n_rows = (0 if first else self.n_rows_seen_) + rows.n_rows
        rng = resolve.make_generator(self.random_state)
        self._draw_frequencies(rng, keep=not first)
        self._choose(rows.counts, stepwise=True)
        scheme = self._scheme()
        schedule = resolve.make_schedule(self.learning_offset, self.learning_decay, self._defaults())
        # Without a race, the start around the column means, with all components, is the safer one.
        [start] = self._begin(rows.counts, n_rows, [(0.0, self.n_components)], not first, self._model)
        with single_blas_thread():
            state = start(rng)
            rho, bound = schedule(state.n_steps), None
            visits = rows.blocks(rows.block_size, scheme.dtype)
            total = loop.sum_statistics(scheme, state, visits, want_bound=self._has_bound)
            total = total * (n_rows / rows.n_rows)
            if self._has_bound:
                bound = scheme.bound(state.globals, total)
            state = scheme.global_step(state, total, rho)
            self._finish(scheme, state, counts.column_names if first else self.column_names_, reorder=False)
        self.n_rows_seen_ = n_rows
        self._forget_rows(first)
        self._record_step(time.perf_counter() - begin, rho, bound)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return E x of the rows."""
        self.fit(X, y, **fit_params)
        return None if self._row_weights is None else self._row_weights.copy()

    def _defaults(self) -> resolve.SchemeDefaults:
        return resolve.DEFAULTS[self.inference_]

    @property
    def _model(self) -> PoissonFactorization:
        """The model as the parameters and the rows have it."""
        return self._model_of(self.frequencies_, self._encoding is not None)

    def _model_of(self, frequencies: np.ndarray | None, has_covariates: bool) -> PoissonFactorization:
        """The model as the parameters have it; what the Poisson models call `tuples` is `top` in DILN."""
        parameter = "top" if self.model.normalised else "tuples"
        top = resolve.check_top(parameter, getattr(self, parameter, self.model.top))
        kernel = make_kernel(self.kernel, self.n_dims, frequencies, self.length_scale)
        resolve.check_field(self.field)
        heavy_tails = self.field == "student-t"
        return replace(self.model, top=top, kernel=kernel, has_covariates=has_covariates, heavy_tails=heavy_tails)

    def _draw_frequencies(self, rng: np.random.Generator, keep: bool) -> None:
        """Those of the kernel's features, once for a model (None: the kernel has none)."""
        if not (keep and hasattr(self, "frequencies_")):
            given = (self.kernel, self.n_dims, self.length_scale, self.nu, self.n_frequencies)
            self.frequencies_ = resolve.make_frequencies(*given, rng)

    def _scheme(self, inference: str | None = None, backend: Backend | None = None) -> Scheme:
        return resolve.make_scheme(
            inference or self.inference_,
            self.allocation,
            self.a0 is None and self._defaults().learns_a0,
            self.sigma_l2 is None,
            self.sigma_m2 is None,
            self._model,
            backend or select_backend(self.n_jobs),
        )

    def _starts(self, n_rows: int, can_race: bool) -> list[tuple[float, int]]:
        """Shares of random rows, and numbers of components, to start with."""
        tried = starts_to_try(n_rows, self.n_components)
        return tried if can_race else [(tried[0][0], self.n_components)]

    def _begin(
        self,
        counts: Counts,
        n_rows: int,
        starts: Sequence[tuple[float, int]],
        resume: bool,
        model: PoissonFactorization,
    ) -> list[Start]:
        """States to start from, made when called: one to go on with, or ``starts`` to try, for ``n_rows`` in all."""
        if resume and hasattr(self, "_state"):
            resumed = self._resumed(counts.n_columns, n_rows)
            return [lambda rng: resumed]
        hyper, dims = self._hyper(n_rows), start_dims(self._model, model, self.n_dims)

        def of_start(size: int) -> Hyperparameters:
            is_held = self.inference_ == "gibbs" and self.a0 is None
            return start_a0(hyper, counts, min(size, self.n_components)) if is_held else hyper

        known = 0 if self._encoding is None else len(self._encoding.names)
        return [
            lambda rng, share=share, size=size: State(
                start_globals(model, counts, size, dims, of_start(size), rng, share, known)
            )
            for share, size in starts
        ]

    def _resumed(self, n_columns: int, n_rows: int) -> State:
        """The state to go on from, with what it remembers scaled to the rows there are now."""
        g, memory = self._state.globals, self._state.memory
        if g.atom_shape.shape != (n_columns, self.n_components):
            raise ValueError(
                f"going on from an earlier fit needs its {g.atom_shape.shape[0]} columns and n_components = "
                f"{g.n_components}; got {n_columns} columns and n_components = {self.n_components}."
            )
        if g.locations.shape[1] != (self._model.kernel.width(self.n_dims) if self.model.has_locations else 0):
            raise ValueError(f"going on from an earlier fit needs its n_dims = {g.locations.shape[1]}, and its kernel.")
        if isinstance(memory, Statistics):
            memory = memory * (n_rows / memory.n_rows)
        learns_base = self.a0 is None and self._defaults().learns_a0 and self.allocation == "zero-order"
        base = g.base if learns_base else flat()
        return State(replace(g, hyper=self._hyper(n_rows, self._state), base=base), memory, self._state.n_steps)

    def _hyper(self, n_rows: int, state: State | None = None) -> Hyperparameters:
        """The paper's numbers for so many rows; those that are being learned go on from ``state``."""
        linear = self._model.kernel.is_linear
        hyper = resolve.make_hyperparameters(resolve.given_hyperparameters(self), self._defaults(), n_rows, linear)
        if state is None:
            return hyper
        learned = {"a0": self.a0 is None, "sigma_l2": self.sigma_l2 is None and not linear}
        return replace(hyper, **{name: getattr(state.globals.hyper, name) for name, is_so in learned.items() if is_so})

    def _run(
        self,
        scheme: Scheme,
        starts: list[Start],
        rows: Rows,
        validation: Validation | None,
        rng: np.random.Generator,
        max_epochs: int | None = None,
        callbacks: list[loop.Callback] | None = None,
        begun: loop.Outcome | None = None,
        stage: str = "fit",
        watch: str | None = None,
    ) -> loop.Outcome:
        """Plan, settings and callbacks for the loop, by default the user's and the bars; what is ``begun`` goes on."""
        size = resolve.resolve_batch_size(self.batch_size, rows.n_rows, self.inference_ == "gibbs")
        schedule = None
        if size < rows.n_rows:
            schedule = resolve.make_schedule(self.learning_offset, self.learning_decay, self._defaults())
        plan = Plan(rows.n_rows, size, min(size, rows.block_size), schedule)
        watch = watch or resolve.resolve_stopping(self.stopping, has_validation=validation is not None)
        check_every = 5 if plan.is_full else 1
        title = "the bound" if self._has_bound else "the approximate bound"
        epochs = max_epochs or self.max_epochs
        settings = loop.Settings(epochs, self.tol, self.patience, watch, check_every, title)
        with bars_of(self) if callbacks is None else nullcontext({}) as bars:
            callbacks = [*bars.values(), *self.callbacks] if callbacks is None else callbacks
            if begun is not None:
                return loop.run(
                    scheme, begun.state, rows, plan, settings, rng, validation, callbacks, stage, resume=begun
                )
            judges = validation if watch == "perplexity" and len(starts) > 1 else None
            states = []
            for start in starts if judges else starts[:1]:
                ready = prepare(scheme, start(rng), self.n_components, rows, plan, settings, rng, callbacks)
                if ready.interrupted:
                    return ready
                states.append(ready.state)
            if judges:
                return loop.race(scheme, states, rows, plan, settings, rng, judges, callbacks)
            return loop.run(scheme, states[0], rows, plan, settings, rng, validation, callbacks, stage)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
