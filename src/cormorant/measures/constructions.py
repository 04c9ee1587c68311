"""The measures of the paper, ready made; `dataclasses.replace` changes a part of one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from cormorant.measures._check import Array
from cormorant.measures.bases import AtomDistribution
from cormorant.measures.correlated import CorrelatedRandomMeasure
from cormorant.measures.features import BernoulliLog, BernoulliLogit, CorrelatedBeta, Thinning
from cormorant.measures.functions import CovariateFunction, GaussianProcess, RandomFunction
from cormorant.measures.kernels import Constant, Linear
from cormorant.measures.levy import BetaProcess, GammaProcess
from cormorant.measures.locations import GaussianLocations, LocationDistribution
from cormorant.measures.sticks import DirichletProcess
from cormorant.measures.transforms import (
    DilnGamma,
    GammaExp,
    GammaSoftplus,
    Identity,
    Transformation,
    UncorrelatedGamma,
)
from cormorant.measures.weights import WeightProcess

ORIGIN = GaussianLocations(dimension=1, variance=0.0)
"""Locations of measures that have none."""


def completely_random(process: WeightProcess, base: AtomDistribution) -> CorrelatedRandomMeasure:
    """x = w: a completely random measure (section 2), or a random probability measure by sticks."""
    return CorrelatedRandomMeasure(process, base, ORIGIN, GaussianProcess(Constant(0.0)), Identity())


def correlated_gamma_process(
    process: GammaProcess,
    base: AtomDistribution,
    locations: LocationDistribution,
    function: RandomFunction | None = None,
) -> CorrelatedRandomMeasure:
    """x ~ Gamma(w, exp(-F)), F ~ GP(0, l.l') (section 3); normalised, a correlated Dirichlet process."""
    return CorrelatedRandomMeasure(process, base, locations, function or GaussianProcess(Linear()), GammaExp())


def cnpf(
    process: GammaProcess,
    base: AtomDistribution,
    locations: LocationDistribution,
    *,
    mean_variance: float = 0.0,
    transform: Transformation | None = None,
) -> CorrelatedRandomMeasure:
    """The measure of correlated nonparametric Poisson factorisation (section 4.1).

    F_u(l) = l.d_u + mu_u with mu_u ~ N(0, sigma_m^2), sigma_m^2 = `mean_variance`: a linear plus a constant
    kernel. `transform` is GammaExp() unless given.
    """
    kernel = Linear() + Constant(mean_variance) if mean_variance else Linear()
    return CorrelatedRandomMeasure(process, base, locations, GaussianProcess(kernel), transform or GammaExp())


def softplus_cnpf(
    process: GammaProcess,
    base: AtomDistribution,
    locations: LocationDistribution,
    *,
    mean_variance: float = 0.0,
) -> CorrelatedRandomMeasure:
    """`cnpf` with x ~ Gamma(w, 1 / log(1 + exp F))."""
    return cnpf(process, base, locations, mean_variance=mean_variance, transform=GammaSoftplus())


def hgp(process: GammaProcess, base: AtomDistribution) -> CorrelatedRandomMeasure:
    """The hierarchical gamma process, x ~ Gamma(w, 1)."""
    return CorrelatedRandomMeasure(process, base, ORIGIN, GaussianProcess(Constant(0.0)), UncorrelatedGamma())


def scaled_hgp(process: GammaProcess, base: AtomDistribution, *, mean_variance: float) -> CorrelatedRandomMeasure:
    """The scaled hierarchical gamma process, x ~ Gamma(w, exp(-m_u)), m_u ~ N(0, sigma_m^2)."""
    return CorrelatedRandomMeasure(process, base, ORIGIN, GaussianProcess(Constant(mean_variance)), GammaExp())


def diln(
    process: DirichletProcess, base: AtomDistribution, locations: LocationDistribution, *, beta: float
) -> CorrelatedRandomMeasure:
    """The discrete infinite logistic normal (section 4.3): x ~ Gamma(beta w, exp(-F)), normalised."""
    function = GaussianProcess(Linear())
    return CorrelatedRandomMeasure(process, base, locations, function, DilnGamma(beta), normalized=True)


def beta_bernoulli(
    process: BetaProcess,
    base: AtomDistribution,
    locations: LocationDistribution,
    function: RandomFunction | None = None,
) -> CorrelatedRandomMeasure:
    """Correlated latent features (section 4.2): x ~ Bernoulli(sigmoid(logit w + F))."""
    return CorrelatedRandomMeasure(process, base, locations, function or GaussianProcess(Linear()), BernoulliLogit())


def gamma_bernoulli(
    process: GammaProcess,
    base: AtomDistribution,
    locations: LocationDistribution,
    function: RandomFunction | None = None,
) -> CorrelatedRandomMeasure:
    """Correlated latent features on a gamma process: x ~ Bernoulli(w e^F / (1 + w e^F))."""
    return CorrelatedRandomMeasure(process, base, locations, function or GaussianProcess(Linear()), BernoulliLog())


def correlated_beta_process(
    process: BetaProcess,
    base: AtomDistribution,
    locations: LocationDistribution,
    function: RandomFunction | None = None,
) -> CorrelatedRandomMeasure:
    """x = sigmoid(logit w + F): the probabilities of the correlated beta-Bernoulli process."""
    return CorrelatedRandomMeasure(process, base, locations, function or GaussianProcess(Linear()), CorrelatedBeta())


def thinned(
    process: WeightProcess,
    base: AtomDistribution,
    locations: LocationDistribution,
    keep: Callable[[Array, Array], ArrayLike],
    covariates: ArrayLike,
) -> CorrelatedRandomMeasure:
    """Thinned dependent measures (section 4.4): x_u = w Bernoulli(k(theta_u, l)), F_u = logit k(theta_u, l).

    `keep(theta, locations)` gives probabilities in [0, 1] for one covariate and an array of locations.
    """

    def log_odds(theta: Array, points: Array) -> Array:
        # Outside [0, 1] the logit is NaN, which CovariateFunction refuses by name.
        return special.logit(np.asarray(keep(theta, points), dtype=np.float64))

    return CorrelatedRandomMeasure(process, base, locations, CovariateFunction(log_odds, covariates), Thinning())
