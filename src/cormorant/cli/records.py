"""What made an output, and from which counts: `run.json` in a folder, `NAME.run.json` beside a file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cormorant._version import __version__

if TYPE_CHECKING:
    from cormorant.data import Counts, Matrix

RECORD = "run.json"


def fit_record(estimator: Any, source: str, counts: Counts | Matrix, seed: int, seconds: float) -> dict[str, Any]:
    """The record of a fit.

    Args:
        estimator: The fitted model, its `held_out_rows_` set.
        source: What the user called the counts.
        counts: All rows, those held out too.
        seed: Seed of the held-out rows and of the fit.
        seconds: What the fit took.
    """
    parameters = {k: v for k, v in estimator.get_params().items() if k not in ("callbacks", "verbose")}
    return {
        "command": "fit",
        "model": estimator.model.name,
        "counts": source,
        "counts_sha256": fingerprint(counts),
        "held_out": len(estimator.held_out_rows_),
        "seed": seed,
        "parameters": parameters,
        "components_used": estimator.n_components_used_,
        "epochs": estimator.n_epochs_,
        "stop_reason": estimator.stop_reason_,
        "seconds": round(seconds, 3),
    }


def size_record(counts: Counts | Matrix) -> dict[str, Any]:
    """The part of a record that tells counts, or real numbers, that were written."""
    from cormorant.data import Matrix

    size = {"rows": counts.n_rows, "columns": counts.n_columns}
    nonzeros = {} if isinstance(counts, Matrix) else {"nonzeros": counts.nnz}
    return {**size, **nonzeros, "counts_sha256": fingerprint(counts)}


def fingerprint(counts: Counts | Matrix) -> str:
    """A digest that two matrices share only if they have the same entries in the same places."""
    from cormorant.data import Matrix

    digest = hashlib.sha256(repr(counts.shape).encode())
    if isinstance(counts, Matrix):
        digest.update(counts.values.tobytes())
        return digest.hexdigest()
    # The types of the arrays follow from the entries, so equal matrices have equal bytes.
    for array in (counts.indptr, counts.indices, counts.data):
        digest.update(array.data)
    return digest.hexdigest()


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write the record of a folder, which then lists the files in it, or of a file, beside it."""
    document = {"cormorant": __version__, **record}
    if path.is_dir():
        document["files"] = [*_files(path), RECORD]
    record_path(path).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def read_record(path: Path) -> dict[str, Any]:
    """The record of an output; empty where there is none that can be read."""
    try:
        record = json.loads(record_path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def record_path(path: Path) -> Path:
    """Where the record of an output is."""
    return path / RECORD if path.is_dir() else path.with_name(f"{path.name}.{RECORD}")


def strangers(folder: Path) -> list[str]:
    """Files in a folder that neither its record nor `save` put there."""
    own = {*read_record(folder).get("files", ()), RECORD, "model.json", "arrays.safetensors"}
    return [file for file in _files(folder) if file not in own]


def _files(folder: Path) -> list[str]:
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if not file.is_dir())
