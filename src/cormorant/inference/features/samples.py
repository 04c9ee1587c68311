"""Posterior samples of latent features: kept after the burn-in, and summarised by one set of globals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cormorant.inference.features.state import FeatureGlobals
from cormorant.inference.rows import RowMemory
from cormorant.inference.samples import Collector
from cormorant.inference.state import State
from cormorant.models.features import LatentFeatures

if TYPE_CHECKING:
    from cormorant.inference.fit import Info


class FeatureCollector(Collector):
    """The samples of a chain are its globals as they are."""

    burn_in_part = 2

    def summaries(self, g: FeatureGlobals) -> dict[str, float]:
        """What is traced."""
        return summaries(g)

    def sample(self, g: FeatureGlobals) -> FeatureGlobals:
        """What is kept."""
        return g


class RowAverage:
    """A callback: the mean of z over the sweeps after the burn-in, for the rows that are sampled."""

    def __init__(self, memory: RowMemory, n_sweeps: int):
        self.memory, self.burn_in = memory, n_sweeps // FeatureCollector.burn_in_part
        self._total, self._n = np.zeros(()), 0

    def __call__(self, info: Info, state: State) -> None:
        """Look at the rows after a sweep."""
        if info.epoch > self.burn_in:
            self._total, self._n = self._total + self.memory.get(np.arange(self.memory.n_rows)).z, self._n + 1

    @property
    def mean(self) -> np.ndarray | None:
        """P(z = 1), rows x features; None before the end of the burn-in."""
        return None if self._n == 0 else self._total / self._n


def summaries(g: FeatureGlobals) -> dict[str, float]:
    """Numbers of a draw that do not depend on how features are labelled or locations rotated."""
    found = {
        "used": float((g.usage > 0).sum()),
        "features_per_row": float(g.usage.sum()),
        "mass": g.mass,
        "atom_scale": g.atom_scale,
        "noise": g.noise,
    }
    if g.locations.shape[1]:
        found["location_variance"] = float((g.locations**2).sum(axis=1).mean())
    return {name: value for name, value in found.items() if np.isfinite(value)}


def summarise(model: LatentFeatures, samples: list[FeatureGlobals]) -> FeatureGlobals:
    """Means over a chain, and the locations whose products l_k . l_m are the mean's (they turn; products do not)."""

    def mean(name: str) -> Any:
        return np.mean([getattr(g, name) for g in samples], axis=0)

    first = samples[0]
    size = first.locations.shape[1]
    values, vectors = np.linalg.eigh(np.mean([g.locations @ g.locations.T for g in samples], axis=0))
    top = np.argsort(values)[::-1][:size]
    locations = vectors[:, top] * np.sqrt(np.maximum(values[top], 0.0))
    weights = np.mean([model.weights(g.log_odds) for g in samples], axis=0)
    numbers = ("mass", "concentration", "sigma_l2", "noise", "atom_scale", "background_scale", "level")
    return replace(
        first,
        atoms=mean("atoms"),
        log_odds=model.log_odds(weights),
        locations=np.pad(locations, ((0, 0), (0, size - locations.shape[1]))),
        usage=mean("usage"),
        **{name: float(mean(name)) for name in numbers},
    )
