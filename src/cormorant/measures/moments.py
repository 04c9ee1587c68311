"""Moments of the transformed weights given the tuples, of sets, of components, and of the total mass.

Given the tuples C and mu_i(F) = E[x_i | w_i, F(l_i)],

    Cov(x_i, x_j | C) = E[mu_i mu_j] - E[mu_i] E[mu_j] + 1[i = j] E Var[x_i | w_i, F(l_i)],

expectations over (F(l_i), F(l_j)). The paper prints the first two terms; the third belongs to the diagonal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cormorant.measures import _check
from cormorant.measures._check import Array
from cormorant.measures.correlated import CorrelatedRandomMeasure
from cormorant.measures.draws import MeasurableSet, Tuples
from cormorant.measures.functions import StudentTProcess, check_group
from cormorant.measures.kernels import Kernel, Linear
from cormorant.measures.quadrature import gaussian_rule
from cormorant.measures.transformation import Growth, Transformation

FARTHEST_Z = 13.0  # Hermite functions times a normal density are below rounding beyond
EXACT, GOOD = 1e-9, 1e-4  # errors to aim at, and to refuse, as shares of sqrt(Var x_i Var x_j)
LAST_ORDER, BLOCK = 4096, 16  # of the Hermite polynomials


@dataclass(frozen=True, eq=False, repr=False)
class WeightMoments:
    """Mean (K,) and covariance (K, K) of the transformed weights given the tuples."""

    mean: Array
    covariance: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", _check.array("mean", self.mean, ndim=1))
        object.__setattr__(self, "covariance", _check.array("covariance", self.covariance, ndim=2))

    @property
    def correlation(self) -> Array:
        """Cov(x_i, x_j) / sqrt(Var x_i Var x_j); zero beside a weight without variance."""
        return _correlation(self.covariance)

    def __repr__(self) -> str:
        return f"WeightMoments({len(self.mean)} components, mean total {self.mean.sum():.4g})"


def weight_moments(measure: CorrelatedRandomMeasure, tuples: Tuples, *, group: int = 0) -> WeightMoments:
    """Mean and covariance of x given the tuples, for one group.

    Log-normal closed form for the exp link; otherwise quadrature, exact to about ten digits up to kernel
    variances of a thousand. Where four digits cannot be had, that is an error.
    """
    _require_moments(measure, tuples)
    transform, function, w = measure.transform, measure.function, tuples.weights
    mean = function.mean(tuples.locations, check_group(group, function))
    covariance = function.kernel(tuples.locations)
    if transform.exponential_link:
        return _finite_moments(*_lognormal_moments(transform, w, mean, covariance), covariance)
    if not transform.reads_function:
        return WeightMoments(transform.mean(w, mean), np.diag(transform.variance(w, mean)))
    order = 0 if _bounded(transform) or not covariance.any() else 2
    tau, p = function.precision_nodes(order)
    share = np.maximum(p * tau ** (-order / 2), np.finfo(float).tiny)
    share = share / share.sum()
    parts = [
        _hermite_moments(transform, w, mean, covariance / t, tolerance=EXACT / s)
        for t, s in zip(tau, share, strict=True)
    ]
    if sum(s * part.error for s, part in zip(share, parts, strict=True)) > GOOD:
        raise ValueError(
            "measure: expected a kernel whose variances quadrature can follow, got up to "
            f"{np.diag(covariance).max():g} with nearly collinear F; shrink the kernel or average draws"
        )
    return _finite_moments(*_mixture(p, parts), covariance)


def weight_means(measure: CorrelatedRandomMeasure, tuples: Tuples, group: int) -> Array:
    """E x given the tuples, which a Student-t process may leave finite where the covariance is not."""
    transform, function, w = measure.transform, measure.function, tuples.weights
    mean, variance = function.mean(tuples.locations, group), np.diag(function.kernel(tuples.locations))
    if transform.exponential_link:
        with np.errstate(over="ignore"):
            return transform.mean(w, np.zeros_like(w)) * np.exp(mean + variance / 2)
    tau, p = function.precision_nodes(0 if _bounded(transform) or not variance.any() else 1)
    parts = [_on_nodes(transform, w, mean, variance / t) for t in tau]
    return p @ np.stack([values @ q for _, q, values in parts])


def _bounded(transform: Transformation) -> bool:
    """Whether E[x | w, F] of one weight is bounded in F, so that any F has moments of it."""
    return transform.mean_growth in (Growth.BOUNDED, Growth.SATURATING)


def _require_moments(measure: CorrelatedRandomMeasure, tuples: Tuples) -> None:
    """Second moments exist, and are those of an unnormalised measure."""
    _check.instance("measure", measure, CorrelatedRandomMeasure)
    measure.check_tuples("tuples", tuples)
    if measure.normalized:
        raise ValueError("measure: moments are of unnormalised weights; expected normalized=False, got True")
    function, growth = measure.function, measure.transform.mean_growth
    if not isinstance(function, StudentTProcess) or not np.any(np.diag(function.kernel(tuples.locations))):
        return
    link = type(measure.transform).__name__
    if growth is Growth.EXPONENTIAL or growth is None:
        raise ValueError(
            f"measure: {link} under a Student-t process has infinite moments (exp(F) has no mean); "
            "take a GaussianProcess or a bounded transformation"
        )
    if growth is Growth.LINEAR and function.degrees <= 2:
        raise ValueError(f"measure: {link} needs degrees > 2 for a variance, got {function.degrees}")


def _finite_moments(mean: Array, covariance: Array, kernel: Array) -> WeightMoments:
    if not (np.isfinite(mean).all() and np.isfinite(covariance).all()):
        raise ValueError(
            "measure: expected moments that fit a float64, got infinity under kernel variances K(l, l) up to "
            f"{np.diag(kernel).max(initial=0.0):g}; shrink the kernel, the mean function or the locations"
        )
    return WeightMoments(mean, covariance)


def _lognormal_moments(transform: Transformation, w: Array, m: Array, K: Array) -> tuple[Array, Array]:
    """E mu_i = mu_i(0) exp(m_i + K_ii / 2) and Cov(mu_i, mu_j) = E mu_i E mu_j (exp(K_ij) - 1).

    E Var x_i = Var(x_i | 0) exp(2 m_i + 2 K_ii).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean = transform.mean(w, np.zeros_like(w)) * np.exp(m + np.diag(K) / 2)
        noise = transform.variance(w, np.zeros_like(w)) * np.exp(2 * m + 2 * np.diag(K))
        return mean, np.outer(mean, mean) * np.expm1(K) + np.diag(noise)


