"""Covariates of rows: the prior mean of f_u is Gamma theta_u, and Gamma a ridge regression of f_u on theta_u.

    f_u ~ N(Gamma theta_u, Lambda_u^-1)        Gamma_pc ~ N(0, sigma_g^2 / Lambda_0p)

so that given the f_u the rows of Gamma are independent, and with B = sum_u tau_u theta_u theta_u^T + I / sigma_g^2

    Gamma_p | f ~ N(B^-1 sum_u tau_u f_up theta_u, B^-1 / Lambda_0p)

(tau_u = 1 for mu_u, and for every coordinate of a Gaussian process). A coordinate with a flat prior has no Gamma_p.
Variational inference keeps the mean of this, the sampler draws from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cormorant.backends.packing import add_diagonal, pack_indices, pack_products, unpack
from cormorant.backends.select import Backend
from cormorant.inference.batch import Batch
from cormorant.inference.field import Field, FieldProblem
from cormorant.inference.moves import Chain, RowDraws, RowMove, Visit
from cormorant.inference.prior import Prior, prior_of
from cormorant.inference.state import Additive, Globals


def regression_sums(theta: np.ndarray, f: np.ndarray, tau: np.ndarray | None, backend: Backend) -> np.ndarray:
    """sum_u tau_u theta_u (theta_u, f_u)^T, and the same with tau = 1: 2 x C x (C + P)."""
    both = np.hstack([theta, f])
    plain = backend.product(theta.T, both)
    return np.stack([plain if tau is None else backend.product((theta * tau[:, None]).T, both), plain])


def information(
    theta: np.ndarray, covariance: np.ndarray, prior: Prior, tau: np.ndarray | None, backend: Backend
) -> np.ndarray:
    """What the rows tell of Gamma, f summed out: sum_u theta theta^T (x) (Lambda_u - Lambda_u S_u Lambda_u), packed.

    A row that says little of its f_u (S_u near the prior's covariance) says little of Gamma, which the regression on
    f_u, as if they were known, would not see.
    """
    scale = np.broadcast_to(prior.scaled(tau), (len(theta), prior.size))
    p, q = pack_indices(prior.size)
    told = add_diagonal(-scale[:, p] * scale[:, q] * covariance, scale, prior.size)
    return backend.product(pack_products(theta).T, told)


def told_of_coefficients(
    problem: FieldProblem, field: Field, n: np.ndarray, theta: np.ndarray
) -> dict[str, np.ndarray]:
    """The sums that a structured step has for Gamma, and for the intervals of effects.

    The bound's curvature is above the likelihood's, several times where counts are many, and would make the intervals
    too narrow: they take the likelihood's own.
    """
    design, backend = problem.design, problem.backend
    tau = design.prior.tau(field.mean, field.covariance)
    omega = problem.link.likelihood(field.field_mean, problem.log_rate, n, problem.weights, backend).omega
    _, s = backend.gaussian_moments(design.precision(omega, backend, tau), np.zeros_like(field.mean))
    unshared = omega * np.maximum(1.0 - omega * backend.product(s, design.quadratic.T), 0.0)
    d = field.mean[:, : design.prior.n_heavy]
    return {
        "regression": regression_sums(theta, field.mean, tau, backend),
        "information": information(theta, s, design.prior, tau, backend),
        "location_information": backend.product(unshared.T, pack_products(d)),
    }


def with_effects(features: np.ndarray, effects: np.ndarray, of_level: np.ndarray) -> np.ndarray:
    """Gamma by which covariates do ``effects`` to sigma phi(l_k) . d_u, as nearly as these ``features`` allow.

    ``effects`` are components x covariates; ``of_level`` are the coefficients of mu_u, as they are. Directions that
    the features hardly have are left alone: coefficients of thousands there would do little to the components there
    are, and anything to locations that move.
    """
    return np.vstack([np.linalg.lstsq(features, effects, rcond=0.01)[0], of_level])


def with_level(coefficients: np.ndarray, common: np.ndarray) -> np.ndarray:
    """Gamma once mu_u takes over what all locations had in ``common``, F_uk staying as it was: mu_u + common . d_u."""
    if not coefficients.size:
        return coefficients
    return np.vstack([coefficients[:-1], coefficients[-1] + common @ coefficients[:-1]])


def _ridge(sums: np.ndarray, sigma_g2: float) -> tuple[np.ndarray, np.ndarray]:
    """B of every coordinate's own kind (2 x C x C), and sum_u tau_u theta_u f_u^T (2 x C x P)."""
    n = sums.shape[1]
    return sums[:, :, :n] + np.eye(n) / sigma_g2, sums[:, :, n:]


def update_coefficients(sums: np.ndarray, prior: Prior, sigma_g2: float) -> np.ndarray:
    """The mean of Gamma given the f_u, P x C."""
    precision, linear = _ridge(sums, sigma_g2)
    heavy, plain = np.linalg.solve(precision, linear)
    kept = np.where(np.arange(prior.size) < prior.n_heavy, heavy, plain)
    # Contiguous, so that a model read from a file adds up in the same order.
    return np.ascontiguousarray(np.where(prior.precision > 0, kept, 0.0).T)


def draw_coefficients(sums: np.ndarray, prior: Prior, sigma_g2: float, rng: np.random.Generator) -> np.ndarray:
    """Gamma given the f_u, P x C."""
    precision, _ = _ridge(sums, sigma_g2)
    z = rng.normal(size=(sums.shape[1], prior.size)) * np.sqrt(prior.variance())
    heavy, plain = (np.linalg.solve(np.linalg.cholesky(b).T, z) for b in precision)  # L^-T z has covariance B^-1
    return update_coefficients(sums, prior, sigma_g2) + np.where(np.arange(prior.size) < prior.n_heavy, heavy, plain).T


def log_prior(coefficients: np.ndarray, prior: Prior, sigma_g2: float) -> float:
    """log p(Gamma)."""
    precision = prior.precision[prior.precision > 0] / sigma_g2
    kept = coefficients[prior.precision > 0]
    return float(0.5 * (np.log(precision / (2 * np.pi)) - (kept**2).T * precision).sum())


def covariance_of_coefficients(told: np.ndarray, prior: Prior, sigma_g2: float) -> np.ndarray:
    """Covariance over p and q of each Gamma_.c given the locations, f summed out: C x P x P."""
    n = int(np.sqrt(2 * len(told)))
    proper = np.flatnonzero(prior.precision > 0)
    size = len(proper)
    full = unpack(np.moveaxis(unpack(told, prior.size), 0, -1), n)[np.ix_(proper, proper)]  # P x P x C x C
    precision = full.transpose(2, 0, 3, 1).reshape(n * size, n * size) + np.diag(
        np.tile(prior.precision[proper], n) / sigma_g2
    )
    inverse = np.linalg.inv(precision).reshape(n, size, n, size)
    found = np.zeros((n, prior.size, prior.size))
    for c in range(n):
        found[c][np.ix_(proper, proper)] = inverse[c, :, c]
    return found


@dataclass(frozen=True)
class RegressionStatistics(Additive):
    """Sums over rows for Gamma."""

    n_rows: float
    sums: np.ndarray


@dataclass(frozen=True)
class DrawCoefficients(RowMove):
    """Gamma, given the f_u (and tau_u, drawn and forgotten)."""

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, RegressionStatistics]:
        """Sums over the rows."""
        assert batch.covariates is not None  # the model has them
        tau = view.draw_tau(view.design_of(batch).prior, start.f, self.backend.sampling)
        return start, RegressionStatistics(batch.n_rows, regression_sums(batch.covariates, start.f, tau, self.backend))

    def shared(self, g: Globals, chain: Chain, total: RegressionStatistics) -> tuple[Globals, Chain]:
        """Draw Gamma."""
        prior = prior_of(self.model, g.hyper, len(g.coefficients) - self.model.has_level)
        drawn = draw_coefficients(total.sums, prior, g.hyper.sigma_g2, chain.rng)
        return replace(g, coefficients=drawn), chain
