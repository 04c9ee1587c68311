"""Cormorant's own models at their defaults, and the column mean, which knows nothing of rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cormorant.backends.compiled import single_blas_thread
from cormorant.data import Counts, as_counts
from cormorant.estimators import ESTIMATORS, TruncationWarning
from cormorant.estimators.factorization import Factorization
from cormorant.estimators.inputs import to_rows

from ..scoring import Pair, column_mean
from .base import Effort, Peer, Setting


@dataclass(frozen=True)
class FittedCormorant:
    model: Factorization

    def pairs(self, observed: Counts) -> Iterator[Pair]:
        """What its own perplexity is made of: a pair for each posterior sample."""
        with single_blas_thread():
            for weights, atoms in self.model._posterior.pairs(to_rows(observed, None, None)):
                yield weights, atoms.T


class Cormorant(Peer):
    """A model of ours at its defaults: nothing is chosen."""

    package = module = "cormorant"
    fold_in = (
        "a short chain of the row through each posterior sample, or the mean of the solutions of structured fits that "
        "were kept"
    )
    is_repeated = True
    model = "cnpf"

    def settings(self, effort: Effort) -> list[Setting]:
        return [{"n_components": effort.truncation}]

    def fit(self, train: Counts, seed: int, **setting: Any) -> FittedCormorant:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruncationWarning)
            return FittedCormorant(ESTIMATORS[self.model](random_state=seed, n_jobs=1, **setting).fit(train))

    def warm_up(self) -> None:
        few = as_counts(np.random.default_rng(0).poisson(1.0, (60, 20)))
        fitted = self.fit(few, 0, n_components=3, n_sweeps=2, max_epochs=2)
        list(fitted.pairs(few))


class CNPF(Cormorant):
    name = "cormorant CNPF"
    model = "cnpf"


class ScaledHGP(Cormorant):
    name = "cormorant scaled HGP"
    model = "scaled-hgp"


class HGP(Cormorant):
    name = "cormorant HGP"
    model = "hgp"


class DILN(Cormorant):
    name = "cormorant DILN"
    model = "diln"


class HDP(Cormorant):
    name = "cormorant HDP"
    model = "hdp"


@dataclass(frozen=True)
class FittedUnigram:
    mean: np.ndarray

    def pairs(self, observed: Counts) -> list[Pair]:
        return [(np.ones((observed.n_rows, 1)), self.mean[None])]


class Unigram(Peer):
    name = "column mean"
    package = module = "cormorant"
    fold_in = "none: every row is predicted alike"

    def settings(self, effort: Effort) -> list[Setting]:
        return [{}]

    def fit(self, train: Counts, seed: int, **setting: Any) -> FittedUnigram:
        return FittedUnigram(column_mean(train))
