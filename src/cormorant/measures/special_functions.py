"""The two special functions that SciPy lacks: incomplete beta and gamma functions at the edge of their range."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from cormorant.measures._check import Array

LARGE = 1e6
TERMS = 50
LEVELS = 60
ORDERS = np.arange(2.0, 60.0)


def incomplete_beta_tail(w: ArrayLike, alpha: float) -> Array:
    """int_w^1 u^-1 (1 - u)^(alpha - 1) du = B(1 - w; alpha, 0), the incomplete beta function at b = 0.

    A power series where w is below 3 / (alpha + 6), so that the digits of a tiny w survive; a continued
    fraction above, where it converges fast. For a large alpha 1 - w leaves that fraction too few digits, and an
    exponential integral takes its place.
    """
    w = np.asarray(w, dtype=np.float64)
    if alpha > LARGE:
        return _exponential(w, alpha)
    low = w < 3 / (alpha + 6)
    value = np.empty_like(w)
    value[low] = _series(w[low], alpha)
    value[~low] = _fraction(w[~low], alpha)
    return value


def _series(w: Array, alpha: float) -> Array:
    """-log w - gamma - psi(alpha) - sum_{k>=1} C(alpha - 1, k) (-w)^k / k."""
    total = -np.log(w) - np.euler_gamma - special.digamma(alpha)
    term = np.ones_like(w)
    for k in range(1, TERMS + 1):
        term = -term * w * (alpha - k) / k
        total = total - term / k
    return total


def _exponential(w: Array, alpha: float) -> Array:
    """int_v^inf e^(-alpha s) (1 / s + 1/2 + s / 12) ds, v = -log(1 - w), where 1 / (1 - e^-s) has these three terms.

    What counts has s below 750 / alpha; the next term, s^3 / 720, is below rounding there.
    """
    with np.errstate(divide="ignore"):
        x = -alpha * np.log1p(-w)
    rest = np.where(x < 750, (1 / 2 + (np.minimum(x, 750) + 1) / (12 * alpha)) / alpha, 0.0)
    return special.exp1(x) + np.exp(-x) * rest


def _fraction(w: Array, alpha: float) -> Array:
    """y^alpha / alpha / (1 + d_1 / (1 + d_2 / ...)), the continued fraction of B(y; alpha, 0), y = 1 - w, from its end.

    d_{2m+1} = -(alpha + m)^2 y / ((alpha + 2m)(alpha + 2m + 1)) and
    d_{2m} = -m^2 y / ((alpha + 2m - 1)(alpha + 2m)).
    """
    value = np.ones_like(w)
    for level in range(LEVELS, 0, -1):
        m = level // 2
        top = alpha + m if level % 2 else m
        value = 1 - top / (alpha + (level - 1)) * (top / (alpha + level)) * (1 - w) / value
    with np.errstate(divide="ignore"):  # no weight is above one
        return np.exp(alpha * np.log1p(-w)) / alpha / value


def upper_gamma(log_x: ArrayLike, sigma: float) -> Array:
    """Gamma(-sigma, x) = int_x^inf u^(-1 - sigma) e^-u du for sigma in [0, 1), to full relative precision.

    By parts it is (x^-sigma e^-x - Gamma(1 - sigma, x)) / sigma, in which all digits cancel for a small sigma
    or a large x: there a power series and a continued fraction take its place.
    """
    log_x = np.asarray(log_x, dtype=np.float64)
    x = np.exp(log_x)
    low = x < 2
    value = np.empty_like(x)
    value[~low] = _gamma_fraction(x[~low], sigma)
    if sigma < 0.5:
        value[low] = _gamma_series(log_x[low], sigma)
    else:
        upper = special.gamma(1 - sigma) * special.gammaincc(1 - sigma, x[low])
        value[low] = (np.exp(-sigma * log_x[low] - x[low]) - upper) / sigma
    return value


def _gamma_series(log_x: Array, sigma: float) -> Array:
    """(x^-sigma - Gamma(1 - sigma)) / sigma - sum_{k>=1} (-1)^k x^(k - sigma) / (k! (k - sigma)).

    log Gamma(1 - sigma) = sigma (gamma + sum_{k>=2} zeta(k) sigma^(k - 1) / k).
    """
    log_gamma = np.euler_gamma + np.sum(special.zeta(ORDERS) * sigma ** (ORDERS - 1) / ORDERS)
    # exprel(y) = (e^y - 1) / y, so that sigma = 0 needs no limit.
    total = -log_x * special.exprel(-sigma * log_x) - log_gamma * special.exprel(sigma * log_gamma)
    x, term = np.exp(log_x), np.exp(-sigma * log_x)
    for k in range(1, TERMS + 1):
        term = -term * x / k
        total = total - term / (k - sigma)
    return total


def _gamma_fraction(x: Array, sigma: float) -> Array:
    """e^-x x^-sigma / (x + 1 + sigma - 1 (1 + sigma) / (x + 3 + sigma - 2 (2 + sigma) / ...)), from its end."""
    value = x + 2 * LEVELS + 1 + sigma
    for k in range(LEVELS, 0, -1):
        value = x + 2 * k - 1 + sigma - k * (k + sigma) / value
    return np.exp(-x - sigma * np.log(x)) / value
