"""The models as scikit-learn estimators."""

from cormorant.estimators.cnpf import CNPF, ESTIMATORS, HGP, ScaledHGP, SoftplusCNPF
from cormorant.estimators.diln import DILN, HDP
from cormorant.estimators.features import FEATURE_ESTIMATORS, IBP, BetaBernoulliFeatures, GammaBernoulliFeatures
from cormorant.estimators.fitted import TruncationWarning
from cormorant.estimators.persistence import ModelFileError, load
from cormorant.estimators.thinned import ThinnedPoissonFactorization

__all__ = [
    "CNPF",
    "DILN",
    "ESTIMATORS",
    "FEATURE_ESTIMATORS",
    "HDP",
    "HGP",
    "IBP",
    "BetaBernoulliFeatures",
    "GammaBernoulliFeatures",
    "ModelFileError",
    "ScaledHGP",
    "SoftplusCNPF",
    "ThinnedPoissonFactorization",
    "TruncationWarning",
    "load",
]
