"""Quadrature rules: Gauss-Hermite for Gaussians, trapezoids in log w and logit w for weights."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy import special

from cormorant.measures._check import Array

# The trapezoid rule converges geometrically for the analytic integrands here: at this step its error is
# near exp(-pi^2 / STEP), below 1e-16 of the integral.
STEP = 0.25
DECAY = 37.0  # exp(-DECAY) is the rounding of a float64
REACH = 60.0  # how far the random function may move the scale of the weights, as exp(+-F)
FARTHEST = 690.0  # log of the largest (and smallest) weight the rules use


@cache
def gauss_hermite(nodes: int) -> tuple[Array, Array]:
    """Nodes z and weights p with E f(Z) = sum p f(z), Z standard normal."""
    z, p = special.roots_hermitenorm(nodes)
    p = p / p.sum()
    z.flags.writeable = p.flags.writeable = False
    return z, p


@cache
def hermite_basis(nodes: int) -> Array:
    """The matrix p_q h_n(z_q), row n, with h_n = He_n / sqrt(n!) orthonormal: f's coefficients are B f(z)."""
    z, p = gauss_hermite(nodes)
    basis = np.empty((nodes, nodes))
    basis[0] = np.sqrt(p)
    basis[1:2] = z * basis[0]
    for n in range(1, nodes - 1):
        basis[n + 1] = (z * basis[n] - math.sqrt(n) * basis[n - 1]) / math.sqrt(n + 1)
    return basis * np.sqrt(p)


def chi_squared_rule(degrees: int, nodes: int) -> tuple[Array, Array]:
    """Nodes s and weights p with E f(S) = sum p f(s), S chi-squared."""
    x, p = special.roots_genlaguerre(nodes, degrees / 2 - 1)
    return 2 * x, p / p.sum()


def precision_rule(degrees: float, order: int) -> tuple[Array, Array]:
    """Nodes tau and weights p, tau ~ Gamma(degrees / 2, degrees / 2), for integrands up to tau^(-order / 2).

    Trapezoid in log tau, whose density exp(degrees / 2 (s - e^s)) falls off at both ends.
    """
    half = degrees / 2
    lowest = -DECAY / (half - order / 2) if half > order / 2 else -math.inf
    s = np.arange(max(lowest, -FARTHEST) - 1, math.log(1 + DECAY / half) + 3, STEP / 2)
    log_p = half * (s - np.exp(s))
    p = np.exp(log_p - log_p.max())
    return np.exp(s), p / p.sum()


def half_line_rule(*, index: float, rate: float) -> tuple[Array, Array]:
    """Nodes w = e^s and steps ds on (0, inf), for integrands like w^(1 - index) near zero.

    To the right they fall off like exp(-rate w), or like w^-index where the rate is zero.
    """
    scale = -math.log(rate) if rate > 0 else 0.0
    left = max(min(scale, 0.0) - REACH - DECAY / (1 - index), -FARTHEST)
    right = scale + math.log(DECAY) + 1 if rate > 0 else min(REACH + DECAY / index, FARTHEST)
    s = np.arange(left, right + STEP, STEP)
    return np.exp(s), np.full(s.shape, STEP)


def unit_interval_rule(*, index: float, power: float) -> tuple[Array, Array, Array]:
    """Nodes w = sigmoid(s), complements 1 - w and steps ds on (0, 1).

    For integrands like w^(1 - index) near zero and (1 - w)^power near one.
    """
    left = max(-REACH - DECAY / (1 - index), -FARTHEST)
    right = min(REACH + DECAY / power, FARTHEST)
    s = np.arange(left, right + STEP, STEP)
    return special.expit(s), special.expit(-s), np.full(s.shape, STEP)
