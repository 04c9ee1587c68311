"""scikit-learn's latent Dirichlet allocation (variational)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import LatentDirichletAllocation

from cormorant.data import Counts

from ..scoring import Pair, column_mean, fall_back
from .base import Effort, Peer, Setting, grid

PASSES = 10  # with more it gets worse where a tenth of a row is seen


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
        return grid(n_components=effort.components, doc_topic_prior=(None, 0.5))

    def fit(self, train: Counts, seed: int, **setting: Any) -> FittedLDA:
        options = {"learning_method": "online", "max_iter": PASSES, "batch_size": 512} | setting
        model = LatentDirichletAllocation(random_state=seed, n_jobs=1, **options)
        return FittedLDA(model.fit(train.tocsr(copy=True)), column_mean(train))
