"""Folders that appear whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, which takes the place of ``path`` once the block ends without an error.

    Whatever was at ``path`` stays until then. It is never half-written: it is the old folder or the new one.
    """
    path = path.resolve()  # a link goes on pointing where it did
    path.parent.mkdir(parents=True, exist_ok=True)
    workshop = path.with_name(f".{path.name}-{uuid4().hex}")
    made, old = workshop / "new", workshop / "old"
    made.mkdir(parents=True)  # no tempfile.mkdtemp: its folders are closed to everybody else
    try:
        yield made
        _take_place(made, path, old)
    finally:
        if path.exists() or not old.exists():  # else the old folder could not be put back: it stays in the workshop
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
