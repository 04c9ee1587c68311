"""Chains of the feature models come together: their features matched, and what all of them say of correlations."""

from __future__ import annotations

import numpy as np

from cormorant.estimators.chains import alike_to_the_first, pooled_correlation
from cormorant.inference.features.state import FeatureGlobals
from cormorant.inference.samples import matching
from cormorant.measures import component_correlation


def matched(chains: list[list[FeatureGlobals]]) -> list[list[FeatureGlobals]]:
    """Samples of all chains, the features of each in the order of those of the first that they are most like."""
    if len(chains) < 2:
        return chains
    reference = mean_atoms(chains[0])
    orders = ((chain, matching(mean_atoms(chain), reference)) for chain in chains[1:])
    return [chains[0], *([g.reorder(order) for g in chain] for chain, order in orders)]


def mean_atoms(samples: list[FeatureGlobals]) -> np.ndarray:
    """E a of a chain without the background, columns x features."""
    return np.mean([g.atoms[:, 1:] for g in samples], axis=0)


def sampled_correlation(chains: list[list[FeatureGlobals]]) -> np.ndarray:
    """Mean of rho over the samples of all chains, already matched, and the ends of its 90% interval: 3 x T x T."""
    draws = [np.stack([component_correlation(g.locations) for g in chain]) for chain in chains]
    return pooled_correlation(draws, alike_to_the_first(map(mean_atoms, chains)))
