"""gensim's latent Dirichlet allocation and hierarchical Dirichlet process (both online variational)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from cormorant.data import Counts

from ..scoring import Pair, column_mean, fall_back
from .base import Effort, Peer, Setting, grid, row_entries


def corpus(counts: Counts) -> list[list[tuple[int, int]]]:
    """Rows as gensim takes them: lists of (column, count)."""
    return [list(zip(columns.tolist(), y.tolist(), strict=True)) for columns, y in row_entries(counts)]


def vocabulary(counts: Counts) -> Any:
    """A dictionary in which word i is column i."""
    from gensim.corpora import Dictionary

    return Dictionary.from_corpus([[(i, 1)] for i in range(counts.n_columns)])


@dataclass(frozen=True)
class FittedLDA:
    model: Any
    mean: np.ndarray | None  # None: the prior of a row's topics was learned

    def pairs(self, observed: Counts) -> list[Pair]:
        gamma, _ = self.model.inference(corpus(observed))  # a row that shows nothing keeps the prior
        gamma, topics = np.asarray(gamma, dtype=np.float64), np.asarray(self.model.get_topics(), dtype=np.float64)
        return [(gamma, topics) if self.mean is None else fall_back(gamma, topics, observed, self.mean)]


class GensimLDA(Peer):
    name = "gensim LDA"
    package = module = "gensim"
    fold_in = "`inference`, the topics fixed; rows that show nothing from the prior where it is learned, else the mean"

    def settings(self, effort: Effort) -> list[Setting]:
        return grid(num_topics=effort.components, alpha=("auto", 0.5))

    def fit(self, train: Counts, seed: int, **setting: Any) -> FittedLDA:
        from gensim.models import LdaModel

        # Steps of 2,000 rows at most, all alike: where the last of two had but a few hundred, topics were those of
        # these few. Few rows all at once: 1.4% to 2% better than steps of 2,000 on validation rows (pbmc_facs).
        n_steps = 1 if train.n_rows < 4000 else math.ceil(train.n_rows / 2000)
        chunk = math.ceil(train.n_rows / n_steps)
        options = {"eta": "auto", "passes": 10, "iterations": 100, "eval_every": None, "chunksize": chunk} | setting
        model = LdaModel(corpus(train), id2word=vocabulary(train), random_state=seed, **options)
        return FittedLDA(model, None if options["alpha"] == "auto" else column_mean(train))


@dataclass(frozen=True)
class FittedHDP:
    model: Any

    def pairs(self, observed: Counts) -> list[Pair]:
        gamma = np.array(self.model.inference(corpus(observed)), dtype=np.float64)
        gamma[np.diff(observed.indptr) == 0] = self.model.lda_alpha  # gensim leaves zeros
        return [(gamma, np.asarray(self.model.get_topics(), dtype=np.float64))]


class GensimHDP(Peer):
    name = "gensim HDP"
    package = module = "gensim"
    fold_in = "`inference` by the LDA that the HDP amounts to; rows that show nothing from its prior"

    def settings(self, effort: Effort) -> list[Setting]:
        return grid(eta=(0.01, 0.1))

    def fit(self, train: Counts, seed: int, **setting: Any) -> FittedHDP:
        from gensim.models import HdpModel

        chunk = min(256, max(16, train.n_rows // 20))
        steps = max(150, 2 * -(-train.n_rows // chunk))  # two passes at least
        options = {"chunksize": chunk, "max_chunks": steps} | setting
        return FittedHDP(HdpModel(corpus(train), vocabulary(train), random_state=seed, **options))
