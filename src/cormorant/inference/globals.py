"""Updates of the shared quantities from sums over rows: weights and sticks, alpha, c, atoms, locations, priors.

Each function is one coordinate ascent step on the bound; arrays in, arrays out.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import betaln, digamma, expit, gammaln, log_expit, polygamma

# Far below what any row can show; keeps logarithms and digammas finite.
WEIGHT_FLOOR = 1e-10
BASE_PRIOR = 1.0  # of each column, in the Dirichlet prior of the base measure's shares


def sticks_of(weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Total s and sticks v of w_k = s v_k prod_{j<k} (1 - v_j), with v_T = 1: one to one."""
    rest = np.cumsum(weights[::-1])[::-1]
    return float(rest[0]), weights / rest


def weights_of(total: float, sticks: np.ndarray) -> np.ndarray:
    """Inverse of ``sticks_of``."""
    left = np.concatenate([[1.0], np.cumprod(1.0 - sticks[:-1])])
    return total * sticks * left


def _log_sticks(weights: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """s, log v_k and log(1 - v_k) for k < T."""
    rest = np.cumsum(weights[::-1])[::-1]
    return float(rest[0]), np.log(weights[:-1] / rest[:-1]), np.log(rest[1:] / rest[:-1])


def stick_shapes(n_sticks: int, alpha: float, discount: float) -> tuple[float, np.ndarray]:
    """The shapes of v_k ~ Beta(1 - sigma, alpha + k sigma), k = 1 .. n: those of a gamma process if sigma = 0."""
    return 1.0 - discount, alpha + discount * np.arange(1, n_sticks + 1)


def log_prior_weights(
    weights: np.ndarray, alpha: float, c: float, total_shape: float | None = None, discount: float = 0.0
) -> float:
    """Log density of (log s, logit v), with the Jacobian: Gamma(s | alpha, c) prod_{k<T} Beta(v_k | `stick_shapes`).

    In those coordinates the density is bounded; in v itself it is not, for alpha < 1. With a ``total_shape``,
    s ~ Gamma(total_shape, c), whatever alpha (here and in ``update_weights``).
    """
    total, log_v, log_rest = _log_sticks(weights)
    shape = alpha if total_shape is None else total_shape
    up, down = stick_shapes(len(log_v), alpha, discount)
    log_s = shape * np.log(c) - gammaln(shape) + shape * np.log(total) - c * total
    return float(log_s - betaln(up, down).sum() + up * log_v.sum() + down @ log_rest)


def expected_tables(n: np.ndarray, w: np.ndarray, collapsed: bool) -> np.ndarray:
    """Tables t with log Gamma(w + n) - log Gamma(w) >= t log w + const, equal at this w: t = w (psi(w + n) - psi(w)).

    For 0 < n < 1 that surrogate can lie slightly above; a step to its mode is an improvement all the same.

    An expected count n stands for a random whole number N. ``collapsed`` averages over it: with N about Poisson,
    P(N > 0) = 1 - exp(-n), and t = P w (psi(w + n / P) - psi(w)). Without that, a row that shows a hundredth of a
    count would seat a good part of a table, and the weights would grow far too large.
    """
    if not collapsed:
        return w * (digamma(w + n) - digamma(w))
    positive = -np.expm1(-n)
    given_positive = np.where(n > 1e-12, n / np.maximum(positive, 1e-300), 1.0)
    return positive * w * (digamma(w + given_positive) - digamma(w))


def _stick_objective(
    tables: np.ndarray, log_one: np.ndarray, alpha: float, c: float, total_shape: float, discount: float = 0.0
):
    """Minus the objective of ``update_weights``, and its gradient, as a function of (log s, logit v)."""
    later = np.cumsum(tables[::-1])[::-1] - tables  # tables of later sticks
    n_tables = tables.sum()
    prior_up, prior_down = stick_shapes(len(tables) - 1, alpha, discount)
    up, down = tables[:-1] + prior_up, later[:-1] + prior_down

    def negative(z: np.ndarray) -> tuple[float, np.ndarray]:
        log_s, s = z[0], np.exp(z[0])
        log_v, log_rest, v = log_expit(z[1:]), log_expit(-z[1:]), expit(z[1:])
        w = s * np.exp(np.append(log_v, 0.0) + np.append(0.0, np.cumsum(log_rest)))
        loss = log_one * w
        loss_later = np.cumsum(loss[::-1])[::-1] - loss
        value = (n_tables + total_shape) * log_s - c * s - loss.sum() + up @ log_v + down @ log_rest
        by_logit = (up - loss[:-1]) * (1.0 - v) - (down - loss_later[:-1]) * v
        by_log_s = n_tables + total_shape - c * s - loss.sum()
        return -value, -np.append(by_log_s, by_logit)

    return negative


def update_weights(
    tables: np.ndarray,
    log_one: np.ndarray,
    weights: np.ndarray,
    alpha: float,
    c: float,
    total_shape: float | None = None,
    discount: float = 0.0,
) -> np.ndarray:
    """Mode over (log s, logit v) of sum_k (tables_k log w_k - log_one_k w_k) + log prior."""
    negative = _stick_objective(tables, log_one, alpha, c, alpha if total_shape is None else total_shape, discount)
    total, log_v, log_rest = _log_sticks(np.maximum(weights, WEIGHT_FLOOR))
    start = np.append(np.log(total), log_v - log_rest)
    solution = minimize(negative, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "maxcor": 20})
    best = solution.x if solution.fun <= negative(start)[0] else start
    sticks = np.append(expit(best[1:]), 1.0)
    return np.maximum(weights_of(float(np.exp(best[0])), sticks), WEIGHT_FLOOR)


