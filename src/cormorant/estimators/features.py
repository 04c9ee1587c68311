"""Latent features as scikit-learn estimators: binary features of rows that go together or avoid each other."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from cormorant.backends.compiled import single_blas_thread
from cormorant.backends.select import select_backend
from cormorant.data import Counts, Matrix, as_matrix
from cormorant.estimators.chains import diagnose
from cormorant.estimators.feature_chains import matched, sampled_correlation
from cormorant.estimators.feature_inputs import frame_columns, to_table
from cormorant.estimators.feature_parameters import FIRST, check_parameters, given
from cormorant.estimators.feature_prediction import FeaturePredictionMixin
from cormorant.estimators.feature_storage import FeatureStorageMixin
from cormorant.estimators.fitted import warn_if_truncated
from cormorant.estimators.misplaced import ADVICE_ON_FEATURES, refuse_misplaced
from cormorant.estimators.parameters import make_generator
from cormorant.estimators.progress import bars_of
from cormorant.inference import fit as loop
from cormorant.inference.features import start as starts
from cormorant.inference.features.gibbs import Chain, FeatureGibbs
from cormorant.inference.features.likelihoods import LIKELIHOODS as SAMPLED
from cormorant.inference.features.samples import FeatureCollector, RowAverage, summarise
from cormorant.inference.features.state import FeatureGlobals, Table, as_rows
from cormorant.inference.features.structured import FeatureStructured
from cormorant.inference.state import State
from cormorant.measures import component_correlation
from cormorant.models.features import FEATURE_MODELS, LatentFeatures

logger = logging.getLogger("cormorant")
HELD = 10  # sweeps in which a chain keeps the z of its start, while atoms of another likelihood find their place


class FeatureModel(
    FeaturePredictionMixin, FeatureStorageMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Parameters and fitting, shared by the feature models; see `BetaBernoulliFeatures` for their meaning."""

    model: ClassVar[LatentFeatures]

    def __init__(
        self,
        n_components: int = 50,
        n_dims: int = 5,
        *,
        likelihood: str = "gaussian",
        inference: str = "gibbs",
        mass: float | None = None,
        concentration: float | None = None,
        sigma_l2: float | None = None,
        atom_variance: float | None = None,
        n_starts: int = 4,
        n_chains: int = 1,
        n_sweeps: int = 200,
        n_samples: int = 20,
        max_epochs: int = 200,
        tol: float = 1e-5,
        patience: int = 3,
        callbacks: Sequence[loop.Callback] = (),
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.n_dims = n_dims
        self.likelihood = likelihood
        self.inference = inference
        self.mass = mass
        self.concentration = concentration
        self.sigma_l2 = sigma_l2
        self.atom_variance = atom_variance
        self.n_starts = n_starts
        self.n_chains = n_chains
        self.n_sweeps = n_sweeps
        self.n_samples = n_samples
        self.max_epochs = max_epochs
        self.tol = tol
        self.patience = patience
        self.callbacks = callbacks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # Fitting

    def fit(self, X: Any, y: Any = None, *, mask: Any = None, **misplaced: Any) -> Self:
        """Fit the model to a matrix.

        Args:
            X: Rows x columns: an array, a data frame, a SciPy sparse matrix (whose zeros are observed zeros) or Counts.
                NaN marks an entry that is missing.
            y: Ignored; scikit-learn's pipelines pass it.
            mask: Rows x columns, true (or nonzero) at further entries to treat as missing.
            **misplaced: Refused: what models of counts take, such as `covariates`, and parameters of the model.
        """
        refuse_misplaced(self, "fit", misplaced, ADVICE_ON_FEATURES)
        self._check_parameters()
        table = to_table(self, X, mask, self.likelihood, reset=True)
        self.row_names_, self.column_names_ = _names(X)
        rng = make_generator(self.random_state)
        with single_blas_thread(), bars_of(self) as bars:
            callbacks = [*bars.values(), *self.callbacks]
            (self._sample if self.inference == "gibbs" else self._solve)(table, rng, callbacks)
        self.n_rows_seen_ = table.n_rows
        warn_if_truncated(self.n_components_used_, self.n_components, "features")
        return self

    def _check_parameters(self) -> None:
        """Refuse what is wrong with the parameters whatever data will come."""
        check_parameters(self)

    @property
    def _samples_counts(self) -> bool:
        """Whether a fit of whole numbers would sample."""
        return self.inference == "gibbs"

    def _given(self) -> starts.Given:
        numbers = {
            name: float(first if (value := given(self, name)) is None else value) for name, first in FIRST.items()
        }
        return starts.Given(self.n_components, self._n_dims, **numbers, atom_variance=self.atom_variance)

    @property
    def _n_dims(self) -> int:
        return self.n_dims if self.model.has_locations else 0

    def _gibbs(self) -> FeatureGibbs:
        learns = frozenset(name for name in FIRST if given(self, name) is None)
        backend = select_backend(self.n_jobs)
        return FeatureGibbs(self.model, SAMPLED[self.likelihood], backend, learns, has_field=self._n_dims > 0)

    def _structured(self) -> FeatureStructured:
        return FeatureStructured(self.model, self.likelihood, select_backend(self.n_jobs))

    def _sample(self, table: Table, rng: np.random.Generator, callbacks: list[loop.Callback]) -> None:
        """Chains of the sampler, each from the best of a few linear-Gaussian fits of its own."""
        gibbs: Any = self._gibbs()
        settings = loop.Settings(self.n_sweeps, 0.0, 1, "nothing", unit="sweep")
        plan = starts.full_plan(table.n_rows)
        chains: list[list[FeatureGlobals]] = []
        traces, history, reason, interrupted = [], [], "", False
        row_weights = None
        for number in range(1, self.n_chains + 1):
            begin = starts.best_start(
                self.model, gibbs.backend, self._given(), table, self.n_starts, rng, callbacks
            )  # fmt: skip
            g: Any = starts.translated(self.likelihood, _globals(begin.state), table, self._given())
            g = replace(g, covariance=None)  # a draw has no q(a)
            collector = FeatureCollector(self.n_sweeps, self.n_samples)
            history += begin.history
            if begin.interrupted:
                interrupted, reason, end = True, begin.reason, g
            else:
                memory = starts.drawn_rows(begin, rng)
                average = RowAverage(memory, self.n_sweeps)
                ran = loop.run(
                    gibbs, State(g, Chain(rng, HELD)), as_rows(table), plan, settings, rng, memory=memory,
                    callbacks=[collector, *([average] if number == 1 else []), *callbacks],
                    stage=f"chain {number} of {self.n_chains}",
                )  # fmt: skip
                interrupted, reason, end = ran.interrupted, ran.reason, _globals(ran.state)
                history += ran.history
                row_weights = average.mean if number == 1 else row_weights
            chains.append(collector.samples or [end])
            traces.append(collector.traces)
            if interrupted:
                break
        self.traces_ = [t for t in traces if t]
        self.diagnostics_ = diagnose(self.traces_)
        self._finish(summarise(self.model, chains[0]), chains, row_weights)
        self._record(history, reason, interrupted)

    def _solve(self, table: Table, rng: np.random.Generator, callbacks: list[loop.Callback]) -> None:
        """Structured inference, from the best of a few linear-Gaussian fits."""
        scheme: Any = self._structured()
        outcome = starts.best_start(self.model, scheme.backend, self._given(), table, self.n_starts, rng, callbacks)
        history = list(outcome.history)
        if not outcome.interrupted:
            state = starts.settled(scheme, outcome, table, self._given(), rng)
            settings = loop.Settings(self.max_epochs, self.tol, self.patience, "bound")
            outcome = loop.run(
                scheme, state, as_rows(table), starts.full_plan(table.n_rows), settings, rng, callbacks=callbacks,
                memory=outcome.memory,
            )  # fmt: skip
            history += outcome.history
        self.diagnostics_, self.traces_ = {}, []
        beliefs = outcome.memory.get(np.arange(table.n_rows))
        self._finish(_globals(outcome.state), [], None if beliefs is None else beliefs.rho)
        self._record(history, outcome.reason, outcome.interrupted)

    def _finish(
        self,
        g: FeatureGlobals,
        chains: list[list[FeatureGlobals]],
        row_weights: np.ndarray | None,
        reorder: bool = True,
    ) -> None:
        """Public attributes, the features in falling order of how many rows show them.

        ``row_weights`` are P(z = 1) of the rows, where they are known.
        """
        if reorder:
            order = np.argsort(-g.usage, kind="stable")
            g = g.reorder(order)
            chains = [[sample.reorder(order) for sample in chain] for chain in chains[:1]] + chains[1:]
            row_weights = None if row_weights is None else row_weights[:, order].astype(np.float32)
        self._row_weights = row_weights
        self._globals, self.samples_ = g, matched(chains)
        self.components_ = np.ascontiguousarray(g.atoms[:, 1:].T)
        self.background_ = np.ascontiguousarray(g.atoms[:, 0])
        self.weights_ = self.model.weights(g.log_odds)
        self.locations_ = g.locations
        self._set_correlation()
        self.usage_ = g.usage
        self.mass_, self.concentration_, self.sigma_l2_ = g.mass, g.concentration, g.sigma_l2
        self.noise_ = g.noise
        used = [int((sample.usage > 0).sum()) for sample in chains[0]] if chains else [int((g.usage > 1e-3).sum())]
        self.n_components_used_ = int(np.median(used))

    def _set_correlation(self) -> None:
        """rho of the locations or, where they were sampled, its mean over the samples, with an interval."""
        self.correlation_ = component_correlation(self.locations_)
        self.__dict__.pop("correlation_interval_", None)
        if self.samples_ and self.locations_.shape[1]:
            found = sampled_correlation(self.samples_)
            self.correlation_, self.correlation_interval_ = found[0], found[1:]

    def _record(self, history: Sequence[loop.Info], reason: str, interrupted: bool) -> None:
        self.history_ = [asdict(info) for info in history]
        bounds = [info.bound for info in history if info.bound is not None]
        self.bound_ = bounds[-1] if bounds and self.inference == "structured" else None
        self.n_epochs_, self.stop_reason_, self.interrupted_ = len(self.history_), reason, interrupted

    @property
    def _n_features_out(self) -> int:
        return len(self.weights_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = self.likelihood != "gaussian"
        return tags


class BetaBernoulliFeatures(FeatureModel):
    """Correlated beta-Bernoulli features: z_nk ~ Bernoulli(sigmoid(logit w_k + F_nk)), F_nk = l_k . d_n.

    A row shows background plus the atoms of its features: s_ni = a_0i + sum_k z_nk a_ki, with y ~ N(s, sigma_y^2),
    Poisson(s) or Bernoulli(sigmoid(s)).

    Args:
        n_components: Truncation T: the most features there can be. The data decide how many are in use.
        n_dims: Dimension D of the locations, which carry the correlations.
        likelihood: "gaussian" (real numbers), "poisson" (counts) or "bernoulli" (zeros and ones).
        inference: "gibbs" (the exact sampler, which predicts best) or "structured" (variational; not for counts).
        mass: Mass of the process, the expected number of features of a row; None: learned by the sampler (structured
            inference keeps 5).
        concentration: Concentration of the beta process, or rate of the gamma process; None: learned by the sampler
            (structured inference keeps 1).
        sigma_l2: Prior variance of the locations; None: learned by the sampler (structured inference keeps 1).
        atom_variance: sigma_a^2; None: learned for real numbers, 1 for binary data (learned there, it runs away and
            predictions become too sure). Not for counts.
        n_starts: Linear-Gaussian fits to choose a start from, by their bounds.
        n_chains: Chains of the sampler; predictions average over all.
        n_sweeps: Sweeps of each chain, of which the first half is dropped.
        n_samples: Posterior samples kept of each chain, evenly spaced over the rest of its sweeps.
        max_epochs: Most passes over the rows by structured inference.
        tol: Smallest relative improvement of the bound that counts as one.
        patience: Passes without an improvement before structured inference stops.
        callbacks: Functions called with (info, state) after every pass or sweep.
        random_state: Seed, for results that repeat.
        n_jobs: Threads, of `fit` and of whatever is asked of the fitted model: None is one, -1 every core that the
            process may use, -2 all but one. It may change at any time (`set_params`); the results do not depend on it.
        verbose: Whether to show a progress bar.

    Attributes:
        components_: E a, features x columns, in falling order of how many rows show a feature.
        background_: E a_0, what a row without features shows (a logit, for binary data).
        weights_: E w, one a feature.
        usage_: Share of the rows that show each feature.
        n_components_used_: Features that some row shows (a median over the samples).
        locations_: l, features x D.
        correlation_: rho_km = l_k . l_m / (|l_k| |l_m|), where sampled its mean over the samples of all chains.
        correlation_interval_: 90% credible intervals around `correlation_` (2 x T x T), where it was sampled.
        mass_: Mass of the process.
        concentration_: Its concentration.
        sigma_l2_: Variance of the locations.
        noise_: sigma_y^2, of real numbers; 1 otherwise.
        samples_: Posterior samples, a list a chain, the features of each matched to those of the first; empty unless
            sampled. Predictions and correlations average over all, the other attributes above and `transform` over the
            first chain.
        diagnostics_: Effective sample size ("ess") and split R-hat ("rhat") of summaries that labels do not touch.
        traces_: Those summaries after every sweep that is not dropped: a dict of lists a chain.
        bound_: Last evidence lower bound of structured inference.
        history_: One dict a pass or sweep: its stage, seconds, bound.
        n_epochs_: How many they are.
        stop_reason_: Why the fit ended, in a sentence.
        interrupted_: Whether that was Ctrl-C.
        n_rows_seen_: Rows that were fitted.
        row_names_: Names of the rows, if they had any.
        column_names_: Names of the columns, if they had any.
    """

    model = FEATURE_MODELS["beta-features"]


class GammaBernoulliFeatures(FeatureModel):
    """Correlated gamma-Bernoulli features: z_nk ~ Bernoulli(w_k e^F_nk / (1 + w_k e^F_nk)), F_nk = l_k . d_n.

    Parameters and attributes as for `BetaBernoulliFeatures`.
    """

    model = FEATURE_MODELS["gamma-features"]


class IBP(FeatureModel):
    """The beta-Bernoulli process, z_nk ~ Bernoulli(w_k), whose rows are an Indian buffet process.

    `BetaBernoulliFeatures` without locations: features come independently. Parameters and attributes as there, less
    those of the locations.
    """

    model = FEATURE_MODELS["ibp"]

    def __init__(
        self,
        n_components=50,
        *,
        likelihood="gaussian",
        inference="gibbs",
        mass=None,
        concentration=None,
        atom_variance=None,
        n_starts=4,
        n_chains=1,
        n_sweeps=200,
        n_samples=20,
        max_epochs=200,
        tol=1e-5,
        patience=3,
        callbacks=(),
        random_state=None,
        n_jobs=None,
        verbose=False,
    ):
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        super().__init__(**given)


def _globals(state: State) -> FeatureGlobals:
    g: Any = state.globals
    return g


def _names(X: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Names of the rows and of the columns; a data frame names all its columns, by numbers too."""
    if not isinstance(X, Counts | Matrix) and not hasattr(X, "columns"):
        return None, None
    named = as_matrix(X)
    columns = named.column_names
    if columns is None and hasattr(X, "columns") and not isinstance(X, Counts | Matrix):
        columns = frame_columns(X)
    return named.row_names, columns


FEATURE_ESTIMATORS: dict[str, type[FeatureModel]] = {
    cls.model.name: cls for cls in (BetaBernoulliFeatures, GammaBernoulliFeatures, IBP)
}
