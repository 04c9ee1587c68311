"""A fitted feature model as the arrays and numbers of a folder, and back; the folder itself is `persistence`'s."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from cormorant.estimators.persistence import PersistenceMixin, listed, named, stored_parameters
from cormorant.inference.features.state import FeatureGlobals
from cormorant.models.features import FeaturePriors

ARRAYS = ("atoms", "log_odds", "locations", "usage")
NUMBERS = ("mass", "concentration", "sigma_l2", "noise", "atom_scale", "background_scale", "level")
FITTED = (
    "diagnostics_", "traces_", "history_", "bound_", "n_epochs_", "stop_reason_", "interrupted_", "n_rows_seen_",
)  # fmt: skip


class FeatureStorageMixin(PersistenceMixin):
    """`save` and `load` of the feature models."""

    if TYPE_CHECKING:
        _globals: Any
        samples_: Any
        _finish: Any

    def _arrays(self) -> dict[str, np.ndarray]:
        """What goes to safetensors."""
        return {
            f"{prefix}.{name}": getattr(g, name)
            for prefix, g in self._every()
            for name in (*ARRAYS, *(("covariance",) if g.covariance is not None else ()))
        }

    def _document(self) -> dict[str, Any]:
        """What goes to JSON."""
        return {
            "model": self.model.name,
            "parameters": stored_parameters(self),
            "numbers": {prefix: {name: getattr(g, name) for name in NUMBERS} for prefix, g in self._every()},
            "learns_atom_scale": self._globals.learns_atom_scale,
            "priors": asdict(self._globals.priors),
            "chains": [len(chain) for chain in self.samples_],
            "fitted": {name: getattr(self, name) for name in FITTED},
            "column_names": listed(self.column_names_),
            "feature_names_in": listed(getattr(self, "feature_names_in_", None)),
        }

    def _every(self):
        """The globals and every sample, each with its name in the file."""
        yield "globals", self._globals
        for c, chain in enumerate(self.samples_):
            for s, sample in enumerate(chain):
                yield f"sample.{c}.{s}", sample

    @classmethod
    def _from_file(cls, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        """The fitted model that a file describes."""
        estimator: Any = cls(**document["parameters"])
        priors = FeaturePriors(**{name: tuple(pair) for name, pair in document["priors"].items()})

        def read(prefix: str) -> FeatureGlobals:
            found: dict[str, Any] = {name: arrays[f"{prefix}.{name}"] for name in ARRAYS}
            found |= {name: float(document["numbers"][prefix][name]) for name in NUMBERS}
            found["learns_atom_scale"] = bool(document["learns_atom_scale"])
            return FeatureGlobals(**found, covariance=arrays.get(f"{prefix}.covariance"), priors=priors)

        chains = [[read(f"sample.{c}.{s}") for s in range(n)] for c, n in enumerate(document["chains"])]
        g = read("globals")
        names = {key: named(document[key]) for key in ("column_names", "feature_names_in")}
        for key, found in names.items():
            if found is not None and len(found) != len(g.atoms):
                raise ValueError(f"the length of {key} ({len(found)}, not {len(g.atoms)})")
        estimator.column_names_ = names["column_names"]
        if names["feature_names_in"] is not None:
            estimator.feature_names_in_ = names["feature_names_in"]
        estimator.n_features_in_ = len(g.atoms)
        fitted = {"traces_": [], **document["fitted"]}  # early files have no traces
        for name in FITTED:
            setattr(estimator, name, fitted[name])
        estimator._finish(g, chains, reorder=False)
        return estimator
