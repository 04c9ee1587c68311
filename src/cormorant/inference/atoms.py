"""q(a) of structured inference: gamma atoms, or (normalised models, see `dirichlet`) atoms that sum to one."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln

from cormorant.inference import dirichlet
from cormorant.inference import globals as update
from cormorant.inference.state import Globals, Statistics


def mean_log_atoms(g: Globals, normalised: bool) -> np.ndarray:
    """E log a, columns x components."""
    return dirichlet.mean_log(g.atom_shape) if normalised else digamma(g.atom_shape) - np.log(g.atom_rate)


def bound_of_atoms(g: Globals, normalised: bool) -> float:
    """Minus the divergence of q(a) from its prior."""
    h = g.hyper
    if normalised:
        return dirichlet.log_prior_and_entropy(g.atom_shape, h.a0)
    shape, rate = g.atom_shape, np.broadcast_to(g.atom_rate, g.atom_shape.shape)
    prior = h.a0 * np.log(h.b0) - gammaln(h.a0) + (h.a0 - 1.0) * mean_log_atoms(g, normalised) - h.b0 * shape / rate
    entropy = shape - np.log(rate) + gammaln(shape) + (1.0 - shape) * digamma(shape)
    return float((prior + entropy).sum())


def made_up_shape(g: Globals, shape: np.ndarray, lacking: np.ndarray, zero_order: bool) -> np.ndarray:
    """Dirichlet shapes where some columns were looked at less than others (zero-order: counts that they lack)."""
    return shape + lacking * g.atom_mean if zero_order else dirichlet.update_shape(shape, lacking, g.atom_shape)


def learn_a0(
    g: Globals, s: Statistics, shape: np.ndarray, rate: np.ndarray, normalised: bool, zero_order: bool
) -> float:
    """The shape of the atoms' prior, from q(a) (zero-order: from the counts, a summed out)."""
    a0, b0 = g.hyper.a0, g.hyper.b0
    if normalised:
        return dirichlet.update_a0_collapsed(shape - a0, a0) if zero_order else dirichlet.update_a0(shape, a0)
    if zero_order:
        return update.update_a0_collapsed(s.counts, s.exposure, a0, b0)
    return update.update_a0(shape, rate, a0, b0)
