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
        kept = {} if self._row_weights is None else {"row_weights": self._row_weights}
        return kept | {
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
            "row_names": listed(self.row_names_),
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
        row_weights = arrays.get("row_weights")  # early files have none, nor names of rows
        names = {key: named(document.get(key)) for key in ("row_names", "column_names", "feature_names_in")}
        _check_lengths(g, row_weights, names)
        estimator.row_names_, estimator.column_names_ = names["row_names"], names["column_names"]
        if names["feature_names_in"] is not None:
            estimator.feature_names_in_ = names["feature_names_in"]
        estimator.n_features_in_ = len(g.atoms)
        fitted = {"traces_": [], **document["fitted"]}  # early files have no traces
        for name in FITTED:
            setattr(estimator, name, fitted[name])
        estimator._finish(g, chains, row_weights, reorder=False)
        return estimator


def _check_lengths(g: FeatureGlobals, row_weights: np.ndarray | None, names: dict[str, np.ndarray | None]) -> None:
    """Refuse arrays and names that do not belong together."""
    n_columns, n_rows = len(g.atoms), None if row_weights is None else len(row_weights)
    expected = {"row_names": n_rows, "column_names": n_columns, "feature_names_in": n_columns}
    for name, length in expected.items():
        found = names[name]
        if found is not None and length is not None and len(found) != length:
            raise ValueError(f"the length of {name} ({len(found)}, not {length})")
    if row_weights is not None and row_weights.shape[1] != g.n_components:
        raise ValueError(f"the shape of row_weights ({row_weights.shape[1]} features, not {g.n_components})")
