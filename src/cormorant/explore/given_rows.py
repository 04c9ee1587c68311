"""Rows that are given to be looked at: their counts, and their covariates where the model was fitted with any."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cormorant.data import as_matrix
from cormorant.estimators.covariates import taken
from cormorant.explore.fitted import has_features, largest, named

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class GivenRows:
    """Rows, and what the model says of them; whoever explores rows asks the model here."""

    model: Any
    counts: Any  # Counts; of a model of features also a Matrix
    covariates: Any = None

    @classmethod
    def of(cls, model: Any, X: Any, covariates: Any = None) -> GivenRows:
        """The rows of X; what is wrong with them or their covariates is said now, not when a row is asked for."""
        if not has_features(model):
            return cls(model, model._rows(X, None, None, covariates).counts, covariates)
        if covariates is not None:
            raise ValueError(f"covariates must be left out: {type(model).__name__} takes none.")
        matrix = as_matrix(X)
        model._table(matrix, None)
        return cls(model, matrix)

    def take(self, rows: Any) -> GivenRows:
        """Those at these places."""
        known = taken(self.covariates, rows, self.counts.n_rows)
        return replace(self, counts=self.counts.rows(rows), covariates=known)

    def weights(self) -> np.ndarray:
        """E x, rows x components; of features P(z = 1)."""
        return np.asarray(self.model.transform(self.counts, **self._told))

    def moments(self, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        """E x and the standard deviations of x; options are those of `transform`. Features have no such x."""
        mean, std = self.model.transform(self.counts, return_std=True, **self._told, **options)
        return np.asarray(mean), np.asarray(std)

    def top_columns(self, n: int) -> pd.DataFrame:
        """The columns that each row would show next; of features `expected_columns`."""
        if has_features(self.model):
            return expected_columns(self.model, self.model.predict_mean(self.counts), self._shown(), n)
        return self.model.top_columns(self.counts, n, **self._told)

    def _shown(self) -> np.ndarray:
        """Entries that a row shows already: true where one is above zero."""
        table = self.model._table(self.counts, None)
        return table.observed & (table.values > 0)

    @property
    def _told(self) -> dict[str, Any]:
        """Covariates as an argument; none where there are none, since not every model knows the word."""
        return {} if self.covariates is None else {"covariates": self.covariates}


def expected_columns(model: Any, mean: np.ndarray, shown: np.ndarray, n: int) -> pd.DataFrame:
    """Of each row the n columns with the largest E y among those that it does not show: row, rank, column, expected."""
    import pandas as pd

    if model.likelihood == "gaussian":
        raise ValueError(
            "what a row would show next is told of counts and of zeros and ones, not of real numbers; "
            "predict_mean has what is expected of every entry."
        )
    lines = []
    for u, (expected, taken_already) in enumerate(zip(mean, shown, strict=True)):
        best = [i for i in largest(np.where(taken_already, -np.inf, expected), n) if not taken_already[i]]
        columns = zip(named(model.column_names_, best), expected[best], strict=True)
        lines += [(u, rank, column, value) for rank, (column, value) in enumerate(columns, start=1)]
    return pd.DataFrame(lines, columns=["row", "rank", "column", "expected"])


def given_rows(model: Any, X: Any, covariates: Any) -> GivenRows | None:
    """The rows of X, or None where there is no X: then those that the fit saw are meant, which it knows already."""
    if X is not None:
        return GivenRows.of(model, X, covariates)
    if covariates is not None:
        raise ValueError("covariates must be left out where X is: they are those of its rows.")
    return None
