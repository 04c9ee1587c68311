"""One score for every package: the perplexity of `cormorant.evaluation`, from weights and atoms of whatever model.

A package gives pairs (x, a): weights of the held-out rows, rows x components, and atoms, components x columns. The next
count of row u falls in column i with probability

    p_ui = mean over the pairs of  sum_k x_uk a_ki / sum_j sum_k x_uk a_kj,

normalised over all columns; several chains of a sampler are several pairs. Then

    perplexity = exp( - sum_ui y_ui log p_ui / sum_ui y_ui )      over the test entries y_ui.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from cormorant.data import Counts

Pair = tuple[np.ndarray, np.ndarray]
BLOCK = 256  # rows whose probabilities of all columns are held at a time


class Fitted(Protocol):
    """A fitted model of any package."""

    def pairs(self, observed: Counts) -> Iterable[Pair]:
        """Weights of these rows and atoms, a pair for each posterior sample the package has."""
        ...


def entry_probabilities(pairs: Iterable[Pair], test: Counts) -> np.ndarray:
    """p_ui at the entries of ``test``, in row-major order."""
    total, n = np.zeros(test.nnz), 0
    for weights, atoms in pairs:
        total += _rates(weights / (weights @ atoms.sum(axis=1))[:, None], atoms, test)
        n += 1
    return total / n


def perplexity(probability: np.ndarray, test: Counts) -> float:
    """exp of minus the mean log probability of the test counts."""
    return float(np.exp(-(test.data @ logarithm(probability)) / test.total))


def logarithm(probability: np.ndarray) -> np.ndarray:
    """Minus infinity of an entry that a model rules out, which makes its perplexity infinite."""
    with np.errstate(divide="ignore"):
        return np.log(probability)


def row_sums(log: np.ndarray, test: Counts) -> np.ndarray:
    """sum_i y_ui log p_ui of each row, from log p at the entries of ``test``."""
    rows = np.repeat(np.arange(test.n_rows), np.diff(test.indptr))
    return np.bincount(rows, test.data * log, test.n_rows)


def column_mean(train: Counts) -> np.ndarray:
    """Share of each column in the training counts: the unigram."""
    return train.column_totals() / train.total


def fall_back(
    weights: np.ndarray, atoms: np.ndarray, observed: Counts, mean: np.ndarray, pseudo_counts: float = 0.0
) -> Pair:
    """Mix the column mean in, as one more atom with the share m / (m + N_u) of a row that shows N_u counts.

    With m = 0 it stands in for rows that show nothing and leaves the others alone: for packages that learn no prior of
    a row's weights. With m > 0 it is for those whose sparse factors rule columns out altogether.
    """
    total = weights @ atoms.sum(axis=1)
    usable = (np.diff(observed.indptr) > 0) & (total > 0)
    shown = observed.row_totals()
    share = np.where(usable, pseudo_counts / np.where(usable, pseudo_counts + shown, 1.0), 1.0)
    scaled = np.where(usable[:, None], weights, 0.0) * ((1.0 - share) / np.where(usable, total, 1.0))[:, None]
    return np.column_stack([scaled, share]), np.vstack([atoms, mean])


def _rates(weights: np.ndarray, atoms: np.ndarray, test: Counts) -> np.ndarray:
    """sum_k weights_uk atoms_ki at the entries of ``test``."""
    found = np.empty(test.nnz)
    lengths = np.diff(test.indptr)
    for first in range(0, test.n_rows, BLOCK):
        last = min(first + BLOCK, test.n_rows)
        entries = slice(test.indptr[first], test.indptr[last])
        row = np.repeat(np.arange(last - first), lengths[first:last])
        found[entries] = (weights[first:last] @ atoms)[row, test.indices[entries]]
    return found
