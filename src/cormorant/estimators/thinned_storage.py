"""A fitted thinned model as the arrays and numbers of a folder, and back; the folder itself is `persistence`'s."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from cormorant.estimators.covariates import Encoding
from cormorant.estimators.persistence import PersistenceMixin, listed, named, stored_parameters
from cormorant.inference.thinned import ThinnedGlobals
from cormorant.models.thinned import Thinning

ARRAYS = ("atoms", "weights", "coefficients", "held_counts")
NAMES = ("row_names", "column_names", "feature_names_in")
FITTED = (
    "diagnostics_", "traces_", "history_", "stop_reason_", "interrupted_", "n_epochs_", "n_rows_seen_",
)  # fmt: skip


class ThinnedStorageMixin(PersistenceMixin):
    """`save` and `load` of the thinned model."""

    if TYPE_CHECKING:
        samples_: Any
        held_out_rows_: np.ndarray
        _covariance: np.ndarray
        _finish: Any

    def _arrays(self) -> dict[str, np.ndarray]:
        """What goes to safetensors."""
        arrays = {"covariance": self._covariance, "held_out_rows": np.asarray(self.held_out_rows_, dtype=np.int64)}
        if self._row_weights is not None:
            arrays["row_weights"] = self._row_weights
        return arrays | {
            f"sample.{c}.{s}.{name}": getattr(g, name)
            for c, chain in enumerate(self.samples_)
            for s, g in enumerate(chain)
            for name in ARRAYS
        }

    def _document(self) -> dict[str, Any]:
        """What goes to JSON."""
        assert self._encoding is not None  # a fit has covariates
        return {
            "model": self.model.name,
            "parameters": stored_parameters(self),
            "samples": [[{"c": g.c, "hyper": asdict(g.hyper)} for g in chain] for chain in self.samples_],
            "fitted": {name: getattr(self, name) for name in FITTED},
            **{name: listed(getattr(self, f"{name}_", None)) for name in NAMES},
            "covariates": self._encoding.to_json(),
        }

    @classmethod
    def _from_file(cls, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        """The fitted model that a file describes."""
        estimator: Any = cls(**document["parameters"])
        estimator._encoding = Encoding.from_json(document["covariates"])
        chains = [
            [_sample(arrays, f"sample.{c}.{s}", info) for s, info in enumerate(chain)]
            for c, chain in enumerate(document["samples"])
        ]
        names = {name: named(document[name]) for name in NAMES}
        estimator.row_names_, estimator.column_names_ = names["row_names"], names["column_names"]
        estimator._finish(chains, arrays["covariance"])
        estimator._row_weights = arrays.get("row_weights")
        estimator.held_out_rows_ = arrays["held_out_rows"]
        estimator.n_features_in_ = estimator.components_.shape[1]
        _check_lengths(estimator, names)
        if names["feature_names_in"] is not None:
            estimator.feature_names_in_ = names["feature_names_in"]
        for name in FITTED:
            setattr(estimator, name, document["fitted"][name])
        return estimator


def _sample(arrays: dict[str, np.ndarray], prefix: str, info: dict[str, Any]) -> ThinnedGlobals:
    parts = {name: arrays[f"{prefix}.{name}"] for name in ARRAYS}
    return ThinnedGlobals(**parts, c=float(info["c"]), hyper=Thinning(**info["hyper"]))


def _check_lengths(estimator: Any, names: dict[str, np.ndarray | None]) -> None:
    """Refuse names that do not belong to the arrays."""
    n_rows = None if estimator._row_weights is None else len(estimator._row_weights)
    expected = {"row_names": n_rows, "column_names": estimator.n_features_in_}
    for name, length in (expected | {"feature_names_in": estimator.n_features_in_}).items():
        found = names[name]
        if found is not None and length is not None and len(found) != length:
            raise ValueError(f"the length of {name} ({len(found)}, not {length})")
