"""How covariates move components: e_kc = g_k . Gamma_.c, the change of F_uk = g_k . f_u for a unit of covariate c.

Locations, and Gamma with them, are known up to a rotation, e is not. What covariate c does to all components alike,
sum_k p_k e_kc with p_k the components' shares of the counts, is a change of the rows' totals: a normalised model, which
takes the totals as given, knows nothing of it, and effects are *relative* if it is taken out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from cormorant.backends.packing import unpack
from cormorant.estimators.chains import with_interval
from cormorant.inference.locations import pull_back
from cormorant.inference.prior import prior_of
from cormorant.inference.regression import covariance_of_coefficients
from cormorant.inference.state import Globals, Statistics
from cormorant.models.cnpf import PoissonFactorization
from cormorant.models.kernels import Kernel


class Effects(NamedTuple):
    """Components x covariates: means, and the ends of an interval; per unit of a covariate."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def effects_given_locations(
    model: PoissonFactorization, g: Globals, told: Statistics, relative: bool, level: float
) -> Effects:
    """A Gaussian interval, to first order in what is not known of Gamma and of the locations:

        Var e_kc = h_k . Cov(Gamma_.c) h_k + sum_j (1[j = k] - p_j)^2 Gamma_.c . Cov(sigma phi(l_j)) Gamma_.c

    with h_k = g_k - sum_j p_j g_j (p = 0: not relative), Cov(Gamma) that of Gamma given the locations with f summed
    out (`regression.information`).
    """
    size = len(g.coefficients) - model.has_level
    prior = prior_of(model, g.hyper, size)
    mixed = np.eye(g.n_components) - (_shares(g) if relative else 0.0)
    loadings = mixed @ _loadings(model.kernel, g)
    mean = loadings @ g.coefficients
    of_gamma = covariance_of_coefficients(told.information, prior, g.hyper.sigma_g2)
    by_location = np.einsum(
        "pc,kpq,qc->kc", g.coefficients[:size], _covariance_of_features(model.kernel, g, told), g.coefficients[:size]
    )
    variance = np.einsum("kp,cpq,kq->kc", loadings, of_gamma, loadings) + mixed**2 @ by_location
    reach = ndtri(0.5 + 0.5 * level) * np.sqrt(np.maximum(variance, 0.0))
    return Effects(mean, mean - reach, mean + reach)


def _covariance_of_features(kernel: Kernel, g: Globals, told: Statistics) -> np.ndarray:
    """J (J^T T_k J + Lambda)^-1 J^T of every component, T_k = sum_u omega_uk (1 - omega_uk Var F_uk) E d E d^T.

    What a row tells of F_uk is what it tells of it beside what the same counts told of f_u. J is the slope of
    sigma phi(l_k) (linear kernel: I) and Lambda the prior's precision; locations that have places are taken as known.
    """
    size = kernel.features(g.locations[:1], g.hyper.sigma_l2).shape[1]
    if kernel.places is not None:
        return np.zeros((g.n_components, size, size))
    _, precision = pull_back(
        kernel, g.locations, g.hyper.sigma_l2, np.zeros((g.n_components, size)), told.location_information
    )
    j = kernel.jacobian(g.locations, g.hyper.sigma_l2)
    return j @ np.linalg.inv(unpack(precision, g.locations.shape[1])) @ j.transpose(0, 2, 1)


def effect_draws(kernel: Kernel, samples: Iterable[Globals], relative: bool) -> np.ndarray:
    """Effects in each sample of a chain, samples x components x covariates."""
    draws = []
    for g in samples:
        e = _loadings(kernel, g) @ g.coefficients
        draws.append(e - _shares(g) @ e if relative else e)
    return np.stack(draws)


def effects_of_draws(draws: np.ndarray, n_components: int, level: float) -> Effects:
    """Mean and equal-tailed interval over the samples; components that took no part have zero."""
    more = ((0, n_components - draws.shape[1]), (0, 0))
    return Effects(*(np.pad(part, more) for part in with_interval(draws, level)))


def _loadings(kernel: Kernel, g: Globals) -> np.ndarray:
    """g_k = (sigma phi(l_k), 1)."""
    features = kernel.features(g.locations, g.hyper.sigma_l2)
    return np.hstack([features, np.ones((g.n_components, len(g.coefficients) - features.shape[1]))])


def _shares(g: Globals) -> np.ndarray:
    """p_k, the share of the counts that component k holds."""
    held = np.maximum(g.held_counts, 1e-300)
    return held / held.sum()
