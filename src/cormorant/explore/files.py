"""Files and folders that appear whole or not at all, and replace nothing unless told to."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from cormorant.estimators.folders import whole_folder

HDF5_EXTRA = 1 << 20  # bytes of names and headers beside the arrays, amply


@contextmanager
def new_path(path: str | Path, overwrite: bool, own: Collection[str] = ()) -> Iterator[Path]:
    """A path to write to, which takes the place of ``path`` once all is written.

    Args:
        path: A file or a folder.
        overwrite: Whether to replace what is there.
        own: Names of the files of a folder, which is there to be filled; none: a file is to be made. A folder that
            holds anything else is somebody's, and is not replaced.
    """
    path = Path(path)
    _check_place(path, overwrite, own)
    with whole_folder(path) if own else _whole_file(path) as made:
        yield made


@contextmanager
def new_hdf5(path: str | Path, overwrite: bool, n_bytes: int) -> Iterator[Path]:
    """`new_path` for a file that HDF5 writes, which crashes Python where a disk is full when it closes the file.

    It is made in the system's temporary folder, or if that is small beside its place, and moved from there: what a move
    says of a full disk is an error like any other.

    Args:
        path: The file.
        overwrite: Whether to replace what is there.
        n_bytes: What its arrays take.
    """
    with new_path(path, overwrite) as made:
        places = (tempfile.gettempdir(), made.parent)
        roomy = next((p for p in places if shutil.disk_usage(p).free >= n_bytes + HDF5_EXTRA), None)
        if roomy is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with tempfile.TemporaryDirectory(dir=roomy) as elsewhere:
            whole = Path(elsewhere) / made.name
            yield whole
            shutil.move(whole, made)


@contextmanager
def _whole_file(path: Path) -> Iterator[Path]:
    path = path.resolve()  # a link goes on pointing where it did
    path.parent.mkdir(parents=True, exist_ok=True)
    # A folder of its own, since writers may put files beside theirs; the suffix stays, since some go by it.
    workshop = path.with_name(f".{path.name}-{uuid4().hex}")
    workshop.mkdir()
    made = workshop / f"new{path.suffix}"
    try:
        yield made
        made.replace(path)
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


def _check_place(path: Path, overwrite: bool, own: Collection[str]) -> None:
    if not path.exists():
        return
    if path.is_dir() != bool(own):
        kinds = ("a file", "a folder") if own else ("a folder", "a file")
        raise FileExistsError(f"{path} is {kinds[0]}, and {kinds[1]} is to be written; choose another path.")
    if not overwrite:
        raise FileExistsError(f"{path} exists; pass overwrite=True to replace it, or choose another path.")
    others = [file.name for file in path.iterdir() if file.name not in own] if own else []
    if others:
        raise FileExistsError(f"{path} holds other files ({others[0]}), so it is not replaced; choose another path.")
