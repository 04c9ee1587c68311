"""Inference for latent features: the sampler, the structured variational scheme, and what both predict with."""
