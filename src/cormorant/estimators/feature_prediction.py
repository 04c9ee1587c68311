"""What a fitted feature model says of rows: their features, their missing entries, how likely hidden ones were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from cormorant.backends.compiled import single_blas_thread
from cormorant.estimators.feature_inputs import to_table
from cormorant.estimators.misplaced import ADVICE_ON_FEATURES, refuse_misplaced
from cormorant.inference.features.predictive import (
    FeaturePosterior,
    RowPrediction,
    SampledFeatures,
    SolvedFeatures,
    predict,
)
from cormorant.inference.features.state import Table
from cormorant.models.features import signal_mean


class FeaturePredictionMixin(TransformerMixin):  # which sees to `set_output` of a `transform` that a class itself has
    """`transform`, `predict_mean`, `impute` and the scores of the feature models."""

    if TYPE_CHECKING:
        likelihood: str
        components_: np.ndarray
        background_: np.ndarray
        samples_: Any
        _globals: Any
        _gibbs: Any
        _structured: Any

    @property
    def _posterior(self) -> FeaturePosterior:
        if self.samples_:
            return SampledFeatures(self._gibbs(), self.samples_)
        return SolvedFeatures(self._structured(), self._globals)

    def _predict(self, table: Table, at: np.ndarray | None = None) -> RowPrediction:
        with single_blas_thread():
            return predict(self._posterior, table, at)

    def _table(self, X: Any, mask: Any) -> Table:
        check_is_fitted(self)
        return to_table(self, X, mask, self.likelihood, reset=False)

    def transform(self, X: Any, *, mask: Any = None, **misplaced: Any) -> np.ndarray:
        """P(z = 1) of each row, rows x features. Arguments that only models of counts have are refused."""
        refuse_misplaced(self, "transform", misplaced, ADVICE_ON_FEATURES)
        return self._predict(self._table(X, mask)).probability

    def inverse_transform(self, X: Any) -> np.ndarray:
        """E y from features z (or their probabilities), rows x columns, at the posterior mean of the atoms."""
        check_is_fitted(self)
        z = np.asarray(X, dtype=np.float64)
        if z.ndim != 2 or z.shape[1] != len(self.components_):
            raise ValueError(f"X must be rows x {len(self.components_)} features, got shape {z.shape}.")
        return signal_mean(self.likelihood, self.background_ + z @ self.components_)

    def predict_mean(self, X: Any, *, mask: Any = None) -> np.ndarray:
        """E y of every entry given the row's observed ones, rows x columns; for binary data, the chance of a one."""
        return self._predict(self._table(X, mask)).mean

    def impute(self, X: Any, *, mask: Any = None) -> np.ndarray:
        """X with its missing entries (NaN, or true in ``mask``) replaced by what `predict_mean` says of them."""
        table = self._table(X, mask)
        return np.where(table.observed, table.values, self._predict(table).mean)

    def log_likelihood(self, X: Any, held_out: Any) -> float:
        """Mean log predictive density of the entries that ``held_out`` marks, given the row's other entries.

        Entries that are NaN are missing and are not scored.
        """
        whole = self._table(X, None)
        hidden = ~self._table(X, held_out).observed & whole.observed
        if not hidden.any():
            raise ValueError("there is nothing to predict: held_out marks no entry that X has.")
        seen = whole.observed & ~hidden
        found = self._predict(Table(np.where(seen, whole.values, 0.0), seen), whole.values)
        assert found.log_density is not None  # values were given
        return float(found.log_density[hidden].mean())

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log predictive density of one random half of each row's entries given the other (a fixed seed)."""
        table = self._table(X, None)
        hidden = np.random.default_rng(0).random(table.values.shape) < 0.5
        if not (hidden & table.observed).any():  # a table of one or two entries
            hidden[:] = True
        return self.log_likelihood(np.where(table.observed, table.values, np.nan), hidden)
