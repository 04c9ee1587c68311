"""Saving a fitted model as a folder: `model.json` and `arrays.safetensors`; no pickle, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cormorant._version import __version__
from cormorant.inference.state import Globals, State, Statistics
from cormorant.models.cnpf import Hyperparameters

FORMAT = 1
JSON_NAME, ARRAYS_NAME = "model.json", "arrays.safetensors"
FITTED = ("history_", "bound_", "stop_reason_", "n_epochs_", "n_rows_seen_")


class ModelFileError(ValueError):
    """A saved model that cannot be read, with what is wrong and what to do."""


class PersistenceMixin:
    """`save` and `load` of every estimator."""

    if TYPE_CHECKING:
        model: ClassVar[Any]
        _state: State
        _globals: Globals
        _row_weights: np.ndarray | None
        column_names_: np.ndarray | None

        get_params: Any

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the fitted model to a folder: globals, names, E x of the training rows, rows recorded as held out."""
        check_is_fitted(self)
        path = Path(path)
        if path.exists() and not overwrite:
            raise FileExistsError(f"{path} exists; pass overwrite=True to replace it.")
        if path.exists() and not ((path / JSON_NAME).is_file() or (path.is_dir() and not any(path.iterdir()))):
            raise FileExistsError(f"{path} is not a saved model, so it is not replaced; choose another place.")
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
        try:
            self._write(temporary)
            if path.exists():
                old = temporary.with_name(temporary.name + "-old")
                path.rename(old)  # whole at every moment: under one name or the other
                temporary.rename(path)
                shutil.rmtree(old)
            else:
                temporary.rename(path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        return path

    def _write(self, folder: Path) -> None:
        from safetensors.numpy import save_file

        g = self._globals
        arrays = {name: getattr(g, name) for name in ("atom_shape", "atom_rate", "weights", "locations")}
        if self._row_weights is not None:
            arrays["row_weights"] = self._row_weights
        held_out = getattr(self, "held_out_rows_", None)
        arrays["held_out_rows"] = np.array([] if held_out is None else held_out, dtype=np.int64)
        if isinstance(self._state.memory, Statistics):  # so that partial_fit goes on where it was
            arrays |= {f"memory.{f.name}": np.asarray(getattr(self._state.memory, f.name)) for f in fields(Statistics)}
        save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, folder / ARRAYS_NAME)
        params = {k: v for k, v in self.get_params().items() if k not in ("callbacks", "random_state")}
        seed = self.get_params()["random_state"]
        params["random_state"] = int(seed) if isinstance(seed, int | np.integer) else None
        document = {
            "format": FORMAT,
            "cormorant": __version__,
            "arrays_sha256": _digest(folder / ARRAYS_NAME),
            "model": self.model.name,
            "parameters": params,
            "globals": {"alpha": g.alpha, "c": g.c, "hyper": asdict(g.hyper), "n_steps": self._state.n_steps},
            "fitted": {name: getattr(self, name) for name in FITTED if hasattr(self, name)},
            "row_names": _listed(getattr(self, "row_names_", None)),
            "column_names": _listed(self.column_names_),
            "feature_names_in": _listed(getattr(self, "feature_names_in_", None)),
        }
        (folder / JSON_NAME).write_text(json.dumps(document, default=_plain), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Any:
        """Read a model written by `save`."""
        estimator = load(path)
        if not isinstance(estimator, cls):
            raise ModelFileError(
                f"{path} holds a {type(estimator).__name__}, not a {cls.__name__}; use cormorant.load."
            )
        return estimator


def load(path: str | Path) -> Any:
    """Read any model written by `save`."""
    from cormorant.estimators.cnpf import ESTIMATORS

    folder = Path(path)
    document = _read_json(folder)
    try:
        cls = ESTIMATORS[document["model"]]
        arrays = _read_arrays(folder, document["arrays_sha256"])
        estimator = cls(**document["parameters"])
        info = document["globals"]
        g = Globals(
            **{name: arrays[name] for name in ("atom_shape", "atom_rate", "weights", "locations")},
            alpha=info["alpha"],
            c=info["c"],
            hyper=Hyperparameters(**info["hyper"]),
        )
        n_columns, n_components = g.atom_shape.shape
        if len(g.weights) != n_components or len(g.locations) != n_components:
            raise KeyError("arrays of one length")
        estimator._restore(
            State(g, _memory(arrays), info["n_steps"]),
            n_columns,
            *(_named(document[key]) for key in ("row_names", "column_names", "feature_names_in")),
        )
        estimator._row_weights = arrays.get("row_weights")
        estimator.held_out_rows_ = arrays["held_out_rows"]
        for name, value in document["fitted"].items():
            setattr(estimator, name, value)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{folder} is not a complete model: {error} is missing or wrong. Save it again.") from None
    return estimator


def _read_json(folder: Path) -> dict[str, Any]:
    file = folder / JSON_NAME
    if not file.is_file():
        raise FileNotFoundError(f"{folder} is not a saved model: it has no {JSON_NAME}.")
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        version = document["format"]
    except (ValueError, KeyError, TypeError):
        raise ModelFileError(f"{file} is damaged (not a model's JSON). Save the model again.") from None
    if not isinstance(version, int) or version > FORMAT:
        raise ModelFileError(
            f"{file} has format {version}; this cormorant ({__version__}) reads up to {FORMAT}. Upgrade cormorant."
        )
    return document


def _memory(arrays: dict[str, np.ndarray]) -> Statistics | None:
    """The averaged statistics of a stochastic fit, where they were saved."""
    if "memory.counts" not in arrays:
        return None
    found: dict[str, Any] = {f.name: arrays[f"memory.{f.name}"] for f in fields(Statistics)}
    for name in ("n_rows", "bound"):
        found[name] = found[name].item()
    return Statistics(**found)


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's, for JSON."""
    return value.item() if isinstance(value, np.generic) else float(value)


def _read_arrays(folder: Path, digest: str) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    file = folder / ARRAYS_NAME
    if not file.is_file():
        raise ModelFileError(f"{folder} is incomplete: {ARRAYS_NAME} is missing. Save the model again.")
    if _digest(file) != digest:
        raise ModelFileError(f"{file} is damaged or cut short. Save the model again.")
    try:
        return load_file(file)
    except (SafetensorError, OSError, ValueError):
        raise ModelFileError(f"{file} is damaged or cut short. Save the model again.") from None


def _listed(names: np.ndarray | None) -> list[str] | None:
    return None if names is None else [str(name) for name in names]


def _named(names: list[str] | None) -> np.ndarray | None:
    return None if names is None else np.array(names, dtype=object)
