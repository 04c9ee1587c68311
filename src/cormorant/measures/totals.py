"""The mean of the total mass, E M(E), over tuples, function and transformation together."""

from __future__ import annotations

import math

import numpy as np

from cormorant.measures._check import Array
from cormorant.measures.correlated import CorrelatedRandomMeasure
from cormorant.measures.finiteness import finiteness
from cormorant.measures.functions import StudentTProcess
from cormorant.measures.locations import GaussianLocations
from cormorant.measures.moments import weight_moments
from cormorant.measures.quadrature import chi_squared_rule, gauss_hermite
from cormorant.measures.transforms import Growth


def expected_total(measure: CorrelatedRandomMeasure, *, group: int = 0) -> float:
    """E M(E) = E_l E_F E sum_i E[x_i | w_i, F(l)], plus the fixed components; an error where it is infinite.

    For the exp link E exp(F) = exp(m + c_0 / 2) (1 - c_1 sigma_l^2)^(-D / 2) with K(l, l) = c_0 + c_1 |l|^2.
    """
    verdict = finiteness(measure).mean
    if not verdict.holds:
        raise ValueError(f"measure: expected a finite mean; {verdict}")
    if measure.normalized:
        return 1.0
    fixed = 0.0
    if measure.fixed is not None:
        fixed = float(weight_moments(measure, measure.fixed, group=group).mean.sum())
    transform, zero = measure.transform, np.zeros(())
    if transform.exponential_link or not transform.reads_function:
        at_zero = measure.process.expectation(lambda w: transform.mean(w, zero))
        return fixed + at_zero * (_mean_exp(measure, group) if transform.exponential_link else 1.0)
    values, p = _marginal(measure, group)
    nodes, coefficients = measure.process.quadrature()
    total = sum(q * (p @ transform.mean(w, values)) for w, q in zip(nodes, coefficients, strict=True))
    return fixed + float(total)


def _mean_exp(measure: CorrelatedRandomMeasure, group: int) -> float:
    """E exp(F(l)) for a Gaussian process and a mean that is constant in l."""
    mean, c0, c1 = _constant_mean(measure, group), *_variance_polynomial(measure)[:2]
    spread = 1.0
    if isinstance(measure.locations, GaussianLocations):
        spread = (1 - c1 * measure.locations.variance) ** (-measure.locations.dimension / 2)
    return math.exp(mean + c0 / 2) * spread


def _marginal(measure: CorrelatedRandomMeasure, group: int) -> tuple[Array, Array]:
    """Nodes and weights of F(l) = m + sqrt(K(l, l) / tau) Z over l, tau and Z."""
    mean = _constant_mean(measure, group)
    student = isinstance(measure.function, StudentTProcess)
    z, p_z = gauss_hermite(32 if student else 64)
    norms, p_norm = np.zeros(1), np.ones(1)
    if isinstance(measure.locations, GaussianLocations):
        norms, p_norm = chi_squared_rule(measure.locations.dimension, 24)
        norms = measure.locations.variance * norms
    variance = np.polynomial.polynomial.polyval(norms, _variance_polynomial(measure))
    order = 1 if measure.transform.mean_growth is Growth.LINEAR else 0
    tau, p_tau = measure.function.precision_nodes(order)
    sd = np.sqrt(variance[:, np.newaxis] / tau)
    values = mean + sd[..., np.newaxis] * z
    p = p_norm[:, np.newaxis, np.newaxis] * p_tau[:, np.newaxis] * p_z
    return values.ravel(), p.ravel()


def _variance_polynomial(measure: CorrelatedRandomMeasure) -> tuple[float, ...]:
    """(c_0, c_1, ...) of K(l, l); a finite mean of a transformation that reads F implies that it is known."""
    polynomial = measure.function.kernel.diagonal_polynomial()
    if polynomial is None:
        kernel = type(measure.function.kernel).__name__
        raise ValueError(f"measure: expected a kernel with a diagonal_polynomial, got {kernel}; average draws")
    return (*polynomial, 0.0)


def _constant_mean(measure: CorrelatedRandomMeasure, group: int) -> float:
    mean = measure.function.constant_mean(group)
    if mean is None:
        function = type(measure.function).__name__
        raise ValueError(f"measure: expected a mean function constant in l, got {function}; average draws instead")
    return mean
