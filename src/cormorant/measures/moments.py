"""Moments of the transformed weights given the tuples, of sets, of components, and of the total mass.

Given the tuples C and mu_i(F) = E[x_i | w_i, F(l_i)],

    Cov(x_i, x_j | C) = E[mu_i mu_j] - E[mu_i] E[mu_j] + 1[i = j] E Var[x_i | w_i, F(l_i)],

expectations over (F(l_i), F(l_j)). The paper prints the first two terms; the third belongs to the diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cormorant.measures import _check
from cormorant.measures._check import Array
from cormorant.measures.correlated import CorrelatedRandomMeasure
from cormorant.measures.draws import MeasurableSet, Tuples
from cormorant.measures.functions import StudentTProcess
from cormorant.measures.kernels import Kernel, Linear
from cormorant.measures.quadrature import gauss_hermite, hermite_basis
from cormorant.measures.transforms import Growth, Transformation


@dataclass(frozen=True, eq=False, repr=False)
class WeightMoments:
    """Mean (K,) and covariance (K, K) of the transformed weights given the tuples."""

    mean: Array
    covariance: Array

    @property
    def correlation(self) -> Array:
        """Cov(x_i, x_j) / sqrt(Var x_i Var x_j); zero beside a weight without variance."""
        return _correlation(self.covariance)

    def __repr__(self) -> str:
        return f"WeightMoments({len(self.mean)} components, mean total {self.mean.sum():.4g})"


def weight_moments(
    measure: CorrelatedRandomMeasure, tuples: Tuples, *, group: int = 0, nodes: int = 128
) -> WeightMoments:
    """Mean and covariance of x given the tuples, for one group.

    Log-normal closed form for the exp link; otherwise Gauss-Hermite quadrature with `nodes` points.
    """
    _require_moments(measure, tuples)
    nodes = _check.count("nodes", nodes, least=2)
    transform, function, w = measure.transform, measure.function, tuples.weights
    mean = function.mean(tuples.locations, group)
    covariance = function.kernel(tuples.locations)
    if transform.exponential_link:
        return _lognormal_moments(transform, w, mean, covariance)
    if not transform.reads_function:
        return WeightMoments(transform.mean(w, mean), np.diag(transform.variance(w, mean)))
    bounded = transform.mean_growth in (Growth.BOUNDED, Growth.SATURATING)
    return _mixture(
        [
            (p, _hermite_moments(transform, w, mean, covariance / tau, nodes))
            for tau, p in zip(*function.precision_nodes(order=0 if bounded else 2), strict=True)
        ]
    )


def _require_moments(measure: CorrelatedRandomMeasure, tuples: Tuples) -> None:
    """Second moments exist, and are those of an unnormalised measure."""
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


def _lognormal_moments(transform: Transformation, w: Array, m: Array, K: Array) -> WeightMoments:
    """E mu_i = mu_i(0) exp(m_i + K_ii / 2) and Cov(mu_i, mu_j) = E mu_i E mu_j (exp(K_ij) - 1).

    E Var x_i = Var(x_i | 0) exp(2 m_i + 2 K_ii).
    """
    mean = transform.mean(w, np.zeros_like(w)) * np.exp(m + np.diag(K) / 2)
    noise = transform.variance(w, np.zeros_like(w)) * np.exp(2 * m + 2 * np.diag(K))
    return WeightMoments(mean, np.outer(mean, mean) * np.expm1(K) + np.diag(noise))


def _hermite_moments(transform: Transformation, w: Array, m: Array, K: Array, nodes: int) -> WeightMoments:
    """Cov(mu_i, mu_j) = sum_{n>=1} rho_ij^n b_in b_jn, with b_in = E mu_i(m_i + s_i Z) h_n(Z) (Mehler).

    The coefficients on the orthonormal Hermite polynomials h_n come from one-dimensional Gauss-Hermite
    quadrature, so that rho = +-1 and s = 0 need no special care, and no grid over pairs is laid.
    """
    z, p = gauss_hermite(nodes)
    sd = np.sqrt(np.maximum(np.diag(K), 0))
    values = m[:, np.newaxis] + sd[:, np.newaxis] * z
    coefficients = transform.mean(w[:, np.newaxis], values) @ hermite_basis(nodes).T
    rho, power = _correlation(K), np.ones_like(K)
    covariance = np.diag(transform.variance(w[:, np.newaxis], values) @ p)
    for b in coefficients.T[1:]:
        power = power * rho
        covariance = covariance + power * np.outer(b, b)
    return WeightMoments(coefficients[:, 0], covariance)


def _mixture(parts: list[tuple[float, WeightMoments]]) -> WeightMoments:
    """The law of total covariance: E Cov(. | tau) + Cov E(. | tau)."""
    mean = np.sum([p * part.mean for p, part in parts], axis=0)
    covariance = np.zeros((len(mean), len(mean)))
    for p, part in parts:
        covariance += p * (part.covariance + np.outer(part.mean - mean, part.mean - mean))
    return WeightMoments(mean, covariance)


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
    return float(tuples.members(first).astype(float) @ covariance @ tuples.members(second).astype(float))


def component_correlation(locations: ArrayLike, kernel: Kernel | None = None) -> Array:
    """rho_km = K(l_k, l_m) / sqrt(K(l_k, l_k) K(l_m, l_m)), with the linear kernel l_k.l_m / (|l_k| |l_m|).

    A component at l = 0 has F = 0 under the linear kernel: it goes with no other (0), and with itself (1).
    """
    return _correlation((kernel or Linear())(_check.points("locations", locations)))


def _correlation(covariance: Array) -> Array:
    """Scale to a unit diagonal; zero beside entries without variance."""
    variance = np.maximum(np.diag(covariance), 0)
    inverse = np.divide(1, np.sqrt(variance), out=np.zeros_like(variance), where=variance > 0)
    correlation = np.clip(covariance * np.outer(inverse, inverse), -1, 1)
    np.fill_diagonal(correlation, 1)
    return correlation
