"""Every transformation, and Monte Carlo comparisons, shared by the tests of measures."""

from __future__ import annotations

import numpy as np
from scipy import stats

from cormorant.measures import (
    BernoulliLog,
    BernoulliLogit,
    BetaProcess,
    CallableLocations,
    CorrelatedBeta,
    DilnGamma,
    GammaAtoms,
    GammaExp,
    GammaProcess,
    GammaSoftplus,
    GaussianLocations,
    GaussianProcess,
    Identity,
    Linear,
    Thinning,
    Tuples,
    UncorrelatedGamma,
    cnpf,
)

# A plain measure and tuples for it, whose arguments tests then spoil.
ATOMS, GAMMA, BETA, LOCATIONS = GammaAtoms(1), GammaProcess(3.0, 2.0), BetaProcess(3.0, 2.0), GaussianLocations(1)
ONES = np.ones((2, 1))
TUPLES = Tuples(ONES, np.array([0.2, 0.3]), ONES)
MEASURE = cnpf(GAMMA, ATOMS, LOCATIONS)
# Locations and a function for the borders of finiteness.
CAUCHY = CallableLocations(lambda rng, n: rng.standard_cauchy((n, 2)), 2)
LINEAR = GaussianProcess(Linear())

TRANSFORMS = [
    Identity(),
    GammaExp(),
    GammaSoftplus(),
    UncorrelatedGamma(2.0),
    DilnGamma(3.0),
    CorrelatedBeta(),
    BernoulliLogit(),
    BernoulliLog(),
    Thinning(),
]


def at(variance):
    """Gaussian locations in the plane."""
    return GaussianLocations(2, variance)


ROUNDING = 1e-12  # what a sample without spread may be off by


def in_mean(sample, expected, standard_errors=4.0):
    """Whether the sample mean lies within so many standard errors (4: one false alarm in 16,000)."""
    sample = np.asarray(sample, dtype=float)
    error = sample.std(axis=0, ddof=1) / np.sqrt(len(sample))
    return bool(np.all(np.abs(sample.mean(axis=0) - expected) <= standard_errors * error + ROUNDING))


def in_covariance(sample, expected, standard_errors=5.0):
    """The same for a covariance matrix, entry by entry; 5 because a matrix makes many comparisons."""
    centred = sample - sample.mean(axis=0)
    products = centred[:, :, np.newaxis] * centred[:, np.newaxis, :]
    error = products.std(axis=0) / np.sqrt(len(sample))
    gap = np.abs(products.mean(axis=0) - expected)
    return bool(np.all(gap <= standard_errors * error + ROUNDING))


def in_distribution(sample, cdf, level=1e-3):
    """Whether a Kolmogorov-Smirnov test at this level finds nothing: one false alarm in a thousand seeds."""
    return bool(stats.kstest(np.ravel(sample), cdf).pvalue > level)


def in_independence(first, second, standard_errors=4.0):
    """Whether the sample correlation is what independence leaves: its standard error is one over sqrt(n)."""
    return bool(abs(np.corrcoef(first, second)[0, 1]) * np.sqrt(len(first)) < standard_errors)


class PlainGammaExp(GammaExp):
    """The exp link without its closed form: what is computed for it must come out the same."""

    exponential_link = False
