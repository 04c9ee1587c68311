"""Draws of the shared quantities given sums over rows: the sampler's counterparts of the updates in `globals`."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import gammaln

from cormorant.inference.globals import BASE_PRIOR, WEIGHT_FLOOR, stick_shapes, sticks_of

A0_PRIOR = (1.0, 1.0)  # gamma: shape and rate, where a0 is learned
SIGMA_L2_PRIOR = (1.0, 0.05)  # inverse gamma: shape and scale, where sigma_l^2 is learned
SIGMA_M2_PRIOR = (1.0, 0.05)  # the same of sigma_m^2
ORDERS = 10  # proposals a sweep; each costs next to nothing


def draw_slice(log_density: Callable[[float], float], at: float, rng: np.random.Generator, width: float = 1.0) -> float:
    """One step of slice sampling on the line: step out, then shrink (Neal 2003)."""
    level = log_density(at) + math.log(1.0 - rng.random())
    low = at - width * rng.random()
    high = low + width
    while log_density(low) > level:
        low -= width
    while log_density(high) > level:
        high += width
    while True:
        proposal = low + (high - low) * rng.random()
        if log_density(proposal) > level:
            return proposal
        low, high = (proposal, high) if proposal < at else (low, proposal)


def _log_expit(z: float) -> float:
    return -math.log1p(math.exp(-z)) if z > 0 else z - math.log1p(math.exp(z))


def draw_stick(up: float, down: float, loss: float, v: float, rng: np.random.Generator) -> float:
    """logit v ~ v^up (1 - v)^down exp(-loss v), the Jacobian counted in."""

    def log_density(z: float) -> float:
        log_v = _log_expit(z)
        return up * log_v + down * (log_v - z) - loss * math.exp(log_v)

    return draw_slice(log_density, math.log(v) - math.log1p(-v), rng, width=2.0)


def draw_order(weights: np.ndarray, order: np.ndarray, power: float | None, rng: np.random.Generator) -> np.ndarray:
    """Which component has which stick, given the weights; None of a power: they are exchangeable as they are.

    Which of the components comes first is nothing that the data know of. Left as it was at the start, a large component
    far down the sticks would keep all before it from vanishing. Without truncation the order is size-biased: the next
    is drawn from those left in proportion to their weights. So proposed, with v_k ~ Beta(1 - sigma, alpha + k sigma)
    and the T-th taking what is left, the ratio of densities is that of (weight of the last) ^ (alpha + T sigma).
    """
    if power is None:
        return order
    log_w = np.log(np.maximum(weights, WEIGHT_FLOOR))
    for _ in range(ORDERS):
        proposed = np.argsort(-log_w - rng.gumbel(size=len(log_w)), kind="stable")
        if math.log(1.0 - rng.random()) < power * (log_w[proposed[-1]] - log_w[order[-1]]):
            order = proposed
    return order


def draw_weights(
    tables: np.ndarray,
    log_one: np.ndarray,
    weights: np.ndarray,
    alpha: float,
    c: float,
    rng: np.random.Generator,
    total_shape: float | None = None,
    discount: float = 0.0,
) -> np.ndarray:
    """s, then every stick, given sum_k (tables_k log w_k - log_one_k w_k): w_k = s v_k prod_{j<k} (1 - v_j).

    s ~ Gamma(alpha, c), or Gamma(total_shape, c), is conjugate. With pi_k the share of stick k, v_k sees the loss
    v_k log_one_k + (1 - v_k) (mean loss of the later sticks), times s and what the earlier sticks left.
    """
    total, sticks = sticks_of(np.maximum(weights, WEIGHT_FLOOR))
    share = weights / weights.sum()
    shape = alpha if total_shape is None else total_shape
    total = rng.gamma(shape + tables.sum()) / (c + share @ log_one)
    later_tables = np.cumsum(tables[::-1])[::-1] - tables
    later_loss = np.zeros(len(sticks))
    for k in range(len(sticks) - 2, -1, -1):
        later_loss[k] = sticks[k + 1] * log_one[k + 1] + (1.0 - sticks[k + 1]) * later_loss[k + 1]
    up, down = stick_shapes(len(sticks) - 1, alpha, discount)
    drawn = np.empty(len(sticks))
    log_left = math.log(total)
    for k in range(len(sticks) - 1):
        loss = math.exp(log_left) * (log_one[k] - later_loss[k])
        v = min(max(float(sticks[k]), 1e-12), 1.0 - 1e-12)
        z = draw_stick(tables[k] + up, later_tables[k] + down[k], loss, v, rng)
        drawn[k] = log_left + _log_expit(z)
        log_left += _log_expit(-z)
    drawn[-1] = log_left
    return np.maximum(np.exp(drawn), WEIGHT_FLOOR)


def draw_alpha(
    weights: np.ndarray, alpha: float, c: float, a_alpha: float, b_alpha: float, rng: np.random.Generator
) -> float:
    """The mass of the gamma process given s ~ Gamma(alpha, c) and v_k ~ Beta(1, alpha); a slice of log alpha."""
    total, sticks = sticks_of(weights)
    rest = np.log(np.cumsum(weights[::-1])[::-1])
    slope = math.log(c * total) + float((rest[1:] - rest[:-1]).sum()) - b_alpha
    power = a_alpha + len(sticks) - 1.0

    def log_density(log_alpha: float) -> float:
        value = math.exp(log_alpha)
        return power * log_alpha + slope * value - float(gammaln(value))

    return math.exp(draw_slice(log_density, math.log(alpha), rng))


def draw_alpha_of_sticks(weights: np.ndarray, a_alpha: float, b_alpha: float, rng: np.random.Generator) -> float:
    """The same where the sticks alone know of alpha, which makes it conjugate."""
    rest = np.log(np.cumsum(weights[::-1])[::-1])
    return float(rng.gamma(a_alpha + len(rest) - 1.0) / (b_alpha + rest[0] - rest[-1]))


def draw_c(weights: np.ndarray, alpha: float, a_c: float, b_c: float, rng: np.random.Generator) -> float:
    """The rate of the gamma process given s."""
    return float(rng.gamma(a_c + alpha) / (b_c + weights.sum()))


def draw_a0(tables: float, exposure: np.ndarray, b0: float, rng: np.random.Generator) -> float:
    """The atoms' shape with the atoms summed out, given the tables of their counts and x (columns x components)."""
    shape, rate = A0_PRIOR
    return float(rng.gamma(shape + tables) / (rate + np.log1p(exposure / b0).sum()))