def update_alpha(weights: np.ndarray, alpha: float, c: float, a_alpha: float, b_alpha: float) -> float:
    """Mode over log alpha, by Newton steps that at most double or halve it."""
    total, _, log_rest = _log_sticks(weights)
    slope = np.log(c) + np.log(total) + log_rest.sum() - b_alpha
    for _ in range(100):
        linear = alpha * (slope - digamma(alpha))
        gradient = linear + len(log_rest) + a_alpha
        curvature = alpha**2 * polygamma(1, alpha) - linear
        step = gradient / curvature if curvature > 0 else np.sign(gradient)
        step = float(np.clip(step, -np.log(2.0), np.log(2.0)))
        alpha *= float(np.exp(step))
        if abs(step) < 1e-12:
            break
    return alpha


def update_alpha_of_sticks(weights: np.ndarray, a_alpha: float, b_alpha: float) -> float:
    """The same where the sticks alone know of alpha: the mode over log alpha of prod_k Beta(v_k | 1, alpha)."""
    _, _, log_rest = _log_sticks(weights)
    return float((a_alpha + len(log_rest)) / (b_alpha - log_rest.sum()))


def update_c(weights: np.ndarray, alpha: float, a_c: float, b_c: float) -> float:
    """Mode over log c of Gamma(s | alpha, c) Gamma(c | a_c, b_c)."""
    return float((alpha + a_c) / (weights.sum() + b_c))


def solve_atom_total(
    shape_total: np.ndarray, b0: float, share: np.ndarray, omega: np.ndarray, log_total: np.ndarray
) -> np.ndarray:
    """A_k with b0 A_k + share_k + omega_k (log A_k - log_total_k) = sum_i shape_ki, by Newton in log A.

    ``share`` and ``omega`` are the sums over rows of (w + n) (1/2 + ...) and of omega at the old ``log_total``.
    """
    z = log_total.copy()
    for _ in range(200):
        linear = b0 * np.exp(z)
        step = (shape_total - linear - share - omega * (z - log_total)) / (linear + omega)
        z += np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-13:
            break
    return np.exp(z)


def update_a0(shape: np.ndarray, rate: np.ndarray, a0: float, b0: float) -> float:
    """Shape of the atoms' prior for fixed q(a): psi(a0) = log b0 + mean of E log a, by Newton in log a0."""
    target = np.log(b0) + float((digamma(shape) - np.log(rate)).mean())
    for _ in range(200):
        step = (target - digamma(a0)) / (a0 * polygamma(1, a0))
        a0 *= float(np.exp(np.clip(step, -1.0, 1.0)))
        if abs(step) < 1e-12:
            break
    return a0


def update_a0_collapsed(tables: float, exposure: np.ndarray, n_columns: int, b0: float) -> float:
    """The same with a summed out: tables of the counts over sum_ki log(1 + exposure / b0), where exposure = sum_u E x.

    Far fewer steps to the same place. The two small numbers are a vague prior that keeps a0 positive and finite.
    """
    per_column = 1 if exposure.ndim == 2 else n_columns
    return float((tables + 1e-3) / (per_column * np.log1p(exposure / b0).sum() + 1e-3))


def update_base(tables: np.ndarray) -> np.ndarray:
    """The base measure, given the tables of each column: its shares ~ Dirichlet(BASE_PRIOR) a priori, their mean one.

    The tables know of a0_i only by prod_i a0_i^tables_i and the sum of the a0_i, which is a0's.
    """
    shares = BASE_PRIOR + tables
    return shares / shares.mean()


def update_locations(precision: np.ndarray, linear: np.ndarray, sigma_l2: float) -> np.ndarray:
    """Exact maximiser of -l.(precision + I / sigma_l^2) l / 2 + linear . l for each component."""
    total = precision + np.eye(precision.shape[-1]) / sigma_l2
    return np.linalg.solve(total, linear[..., None])[..., 0]
