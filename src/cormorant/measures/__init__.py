"""Correlated random measures (Ranganath and Blei): draw them, and compute with them.

A measure is put together from a weight process, a base distribution of atoms, a distribution of locations,
a random function and a transformation; see `CorrelatedRandomMeasure`, or `constructions` for those of the
paper.
"""

from cormorant.measures.bases import (
    AtomDistribution,
    CallableAtoms,
    DirichletAtoms,
    GammaAtoms,
    GaussianAtoms,
)
from cormorant.measures.constructions import (
    beta_bernoulli,
    cnpf,
    completely_random,
    correlated_beta_process,
    correlated_gamma_process,
    diln,
    gamma_bernoulli,
    hgp,
    scaled_hgp,
    softplus_cnpf,
    thinned,
)
from cormorant.measures.correlated import CorrelatedRandomMeasure
from cormorant.measures.draws import GroupDraws, MeasureDraw, Tuples
from cormorant.measures.features import BernoulliLog, BernoulliLogit, CorrelatedBeta, Thinning
from cormorant.measures.finiteness import Finiteness, Verdict, finiteness
from cormorant.measures.functions import (
    CallableMean,
    ConstantMean,
    CovariateFunction,
    GaussianProcess,
    GroupMeans,
    MeanFunction,
    RandomFunction,
    StudentTProcess,
    ZeroMean,
)
from cormorant.measures.kernels import RBF, Constant, Kernel, Linear, Matern32, Matern52, Product, Scale, Sum
from cormorant.measures.laplace import LaplaceEstimate, laplace_functional
from cormorant.measures.levy import BetaProcess, GammaProcess, LevyProcess
from cormorant.measures.locations import CallableLocations, GaussianLocations, LocationDistribution
from cormorant.measures.moments import (
    WeightMoments,
    component_correlation,
    covariance_of_sets,
    weight_moments,
)
from cormorant.measures.numpyro_bridge import cnpf_model, gamma_process_sticks, to_numpyro
from cormorant.measures.quadrature import WeightRule
from cormorant.measures.stable import GeneralizedGammaProcess, StableProcess
from cormorant.measures.sticks import DirichletProcess, PitmanYorProcess, StickProcess
from cormorant.measures.totals import expected_total
from cormorant.measures.transformation import Growth, Transformation
from cormorant.measures.transforms import (
    DilnGamma,
    GammaExp,
    GammaSoftplus,
    GammaTransformation,
    Identity,
    UncorrelatedGamma,
)
from cormorant.measures.weights import WeightProcess, Weights

__all__ = [
    "RBF",
    "AtomDistribution",
    "BernoulliLog",
    "BernoulliLogit",
    "BetaProcess",
    "CallableAtoms",
    "CallableLocations",
    "CallableMean",
    "Constant",
    "ConstantMean",
    "CorrelatedBeta",
    "CorrelatedRandomMeasure",
    "CovariateFunction",
    "DilnGamma",
    "DirichletAtoms",
    "DirichletProcess",
    "Finiteness",
    "GammaAtoms",
    "GammaExp",
    "GammaProcess",
    "GammaSoftplus",
    "GammaTransformation",
    "GaussianAtoms",
    "GaussianLocations",
    "GaussianProcess",
    "GeneralizedGammaProcess",
    "GroupDraws",
    "GroupMeans",
    "Growth",
    "Identity",
    "Kernel",
    "LaplaceEstimate",
    "LevyProcess",
    "Linear",
    "LocationDistribution",
    "Matern32",
    "Matern52",
    "MeanFunction",
    "MeasureDraw",
    "PitmanYorProcess",
    "Product",
    "RandomFunction",
    "Scale",
    "StableProcess",
    "StickProcess",
    "StudentTProcess",
    "Sum",
    "Thinning",
    "Transformation",
    "Tuples",
    "UncorrelatedGamma",
    "Verdict",
    "WeightMoments",
    "WeightProcess",
    "WeightRule",
    "Weights",
    "ZeroMean",
    "beta_bernoulli",
    "cnpf",
    "cnpf_model",
    "completely_random",
    "component_correlation",
    "correlated_beta_process",
    "correlated_gamma_process",
    "covariance_of_sets",
    "diln",
    "expected_total",
    "finiteness",
    "gamma_bernoulli",
    "gamma_process_sticks",
    "hgp",
    "laplace_functional",
    "scaled_hgp",
    "softplus_cnpf",
    "thinned",
    "to_numpyro",
    "weight_moments",
]
