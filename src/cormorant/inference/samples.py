"""Posterior samples of the globals, kept small: most counts of a column by component are zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from cormorant.inference.globals import WEIGHT_FLOOR
from cormorant.inference.regression import with_effects
from cormorant.inference.start import with_unused
from cormorant.inference.state import Globals, State, flat
from cormorant.models.cnpf import PoissonFactorization
from cormorant.models.kernels import Kernel

if TYPE_CHECKING:
    from cormorant.inference.fit import Info


@dataclass(frozen=True)
class Sample:
    """One draw of the globals; the atoms are given by their full conditional Gamma(a0 + counts, rate)."""

    counts: sparse.csr_matrix  # columns x components
    rest: Globals  # everything but the atoms' shape

    @classmethod
    def of(cls, g: Globals) -> Sample:
        """Keep the globals of a chain."""
        # Not below zero: before the first sweep a0 may be newer than the shapes.
        counts = sparse.csr_matrix(np.maximum(np.rint(g.atom_shape - g.prior_shape), 0.0))
        return cls(counts, replace(g, atom_shape=np.empty((0, g.n_components))))

    @property
    def globals(self) -> Globals:
        """As everything else wants them."""
        return replace(self.rest, atom_shape=self.rest.prior_shape + self.counts.toarray())

    @property
    def atom_mean(self) -> np.ndarray:
        """E a, columns x components: that of `globals`, in one array."""
        atoms = self.counts.toarray()
        atoms += self.rest.prior_shape
        atoms /= self.rest.atom_rate
        return atoms

    @property
    def n_components(self) -> int:
        """Number of components."""
        return self.counts.shape[1]

    def only(self, used: np.ndarray) -> Sample:
        """The same with these components alone, in rising order; the others hold nothing, so the counts are shared."""
        if len(used) == self.n_components:
            return self
        places = np.zeros(self.n_components, self.counts.indices.dtype)
        places[used] = np.arange(len(used))
        c = self.counts
        counts = sparse.csr_matrix((c.data, places[c.indices], c.indptr), shape=(c.shape[0], len(used)))
        return Sample(counts, self.rest.reorder(used))

    def with_unused(self, model: PoissonFactorization, n_components: int) -> Sample:
        """The same with components added that hold nothing, where a chain had fewer than others."""
        if self.n_components == n_components:
            return self
        return Sample.of(with_unused(model, self.globals, n_components))

    def reorder(self, order: np.ndarray) -> Sample:
        """The same with the components in another order."""
        return Sample(self.counts[:, order].tocsr(), self.rest.reorder(order))


def in_use(chain: Sequence[Sample]) -> np.ndarray:
    """Numbers of the components that some sample of a chain has counts or weight of.

    A chain with fewer components than another is filled up by those that have neither (`Sample.with_unused`): work on
    new rows passes them by.
    """
    uses = [(s.rest.weights > WEIGHT_FLOOR) | (np.diff(s.counts.tocsc().indptr) > 0) for s in chain]
    return np.flatnonzero(np.any(uses, axis=0))


def kept_sweeps(burn_in: int, n_sweeps: int, n_samples: int) -> set[int]:
    """Numbers of the sweeps whose samples are kept: evenly spaced after the burn-in."""
    kept = np.linspace(burn_in, n_sweeps, min(n_samples, n_sweeps - burn_in) + 1)[1:]
    return set(np.rint(kept).astype(int).tolist())


class Collector:
    """A callback: keeps samples, evenly spaced after the burn-in, and traces of what labels do not touch."""

    burn_in_part = 3  # the burn-in is this part of the sweeps: a third

    def __init__(self, n_sweeps: int, n_samples: int):
        self.burn_in = n_sweeps // self.burn_in_part
        self.sweeps = kept_sweeps(self.burn_in, n_sweeps, n_samples)
        self.samples: list[Any] = []
        self.traces: dict[str, list[float]] = {}

    def __call__(self, info: Info, state: State) -> None:
        """Look at the state after a sweep."""
        if info.epoch > self.burn_in:
            for name, value in self.summaries(state.globals).items():
                self.traces.setdefault(name, []).append(value)
        if info.epoch in self.sweeps:
            self.samples.append(self.sample(state.globals))

    def summaries(self, g: Any) -> dict[str, float]:
        """What is traced."""
        return summaries(g)

    def sample(self, g: Any) -> Any:
        """What is kept."""
        return Sample.of(g)


def summaries(g: Globals) -> dict[str, float]:
    """Numbers of a draw that do not depend on how components are labelled or locations rotated."""
    found = {
        "total": float(g.weights.sum()),
        "alpha": g.alpha,
        "a0": g.hyper.a0,
        "effective_components": effective_components(g.held_counts),
    }
    if g.locations.shape[1]:
        found["location_variance"] = float((g.locations**2).sum(axis=1).mean())
    return found


def effective_components(held: np.ndarray) -> float:
    """The number of components of equal size whose shares of the counts have the same entropy."""
    share = held[held > 0] / max(held.sum(), 1e-300)
    return float(np.exp(-(share * np.log(share)).sum()))


def align(samples: list[Sample], reference: np.ndarray) -> list[Sample]:
    """Samples of one chain with its components matched to those of ``reference`` (columns x components, means)."""
    order = matching(_mean_atoms(samples), reference)
    return [s.reorder(order) for s in samples]


def matching(atoms: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """For each component of ``reference`` its counterpart among ``atoms`` (both columns x components).

    Within a chain labels stay put; between chains they do not. The matching maximises the sum of cosines.
    """
    return linear_sum_assignment(-(_unit(reference).T @ _unit(atoms)))[1]


def _mean_atoms(samples: list[Sample]) -> np.ndarray:
    """E a, columns x components; never more than one sample's atoms are held."""
    total = samples[0].globals.atom_mean
    for sample in samples[1:]:
        total += sample.globals.atom_mean
    return total / len(samples)


