"""Saving a fitted model as a folder: `model.json` and `arrays.safetensors`; no pickle, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cormorant._version import __version__
from cormorant.backends.compiled import single_blas_thread
from cormorant.estimators import stored_samples
from cormorant.estimators.chains import Sampled
from cormorant.estimators.covariates import Encoding
from cormorant.estimators.folders import whole_folder
from cormorant.inference.samples import Sample
from cormorant.inference.state import Globals, State, Statistics
from cormorant.models.cnpf import Hyperparameters

FORMAT = 5  # 2: posterior samples; 3: several fits; 4: base measures; 5: new rows' allocation; earlier ones are read
JSON_NAME, ARRAYS_NAME = "model.json", "arrays.safetensors"
OWN_NAMES = {JSON_NAME, ARRAYS_NAME, "run.json"}  # the last is what the command line notes beside a model
# Early files do not have the last two.
GLOBAL_ARRAYS = ("atom_shape", "atom_rate", "weights", "locations", "coefficients", "base")
ROW_SETS = ("held_out_rows", "validation_rows")
FITTED = (
    "inference_",
    "row_allocation_",
    "diagnostics_",
    "traces_",
    "history_",
    "bound_",
    "stop_reason_",
    "interrupted_",
    "n_epochs_",
    "n_rows_seen_",
)


class ModelFileError(ValueError):
    """A saved model that cannot be read, with what is wrong and what to do."""


class PersistenceMixin:
    """`save` and `load` of every estimator."""

    if TYPE_CHECKING:
        model: ClassVar[Any]
        _state: State
        _globals: Globals
        _others: Sequence[Globals]
        _row_weights: np.ndarray | None
        frequencies_: np.ndarray | None
        samples_: list[list[Sample]]
        row_names_: np.ndarray | None
        column_names_: np.ndarray | None
        _encoding: Encoding | None

        get_params: Any

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the fitted model to a folder: globals, names, E x of the training rows, rows recorded as held out."""
        check_is_fitted(self)
        path = Path(path)
        _check_replaceable(path, overwrite)
        try:
            with whole_folder(path) as folder:
                self._write(folder)
        except OSError as error:
            reason = f"the model could not be saved: {error.strerror or error}"
            raise OSError(error.errno, reason, str(path)) from error
        return path

    def _write(self, folder: Path) -> None:
        from safetensors.numpy import save

        # Not its `save_file`, which lets nobody but the owner read the file.
        (folder / ARRAYS_NAME).write_bytes(save({k: np.ascontiguousarray(v) for k, v in self._arrays().items()}))
        document = {
            "format": FORMAT,
            "cormorant": __version__,
            "arrays_sha256": _digest(folder / ARRAYS_NAME),
            **self._document(),
        }
        document["sha256"] = _document_digest(document)
        (folder / JSON_NAME).write_text(json.dumps(document, default=_plain), encoding="utf-8")

    def _arrays(self) -> dict[str, np.ndarray]:
        """What goes to safetensors: the globals, what partial_fit needs to go on, the rows."""
        arrays = _arrays_of(self._globals)
        for number, other in enumerate(self._others):
            arrays |= _arrays_of(other, _prefix(number))
        memory = self._state.memory
        if isinstance(memory, Statistics):
            arrays |= {f"memory.{f.name}": np.asarray(getattr(memory, f.name)) for f in fields(Statistics)}
        elif isinstance(memory, np.ndarray):
            arrays["memory"] = memory
        for name, array in (("row_weights", self._row_weights), ("frequencies", self.frequencies_)):
            if array is not None:
                arrays[name] = array
        arrays |= stored_samples.to_arrays(self.samples_)
        return arrays | {name: np.asarray(getattr(self, f"{name}_"), dtype=np.int64) for name in ROW_SETS}

    def _document(self) -> dict[str, Any]:
        """What goes to JSON: parameters, numbers, names."""
        return {
            "model": self.model.name,
            "parameters": stored_parameters(self),
            "globals": stored_samples.numbers_of(self._globals) | {"n_steps": self._state.n_steps},
            "others": [stored_samples.numbers_of(other) for other in self._others],
            "fitted": {name: getattr(self, name) for name in FITTED},
            "samples": stored_samples.to_numbers(self.samples_),
            "row_names": listed(self.row_names_),
            "column_names": listed(self.column_names_),
            "feature_names_in": listed(getattr(self, "feature_names_in_", None)),
            "covariates": None if self._encoding is None else self._encoding.to_json(),
        }

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
    folder = Path(path)
    document = _read_json(folder)
    try:
        arrays = _read_arrays(folder, document["arrays_sha256"])
        with single_blas_thread():
            return _rebuild(document, arrays)
    except ModelFileError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ModelFileError(f"{folder} is not a complete model: {error} is missing or wrong. Save it again.") from None