def draw_base(tables: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The base measure given the tables of each column: shares ~ Dirichlet(BASE_PRIOR + tables), their mean one."""
    shares = rng.gamma(BASE_PRIOR + tables)
    return shares / shares.mean()


def draw_a0_given_scale(
    tables: float, n_columns: int, totals: np.ndarray, scaled: np.ndarray, a0: float, rng: np.random.Generator
) -> float:
    """The same given the scales, ``scaled`` = b0 A, with the profiles alone summed out; a slice of log a0.

    A_k ~ Gamma(I a0, b0) and its C_k counts (``totals``) leave (b0 A_k)^(I a0) / Gamma(I a0 + C_k).
    """
    shape, rate = A0_PRIOR
    slope = n_columns * float(np.log(scaled).sum()) - rate

    def log_density(log_a0: float) -> float:
        value = math.exp(log_a0)
        return (shape + tables) * log_a0 + slope * value - float(gammaln(n_columns * value + totals).sum())

    return math.exp(draw_slice(log_density, math.log(a0), rng, width=0.1))


def inverse_gamma(prior: tuple[float, float], n: float, squares: float, rng: np.random.Generator) -> float:
    """A variance given n numbers of that variance and the sum of their squares."""
    return float((prior[1] + 0.5 * squares) / rng.gamma(prior[0] + 0.5 * n))


def draw_sigma_l2(locations: np.ndarray, rng: np.random.Generator) -> float:
    """The variance of the locations."""
    return inverse_gamma(SIGMA_L2_PRIOR, locations.size, float((locations**2).sum()), rng)


def draw_sigma_m2(
    n_rows: float, squares: float, of_level: np.ndarray, sigma_g2: float, rng: np.random.Generator
) -> float:
    """The variance of mu_u given sum_u (mu_u - Gamma_mu theta_u)^2, and Gamma_mu ~ N(0, sigma_g^2 sigma_m^2)."""
    return inverse_gamma(SIGMA_M2_PRIOR, n_rows + of_level.size, squares + float((of_level**2).sum()) / sigma_g2, rng)
