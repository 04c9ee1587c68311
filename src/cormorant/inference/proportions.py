"""Proportions pi_k = x_k / sum_j x_j: what a normalised model says of a row, and every model of an empty one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from cormorant.backends.packing import unpack
from cormorant.backends.select import Backend
from cormorant.inference.field import Design, Field, FieldProblem
from cormorant.inference.links import Link

SHARE_DRAWS = 8192  # of f and x, for a row that shows nothing
ROW_SHARE_DRAWS = 2048  # the same where rows have priors of their own
PRIOR_DRAWS = 512  # of d, for rows without counts; half of them the other half's mirror images


def proportions(problem: FieldProblem, field: Field, shape: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E pi and Var pi of rows whose x given f are Gamma(shape) times s = r / (1 + A r).

    The mean is E x_k / sum_j E x_j, exact without locations. The variance is that of gammas that share their scale,
    p (1 - p) / (S + 1) if they did, and what q(f) adds to first order: d log pi_k = h_k . df, where

        h_k = (1 - sigma_k) g_k - b        b = sum_j p_j (1 - sigma_j) g_j        sigma = A r / (1 + A r)
    """
    scale = problem.scale_moments(field)[0]
    x = shape * scale
    total = x.sum(axis=1, keepdims=True)
    p = x / total
    by_gamma = shape * (scale / total) ** 2
    every = by_gamma.sum(axis=1, keepdims=True)
    gammas = ((1.0 - 2.0 * p) * by_gamma + p**2 * every) / (1.0 + every)
    rest = expit(-(field.field_mean + problem.log_rate))
    loadings = problem.design.loadings
    b = (p * rest) @ loadings
    covariance = unpack(field.covariance, loadings.shape[1])
    sb = np.einsum("upq,uq->up", covariance, b)
    by_field = rest**2 * field.field_variance - 2.0 * rest * (sb @ loadings.T) + (b * sb).sum(axis=1, keepdims=True)
    return p, gammas + p**2 * np.maximum(by_field, 0.0)


def proportions_of_prior(weights: np.ndarray, design: Design) -> tuple[np.ndarray, np.ndarray]:
    """The same of a row without counts, averaged over draws of d, given which p_k ~ w_k exp(l_k . d)."""
    half = design.prior.draws(PRIOR_DRAWS // 2, np.random.default_rng(0))
    field = np.concatenate([half, -half]) @ design.loadings.T

    def moments(field: np.ndarray) -> np.ndarray:
        x = weights * np.exp(field - field.max(axis=1, keepdims=True))
        p = x / x.sum(axis=1, keepdims=True)
        variance = (p * (1.0 - p)).mean(axis=0) / (weights.sum() + 1.0) + p.var(axis=0)
        return np.stack([p.mean(axis=0), variance])

    found = over_prior_means(design, field, moments)
    return found[..., 0, :], found[..., 1, :]


def shares_of_prior(
    weights: np.ndarray, totals: np.ndarray, design: Design, link: Link, backend: Backend
) -> np.ndarray:
    """E x_k / sum_j A_j x_j of rows without counts, averaged over draws of f and x; ``totals`` are the A_k."""
    n_draws = ROW_SHARE_DRAWS if isinstance(design.prior.mean, np.ndarray) else SHARE_DRAWS
    gammas = backend.sampling.gammas(np.tile(weights, (n_draws, 1)), 0)
    f = design.prior.draws(n_draws, np.random.default_rng(0))

    def shares(field: np.ndarray) -> np.ndarray:
        x = np.maximum(gammas * link.scale(field), 1e-300)
        return (x / (x @ totals)[:, None]).mean(axis=0)

    return over_prior_means(design, backend.product(f, design.loadings.T), shares)


def over_prior_means(design: Design, field: np.ndarray, average: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """An ``average`` over draws of F, of the prior's rows each or (they share a mean) of one.

    ``field`` is draws of F, draws x components, whose mean is zero.
    """
    if not isinstance(design.prior.mean, np.ndarray):
        return average(field)
    if len(design.prior.mean) == 0:
        return average(field)[None][:0]
    means, place = np.unique(design.prior.mean, axis=0, return_inverse=True)  # rows alike are averaged over once
    return np.stack([average(field + design.loadings @ mean) for mean in means])[place.ravel()]
