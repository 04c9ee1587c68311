"""Rows that are given to be looked at: their counts, and their covariates where the model was fitted with any."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cormorant.data import Counts, as_counts
from cormorant.estimators.covariates import taken
from cormorant.explore.fitted import has_features

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class GivenRows:
    """Rows, and what the model says of them; whoever explores rows asks the model here."""

    model: Any
    counts: Counts
    covariates: Any = None

    @classmethod
    def of(cls, model: Any, X: Any, covariates: Any = None) -> GivenRows:
        """The rows of X; what is wrong with them or their covariates is said now, not when a row is asked for."""
        if not has_features(model):
            return cls(model, model._rows(X, None, None, covariates).counts, covariates)
        if covariates is not None:
            raise ValueError(f"covariates must be left out: {type(model).__name__} takes none.")
        return cls(model, as_counts(X))

    def take(self, rows: Any) -> GivenRows:
        """Those at these places."""
        known = taken(self.covariates, rows, self.counts.n_rows)
        return replace(self, counts=self.counts.rows(rows), covariates=known)

    def weights(self) -> np.ndarray:
        """E x, rows x components."""
        return np.asarray(self.model.transform(self.counts, **self._told))

    def moments(self, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        """E x and the standard deviations of x; options are those of `transform`."""
        mean, std = self.model.transform(self.counts, return_std=True, **self._told, **options)
        return np.asarray(mean), np.asarray(std)

    def top_columns(self, n: int) -> pd.DataFrame:
        """The columns that each row would show next."""
        return self.model.top_columns(self.counts, n, **self._told)

    @property
    def _told(self) -> dict[str, Any]:
        """Covariates as an argument; none where there are none, since not every model knows the word."""
        return {} if self.covariates is None else {"covariates": self.covariates}


def given_rows(model: Any, X: Any, covariates: Any) -> GivenRows | None:
    """The rows of X, or None where there is no X: then those that the fit saw are meant, which it knows already."""
    if X is not None:
        return GivenRows.of(model, X, covariates)
    if covariates is not None:
        raise ValueError("covariates must be left out where X is: they are those of its rows.")
    return None
