"""`run.json`, beside every output: what made it and from which counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cormorant._version import __version__
from cormorant.cli.sources import fingerprint

if TYPE_CHECKING:
    from cormorant.data import Counts

RECORD = "run.json"


def save_fit(folder: Path, estimator: Any, source: str, counts: Counts, seed: int, seconds: float) -> dict[str, Any]:
    """Save a fitted model in a folder with its record, and return the record.

    Args:
        folder: Where to.
        estimator: The fitted model, its `held_out_rows_` set.
        source: What the user called the counts.
        counts: All rows, those held out too.
        seed: Seed of the held-out rows and of the fit.
        seconds: What the fit took.
    """
    parameters = {k: v for k, v in estimator.get_params().items() if k not in ("callbacks", "verbose")}
    record = {
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
    estimator.save(folder, overwrite=True)
    write_record(folder, record)
    return record


def write_record(folder: Path, record: dict[str, Any]) -> None:
    """Write the record of an output."""
    document = {"cormorant": __version__, **record}
    (folder / RECORD).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def read_record(folder: Path) -> dict[str, Any]:
    """The record of an output; empty where there is none that can be read."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}
