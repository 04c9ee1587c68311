"""Posterior samples of latent features: kept after the burn-in, and summarised by one set of globals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cormorant.inference.features.state import FeatureGlobals
from cormorant.inference.samples import kept_sweeps
from cormorant.models.features import LatentFeatures

if TYPE_CHECKING:
    from cormorant.inference.fit import Info
    from cormorant.inference.state import State


class FeatureCollector:
    """A callback: keeps samples, evenly spaced after the burn-in, and traces of what labels do not touch."""

    def __init__(self, n_sweeps: int, n_samples: int):
        self.burn_in = n_sweeps // 2
        self.sweeps = kept_sweeps(self.burn_in, n_sweeps, n_samples)
        self.samples: list[FeatureGlobals] = []
        self.traces: dict[str, list[float]] = {}

    def __call__(self, info: Info, state: State) -> None:
        """Look at the state after a sweep."""
        g: Any = state.globals
        if info.epoch > self.burn_in:
            for name, value in summaries(g).items():
                self.traces.setdefault(name, []).append(value)
        if info.epoch in self.sweeps:
            self.samples.append(g)


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
