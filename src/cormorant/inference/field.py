"""The Gaussian step for f_u = (d_u, mu_u), shared by every model: F_uk = g_k . f_u with g_k = (l_k, 1).

    S_u^-1 = Lambda_u + sum_k omega_uk g_k g_k^T
    m_u    <- m_u + S_u ( Lambda_u (m0_u - m_u) + sum_k slope_uk g_k )

m0_u and Lambda_u are those of the prior (`prior`). With the exponential link this Newton step is the exact maximiser of
the bound. Batched over rows, the sums are matrix products with a table of the distinct entries of g_k g_k^T.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cormorant.backends.packing import add_diagonal, pack_indices, pack_products
from cormorant.backends.select import Backend
from cormorant.inference.links import Expansion, Link
from cormorant.inference.prior import Prior
from cormorant.models.cnpf import link_function

LONG_ROW = 1e4  # counts from which on the prior's precision would drown in the rounding of a row's own, if single


def precision_of(longest_row: float) -> type:
    """In which precision the large products of a field step can be made."""
    return np.float32 if longest_row <= LONG_ROW else np.float64


@dataclass(frozen=True)
class Design:
    """The loadings g_k and their products, P = 0 (HGP), 1 (scaled HGP) or D + 1 (CNPF); and the prior of f."""

    loadings: np.ndarray  # components x P
    products: np.ndarray  # components x P (P + 1) / 2
    prior: Prior  # of all rows, or (`given`) of some

    @classmethod
    def build(cls, loadings: np.ndarray, prior: Prior) -> Design:
        """Table of the products g_kp g_kq, q <= p."""
        return cls(loadings, pack_products(loadings), prior)

    def given(self, covariates: np.ndarray | None, coefficients: np.ndarray) -> Design:
        """The same with m0_u = Gamma theta_u for rows that have ``covariates`` theta."""
        if covariates is None:
            return self
        return replace(self, prior=replace(self.prior, mean=covariates @ coefficients.T))

    @cached_property
    def quadratic(self) -> np.ndarray:
        """The table that gives g_k^T S g_k from a packed S: entries off the diagonal count twice."""
        p, q = pack_indices(self.loadings.shape[1])
        return self.products * np.where(p == q, 1.0, 2.0).astype(self.products.dtype)

    @cached_property
    def single(self) -> Design:
        """The same in single precision."""
        return replace(self, loadings=self.loadings.astype(np.float32), products=self.products.astype(np.float32))

    def as_type(self, dtype: type) -> Design:
        """The same in double or single precision."""
        return self.single if dtype == np.float32 else self

    def precision(
        self, omega: np.ndarray, backend: Backend, tau: np.ndarray | None = None, least: float = 0.0
    ) -> np.ndarray:
        """Lambda_u, its diagonal no less than ``least``, + sum_k omega_uk g_k g_k^T of each row, packed."""
        prior = np.maximum(self.prior.scaled(tau), least)
        return add_diagonal(backend.product(omega, self.products), prior, self.prior.size)


@dataclass(frozen=True)
class Field:
    """q(f) of a batch of rows, with what follows from it."""

    mean: np.ndarray
    covariance: np.ndarray  # packed
    expansion: Expansion
    field_mean: np.ndarray  # E F, rows x components
    field_variance: np.ndarray  # Var F

    def take(self, index: np.ndarray) -> Field:
        """Some of the rows."""
        return Field(
            self.mean[index], self.covariance[index], self.expansion.take(index),
            self.field_mean[index], self.field_variance[index],
        )  # fmt: skip

    def put(self, rows: np.ndarray, other: Field) -> None:
        """Take over q(f) of some rows (a mask), in place."""
        self.mean[rows], self.covariance[rows] = other.mean, other.covariance
        self.field_mean[rows], self.field_variance[rows] = other.field_mean, other.field_variance
        self.expansion.put(rows, other.expansion)

    def second_moments(self, backend: Backend) -> np.ndarray:
        """E f f^T, packed."""
        return self.covariance + backend.pack_products(self.mean.astype(self.covariance.dtype, copy=False))


@dataclass(frozen=True)
class FieldProblem:
    """Everything that a batch's field step holds fixed."""

    design: Design
    link: Link
    weights: np.ndarray
    log_rate: np.ndarray  # log A, per component or rows x components
    backend: Backend
    dtype: type = np.float64  # of precisions, covariances and the products that make them

    def at(self, mean: np.ndarray, covariance: np.ndarray) -> Field:
        """Evaluate E F, Var F and the link's expansion at q(f) = N(mean, covariance)."""
        covariance = covariance.astype(self.dtype, copy=False)
        field_mean = self.backend.product(mean, self.design.loadings.T)
        variance = self.backend.product(covariance, self.design.as_type(self.dtype).quadratic.T)
        expansion = self.link.expand(field_mean, variance, self.log_rate, self.backend)
        return Field(mean, covariance, expansion, field_mean, variance)

    def take(self, index: np.ndarray) -> FieldProblem:
        """The same for some of the rows."""
        design = replace(self.design, prior=self.design.prior.take(index))
        return replace(self, design=design, log_rate=self.log_rate if self.log_rate.ndim == 1 else self.log_rate[index])

    def prior(self, n_rows: int, level: np.ndarray | None = None) -> Field:
        """q(f) = p(f); where mu_u has a flat prior, a point mass at its ``level``."""
        prior = self.design.prior
        covariance = add_diagonal(np.zeros((n_rows, prior.size * (prior.size + 1) // 2)), prior.variance(), prior.size)
        mean = np.zeros((n_rows, prior.size)) + prior.mean
        if level is not None:
            mean[:, -1] = level
        return self.at(mean, covariance)

    def divergence(self, field: Field) -> np.ndarray:
        """KL(q(f_u) || p(f_u)) of each row (of a Student-t prior, KL(q(f_u) q(tau_u) || p(f_u, tau_u)))."""
        prior = self.design.prior
        if prior.size == 0:
            return np.zeros(len(field.mean))
        zero = np.zeros_like(field.mean)
        log_determinant = 2.0 * self.backend.gaussian_log_densities(field.covariance, zero, zero)  # of the covariance
        return prior.cross_entropy(field.mean, field.covariance) - 0.5 * (prior.size + log_determinant)

    def scale_moments(self, field: Field, n_nodes: int = 15) -> tuple[np.ndarray, np.ndarray]:
        """E and E of the square of s = r / (1 + A r), where x given f is Gamma(w + n) times s."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
        spread = np.sqrt(np.maximum(field.field_variance, 0.0))
        first, second = np.zeros_like(spread), np.zeros_like(spread)
        for node, weight in zip(nodes, weights / weights.sum(), strict=True):
            at = field.field_mean + node * spread
            log_r = at if self.link.name == "exp" else np.log(link_function(self.link.name, at))
            s = np.exp(-np.logaddexp(-log_r, self.log_rate))  # finite however far out the node
            first += weight * s
            second += weight * s**2
        return first, second

    def objective(self, field: Field, n: np.ndarray) -> np.ndarray:
        """Each row's bound as a function of q(f): sum_k E h(F_uk) - KL."""
        e = field.expansion
        return (n * e.log_scale - self.weights * e.log_one).sum(axis=1) - self.divergence(field)

    def step(self, field: Field, n: np.ndarray) -> Field:
        """One Newton step, with backtracking where the link gives no bound."""
        if self.design.prior.size == 0:
            return field
        mean, covariance = self._newton(field, n)
        proposal = self.at(mean, covariance)
        return proposal if self.link.is_bound else self._backtrack(field, proposal, n)

    def _newton(self, field: Field, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        prior = self.design.prior
        tau = prior.tau(field.mean, field.covariance)
        design = self.design.as_type(self.dtype)
        omega = np.maximum(field.expansion.omega(n, self.weights), 0.0).astype(self.dtype, copy=False)
        slope = field.expansion.slope(n, self.weights)
        gradient = self.backend.product(slope, self.design.loadings) - prior.scaled(tau) * (field.mean - prior.mean)
        move, covariance = self.backend.gaussian_moments(design.precision(omega, self.backend, tau), gradient)
        return field.mean + move, covariance

    def _backtrack(self, field: Field, proposal: Field, n: np.ndarray, halvings: int = 5) -> Field:
        """Halve the step of every row whose objective fell; a row that never improves stays where it was."""
        worse = np.flatnonzero(self.objective(proposal, n) < self.objective(field, n))
        if len(worse) == 0:
            return proposal
        mean, covariance = proposal.mean.copy(), proposal.covariance.copy()
        problem, start, n = self.take(worse), field.take(worse), n[worse]
        least = problem.objective(start, n)
        for _ in range(halvings - 1):
            mean[worse] = 0.5 * (mean[worse] + start.mean)
            covariance[worse] = 0.5 * (covariance[worse] + start.covariance)
            still = problem.objective(problem.at(mean[worse], covariance[worse]), n) < least
            problem, start, n, least, worse = (
                problem.take(still),
                start.take(still),
                n[still],
                least[still],
                worse[still],
            )
            if len(worse) == 0:
                break
        mean[worse], covariance[worse] = start.mean, start.covariance
        return self.at(mean, covariance)
