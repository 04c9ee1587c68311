"""The one special function that SciPy lacks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from cormorant.measures._check import Array

TERMS = 50
LEVELS = 60


def incomplete_beta_tail(w: ArrayLike, alpha: float) -> Array:
    """int_w^1 u^-1 (1 - u)^(alpha - 1) du = B(1 - w; alpha, 0), the incomplete beta function at b = 0.

    A power series where w is below 3 / (alpha + 6), so that the digits of a tiny w survive; a continued
    fraction above, where it converges fast for small and large alpha alike.
    """
    w = np.asarray(w, dtype=np.float64)
    low = w < 3 / (alpha + 6)
    value = np.empty_like(w)
    value[low] = _series(w[low], alpha)
    value[~low] = _fraction(1 - w[~low], alpha)
    return value


def _series(w: Array, alpha: float) -> Array:
    """-log w - gamma - psi(alpha) - sum_{k>=1} C(alpha - 1, k) (-w)^k / k."""
    total = -np.log(w) - np.euler_gamma - special.digamma(alpha)
    term = np.ones_like(w)
    for k in range(1, TERMS + 1):
        term = -term * w * (alpha - k) / k
        total = total - term / k
    return total


def _fraction(y: Array, alpha: float) -> Array:
    """y^alpha / alpha / (1 + d_1 / (1 + d_2 / ...)), the continued fraction of B(y; alpha, 0), from its end.

    d_{2m+1} = -(alpha + m)^2 y / ((alpha + 2m)(alpha + 2m + 1)) and
    d_{2m} = -m^2 y / ((alpha + 2m - 1)(alpha + 2m)).
    """
    value = np.ones_like(y)
    for level in range(LEVELS, 0, -1):
        m = level // 2
        top = (alpha + m) ** 2 if level % 2 else m**2
        value = 1 - top * y / ((alpha + level - 1) * (alpha + level)) / value
    return y**alpha / alpha / value
