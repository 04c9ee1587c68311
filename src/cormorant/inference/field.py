"""The Gaussian step for f_u = (d_u, mu_u), shared by every model: F_uk = g_k . f_u with g_k = (l_k, 1).

    S_u^-1 = Lambda_0 + sum_k omega_uk g_k g_k^T
    m_u    <- m_u + S_u ( Lambda_0 (m0 - m_u) + sum_k slope_uk g_k )

With the exponential link this Newton step is the exact maximiser of the bound. Batched over rows, the sums are matrix
products with a table of the distinct entries of g_k g_k^T.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cormorant.backends.select import Backend
from cormorant.inference.links import Expansion, Link
from cormorant.models.cnpf import link_function


def pack_indices(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the distinct entries of a symmetric matrix."""
    return np.triu_indices(size)


def unpack(packed: np.ndarray, size: int) -> np.ndarray:
    """Symmetric matrices from their distinct entries (last axis)."""
    full = np.empty((*packed.shape[:-1], size, size))
    p, q = pack_indices(size)
    full[..., p, q] = full[..., q, p] = packed
    return full


@dataclass(frozen=True)
class Design:
    """The loadings g_k and their products; P = 0 (HGP), 1 (scaled HGP) or D + 1 (CNPF)."""

    loadings: np.ndarray  # components x P
    products: np.ndarray  # components x P (P + 1) / 2
    prior_precision: np.ndarray  # Lambda_0, a diagonal

    @classmethod
    def build(cls, loadings: np.ndarray, prior_precision: np.ndarray) -> Design:
        """Table of the products g_kp g_kq, p <= q."""
        p, q = pack_indices(loadings.shape[1])
        return cls(loadings, loadings[:, p] * loadings[:, q], prior_precision)

    def precision(self, packed: np.ndarray) -> np.ndarray:
        """Lambda_0 + sum_k omega_uk g_k g_k^T of each row, given the packed sums."""
        size = len(self.prior_precision)
        full = unpack(packed, size)
        full[:, np.arange(size), np.arange(size)] += self.prior_precision
        return full


@dataclass(frozen=True)
class Field:
    """q(f) of a batch of rows, with what follows from it."""

    mean: np.ndarray
    covariance: np.ndarray
    expansion: Expansion
    field_mean: np.ndarray  # E F, rows x components
    field_variance: np.ndarray  # Var F

    def second_moments(self) -> np.ndarray:
        """E f f^T, packed."""
        p, q = pack_indices(self.mean.shape[1])
        return self.covariance[:, p, q] + self.mean[:, p] * self.mean[:, q]


@dataclass(frozen=True)
class FieldProblem:
    """Everything that a batch's field step holds fixed."""

    design: Design
    link: Link
    weights: np.ndarray
    log_rate: np.ndarray  # log A, per component or rows x components
    backend: Backend

    def at(self, mean: np.ndarray, covariance: np.ndarray) -> Field:
        """Evaluate E F, Var F and the link's expansion at q(f) = N(mean, covariance)."""
        p, q = pack_indices(mean.shape[1])
        packed = covariance[:, p, q] * np.where(p == q, 1.0, 2.0)
        field_mean = self.backend.product(mean, self.design.loadings.T)
        variance = self.backend.product(packed, self.design.products.T)
        expansion = self.link.expand(field_mean, variance, self.log_rate, self.backend)
        return Field(mean, covariance, expansion, field_mean, variance)

    def prior(self, n_rows: int) -> Field:
        """q(f) = p(f)."""
        size = len(self.design.prior_precision)
        covariance = np.broadcast_to(np.diag(1.0 / self.design.prior_precision), (n_rows, size, size))
        return self.at(np.zeros((n_rows, size)), np.ascontiguousarray(covariance))

    def divergence(self, field: Field) -> np.ndarray:
        """KL(q(f_u) || p(f_u)) of each row."""
        prior = self.design.prior_precision
        if len(prior) == 0:
            return np.zeros(len(field.mean))
        _, log_determinant = self.backend.invert(field.covariance)  # of the covariance
        variances = np.diagonal(field.covariance, axis1=1, axis2=2)
        return 0.5 * (((variances + field.mean**2) * prior - 1.0 - np.log(prior)).sum(axis=1) - log_determinant)

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
        if len(self.design.prior_precision) == 0:
            return field
        mean, covariance = self._newton(field, n)
        proposal = self.at(mean, covariance)
        return proposal if self.link.is_bound else self._backtrack(field, proposal, n)

    def _newton(self, field: Field, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        prior, loadings = self.design.prior_precision, self.design.loadings
        omega = np.maximum(field.expansion.omega(n, self.weights), 0.0)
        covariance, _ = self.backend.invert(self.design.precision(self.backend.product(omega, self.design.products)))
        slope = field.expansion.slope(n, self.weights)
        gradient = self.backend.product(slope, loadings) - prior * field.mean
        return field.mean + np.einsum("upq,uq->up", covariance, gradient), covariance

    def _backtrack(self, field: Field, proposal: Field, n: np.ndarray, halvings: int = 5) -> Field:
        """Halve the step of every row whose objective fell; a row that never improves stays where it was."""
        before = self.objective(field, n)
        mean, covariance = proposal.mean.copy(), proposal.covariance.copy()
        for attempt in range(halvings):
            worse = self.objective(proposal, n) < before
            if not worse.any():
                return proposal
            last = attempt == halvings - 1
            for new, old in ((mean, field.mean), (covariance, field.covariance)):
                new[worse] = old[worse] if last else 0.5 * (new[worse] + old[worse])
            proposal = self.at(mean, covariance)
        return proposal
