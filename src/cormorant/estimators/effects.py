"""How covariates move components: e_kc = g_k . Gamma_.c, the change of F_uk = g_k . f_u for a unit of covariate c.

Locations, and Gamma with them, are known up to a rotation, e is not. What covariate c does to all components alike,
sum_k p_k e_kc with p_k the components' shares of the counts, is a change of the rows' totals: a normalised model, which
takes the totals as given, knows nothing of it, and effects are *relative* if it is taken out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from cormorant.backends.packing import unpack
from cormorant.inference.prior import prior_of
from cormorant.inference.regression import covariance_of_coefficients
from cormorant.inference.samples import Sample
from cormorant.inference.state import Globals, Statistics
from cormorant.models.cnpf import PoissonFactorization


class Effects(NamedTuple):
    """Components x covariates: means, and the ends of an interval; per unit of a covariate."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def effects_given_locations(
    model: PoissonFactorization, g: Globals, told: Statistics, relative: bool, level: float
) -> Effects:
    """A Gaussian interval, to first order in what is not known of Gamma and of the locations:

        Var e_kc = h_k . Cov(Gamma_.c) h_k + sum_j (1[j = k] - p_j)^2 Gamma_.c . Cov(l_j) Gamma_.c

    with h_k = g_k - sum_j p_j g_j (p = 0: not relative), Cov(Gamma) that of Gamma given the locations with f summed
    out (`regression.information`).
    """
    prior, size = prior_of(model, g.hyper, g.locations.shape[1]), g.locations.shape[1]
    mixed = np.eye(g.n_components) - (_shares(g) if relative else 0.0)
    loadings = mixed @ _loadings(g)
    mean = loadings @ g.coefficients
    of_gamma = covariance_of_coefficients(told.information, prior, g.hyper.sigma_g2)
    by_location = np.einsum(
        "pc,kpq,qc->kc", g.coefficients[:size], _covariance_of_locations(g, told), g.coefficients[:size]
    )
    variance = np.einsum("kp,cpq,kq->kc", loadings, of_gamma, loadings) + mixed**2 @ by_location
    reach = norm.ppf(0.5 + 0.5 * level) * np.sqrt(np.maximum(variance, 0.0))
    return Effects(mean, mean - reach, mean + reach)


def _covariance_of_locations(g: Globals, told: Statistics) -> np.ndarray:
    """(sum_u omega_uk (1 - omega_uk Var F_uk) E d E d^T + I / sigma_l^2)^-1 of every component.

    What a row tells of F_uk is what it tells of it beside what the same counts told of f_u.
    """
    dims = g.locations.shape[1]
    return np.linalg.inv(unpack(told.location_information, dims) + np.eye(dims) / g.hyper.sigma_l2)


def effects_of_samples(samples: Sequence[Sample], n_components: int, relative: bool, level: float) -> Effects:
    """Mean and equal-tailed interval over the samples of a chain; components that took no part have zero."""
    draws = np.stack([_loadings(s.rest) @ s.rest.coefficients for s in samples])
    if relative:
        draws = np.stack([e - _shares(s.globals) @ e for e, s in zip(draws, samples, strict=True)])
    ends = np.quantile(draws, [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=0)
    more = ((0, n_components - draws.shape[1]), (0, 0))
    return Effects(*(np.pad(part, more) for part in (draws.mean(axis=0), *ends)))


def _loadings(g: Globals) -> np.ndarray:
    """g_k = (l_k, 1)."""
    return np.hstack([g.locations, np.ones((g.n_components, g.coefficients.shape[0] - g.locations.shape[1]))])


def _shares(g: Globals) -> np.ndarray:
    """p_k, the share of the counts that component k holds."""
    held = np.maximum(g.held_counts, 1e-300)
    return held / held.sum()
