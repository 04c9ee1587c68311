"""Data to try things on: the embedded sample, and draws from the models."""

from cormorant.datasets.nyt import load_nyt
from cormorant.datasets.simulators import Simulation, simulate, simulate_prior
from cormorant.datasets.thinned import ThinnedSimulation, simulate_thinned

__all__ = ["Simulation", "ThinnedSimulation", "load_nyt", "simulate", "simulate_prior", "simulate_thinned"]
