"""What a fitted model says of rows: their weights, their rates, what they would show next, how well it predicts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from cormorant.backends.compiled import single_blas_thread
from cormorant.data import Counts, split_entries
from cormorant.estimators.inputs import to_counts, to_rows
from cormorant.estimators.parameters import check_count
from cormorant.inference.predictive import column_probabilities, log_likelihood
from cormorant.inference.rows import Rows

if TYPE_CHECKING:
    import pandas as pd

DENSE_ENTRIES = 1 << 21  # rates held at a time when whole rows are ranked


class PredictionMixin(TransformerMixin):
    """Methods of a fitted factorisation that look at rows; the globals stay as they are."""

    if TYPE_CHECKING:
        model: ClassVar[Any]
        _point_posterior: Any
        _posterior: Any
        _theta: Any
        components_: np.ndarray
        column_names_: np.ndarray | None

    def transform(
        self, X: Any, *, exposure: Any = None, mask: Any = None, covariates: Any = None, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """E x of each row, rows x components; with ``return_std`` also its standard deviation.

        Normalised models (`DILN`, `HDP`) give the proportions pi = x / sum x in place of x: rows sum to one. A model
        that was fitted with covariates needs those of the rows, here and below, coded as in `fit`.
        """
        rows = self._rows(X, exposure, mask, covariates)
        with single_blas_thread():
            found = self._point_posterior.moments(rows, return_std)
        return (found.mean, np.sqrt(found.variance)) if found.variance is not None else found.mean

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rates sum_k x_k a_k from weights x, rows x columns, per unit of exposure (probabilities from proportions)."""
        check_is_fitted(self)
        x = check_array(X, accept_sparse=True, dtype="numeric", input_name="X")
        if x.shape[1] != len(self.components_):
            raise ValueError(f"X must be rows x {len(self.components_)} components, got shape {x.shape}.")
        return x @ self.components_

    def column_probabilities(
        self, X: Any, *, exposure: Any = None, mask: Any = None, covariates: Any = None
    ) -> np.ndarray:
        """Probability that a further count of a row falls in each column, rows x columns; each row sums to one."""
        rows = self._rows(X, exposure, mask, covariates)
        with single_blas_thread():
            return column_probabilities(self._posterior, rows)

    def top_columns(
        self, X: Any, n: int = 10, exclude_seen: bool = True, *, exposure: Any = None, covariates: Any = None
    ) -> pd.DataFrame:
        """The n likeliest columns of each row, by default among those it has not shown: row, rank, column, probability.

        Columns and rows are named where the data have names.
        """
        import pandas as pd

        check_count("n", n)
        rows = self._rows(X, exposure, None, covariates)
        n = min(int(n), self.components_.shape[1])
        size = max(1, DENSE_ENTRIES // self.components_.shape[1])
        parts = [
            self._top_of_block(rows, slice(first, min(first + size, rows.n_rows)), n, exclude_seen)
            for first in range(0, rows.n_rows, size)
        ]
        table = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
        for key, names in (("row", rows.counts.row_names), ("column", self.column_names_)):
            if names is not None:
                table[key] = names[table[key]]
        return pd.DataFrame(table)

    def _top_of_block(self, rows: Rows, block: slice, n: int, exclude_seen: bool):
        part = rows.counts.rows(block)
        with single_blas_thread():
            probability = column_probabilities(self._posterior, rows.take(np.arange(block.start, block.stop)))
        shown = probability.copy()
        if exclude_seen:
            shown[np.repeat(np.arange(part.n_rows), np.diff(part.indptr)), part.indices] = -1.0
        best = np.argsort(-shown, axis=1, kind="stable")[:, :n]
        keep = np.take_along_axis(shown, best, axis=1) >= 0.0
        rank = np.broadcast_to(np.arange(1, n + 1), best.shape)
        row = np.broadcast_to(np.arange(block.start, block.stop)[:, None], best.shape)
        value = np.take_along_axis(probability, best, axis=1)
        return {"row": row[keep], "rank": rank[keep], "column": best[keep], "probability": value[keep]}

    def perplexity(
        self, X: Any, observed: float = 0.1, *, random_state: int = 0, exposure: Any = None, covariates: Any = None
    ) -> float:
        """The paper's held-out perplexity: part of each row's entries is observed, the rest predicted.

        Args:
            X: Rows that the fit did not see.
            observed: Share of a row's nonzero entries that is observed.
            random_state: Seed of the split.
            exposure: Known size factor of each row.
            covariates: Of the rows, if the model was fitted with covariates.
        """
        return float(np.exp(-self._held_out(self._rows(X, exposure, None, covariates), observed, random_state)))

    def score(self, X: Any, y: Any = None, *, exposure: Any = None, covariates: Any = None) -> float:
        """Log likelihood per count of one random half of each row's entries given the other (a fixed seed)."""
        return self._held_out(self._rows(X, exposure, None, covariates), 0.5, 0)

    def _held_out(self, rows: Rows, observed: float, seed: int) -> float:
        seen, test = split_entries(rows.counts, observed, seed)
        with single_blas_thread():
            return log_likelihood(self._posterior, self._partly_shown(replace(rows, counts=seen), test), test)

    def _partly_shown(self, rows: Rows, hidden: Counts) -> Rows:
        """Rows of which some is hidden, as the model is to see them; most learn a row's scale from what it shows."""
        return rows

    def _rows(self, X: Any, exposure: Any, mask: Any, covariates: Any) -> Rows:
        check_is_fitted(self)
        return self._to_rows(to_counts(self, X, reset=False), exposure, mask, covariates)

    def _to_rows(self, counts: Counts, exposure: Any, mask: Any, covariates: Any) -> Rows:
        """Rows for inference; a normalised model has no use for exposures, and one without locations for covariates."""
        if exposure is not None and self.model.normalised:
            raise ValueError(
                f"{type(self).__name__} is normalised: it takes the total of a row as given, so an exposure would "
                "cancel. Leave exposure out, or fit CNPF."
            )
        return to_rows(counts, exposure, mask, self._theta(covariates, counts))
