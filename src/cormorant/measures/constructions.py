"""The measures of the paper, ready made; `dataclasses.replace` changes a part of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from numpy.typing import ArrayLike
from scipy import special

from cormorant.measures import _check
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
    UncorrelatedGamma,
)
from cormorant.measures.weights import WeightProcess

ORIGIN = GaussianLocations(dimension=1, variance=0.0)
"""Locations of measures that have none."""
LINEAR = GaussianProcess(Linear())
"""F(l) = l.d with d ~ N(0, I), the paper's random function."""
STILL = GaussianProcess(Constant(0.0))
"""F = 0, for measures that do not read it."""


def completely_random(process: WeightProcess, base: AtomDistribution) -> CorrelatedRandomMeasure:
    """x = w: a completely random measure (section 2), or a random probability measure by sticks."""
    return CorrelatedRandomMeasure(process, base, ORIGIN, STILL, Identity())


def correlated_gamma_process(
    process: GammaProcess, base: AtomDistribution, locations: LocationDistribution, function: RandomFunction = LINEAR
) -> CorrelatedRandomMeasure:
    """x ~ Gamma(w, exp(-F)), F ~ GP(0, l.l') (section 3); normalised, a correlated Dirichlet process."""
    _check.instance("process", process, GammaProcess)
    return CorrelatedRandomMeasure(process, base, locations, function, GammaExp())


def cnpf(
    process: GammaProcess, base: AtomDistribution, locations: LocationDistribution, *, mean_variance: float = 0.0
) -> CorrelatedRandomMeasure:
    """The measure of correlated nonparametric Poisson factorisation (section 4.1).

    x ~ Gamma(w, exp(-F)) with F_u(l) = l.d_u + mu_u, mu_u ~ N(0, sigma_m^2), sigma_m^2 = `mean_variance`: a linear
    plus a constant kernel.
    """
    function = GaussianProcess(Linear() + _level(mean_variance))
    return correlated_gamma_process(process, base, locations, function)


def softplus_cnpf(
    process: GammaProcess, base: AtomDistribution, locations: LocationDistribution, *, mean_variance: float = 0.0
) -> CorrelatedRandomMeasure:
    """`cnpf` with x ~ Gamma(w, 1 / log(1 + exp F))."""
    return replace(cnpf(process, base, locations, mean_variance=mean_variance), transform=GammaSoftplus())


def hgp(process: GammaProcess, base: AtomDistribution) -> CorrelatedRandomMeasure:
    """The hierarchical gamma process, x ~ Gamma(w, 1)."""
    return replace(scaled_hgp(process, base, mean_variance=0.0), transform=UncorrelatedGamma())


def scaled_hgp(process: GammaProcess, base: AtomDistribution, *, mean_variance: float) -> CorrelatedRandomMeasure:
    """The scaled hierarchical gamma process, x ~ Gamma(w, exp(-m_u)), m_u ~ N(0, sigma_m^2)."""
    return correlated_gamma_process(process, base, ORIGIN, GaussianProcess(_level(mean_variance)))


def _level(mean_variance: float) -> Constant:
    """The kernel of mu_u ~ N(0, sigma_m^2)."""
    return Constant(_check.nonnegative("mean_variance", mean_variance))


def diln(
    process: DirichletProcess, base: AtomDistribution, locations: LocationDistribution, *, beta: float
) -> CorrelatedRandomMeasure:
    """The discrete infinite logistic normal (section 4.3): x ~ Gamma(beta w, exp(-F)), normalised."""
    _check.instance("process", process, DirichletProcess)
    return CorrelatedRandomMeasure(process, base, locations, LINEAR, DilnGamma(beta), normalized=True)


def beta_bernoulli(
    process: BetaProcess, base: AtomDistribution, locations: LocationDistribution, function: RandomFunction = LINEAR
) -> CorrelatedRandomMeasure:
    """Correlated latent features (section 4.2): x ~ Bernoulli(sigmoid(logit w + F))."""
    _check.instance("process", process, BetaProcess)
    return CorrelatedRandomMeasure(process, base, locations, function, BernoulliLogit())


def gamma_bernoulli(
    process: GammaProcess, base: AtomDistribution, locations: LocationDistribution, function: RandomFunction = LINEAR
) -> CorrelatedRandomMeasure:
    """Correlated latent features on a gamma process: x ~ Bernoulli(w e^F / (1 + w e^F))."""
    return replace(correlated_gamma_process(process, base, locations, function), transform=BernoulliLog())


def correlated_beta_process(
    process: BetaProcess, base: AtomDistribution, locations: LocationDistribution, function: RandomFunction = LINEAR
) -> CorrelatedRandomMeasure:
    """x = sigmoid(logit w + F): the probabilities of the correlated beta-Bernoulli process."""
    return replace(beta_bernoulli(process, base, locations, function), transform=CorrelatedBeta())


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
    _check.function("keep", keep)

    def log_odds(theta: Array, points: Array) -> Array:
        return special.logit(_check.probabilities("keep", _check.column("keep", keep(theta, points), len(points))))

    return CorrelatedRandomMeasure(process, base, locations, CovariateFunction(log_odds, covariates), Thinning())