def _unit(a: np.ndarray) -> np.ndarray:
    return a / np.maximum(np.linalg.norm(a, axis=0), 1e-300)


def _typical_locations(every: list[Globals], kernel: Kernel) -> np.ndarray:
    """The locations whose products l_k . l_m are the mean's; of another kernel, the draw whose products come nearest.

    Locations are known up to a rotation (groups: up to their labels), so products are averaged, never they themselves.
    """
    features = [kernel.features(g.locations, g.hyper.sigma_l2) for g in every]
    gram = np.mean([phi @ phi.T for phi in features], axis=0)
    if not kernel.is_linear:
        nearest = np.argmin([((phi @ phi.T - gram) ** 2).sum() for phi in features])
        return every[nearest].locations
    size = features[0].shape[1]
    values, vectors = np.linalg.eigh(gram)
    top = np.argsort(values)[::-1][:size]
    locations = vectors[:, top] * np.sqrt(np.maximum(values[top], 0.0))
    return np.pad(locations, ((0, 0), (0, size - locations.shape[1])))


def summarise(samples: list[Sample], kernel: Kernel) -> Globals:
    """One set of globals for a chain's samples: means, and typical locations."""
    every = [s.rest for s in samples]
    first = every[0]
    hyper = replace(
        first.hyper,
        a0=float(np.mean([g.hyper.a0 for g in every])),
        sigma_l2=float(np.mean([g.hyper.sigma_l2 for g in every])),
        sigma_m2=float(np.mean([g.hyper.sigma_m2 for g in every])),
    )
    mean, locations = _mean_atoms(samples), _typical_locations(every, kernel)
    prior = sum((g.prior_shape for g in every[1:]), first.prior_shape) / len(every)  # a chain not begun has no base
    shape = prior + sum((s.counts for s in samples[1:]), samples[0].counts).toarray() / len(samples)
    # The mean counts are kept, and with them A_k = sum_i E a_ki (where entries are missing, every E a_ki).
    rate = shape / mean if first.atom_rate.ndim == 2 else shape.sum(axis=0) / mean.sum(axis=0)
    return Globals(
        atom_shape=shape,
        atom_rate=rate,
        weights=np.mean([g.weights for g in every], axis=0),
        locations=locations,
        alpha=float(np.mean([g.alpha for g in every])),
        c=float(np.mean([g.c for g in every])),
        hyper=hyper,
        beta=float(np.mean([g.beta for g in every])),
        coefficients=_mean_coefficients(every, kernel, kernel.features(locations, hyper.sigma_l2)),
        base=prior[:, 0] / hyper.a0 if len(prior) > 1 else flat(),
    )


def _mean_coefficients(every: list[Globals], kernel: Kernel, features: np.ndarray) -> np.ndarray:
    """Gamma in the coordinates of ``features``: that whose effects on F are nearest to their means."""
    first, size = every[0].coefficients, features.shape[1]
    if not first.size:
        return first
    effects = [kernel.features(g.locations, g.hyper.sigma_l2) @ g.coefficients[:size] for g in every]
    of_level = np.mean([g.coefficients[size:] for g in every], axis=0)
    return with_effects(features, np.mean(effects, axis=0), of_level)
