"""Quadrature rules: for Gaussians, for gamma variables, and trapezoids in log w and logit w for weights.

The trapezoid rule on the whole line converges geometrically for the analytic integrands here: at `STEP` its
error is near exp(-pi^2 / STEP), below 1e-16 of the integral. Where an integrand falls off slowly, as a power
of w, what the nodes beyond the last one would add is a geometric series, and goes to the last one in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import special

from cormorant.measures import _check
from cormorant.measures._check import BELOW_ONE, Array

STEP = 0.25
DECAY = 37.0  # exp(-DECAY) is the rounding of a float64
REACH = 60.0  # by how many e-folds a function may bend away from the scale of the weights, unless told
FARTHEST = 700.0  # log of the largest (and smallest) weight the rules use

LEGENDRE = np.polynomial.legendre.leggauss(16)
PANEL = 0.5  # first width of the panels of `gaussian_rule`
HALVINGS = 60


class WeightRule(NamedTuple):
    """Nodes w and coefficients q with E sum_i f(w_i) = sum q f(w).

    `positions` are log w on the half line and logit w on the unit interval, with the digits that w loses near one.
    """

    weights: Array
    coefficients: Array
    positions: Array

    def against(self, density: Array) -> WeightRule:
        """The rule with its coefficients times a density over log w or logit w."""
        return self._replace(coefficients=density * self.coefficients)


@cache
def gauss_hermite(nodes: int) -> tuple[Array, Array]:
    """Nodes z and weights p with E f(Z) = sum p f(z), Z standard normal, for f like a polynomial."""
    z, p = special.roots_hermitenorm(nodes)
    p = p / p.sum()
    z.flags.writeable = p.flags.writeable = False
    return z, p


def gaussian_rule(function: Callable[[Array], Array], reach: float, tolerance: float = 1e-11) -> tuple[Array, Array]:
    """Nodes z and weights p with E f(Z) = sum p f(z), Z standard normal, for each row of f, (rows, nodes).

    Panels of Gauss-Legendre nodes over [-reach, reach], halved where halving still changes a row's integral:
    f may bend within a tiny part of the line. The nodes are symmetric and in order, so that f(-z) is f read
    backwards.
    """
    edges = np.linspace(-reach, reach, 2 * math.ceil(reach / PANEL) + 1)
    panels, done = np.column_stack([edges[:-1], edges[1:]]), []
    size = None
    for _ in range(HALVINGS):
        middle = panels.mean(axis=1)
        halves = np.column_stack([panels[:, 0], middle, middle, panels[:, 1]]).reshape(-1, 2)
        whole, parts = _integrals(function, panels), _integrals(function, halves)
        size = np.abs(parts).sum(axis=1, keepdims=True) if size is None else size
        rough = (np.abs(whole - parts.reshape(*whole.shape, 2).sum(axis=2)) > tolerance * size).any(axis=0)
        rough = np.repeat(rough | rough[::-1], 2)
        done.append(halves[~rough])
        panels = halves[rough]
        if len(panels) == 0:
            break
    settled = np.concatenate([*done, panels])
    z, p = _panel_nodes(settled[np.argsort(settled[:, 0])])
    return z.ravel(), p.ravel()


def _panel_nodes(panels: Array) -> tuple[Array, Array]:
    """Nodes of each panel and their weights under the standard normal density, panels x 16."""
    x, p = LEGENDRE
    half = np.diff(panels, axis=1) / 2
    z = panels.mean(axis=1, keepdims=True) + half * x
    return z, half * p * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)


def _integrals(function: Callable[[Array], Array], panels: Array) -> Array:
    """Each row's integral over each panel, rows x panels."""
    z, p = _panel_nodes(panels)
    values = function(z.ravel())
    return np.einsum("rpn,pn->rp", values.reshape(len(values), *z.shape), p)


def gamma_rule(degrees: float, order: int = 0) -> tuple[Array, Array]:
    """Nodes tau and weights p, tau ~ Gamma(degrees / 2, degrees / 2), for integrands up to tau^(-order / 2).

    Trapezoid in log tau, whose density exp(degrees / 2 (s - e^s)) falls off at both ends: like a power of tau
    to the left, like a Gaussian of variance 2 / degrees in between.
    """
    half = degrees / 2
    power = half - order / 2
    step = min(STEP, 0.7 / math.sqrt(half))
    left, right = DECAY / power, DECAY / half
    s = np.arange(-min(left + math.sqrt(2 * left), FARTHEST), math.log1p(right + math.sqrt(2 * right)) + step, step)
    log_p = half * (s - np.exp(s))
    p = np.exp(log_p - log_p.max())
    p[0] *= _series(power * step)
    return np.exp(s), p / p.sum()


def half_line_rule(*, index: float, rate: float, reach: float) -> WeightRule:
    """Nodes w = e^s with steps ds for coefficients on (0, inf), for integrands like w^(1 - index) near zero.

    To the right they fall off like exp(-rate w), or like w^-index where the rate is zero.
    """
    reach, scale = _check.nonnegative("reach", reach), -math.log(rate) if rate > 0 else 0.0
    left = max(min(scale, 0.0) - reach - DECAY, -FARTHEST)
    right = scale + math.log(DECAY) + 1 if rate > 0 else min(reach + DECAY, FARTHEST)
    s = np.arange(left, right + STEP, STEP)
    steps = np.full(s.shape, STEP)
    steps[0] *= _series((1 - index) * STEP)
    if rate == 0:
        steps[-1] *= _series(index * STEP)
    return WeightRule(np.exp(s), steps, s)


def unit_interval_rule(*, index: float, power: float, reach: float) -> WeightRule:
    """Nodes w = sigmoid(s) with steps ds for coefficients on (0, 1).

    For integrands like w^(1 - index) near zero and (1 - w)^power near one.
    """
    reach = _check.nonnegative("reach", reach)
    left = max(-math.log(max(power, 1.0)) - reach - DECAY, -FARTHEST)
    # Against (1 - w)^2 and above, a function that still grows like 1 / (1 - w) leaves nothing further out.
    right = min(DECAY + (reach if power < 2 else 0.0), FARTHEST)
    s = np.arange(left, right + STEP, STEP)
    steps = np.full(s.shape, STEP)
    steps[0] *= _series((1 - index) * STEP)
    steps[-1] *= _series(power * STEP)
    return WeightRule(np.minimum(special.expit(s), BELOW_ONE), steps, s)


def _series(fall: float) -> float:
    """1 + e^-fall + e^(-2 fall) + ..., the trapezoid's nodes from the last one on."""
    return -1 / math.expm1(-fall)
