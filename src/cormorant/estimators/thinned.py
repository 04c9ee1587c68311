"""Poisson factorisation thinned by covariates, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from cormorant.backends.compiled import single_blas_thread
from cormorant.backends.select import select_backend
from cormorant.data import Counts
from cormorant.estimators.chains import pooled, record_of
from cormorant.estimators.effects import Effects, effects_of_draws
from cormorant.estimators.fitted import count_used, shares, warn_if_truncated
from cormorant.estimators.inputs import to_counts, to_rows
from cormorant.estimators.known_rows import CovariatesMixin
from cormorant.estimators.misplaced import refuse_misplaced
from cormorant.estimators.parameters import Chains, check_callbacks, check_count, check_number, make_generator
from cormorant.estimators.prediction import PredictionMixin
from cormorant.estimators.progress import bars_of
from cormorant.estimators.thinned_chains import ThinnedFit, counterparts, mean_atoms, sampled_correlation
from cormorant.estimators.thinned_storage import ThinnedStorageMixin
from cormorant.inference import fit as loop
from cormorant.inference.rows import Rows
from cormorant.inference.thinned import ThinnedGibbs, ThinnedGlobals, ThinnedPosterior
from cormorant.models.thinned import Thinning

COUNTS = ("n_components", "n_chains", "n_sweeps", "n_samples")


class ThinnedPoissonFactorization(
    PredictionMixin,
    CovariatesMixin,
    ThinnedStorageMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Poisson factorisation whose components come and go with covariates:

        y_ui ~ Poisson(e_u sum_k w_k z_uk a_ki),   z_uk ~ Bernoulli(sigmoid(theta_u . l_k + b_k))

    Every method that looks at rows takes their `covariates`: a data frame, of which `formula` says what to take, or
    rows x columns of numbers. theta are their columns, centred and scaled by the rows of the fit.

    Args:
        n_components: Truncation T: the most components there can be.
        formula: What to take of a data frame of covariates, for example "~ bs(age, df=4) + C(sex)"; None: every column.
        alpha: Mass of the gamma process of the weights: w_k ~ Gamma(alpha / T, c).
        a0: Concentration of the atoms' Dirichlet prior, of each column; None: learned.
        sigma_l2: Prior variance of what a standard deviation of a covariate does to the log odds of a component.
        sigma_b2: Prior variance of the log odds themselves.
        a_c: Shape of the prior of c.
        b_c: Its rate.
        n_chains: Chains of the sampler; predictions average over all.
        n_sweeps: Sweeps of each chain, of which the first half is dropped.
        n_samples: Posterior samples kept of each chain, evenly spaced over the rest.
        callbacks: Functions called with (info, state) after every epoch of a start and every sweep.
        random_state: Seed, for results that repeat.
        n_jobs: Threads, of `fit` and of whatever is asked of the fitted model: None is one, -1 every core that the
            process may use, -2 all but one. It may change at any time (`set_params`); the results do not depend on it.
        verbose: Whether to show a progress bar.

    Attributes:
        components_: E a, components x columns; each sums to one. In falling order of the counts that they hold.
        weights_: E w: counts that a component brings to a row that has it.
        usage_: Share of the counts that each component holds.
        n_components_used_: The fewest components that together hold 99% of the counts.
        covariate_names_: Names of the columns of theta.
        covariate_effects_: Components x covariates: what a unit of a covariate adds to the log odds.
        covariate_effects_interval_: 90% credible intervals of those, 2 x components x covariates.
        intercepts_: E b, the log odds of a row whose covariates are at the fit's means.
        locations_: E l, components x covariates: what a standard deviation of a covariate adds to the log odds.
        correlation_: rho_km = l_k . S l_m / sqrt(l_k . S l_k  l_m . S l_m), what the covariates make components share,
            S being the covariance of theta over the rows of the fit; mean over the samples of chains that found both.
        correlation_interval_: 90% credible intervals of those, 2 x components x components.
        samples_: Posterior samples, a list a chain, the components of each matched to the first's. What covariates do
            (effects, intercepts, locations, correlations, `inclusion`) is of all chains that found a component; what
            components are (`components_`, `weights_`, `usage_`) and `transform` of the first chain.
        diagnostics_: Effective sample size ("ess") and split R-hat ("rhat") of summaries that labels do not touch.
        traces_: Those summaries after every sweep that is not dropped: a dict of lists a chain.
        history_: One dict an epoch or sweep.
        n_epochs_: How many they are.
        stop_reason_: Why the fit ended, in a sentence.
        interrupted_: Whether that was Ctrl-C.
        n_rows_seen_: Rows that were fitted.
        held_out_rows_: Positions of rows that were held out before the fit, where the command line did that.
        row_names_: Names of the rows of X, if they had any.
        column_names_: Names of the columns, if they had any.
    """

    model: ClassVar[type[Thinning]] = Thinning

    def __init__(
        self,
        n_components: int = 20,
        *,
        formula: str | None = None,
        alpha: float = 1.0,
        a0: float | None = None,
        sigma_l2: float = 4.0,
        sigma_b2: float = 4.0,
        a_c: float = 1.0,
        b_c: float = 0.01,
        n_chains: int = 2,
        n_sweeps: int = 200,
        n_samples: int = 20,
        callbacks: Sequence[loop.Callback] = (),
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.formula = formula
        self.alpha = alpha
        self.a0 = a0
        self.sigma_l2 = sigma_l2
        self.sigma_b2 = sigma_b2
        self.a_c = a_c
        self.b_c = b_c
        self.n_chains = n_chains
        self.n_sweeps = n_sweeps
        self.n_samples = n_samples
        self.callbacks = callbacks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # Fitting

    def fit(self, X: Any, y: Any = None, *, covariates: Any = None, exposure: Any = None, **misplaced: Any) -> Self:
        """Fit the model to a count matrix and the covariates of its rows.

        Args:
            X: Rows x columns: Counts, a SciPy sparse matrix, an array, a data frame or AnnData.
            y: Ignored; scikit-learn's pipelines pass it.
            covariates: What is known of the rows, without which there is no fit: a data frame, or rows x columns of
                numbers. Rows are matched by their order; a data frame whose index has the names of the rows of X, but
                in another order, is refused.
            exposure: Known size factor of each row.
            **misplaced: Refused: parameters of the model, such as `formula`, belong to the constructor.
        """
        refuse_misplaced(self, "fit", misplaced)
        self._check_parameters()
        counts = to_counts(self, X, reset=True)
        self._learn_encoding(covariates, counts, first=True)
        rows = self._to_rows(counts, exposure, None, covariates)
        assert rows.covariates is not None  # `_learn_encoding` insists on them
        size = Chains(self.n_chains, self.n_sweeps, self.n_samples, most_chains=self.n_chains)
        work = ThinnedFit(self._gibbs(), rows, self._hyper(), self.n_components, size)
        with single_blas_thread(), bars_of(self) as bars:
            runs = work.run(make_generator(self.random_state), [*bars.values(), *self.callbacks])
            if not runs:  # interrupted before there was anything
                raise KeyboardInterrupt
            self.column_names_, self.row_names_ = counts.column_names, counts.row_names
            self.n_rows_seen_, self.held_out_rows_ = counts.n_rows, np.array([], dtype=np.int64)
            self._finish(work.gather(runs), np.cov(rows.covariates[:, :-1], rowvar=False, bias=True))
            self._record(**record_of(runs))
            self._row_weights = None  # until they are known: an interrupt leaves a model that is whole
            self._row_weights = self._first_chain.moments(rows)[0]
        warn_if_truncated(self.n_components_used_, self.n_components, "components")
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return E x of the rows."""
        self.fit(X, y, **fit_params)
        return None if self._row_weights is None else self._row_weights.copy()

    def _check_parameters(self) -> None:
        """Refuse what is wrong with the parameters whatever data will come."""
        for name in COUNTS:
            check_count(name, getattr(self, name))
        check_callbacks(self.callbacks)
        self._hyper()

    @property
    def _samples_counts(self) -> bool:
        """Whether a fit of whole numbers would sample."""
        return True

    def _hyper(self) -> Thinning:
        given = {f.name: getattr(self, f.name) for f in fields(Thinning) if getattr(self, f.name) is not None}
        for name, value in given.items():
            check_number(name, value)
        return Thinning(**given)

    def _gibbs(self) -> ThinnedGibbs:
        return ThinnedGibbs(select_backend(self.n_jobs), learns_a0=self.a0 is None)

    def _finish(self, chains: list[list[ThinnedGlobals]], covariance: np.ndarray) -> None:
        """Public attributes, the components in falling order of the counts that they hold."""
        order = np.argsort(-np.mean([g.held_counts for g in chains[0]], axis=0), kind="stable")
        chains = [[g.reorder(order) for g in chain] for chain in chains]
        first = chains[0]
        self.samples_, self._covariance = chains, np.atleast_2d(covariance)
        self.components_ = np.ascontiguousarray(mean_atoms(first).T)
        self.weights_ = np.mean([g.weights for g in first], axis=0)
        self.usage_ = shares(np.mean([g.held_counts for g in first], axis=0))
        self.n_components_used_ = count_used(self.usage_)
        coefficients = self._pooled([np.stack([g.coefficients for g in chain]) for chain in chains]).mean(axis=0)
        self.locations_, self.intercepts_ = coefficients[:, :-1].copy(), coefficients[:, -1].copy()
        found = sampled_correlation(chains, self._covariance)
        self.correlation_, self.correlation_interval_ = found[0], found[1:]
        assert self._encoding is not None  # a fit has covariates
        effects = self._effects(relative=False)
        self.covariate_names_ = np.array(self._encoding.names, dtype=object)
        self.covariate_effects_ = effects.mean
        self.covariate_effects_interval_ = np.stack([effects.low, effects.high])

    def _effects(self, relative: bool, level: float = 0.9) -> Effects:
        """Effects per unit of the covariates, from the samples of all chains."""
        draws = self._pooled([self._effect_draws(chain, relative) for chain in self.samples_])
        return effects_of_draws(draws, len(self.weights_), level)

    def _pooled(self, draws: list[np.ndarray]) -> np.ndarray:
        """Draws of each chain, samples x components x covariates, one after the other."""
        return pooled(draws, [known[:, None] for known in counterparts(self.samples_)])

    def _effect_draws(self, samples: Iterable[ThinnedGlobals], relative: bool = False) -> np.ndarray:
        """Effects in each sample of a chain, samples x components x covariates; they are log odds, relative to none."""
        if relative:
            raise ValueError(
                "relative must be False (or None): effects on log odds are those of one component, and nothing that "
                "covariates do to all alike is to be taken out."
            )
        return self._per_unit(np.stack([g.locations for g in samples]))

    def _record(
        self, traces: Any, diagnostics: Any, history: Iterable[loop.Info], reason: str, interrupted: bool
    ) -> None:
        """What happened on the way, and why it ended."""
        self.traces_, self.diagnostics_ = traces, diagnostics
        self.history_ = [asdict(info) for info in history]
        self.n_epochs_, self.stop_reason_, self.interrupted_ = len(self.history_), reason, interrupted

    # Looking at rows

    @property
    def _posterior(self) -> ThinnedPosterior:
        return ThinnedPosterior(self._gibbs(), self.samples_)

    @property
    def _first_chain(self) -> ThinnedPosterior:
        return ThinnedPosterior(self._gibbs(), self.samples_[:1])

    def inclusion(self, covariates: Any) -> np.ndarray:
        """P(z = 1) of rows with these covariates, whatever they show, by all chains: rows x components.

        A chain that has not found a component says nothing of it; there the first chain stands in, as for the effects.
        """
        check_is_fitted(self)
        assert self._encoding is not None  # a fit has covariates
        theta = _with_ones(self._encoding.encode(covariates, len(covariates)))
        first, *others = (np.mean([expit(g.field(theta)) for g in chain], axis=0) for chain in self.samples_)
        told = (np.where(known, mean, first) for mean, known in zip(others, counterparts(self.samples_), strict=True))
        return np.average([first, *told], axis=0, weights=[len(chain) for chain in self.samples_])

    def transform(  # pyright: ignore[reportIncompatibleMethodOverride] (there is no mask)
        self, X: Any, *, exposure: Any = None, covariates: Any = None, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """E x = E w z of each row, rows x components; with ``return_std`` also its standard deviation."""
        rows = self._rows(X, exposure, None, covariates)
        with single_blas_thread():
            mean, variance = self._first_chain.moments(rows)
        return (mean, np.sqrt(variance)) if return_std else mean

    def _to_rows(self, counts: Counts, exposure: Any, mask: Any, covariates: Any) -> Rows:
        """Rows with their covariates, a column of ones last."""
        if mask is not None:
            raise ValueError(f"mask must be left out: {type(self).__name__} takes every entry for observed. Fit CNPF.")
        if not counts.is_integer and np.any(counts.data % 1.0):
            raise ValueError(
                f"X must have whole numbers, since {type(self).__name__} samples; it has fractions. Round X."
            )
        return to_rows(counts, exposure, None, _with_ones(self._theta(covariates, counts)))

    def _partly_shown(self, rows: Rows, hidden: Counts) -> Rows:
        """Rows of which a share of the entries is shown were looked at for that share of their exposure.

        w_k says how many counts to expect, and what is hidden would otherwise speak against every component. The share
        is that of all rows: how much of one row is hidden is not to be known.
        """
        share = rows.counts.nnz / max(rows.counts.nnz + hidden.nnz, 1)
        sizes = np.ones(rows.n_rows) if rows.exposure is None else rows.exposure
        return replace(rows, exposure=max(share, np.finfo(float).tiny) * sizes)

    @property
    def _n_features_out(self) -> int:
        return len(self.weights_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


def _with_ones(theta: np.ndarray | None) -> np.ndarray:
    """theta with a column of ones for the intercepts."""
    assert theta is not None  # a fit has covariates
    return np.hstack([theta, np.ones((len(theta), 1))])
