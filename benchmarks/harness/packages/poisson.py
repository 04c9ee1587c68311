"""Poisson factorisations: hpfrec (hierarchical, variational) and poismf (penalised maximum likelihood)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from cormorant.data import Counts

from ..scoring import Pair, column_mean, fall_back
from .base import Effort, Peer, Setting, grid, row_entries

PSEUDO_COUNTS = (1.0, 5.0, 20.0)


@dataclass(frozen=True)
class FittedFactors:
    """Item factors fixed; a row's factors are found one row at a time, as both packages do."""

    model: Any
    atoms: np.ndarray
    mean: np.ndarray
    pseudo_counts: tuple[float, ...] = (0.0,)  # of the column mean that is mixed in; several are averaged

    def pairs(self, observed: Counts) -> list[Pair]:
        weights = np.zeros((observed.n_rows, len(self.atoms)))
        for u, (columns, y) in enumerate(row_entries(observed)):
            if len(columns):
                weights[u] = self.factors(columns, y)
        return [fall_back(weights, self.atoms, observed, self.mean, m) for m in self.pseudo_counts]

    @abstractmethod
    def factors(self, columns: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Weights of one row."""


class FittedHPF(FittedFactors):
    def factors(self, columns: np.ndarray, y: np.ndarray) -> np.ndarray:
        shown = pd.DataFrame({"ItemId": columns, "Count": y})
        return self.model.predict_factors(shown, maxiter=100, stop_thr=1e-4)


class FittedPoisMF(FittedFactors):
    def factors(self, columns: np.ndarray, y: np.ndarray) -> np.ndarray:
        try:
            return self.model.predict_factors((columns.astype(np.int64), y.astype(np.float64)))
        except ValueError:  # it found none: the row is predicted from the column mean
            return np.zeros(len(self.atoms))


class HPFRec(Peer):
    name = package = module = "hpfrec"
    fold_in = "`predict_factors`, the item factors fixed; the column mean for rows that show nothing"

    def settings(self, effort: Effort) -> list[Setting]:
        return grid(k=effort.components)

    def fit(self, train: Counts, seed: int, **setting: Any) -> FittedHPF:
        import hpfrec

        filled = train.rows(np.flatnonzero(np.diff(train.indptr)))  # it takes no empty rows
        y = filled.tocsr().tocoo()
        model = hpfrec.HPF(
            ncores=1, reindex=False, verbose=False, random_seed=seed, keep_data=False, produce_dicts=False, **setting,
        )  # fmt: skip
        model.fit(pd.DataFrame({"UserId": y.row, "ItemId": y.col, "Count": y.data}))
        return FittedHPF(model, np.array(model.Beta).T, column_mean(train))


class PoisMF(Peer):
    name = package = module = "poismf"
    fold_in = (
        "`predict_factors`, mixed with the column mean (1, 5 and 20 pseudo-counts, averaged): its sparse factors rule "
        "columns out"
    )

    def settings(self, effort: Effort) -> list[Setting]:
        return grid(k=effort.components, l2_reg=(10.0, 1000.0))

    def fit(self, train: Counts, seed: int, **setting: Any) -> FittedPoisMF:
        import poismf

        model = poismf.PoisMF(reindex=False, nthreads=1, use_float=False, random_state=seed, **setting)
        model.fit(train.tocsr().tocoo().astype(np.float64))
        return FittedPoisMF(model, np.array(model.B.T), column_mean(train), PSEUDO_COUNTS)
