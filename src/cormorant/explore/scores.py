"""How much a column says of a component: four scores, each components x columns.

With p(i | k) = a_ki / sum_j a_kj and p(i) = sum_k share_k p(i | k), where the share of a feature is that of the rows
that show it, and atoms that are real numbers count as far as they are positive (of zeros and ones a_ki is what a
feature adds to the chance of a one),

    mean        a_ki, how often the component shows the column
    lift        p(i | k) / p(i), how much more often than the data at large; rare columns win
    frex        1 / ((1 - v) / F_k(p(i | k)) + v / F_k(p(i | k) / sum_m p(i | m))), frequent and exclusive at once
                (Bischof and Airoldi 2012): F_k is the share of columns of component k with at most that value
    divergence  p(i | k) log(p(i | k) / p(i)), what the column adds to KL(component || data at large)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cormorant.explore.fitted import FittedModel, added

EXCLUSIVITY = 0.5  # v of frex: the say of being exclusive against being frequent


def column_scores(model: FittedModel, by: str = "mean") -> np.ndarray:
    """A score of every column for every component.

    Args:
        model: A fitted estimator.
        by: "mean", "lift", "frex" or "divergence".
    """
    check_score(by)
    return SCORES[by](model)


def check_score(by: str) -> None:
    """Refuse names that are not those of scores."""
    if by not in SCORES:
        raise ValueError(f"by must be one of {', '.join(SCORES)}; got {by!r}.")


def probabilities(model: FittedModel) -> np.ndarray:
    """p(i | k) = a_ki / sum_j a_kj: where a count of component k falls; what an atom takes away does not count."""
    positive = np.maximum(added(model), 0.0)
    return positive / np.maximum(positive.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def overall_probabilities(model: FittedModel) -> np.ndarray:
    """p(i) = sum_k share_k p(i | k): where a count of the data at large falls."""
    return model.usage_ @ probabilities(model) / model.usage_.sum()


def mean(model: FittedModel) -> np.ndarray:
    """a_ki; of features of zeros and ones what they add to the chance of a one (`fitted.added`)."""
    return added(model)


def lift(model: FittedModel) -> np.ndarray:
    """p(i | k) / p(i); zero for a column that no component shows."""
    p, overall = probabilities(model), overall_probabilities(model)
    return np.divide(p, overall, out=np.zeros_like(p), where=overall > 0)


def frex(model: FittedModel) -> np.ndarray:
    """Harmonic mean of the ranks of frequency and exclusivity within the component, in (0, 1]."""
    p = probabilities(model)
    total = p.sum(axis=0)
    exclusivity = np.divide(p, total, out=np.zeros_like(p), where=total > 0)
    return 1.0 / ((1.0 - EXCLUSIVITY) / _distribution(p) + EXCLUSIVITY / _distribution(exclusivity))


def divergence(model: FittedModel) -> np.ndarray:
    """p(i | k) log(p(i | k) / p(i))."""
    ratio = lift(model)
    return probabilities(model) * np.log(ratio, out=np.zeros_like(ratio), where=ratio > 0)


def _distribution(values: np.ndarray) -> np.ndarray:
    """Share of a row's values that are at most as large as each."""
    from scipy.stats import rankdata

    return rankdata(values, method="max", axis=1) / values.shape[1]


SCORES: dict[str, Callable[[FittedModel], np.ndarray]] = {
    "mean": mean,
    "lift": lift,
    "frex": frex,
    "divergence": divergence,
}
