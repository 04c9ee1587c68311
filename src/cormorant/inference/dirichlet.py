"""Atoms that sum to one, a_k ~ Dirichlet(a0, .., a0): what differs from gamma atoms (see `globals` and `draws`).

Given the rows, the log density of a_k is sum_i (a0 + c_ki - 1) log a_ki. Where entries are missing, a row's normaliser
leaves them out, and with e_ki = sum_u E x_uk over the rows that looked at column i a term -sum_i e_ki a_ki joins in;
only differences of the e_ki matter, so it may as well be sum_i m_ki a_ki with ``m = lacking(e) >= 0``.
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from cormorant.inference.draws import A0_PRIOR


def mean_log(shape: np.ndarray) -> np.ndarray:
    """E log a of q(a_k) = Dirichlet(shape), columns x components."""
    return digamma(shape) - digamma(shape.sum(axis=0))


def log_prior_and_entropy(shape: np.ndarray, a0: np.ndarray | float) -> float:
    """E log p(a) - E log q(a); a0 is one, or one a column."""
    n = len(shape)
    prior = shape.shape[1] * (gammaln(n * np.mean(a0)) - n * np.mean(gammaln(a0)))
    entropy = gammaln(shape).sum() - gammaln(shape.sum(axis=0)).sum()
    return float(prior + entropy + ((a0 - shape) * mean_log(shape)).sum())


def lacking(exposure: np.ndarray) -> np.ndarray:
    """m_ki = max_j e_kj - e_ki: how much less than the best looked-at column a column was looked at."""
    return exposure.max(axis=0) - exposure


def update_shape(target: np.ndarray, lacking: np.ndarray, shape: np.ndarray, halvings: int = 30) -> np.ndarray:
    """One step towards the mode of E sum_i [(target_i - shape_i) log a_i + m_i a_i] + entropy, from ``shape``.

    A natural gradient, shape + t (target + G^-1 grad E[m . a] - shape) with G the Fisher information, is shortened
    until nothing falls, component by component; without missing entries the mode itself is ``target``.
    """
    total = shape.sum(axis=0)
    mean = shape / total
    slope = (lacking - (lacking * mean).sum(axis=0)) / total
    # G = diag(trigamma(shape)) - trigamma(total): its inverse by Sherman and Morrison.
    diagonal, common = polygamma(1, shape), polygamma(1, total)
    weighted = (slope / diagonal).sum(axis=0)
    pull = (slope + common * weighted / (1.0 - common * (1.0 / diagonal).sum(axis=0))) / diagonal
    move, value = target + pull - shape, _value(target, lacking, shape)
    step = np.ones(shape.shape[1])
    for halving in range(halvings):
        new = shape + step * move
        better = _value(target, lacking, np.maximum(new, 1e-300)) >= value
        worse = ~(better & (new > 0).all(axis=0))
        if not worse.any():
            break
        step[worse] *= 0.5 if halving < halvings - 1 else 0.0  # at last such a component stays where it was
    return shape + step * move


def _value(target: np.ndarray, lacking: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """What `update_shape` raises, of each component."""
    total = shape.sum(axis=0)
    entropy = gammaln(shape).sum(axis=0) - gammaln(total)
    return ((target - shape) * mean_log(shape) + lacking * shape / total).sum(axis=0) + entropy


def update_a0(shape: np.ndarray, a0: float) -> float:
    """a0 for fixed q(a): psi(a0) - psi(I a0) = mean of E log a, by Newton in log a0."""
    n, target = len(shape), float(mean_log(shape).mean())
    if n == 1:
        return a0  # the one atom there can be says nothing
    for _ in range(200):
        slope = a0 * (polygamma(1, a0) - n * polygamma(1, n * a0))
        step = (target - digamma(a0) + digamma(n * a0)) / slope
        a0 *= float(np.exp(np.clip(step, -1.0, 1.0)))
        if abs(step) < 1e-12:
            break
    return a0


def update_a0_collapsed(tables: float, totals: np.ndarray, n_columns: int, a0: float) -> float:
    """The same with a summed out: tables over I sum_k (psi(I a0 + C_k) - psi(I a0)), as `globals` has it."""
    loss = (digamma(n_columns * a0 + totals) - digamma(n_columns * a0)).sum()
    return float((tables + 1e-3) / (n_columns * loss + 1e-3))


def draw_a0(tables: float, totals: np.ndarray, n_columns: int, a0: float, rng: np.random.Generator) -> float:
    """a0 with the atoms summed out, given the tables of their counts, and eta_k ~ Beta(I a0, C_k)."""
    shape, rate = A0_PRIOR
    loss = -np.log(np.maximum(rng.beta(n_columns * a0, totals[totals > 0]), 1e-300)).sum()
    return float(rng.gamma(shape + tables) / (rate + n_columns * loss))
