"""scikit-learn's latent Dirichlet allocation (variational)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import LatentDirichletAllocation

from cormorant.data import Counts

from ..scoring import Pair, column_mean, fall_back
from .base import Effort, Peer, Setting, grid

PASSES = {"online": 20, "batch": 50}


@dataclass(frozen=True)
class FittedLDA:
    model: LatentDirichletAllocation
    mean: np.ndarray

    def pairs(self, observed: Counts) -> list[Pair]:
        topics = self.model.components_ / self.model.components_.sum(axis=1, keepdims=True)
        return [fall_back(self.model.transform(observed.tocsr(copy=True)), topics, observed, self.mean)]


class ScikitLDA(Peer):
    name = "scikit-learn LDA"
    package, module = "scikit-learn", "sklearn"
    fold_in = "`transform` with the topics at their posterior means; the column mean for rows that show nothing"

    def settings(self, effort: Effort) -> list[Setting]:
        # The package's own prior, 1 / components, is poor where little of a row is seen.
        return grid(n_components=effort.components, doc_topic_prior=(None, 0.1, 0.5), learning_method=tuple(PASSES))

    def fit(self, train: Counts, seed: int, *, learning_method: str, **setting: Any) -> FittedLDA:
        options = {"max_iter": PASSES[learning_method], "batch_size": 512} | setting
        model = LatentDirichletAllocation(learning_method=learning_method, random_state=seed, n_jobs=1, **options)
        return FittedLDA(model.fit(train.tocsr(copy=True)), column_mean(train))
