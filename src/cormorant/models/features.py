"""Correlated latent features (section 4.2 of the paper): rows show features or not, and features go together.

The generative story, truncated at T features, with one log odds b_k a feature:

    beta process     w_k ~ Beta(c g / T, c)         b_k = logit w_k
    gamma process    w_k ~ Gamma(g / T, c)          b_k = log w_k
    l_k ~ N(0, sigma_l^2 I_D)                       d_n ~ N(0, I_D)             F_nk = l_k . d_n
    z_nk ~ Bernoulli(sigmoid(b_k + F_nk))           s_ni = a_0i + sum_k z_nk a_ki

    gaussian     y_ni ~ N(s_ni, sigma_y^2)          a_ki ~ N(0, sigma_a^2)      a_0i ~ N(m_0, sigma_0^2)
    bernoulli    y_ni ~ Bernoulli(sigmoid(s_ni))    a_ki ~ N(0, sigma_a^2)      a_0i ~ N(m_0, sigma_0^2)
    poisson      y_ni ~ Poisson(s_ni)               a_ki ~ Gamma(A0, r_a)       a_0i ~ Gamma(A0, r_0)

g is the mass of the process and c its concentration (the rate, of a gamma process). As T grows, the T weights become
the atoms of the beta process c g w^-1 (1 - w)^(c - 1), or of the gamma process g w^-1 exp(-c w). Without locations
(D = 0) features come independently: the beta process then gives the Indian buffet process (IBP). The background a_0 is
what a row without features shows; its level is m_0 ~ N(0, LEVEL_SPREAD sigma_0^2). With m_0 = 0 a feature that most
columns need (black pixels, say) would rather be told by its absence, 1 - z_k, -a_k and a_0 + a_k, which any s allows.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from scipy.special import betaln, expit, gammaln

from cormorant.measures.log_gamma import draw_log_gamma

LIKELIHOODS = ("gaussian", "poisson", "bernoulli")
LEVEL_SPREAD = 10.0  # prior variance of m_0, in units of sigma_0^2
A0 = 0.5  # shape of the atoms of counts: below one, so that a feature may leave most columns alone


@dataclass(frozen=True)
class LatentFeatures:
    """What distinguishes the models: the process of the weights, and whether there are locations."""

    name: str
    title: str
    process: str  # "beta" or "gamma"
    has_locations: bool
    takes_covariates: ClassVar[bool] = False
    needs_covariates: ClassVar[bool] = False

    def weights(self, log_odds: np.ndarray) -> np.ndarray:
        """w_k, of which b_k is the logit (beta process) or the logarithm (gamma process)."""
        return expit(log_odds) if self.process == "beta" else np.exp(log_odds)

    def log_odds(self, weights: np.ndarray) -> np.ndarray:
        """b_k of w_k; finite also where w_k rounds to one."""
        if self.process == "gamma":
            return np.log(weights)
        return np.log(weights) - np.log(np.maximum(1.0 - weights, 1e-16))

    def draw_log_odds(self, n_features: int, mass: float, concentration: float, rng: np.random.Generator) -> np.ndarray:
        """b_k of weights from the process; those of a beta are the shares of two gammas, and b_k is their log ratio."""
        log_gamma = draw_log_gamma(np.full(n_features, process_shape(self, mass, concentration, n_features)), rng)
        if self.process == "gamma":
            return log_gamma - np.log(concentration)
        return log_gamma - draw_log_gamma(np.full(n_features, concentration), rng)

    def log_prior(self, log_odds: np.ndarray, mass: float, concentration: float) -> np.ndarray:
        """Log density of b_k: that of w_k, times dw / db."""
        shape = process_shape(self, mass, concentration, len(log_odds))
        if self.process == "beta":
            soft = np.logaddexp(0.0, log_odds)
            return shape * log_odds - (shape + concentration) * soft - betaln(shape, concentration)
        return shape * (log_odds + np.log(concentration)) - concentration * np.exp(log_odds) - gammaln(shape)

    def prior_slopes(self, log_odds: np.ndarray, mass: float, concentration: float) -> tuple[np.ndarray, np.ndarray]:
        """First derivative of `log_prior`, and minus the second."""
        shape = process_shape(self, mass, concentration, len(log_odds))
        if self.process == "beta":
            p = expit(log_odds)
            return shape - (shape + concentration) * p, (shape + concentration) * p * (1.0 - p)
        grown = concentration * np.exp(log_odds)
        return shape - grown, grown


def process_shape(model: LatentFeatures, mass: float, concentration: float, n_features: int) -> float:
    """The exponent of a small w: c g / T (beta process) or g / T (gamma process)."""
    return mass / n_features * (concentration if model.process == "beta" else 1.0)


FEATURE_MODELS = {
    model.name: model
    for model in (
        LatentFeatures("beta-features", "correlated beta-Bernoulli features", "beta", True),
        LatentFeatures("gamma-features", "correlated gamma-Bernoulli features", "gamma", True),
        LatentFeatures("ibp", "beta-Bernoulli process (Indian buffet process)", "beta", False),
    )
}


@dataclass(frozen=True)
class FeaturePriors:
    """Priors of what is learned, each a shape and a rate (of a gamma) or a scale (of an inverse gamma).

    For counts, `atoms` and `background` are gamma priors of the rates r_a and r_0.
    """

    mass: tuple[float, float] = (1.0, 0.1)  # gamma
    concentration: tuple[float, float] = (2.0, 2.0)  # gamma
    sigma_l2: tuple[float, float] = (2.0, 2.0)  # inverse gamma
    noise: tuple[float, float] = (1.0, 0.01)  # inverse gamma, of sigma_y^2
    atoms: tuple[float, float] = (1.0, 0.5)  # inverse gamma, of sigma_a^2; counts: gamma
    background: tuple[float, float] = (1.0, 0.5)  # inverse gamma, of sigma_0^2; counts: gamma

    def __post_init__(self) -> None:
        for f in fields(self):
            if not all(np.isfinite(number) and number > 0 for number in getattr(self, f.name)):
                raise ValueError(f"{f.name} must be two positive numbers, got {getattr(self, f.name)!r}.")


def signal_mean(likelihood: str, signal: np.ndarray) -> np.ndarray:
    """E y given s: s itself, or sigmoid(s) for binary data."""
    return expit(signal) if likelihood == "bernoulli" else signal


def draw_entries(likelihood: str, mean: np.ndarray, noise: float | np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """y given E y, entry by entry; ``noise`` is sigma_y^2, which only real numbers have."""
    if likelihood == "gaussian":
        return mean + rng.normal(size=mean.shape) * np.sqrt(noise)
    if likelihood == "poisson":
        return rng.poisson(mean).astype(np.float64)
    return (rng.random(mean.shape) < mean).astype(np.float64)


def log_density(likelihood: str, y: np.ndarray, signal: np.ndarray, noise: float | np.ndarray) -> np.ndarray:
    """log p(y | s), entry by entry."""
    if likelihood == "gaussian":
        return -0.5 * ((y - signal) ** 2 / noise + np.log(2.0 * np.pi * noise))
    if likelihood == "poisson":
        return y * np.log(signal) - signal - gammaln(y + 1.0)
    return y * signal - np.logaddexp(0.0, signal)
