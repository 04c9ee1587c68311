"""Folders that appear whole or not at all, and are replaced only on request."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cormorant.cli.errors import OutputError
from cormorant.cli.records import RECORD


def check_output(path: Path, force: bool) -> None:
    """Refuse before the work, not after it: an existing output, or a place that cannot be written."""
    if path.exists():
        if not force:
            raise FileExistsError(f"{path} exists; choose another --out, or add --force to replace it.")
        if not _replaceable(path):
            raise FileExistsError(f"{path} was not written by cormorant, so --force does not replace it.")
    parent = next(folder for folder in path.absolute().parents if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise OutputError(f"cannot write in {parent}; choose another --out.")


def _replaceable(path: Path) -> bool:
    """An empty folder, or one that a command or `save` wrote; never somebody's home."""
    if not path.is_dir():
        return False
    return not any(path.iterdir()) or any((path / name).is_file() for name in (RECORD, "model.json"))


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, which takes its place (and that of an older one) once all is written."""
    path = path.absolute()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        workshop = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    except OSError as error:
        raise OutputError(f"cannot write in {path.parent} ({error.strerror}); choose another --out.") from error
    try:
        made = workshop / "new"
        made.mkdir()
        yield made
        _take_place(made, path, workshop / "old")
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


def _take_place(made: Path, path: Path, old: Path) -> None:
    """Move what was made to its path and what was there to `old`, or leave both as they were."""
    if path.exists():
        path.rename(old)
    try:
        made.rename(path)
    except BaseException:
        if old.exists():
            old.rename(path)
        raise
