"""The mean of the total mass, E M(E), over tuples, function and transformation together.

With h(F) = int E[x | w, F] nu(dw), E M(E) = E h(F(l)), F(l) = m + sqrt(V) Z where V = K(l, l) / tau. Where h grows
like exp(kappa F), that factor is taken out of the two laws in closed form (Z becomes Z + kappa sqrt(V), and
V = c_0 + c_1 |l|^2 a wider law of its kind),

    E h(F) = exp(kappa m + kappa^2 c_0 / 2) (1 - kappa^2 c_1 sigma_l^2)^(-D / 2) E~ exp(-kappa F) h(F),

so that what is left to quadrature is bounded, or linear in F, however near the border of a finite mean lies.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.interpolate import make_interp_spline

from cormorant.measures import _check
from cormorant.measures._check import Array
from cormorant.measures.correlated import CorrelatedRandomMeasure
from cormorant.measures.finiteness import finiteness, growth_rate
from cormorant.measures.functions import check_group
from cormorant.measures.locations import GaussianLocations
from cormorant.measures.moments import weight_means
from cormorant.measures.quadrature import gamma_rule, gaussian_rule
from cormorant.measures.transformation import Growth

FARTHEST_Z = 9.0  # a normal density is below rounding beyond
BLOCK = 128  # variances that share their nodes
GRID = 0.125  # in log V: a spline of degree 7 through points this far apart is good to ten digits


def expected_total(measure: CorrelatedRandomMeasure, *, group: int = 0) -> float:
    """E M(E) = E_l E_F E sum_i E[x_i | w_i, F(l)], plus the fixed components; an error where it is infinite.

    For the exp link (E sum_i E[x_i | w_i, 0]) exp(m + c_0 / 2) (1 - c_1 sigma_l^2)^(-D / 2), K(l, l) = c_0 + c_1 |l|^2.
    """
    _check.instance("measure", measure, CorrelatedRandomMeasure)
    check_group(group, measure.function)
    verdict = finiteness(measure).mean
    if not verdict.holds:
        raise ValueError(f"measure: expected a finite mean; {verdict}")
    if measure.normalized:
        return 1.0
    fixed = 0.0 if measure.fixed is None else float(weight_means(measure, measure.fixed, group).sum())
    if math.isinf(fixed):
        raise ValueError(
            "measure: expected a mean that fits a float64, got infinity at the fixed components; move them in"
        )
    return fixed + _poisson_total(measure, group)


def _poisson_total(measure: CorrelatedRandomMeasure, group: int) -> float:
    """E h(F(l))."""
    transform, process = measure.transform, measure.process
    if not transform.reads_function:
        return float(transform.total_mean(process, 0.0))
    m, (c0, c1, *_) = _constant_mean(measure, group), _variance_polynomial(measure)
    kappa, (variance, dimension) = growth_rate(transform.mean_growth, process), _location_law(measure)
    narrowing = 1 - kappa**2 * c1 * variance
    log_factor = kappa * m + kappa**2 * c0 / 2 - dimension / 2 * math.log(narrowing)
    if log_factor > 700:
        digits = log_factor / math.log(10)
        raise ValueError(
            f"measure: expected a mean that fits a float64, got one near 10^{digits:.0f}; shrink the kernel"
        )
    factor = math.exp(log_factor)
    if transform.exponential_link:
        return factor * float(transform.total_mean(process, 0.0))

    def bounded_part(F: Array) -> Array:
        F = np.minimum(F, 700 / kappa) if kappa > 0 else F  # constant by then
        return np.exp(-kappa * F) * transform.total_mean(process, F)

    variances, p = _variances(measure, variance / narrowing)
    return factor * float(p @ _gaussian_means(bounded_part, m, kappa, variances))


def _gaussian_means(function: Callable[[Array], Array], m: float, kappa: float, variance: Array) -> Array:
    """E f(m + kappa V + sqrt(V) Z) for each variance V; many of them are read off a spline in log V."""
    log_v, which = np.unique(np.log(np.maximum(variance, np.finfo(float).tiny)), return_inverse=True)
    grid = np.arange(log_v[0], log_v[-1] + 8 * GRID, GRID)
    if len(grid) < len(log_v):
        return make_interp_spline(grid, _gaussian_means(function, m, kappa, np.exp(grid)), k=7)(log_v)[which]
    value = np.empty_like(log_v)
    for block in np.array_split(np.arange(len(log_v)), math.ceil(len(log_v) / BLOCK)):
        v = np.exp(log_v[block, np.newaxis])

        def at(z: Array, v: Array = v) -> Array:
            return function(m + kappa * v + np.sqrt(v) * z)

        z, p = gaussian_rule(at, FARTHEST_Z)
        value[block] = at(z) @ p
    return value[which]


def _variances(measure: CorrelatedRandomMeasure, location_variance: float) -> tuple[Array, Array]:
    """Nodes and weights of V = K(l, l) / tau, over |l|^2 = variance x chi-squared and tau."""
    norms, p_norm = np.zeros(1), np.ones(1)
    if isinstance(measure.locations, GaussianLocations):
        mean_square, p_norm = gamma_rule(measure.locations.dimension)
        norms = location_variance * measure.locations.dimension * mean_square
    variance = np.polynomial.polynomial.polyval(norms, _variance_polynomial(measure))
    bounded = measure.transform.mean_growth is Growth.BOUNDED or not variance.any()
    tau, p_tau = measure.function.precision_nodes(order=0 if bounded else 1)
    return np.divide.outer(variance, tau).ravel(), np.multiply.outer(p_norm, p_tau).ravel()


def _location_law(measure: CorrelatedRandomMeasure) -> tuple[float, int]:
    """sigma_l^2 and D; elsewhere a finite mean implies that K(l, l) does not depend on l."""
    if isinstance(measure.locations, GaussianLocations):
        return measure.locations.variance, measure.locations.dimension
    return 0.0, 0


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
