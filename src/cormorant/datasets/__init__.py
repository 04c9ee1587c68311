"""Data to try things on: the embedded sample, and draws from the models."""

from cormorant.datasets.features import FeatureSimulation, simulate_features
from cormorant.datasets.nyt import load_nyt
from cormorant.datasets.prior import simulate_prior
from cormorant.datasets.simulators import Simulation, simulate
from cormorant.datasets.thinned import ThinnedSimulation, simulate_thinned

__all__ = [
    "FeatureSimulation",
    "Simulation",
    "ThinnedSimulation",
    "load_nyt",
    "simulate",
    "simulate_features",
    "simulate_prior",
    "simulate_thinned",
]
