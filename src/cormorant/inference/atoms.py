"""q(a) of structured inference: gamma atoms, or (normalised models, see `dirichlet`) atoms that sum to one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import digamma, gammaln

from cormorant.inference import dirichlet
from cormorant.inference import globals as update
from cormorant.inference.state import Globals, Statistics, flat


def mean_log_atoms(g: Globals, normalised: bool) -> np.ndarray:
    """E log a, columns x components."""
    return dirichlet.mean_log(g.atom_shape) if normalised else digamma(g.atom_shape) - np.log(g.atom_rate)


def bound_of_atoms(g: Globals, normalised: bool) -> float:
    """Minus the divergence of q(a) from its prior."""
    h, a0 = g.hyper, g.prior_shape
    if normalised:
        return dirichlet.log_prior_and_entropy(g.atom_shape, a0)
    shape, rate = g.atom_shape, np.broadcast_to(g.atom_rate, g.atom_shape.shape)
    prior = a0 * np.log(h.b0) - gammaln(a0) + (a0 - 1.0) * mean_log_atoms(g, normalised) - h.b0 * shape / rate
    entropy = shape - np.log(rate) + gammaln(shape) + (1.0 - shape) * digamma(shape)
    return float((prior + entropy).sum())


def made_up_shape(g: Globals, shape: np.ndarray, lacking: np.ndarray, zero_order: bool) -> np.ndarray:
    """Dirichlet shapes where some columns were looked at less than others (zero-order: counts that they lack)."""
    return shape + lacking * g.atom_mean if zero_order else dirichlet.update_shape(shape, lacking, g.atom_shape)


def learn_prior(g: Globals, s: Statistics, normalised: bool, zero_order: bool, steps: int = 1) -> Globals:
    """a0, from q(a); zero-order: from the counts, a summed out, and with it the base measure, so many ``steps``.

    Where entries of gamma atoms are missing the base stays flat, as in the sampler.
    """
    h = g.hyper
    if not zero_order:
        found = dirichlet.update_a0 if normalised else partial(update.update_a0, rate=g.atom_rate, b0=h.b0)
        return replace(g, hyper=replace(h, a0=found(g.atom_shape, a0=h.a0)), base=flat())
    counts = g.atom_shape - g.prior_shape if normalised else s.counts
    n_columns, totals = len(counts), counts.sum(axis=0)
    has_base = normalised or s.exposure.ndim == 1
    for _ in range(steps if has_base else 1):
        tables = update.expected_tables(counts, g.prior_shape, collapsed=True).sum(axis=1)
        if normalised:
            a0 = dirichlet.update_a0_collapsed(tables.sum(), totals, n_columns, g.hyper.a0)
        else:
            a0 = update.update_a0_collapsed(tables.sum(), s.exposure, n_columns, h.b0)
        g = replace(g, hyper=replace(h, a0=a0), base=update.update_base(tables) if has_base else flat())
    return g
