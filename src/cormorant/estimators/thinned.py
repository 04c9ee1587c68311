"""Poisson factorisation thinned by covariates, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from cormorant.backends.compiled import single_blas_thread
from cormorant.backends.select import select_backend
from cormorant.data import split_entries
from cormorant.estimators.inputs import to_counts, to_rows
from cormorant.estimators.parameters import B0_ROWS, check_callbacks, check_count, check_number, make_generator
from cormorant.estimators.persistence import PersistenceMixin, listed, named, stored_parameters
from cormorant.estimators.progress import progress_bars
from cormorant.estimators.starts import prepare
from cormorant.inference import fit as loop
from cormorant.inference.predictive import column_probabilities, log_likelihood
from cormorant.inference.rows import Rows
from cormorant.inference.samples import kept_sweeps
from cormorant.inference.schedules import Plan
from cormorant.inference.start import SURPLUS, start_globals
from cormorant.inference.state import State
from cormorant.inference.structured import Structured
from cormorant.inference.thinned import ThinnedGibbs, ThinnedGlobals, ThinnedPosterior
from cormorant.models.cnpf import MODELS, Hyperparameters
from cormorant.models.thinned import Thinning

START_EPOCHS = 20  # of the uncorrelated factorisation that a chain starts from
ARRAYS = ("atoms", "weights", "coefficients")
FITTED = ("history_", "stop_reason_", "interrupted_", "n_epochs_", "n_rows_seen_")


class ThinnedPoissonFactorization(PersistenceMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Poisson factorisation whose components come and go with covariates:

        y_ui ~ Poisson(e_u sum_k w_k z_uk a_ki),   z_uk ~ Bernoulli(sigmoid(theta_u . l_k + b_k))

    Every method that looks at rows takes their `covariates`, theta: rows x covariates, numbers, best scaled alike.

    Args:
        n_components: Truncation T: the most components there can be.
        alpha: Mass of the gamma process of the weights: w_k ~ Gamma(alpha / T, c).
        a0: Concentration of the atoms' Dirichlet prior, of each column; None: learned.
        sigma_l2: Prior variance of what a covariate does to the log odds of a component.
        sigma_b2: Prior variance of the log odds themselves.
        a_c: Shape of the prior of c.
        b_c: Its rate.
        n_sweeps: Sweeps of the sampler, of which the first half is dropped.
        n_samples: Posterior samples kept, evenly spaced over the rest.
        callbacks: Functions called with (info, state) after every epoch of the start and every sweep.
        random_state: Seed, for results that repeat.
        n_jobs: Threads: None is one, -1 every core. The results do not depend on it.
        verbose: Whether to show a progress bar.

    Attributes:
        components_: E a, components x columns; each sums to one.
        weights_: E w: counts that a component brings to a row that has it, in falling order of what they explain.
        effects_: E l, components x covariates: what a unit of a covariate adds to the log odds.
        effects_interval_: 90% credible intervals of those, 2 x components x covariates.
        intercepts_: E b.
        samples_: Posterior samples.
        history_: One dict an epoch or sweep.
        n_epochs_: How many they are.
        stop_reason_: Why the fit ended, in a sentence.
        interrupted_: Whether that was Ctrl-C.
        n_rows_seen_: Rows that were fitted.
        column_names_: Names of the columns, if they had any.
    """

    model: ClassVar[type[Thinning]] = Thinning
    if TYPE_CHECKING:
        samples_: Any

    def __init__(
        self,
        n_components: int = 20,
        *,
        alpha: float = 1.0,
        a0: float | None = None,
        sigma_l2: float = 4.0,
        sigma_b2: float = 4.0,
        a_c: float = 1.0,
        b_c: float = 0.01,
        n_sweeps: int = 200,
        n_samples: int = 20,
        callbacks: Sequence[loop.Callback] = (),
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.a0 = a0
        self.sigma_l2 = sigma_l2
        self.sigma_b2 = sigma_b2
        self.a_c = a_c
        self.b_c = b_c
        self.n_sweeps = n_sweeps
        self.n_samples = n_samples
        self.callbacks = callbacks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, covariates: Any, exposure: Any = None) -> Self:
        """Fit the model to a count matrix and the covariates of its rows."""
        hyper = self._hyper()
        counts = to_counts(self, X, reset=True)
        rows = self._with_covariates(to_rows(counts, exposure, None), covariates, None)
        rng = make_generator(self.random_state)
        samples: list[Any] = []
        sweeps = kept_sweeps(self.n_sweeps // 2, self.n_sweeps, self.n_samples)

        def collect(info: loop.Info, state: State) -> None:
            if info.epoch in sweeps:
                samples.append(state.globals)

        with single_blas_thread(), self._bars() as bars:
            callbacks = [*bars.values(), *self.callbacks]
            start = self._start(rows, hyper, rng, callbacks)
            plan = Plan(rows.n_rows, rows.n_rows, min(rows.n_rows, rows.block_size), None)
            settings, scheme = loop.Settings(self.n_sweeps, 0.0, 1, "nothing", unit="sweep"), self._gibbs()
            state: Any = State(start, rng)  # pyright: ignore[reportArgumentType]
            ended = loop.run(scheme, state, rows, plan, settings, rng, callbacks=[collect, *callbacks], stage="chain")
        self.column_names_, self.n_rows_seen_ = counts.column_names, rows.n_rows
        self.history_ = [asdict(info) for info in ended.history]
        self.n_epochs_, self.stop_reason_, self.interrupted_ = len(ended.history), ended.reason, ended.interrupted
        last: Any = ended.state.globals  # all there is, if the chain was interrupted before its first sample
        self._finish(samples or [last])
        return self

    def _hyper(self) -> Thinning:
        for name in ("n_components", "n_sweeps", "n_samples"):
            check_count(name, getattr(self, name))
        check_callbacks(self.callbacks)
        given = {f.name: getattr(self, f.name) for f in fields(Thinning) if getattr(self, f.name) is not None}
        for name, value in given.items():
            check_number(name, value)
        return Thinning(**given)

    def _gibbs(self) -> Any:
        return ThinnedGibbs(select_backend(self.n_jobs), learns_a0=self.a0 is None)

    def _bars(self):
        return progress_bars([Thinning.name]) if self.verbose else nullcontext({})

    def _start(self, rows: Rows, hyper: Thinning, rng: np.random.Generator, callbacks: list) -> ThinnedGlobals:
        """Atoms of a factorisation without correlations, a surplus of components merged; covariates say nothing yet."""
        scheme = Structured(MODELS["hgp"], select_backend(self.n_jobs))
        numbers = Hyperparameters(0.1, B0_ROWS * rows.n_rows, 1.0, 1.0)
        plain, size = Rows(rows.counts, rows.exposure), SURPLUS * self.n_components
        g = start_globals(scheme.model, rows.counts, size, 0, numbers, rng, row_share=0.5)
        plan = Plan(rows.n_rows, rows.n_rows, min(rows.n_rows, rows.block_size), None)
        settings = loop.Settings(START_EPOCHS, 0.0, 1, "nothing")
        begin = prepare(scheme, State(g), self.n_components, plain, plan, settings, rng, callbacks).state
        g = loop.run(scheme, begin, plain, plan, settings, rng, callbacks=callbacks, stage="start").state.globals
        atoms = g.atom_mean / g.atom_total
        sizes = np.ones(rows.n_rows) if rows.exposure is None else rows.exposure
        weights = np.maximum(2.0 * g.held_counts / sizes.sum(), 1e-6)  # as if half of the rows had a component
        assert rows.covariates is not None  # `_with_covariates` gave them
        return ThinnedGlobals(atoms, weights, np.zeros((self.n_components, rows.covariates.shape[1])), 1.0, hyper)

    def _finish(self, samples: list[ThinnedGlobals]) -> None:
        """Public attributes, the components in falling order of w."""
        weights = np.mean([g.weights for g in samples], axis=0)
        order = np.argsort(-weights, kind="stable")
        self.samples_ = [g.reorder(order) for g in samples]
        self.components_ = np.ascontiguousarray(np.mean([g.atoms for g in self.samples_], axis=0).T)
        self.weights_ = weights[order]
        coefficients = np.array([g.coefficients for g in self.samples_])
        self.effects_, self.intercepts_ = coefficients.mean(axis=0)[:, :-1], coefficients.mean(axis=0)[:, -1]
        self.effects_interval_ = np.quantile(coefficients[:, :, :-1], [0.05, 0.95], axis=0)

    def _with_covariates(self, rows: Rows, covariates: Any, expected: int | None) -> Rows:
        theta = _with_ones(covariates, expected)
        if len(theta) != rows.n_rows:
            raise ValueError(f"covariates must have one row for each of the {rows.n_rows} rows of X; got {len(theta)}.")
        return replace(rows, covariates=theta)

    def _rows(self, X: Any, covariates: Any, exposure: Any) -> Rows:
        check_is_fitted(self)
        rows = to_rows(to_counts(self, X, reset=False), exposure, None)
        return self._with_covariates(rows, covariates, self.effects_.shape[1])

    @property
    def _posterior(self) -> ThinnedPosterior:
        return ThinnedPosterior(self._gibbs(), self.samples_)

    def inclusion(self, covariates: Any) -> np.ndarray:
        """P(z = 1) of rows with these covariates, whatever they show: rows x components."""
        check_is_fitted(self)
        theta = _with_ones(covariates, self.effects_.shape[1])
        return np.mean([expit(g.field(theta)) for g in self.samples_], axis=0)

    def transform(self, X: Any, *, covariates: Any, exposure: Any = None) -> np.ndarray:
        """E x = E w z of each row, rows x components."""
        rows = self._rows(X, covariates, exposure)
        with single_blas_thread():
            return np.mean([x for x, _ in self._posterior.weights(rows)], axis=0)

    def column_probabilities(self, X: Any, *, covariates: Any, exposure: Any = None) -> np.ndarray:
        """Probability that a further count of a row falls in each column, rows x columns; each row sums to one."""
        rows = self._rows(X, covariates, exposure)
        with single_blas_thread():
            return column_probabilities(self._posterior, rows)

    def perplexity(
        self, X: Any, observed: float = 0.1, *, covariates: Any, exposure: Any = None, random_state: int = 0
    ) -> float:
        """The paper's held-out perplexity: part of each row's entries is observed, the rest predicted.

        A row of which a share is shown was looked at for that share of its exposure: w_k says how many counts to
        expect, and what is hidden would otherwise speak against every component.
        """
        rows = self._rows(X, covariates, exposure)
        seen, test = split_entries(rows.counts, observed, random_state)
        size = np.full(rows.n_rows, observed) if rows.exposure is None else observed * rows.exposure
        with single_blas_thread():
            return float(np.exp(-log_likelihood(self._posterior, replace(rows, counts=seen, exposure=size), test)))

    def score(self, X: Any, y: Any = None, *, covariates: Any) -> float:
        """Log likelihood per count of one random half of each row's entries given the other (a fixed seed)."""
        return -float(np.log(self.perplexity(X, 0.5, covariates=covariates)))

    def _arrays(self) -> dict[str, np.ndarray]:
        """What goes to safetensors."""
        return {f"{s}.{name}": getattr(g, name) for s, g in enumerate(self.samples_) for name in ARRAYS}

    def _document(self) -> dict[str, Any]:
        """What goes to JSON."""
        return {
            "model": Thinning.name,
            "parameters": stored_parameters(self),
            "samples": [{"c": g.c, "hyper": asdict(g.hyper)} for g in self.samples_],
            "fitted": {name: getattr(self, name) for name in FITTED},
            "column_names": listed(self.column_names_),
            "feature_names_in": listed(getattr(self, "feature_names_in_", None)),
        }

    @classmethod
    def _from_file(cls, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        """The fitted model that a file describes."""
        estimator: Any = cls(**document["parameters"])
        found = []
        for s, info in enumerate(document["samples"]):
            parts = {name: arrays[f"{s}.{name}"] for name in ARRAYS}
            found.append(ThinnedGlobals(**parts, c=float(info["c"]), hyper=Thinning(**info["hyper"])))
        estimator._finish(found)
        estimator.column_names_ = named(document["column_names"])
        estimator.n_features_in_ = estimator.components_.shape[1]
        if document["feature_names_in"] is not None:
            estimator.feature_names_in_ = named(document["feature_names_in"])
        for name in FITTED:
            setattr(estimator, name, document["fitted"][name])
        return estimator

    @property
    def _n_features_out(self) -> int:
        return len(self.weights_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


def _with_ones(covariates: Any, expected: int | None) -> np.ndarray:
    """theta with a column of ones for the intercepts; ``expected`` columns, where a fit has had them."""
    theta = np.asarray(check_array(covariates, dtype="float64", input_name="covariates"))
    if expected is not None and theta.shape[1] != expected:
        raise ValueError(f"covariates must be the {expected} that the fit had; got {theta.shape[1]} columns.")
    return np.hstack([theta, np.ones((len(theta), 1))])
