"""Correlated random measures as NumPyro models; needs the extra `numpyro`, and imports it when first used."""

from cormorant.measures.numpyro_bridge.cnpf import cnpf_model, gamma_process_sticks
from cormorant.measures.numpyro_bridge.likelihoods import Bernoulli, Categorical, Gaussian, Poisson
from cormorant.measures.numpyro_bridge.model import to_numpyro

__all__ = ["Bernoulli", "Categorical", "Gaussian", "Poisson", "cnpf_model", "gamma_process_sticks", "to_numpyro"]
