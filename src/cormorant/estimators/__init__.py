"""The models as scikit-learn estimators."""

from cormorant.estimators.cnpf import CNPF, ESTIMATORS, HGP, ScaledHGP, SoftplusCNPF
from cormorant.estimators.fitted import TruncationWarning
from cormorant.estimators.persistence import ModelFileError, load

__all__ = [
    "CNPF",
    "ESTIMATORS",
    "HGP",
    "ModelFileError",
    "ScaledHGP",
    "SoftplusCNPF",
    "TruncationWarning",
    "load",
]