@dataclass(frozen=True, eq=False)
class _Part:
    """Moments given tau, and how far the covariance may be off, as a share of sqrt(Var x_i Var x_j)."""

    mean: Array
    covariance: Array
    error: float


def _hermite_moments(transform: Transformation, w: Array, m: Array, K: Array, tolerance: float) -> _Part:
    """Cov(mu_i, mu_j) = sum_{n>=1} rho_ij^n b_in b_jn, with b_in = E mu_i(m_i + s_i Z) h_n(Z) (Mehler).

    The coefficients on the orthonormal Hermite polynomials h_n are one-dimensional integrals, so that no grid
    over pairs is laid. What is left of the series after n terms is at most |rho|^n of what is left at rho = +-1,
    where the whole is one integral as well; that is added, so that rho = +-1 is exact.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        z, p, values = _on_nodes(transform, w, m, np.diag(K))
        mean = values @ p
        noise = np.diag(transform.variance(w[:, np.newaxis], _at(z, m, np.diag(K))) @ p)
        covariance, error = _mehler((values - mean[:, np.newaxis]) * np.sqrt(p), z, p, _correlation(K), tolerance)
    return _Part(mean, covariance + noise, error)


def _on_nodes(transform: Transformation, w: Array, m: Array, variance: Array) -> tuple[Array, Array, Array]:
    """Nodes z of a standard normal, their weights p, and mu_i(m_i + s_i z), components x nodes."""
    grows = transform.mean_growth in (Growth.EXPONENTIAL, None)
    reach = FARTHEST_Z + (2 * math.sqrt(variance.max(initial=0.0)) if grows else 0.0)
    z, p = gaussian_rule(lambda z: transform.mean(w[:, np.newaxis], _at(z, m, variance)), reach)
    return z, p, transform.mean(w[:, np.newaxis], _at(z, m, variance))


def _at(z: Array, m: Array, variance: Array) -> Array:
    """F_i = m_i + s_i z, components x nodes."""
    return m[:, np.newaxis] + np.multiply.outer(np.sqrt(np.maximum(variance, 0)), z)


def _mehler(deviations: Array, z: Array, p: Array, rho: Array, tolerance: float) -> tuple[Array, float]:
    """The series, from (mu_i(z) - E mu_i) sqrt(p) on nodes that are symmetric about zero; and its error."""
    sure = np.abs(rho) > 1 - 1e-12
    # E mu_i(Z) mu_j(+-Z) less the means: where rho = +-1 the series adds up to it.
    left = np.where(rho > 0, deviations @ deviations.T, deviations @ deviations[:, ::-1].T)
    size = np.sqrt(np.outer(np.diag(left), np.diag(left)))
    covariance, power, error = np.zeros_like(rho), np.ones_like(rho), math.inf
    for basis in _hermite_functions(z, p):
        for b in (deviations @ basis.T).T:
            power = power * rho
            product = np.outer(b, b)
            covariance += power * product
            left -= np.sign(power) * product
        rest = np.sqrt(np.maximum(np.diag(left), 0))
        bound = np.where(sure, 0.0, np.abs(power) * np.outer(rest, rest))
        error = np.divide(bound, size, out=np.zeros_like(bound), where=size > 0).max(initial=0.0)
        if error <= tolerance:
            break
    return covariance + np.abs(power) * left, float(error)


def _hermite_functions(z: Array, p: Array) -> Iterator[Array]:
    """h_n(z) sqrt(p) for n = 1, 2, ..., in blocks of rows; h_n = He_n / sqrt(n!) is orthonormal."""
    before, last, n = np.zeros_like(p), np.sqrt(p), 0
    while n < LAST_ORDER:
        block = np.empty((BLOCK, len(z)))
        for row in block:
            n += 1
            before, last = last, (z * last - math.sqrt(n - 1) * before) / math.sqrt(n)
            row[:] = last
        yield block


def _mixture(p: Array, parts: list[_Part]) -> tuple[Array, Array]:
    """The law of total covariance: E Cov(. | tau) + Cov E(. | tau)."""
    means = np.stack([part.mean for part in parts])
    mean = p @ means
    covariance = np.einsum("t,tij->ij", p, np.stack([part.covariance for part in parts]))
    return mean, covariance + np.einsum("t,ti,tj->ij", p, means - mean, means - mean)


def covariance_of_sets(
    measure: CorrelatedRandomMeasure,
    tuples: Tuples,
    first: MeasurableSet,
    second: MeasurableSet,
    *,
    group: int = 0,
) -> float:
    """Cov(M(A), M(B) | C) = sum_ij Cov(x_i, x_j | C) 1[a_i in A] 1[a_j in B]."""
    covariance = weight_moments(measure, tuples, group=group).covariance
    inside_first, inside_second = tuples.members(first, name="first"), tuples.members(second, name="second")
    return float(inside_first.astype(float) @ covariance @ inside_second.astype(float))


def component_correlation(locations: ArrayLike, kernel: Kernel | None = None) -> Array:
    """rho_km = K(l_k, l_m) / sqrt(K(l_k, l_k) K(l_m, l_m)), with the linear kernel l_k.l_m / (|l_k| |l_m|).

    A component at l = 0 has F = 0 under the linear kernel: it goes with no other (0), and with itself (1).
    """
    kernel = Linear() if kernel is None else kernel
    _check.instance("kernel", kernel, Kernel)
    return _correlation(kernel(_check.points("locations", locations)))


def _correlation(covariance: Array) -> Array:
    """Scale to a unit diagonal; zero beside entries without variance."""
    variance = np.maximum(np.diag(covariance), 0)
    inverse = np.divide(1, np.sqrt(variance), out=np.zeros_like(variance), where=variance > 0)
    correlation = np.clip(covariance * np.outer(inverse, inverse), -1, 1)
    np.fill_diagonal(correlation, 1)
    return correlation