def _rebuild(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """The estimator that a file describes."""
    from cormorant.estimators.registry import ALL

    cls = ALL[document["model"]]
    if hasattr(cls, "_from_file"):
        return cls._from_file(document, arrays)
    estimator = cls(**document["parameters"])
    info = document["globals"]
    g = _read_globals(arrays, info)
    others = [_read_globals(arrays, other, _prefix(i)) for i, other in enumerate(document.get("others", []))]
    names = {key: named(document[key]) for key in ("row_names", "column_names", "feature_names_in")}
    _check_lengths(g, others, arrays.get("row_weights"), names)
    fitted = document["fitted"]
    estimator.inference_ = fitted.get("inference_") or _first_format(estimator.inference)
    if document.get("covariates") is not None:
        estimator._encoding = Encoding.from_json(document["covariates"])
    estimator.frequencies_ = arrays.get("frequencies")
    chains = stored_samples.from_file(arrays, document.get("samples", []), len(g.atom_shape))
    sampled = Sampled(chains, g, {}, [], (), "") if chains else None
    state = State(g, _memory(arrays), int(info["n_steps"]))
    estimator._restore(state, **names, sampled=sampled, others=others, row_allocation=fitted.get("row_allocation_"))
    estimator._row_weights = arrays.get("row_weights")
    for name in ROW_SETS:
        setattr(estimator, f"{name}_", arrays.get(name, np.array([], dtype=np.int64)))
    # Early files do not say.
    known = {"interrupted_": False, "diagnostics_": {}, "traces_": []}
    known |= {name: getattr(estimator, name) for name in ("inference_", "row_allocation_")}
    fitted = {**known, **fitted}
    for name in FITTED:
        setattr(estimator, name, fitted[name])
    return estimator


def _prefix(number: int) -> str:
    """Of the names of arrays of a fit beside the first."""
    return f"other.{number}."


def _arrays_of(g: Globals, prefix: str = "") -> dict[str, np.ndarray]:
    return {prefix + name: getattr(g, name) for name in GLOBAL_ARRAYS}


def _read_globals(arrays: dict[str, np.ndarray], info: dict[str, Any], prefix: str = "") -> Globals:
    return Globals(
        **{name: arrays[prefix + name] for name in GLOBAL_ARRAYS if prefix + name in arrays},
        **stored_samples.read_numbers(info),
        hyper=Hyperparameters(**info["hyper"]),
    )


def _first_format(inference: str) -> str:
    """The scheme of a model saved before samplers were known."""
    return "structured" if inference == "auto" else inference


def _check_lengths(
    g: Globals, others: Sequence[Globals], row_weights: np.ndarray | None, names: dict[str, np.ndarray | None]
) -> None:
    """Refuse arrays and names that do not belong together."""
    n_columns, n_components = g.atom_shape.shape
    expected = {
        "weights": (g.weights, n_components),
        "locations": (g.locations, n_components),
        "base": (g.base if len(g.base) else None, n_columns),
        "row_weights": (None if row_weights is None else row_weights.T, n_components),
        "row_names": (names["row_names"], None if row_weights is None else len(row_weights)),
        "column_names": (names["column_names"], n_columns),
        "feature_names_in": (names["feature_names_in"], n_columns),
    }
    expected |= {f"columns of fit {i + 2}": (other.atom_shape, n_columns) for i, other in enumerate(others)}
    for name, (array, length) in expected.items():
        if array is not None and length is not None and len(array) != length:
            raise ValueError(f"the length of {name} ({len(array)}, not {length})")


def _check_replaceable(path: Path, overwrite: bool) -> None:
    """Replace only on request, and only what `save` or the command line wrote."""
    if not path.exists():
        return
    if not path.is_dir():
        raise FileExistsError(f"{path} is a file, and a model is saved as a folder; choose another place.")
    found = {child.name for child in path.iterdir()}
    if found and JSON_NAME not in found:
        raise FileExistsError(f"{path} is not a saved model, so it is not replaced; choose another place.")
    if found - OWN_NAMES:
        foreign = ", ".join(sorted(found - OWN_NAMES)[:3])
        raise FileExistsError(f"{path} holds other files too ({foreign}), so it is not replaced; choose another place.")
    if not overwrite:
        raise FileExistsError(f"{path} exists; pass overwrite=True to replace it.")


def _read_json(folder: Path) -> dict[str, Any]:
    file = folder / JSON_NAME
    if not file.is_file():
        what = "it is a file; give the folder that save wrote" if folder.is_file() else f"it has no {JSON_NAME}"
        raise FileNotFoundError(f"{folder} is not a saved model: {what if folder.exists() else 'it does not exist'}.")
    damaged = ModelFileError(f"{file} is damaged or was changed. Save the model again.")
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        raise damaged from None
    if not isinstance(document, dict) or type(document.get("format")) is not int:
        raise damaged
    if document["format"] > FORMAT:
        raise ModelFileError(
            f"{file} has format {document['format']}; this cormorant ({__version__}) reads up to {FORMAT}. "
            "Upgrade cormorant."
        )
    if "sha256" in document and document.pop("sha256") != _document_digest(document):
        raise damaged
    return document


def _memory(arrays: dict[str, np.ndarray]) -> Statistics | np.ndarray | None:
    """What the scheme remembers of earlier steps, where it was saved: averaged statistics, or squared gradients."""
    if "memory.counts" not in arrays:
        return arrays.get("memory")
    found: dict[str, Any] = {f.name: arrays[k] for f in fields(Statistics) if (k := f"memory.{f.name}") in arrays}
    for name in ("n_rows", "bound"):
        found[name] = found[name].item()
    return Statistics(**found)


def _document_digest(document: dict[str, Any]) -> str:
    """Checksum of everything in the JSON but itself, whatever its layout."""
    return hashlib.sha256(json.dumps(document, default=_plain, sort_keys=True).encode()).hexdigest()


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


def stored_parameters(estimator: Any) -> dict[str, Any]:
    """Constructor parameters for JSON: functions and generators stay with the program."""
    params = {k: v for k, v in estimator.get_params().items() if k != "callbacks"}
    if not isinstance(params["random_state"], int | np.integer):
        params["random_state"] = None
    return params


def listed(names: np.ndarray | None) -> list[str] | None:
    """Names for JSON."""
    return None if names is None else [str(name) for name in names]


def named(names: list[str] | None) -> np.ndarray | None:
    """Names from JSON."""
    return None if names is None else np.array(names, dtype=object)
