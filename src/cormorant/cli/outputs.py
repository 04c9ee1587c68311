"""Outputs that appear whole or not at all, are replaced only on request, and have their record beside them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

from cormorant.cli.console import FULL, OutputError, print_json, say
from cormorant.cli.records import record_path, strangers, write_record
from cormorant.cli.sources import SAMPLE


def check_output(path: Path, force: bool, *, folder: bool, inputs: Iterable[str | Path | None] = ()) -> None:
    """Refuse before the work, not after it: an existing output, one of the inputs, or a place that cannot be written.

    Args:
        path: What --out names.
        force: Whether an existing output may be replaced.
        folder: Whether it is a folder.
        inputs: Paths that the command reads, which --force does not replace either (None, or the sample: nothing).
    """
    if path == Path():  # which an empty text becomes
        raise ValueError("--out must name a path to write to, and not the folder that the command runs in.")
    made = [path] if folder else [path, record_path(path)]
    _check_apart(made, [Path(given) for given in inputs if given not in (None, SAMPLE)])
    if path.exists():
        _check_replaceable(path, force, folder)
    elif not folder and not force and record_path(path).exists():
        raise FileExistsError(f"{record_path(path)} exists; choose another --out, or add --force to replace it.")
    parent = next(place for place in path.absolute().parents if place.exists())
    try:
        tempfile.TemporaryDirectory(dir=parent).cleanup()  # permissions do not tell everything: one has to try
    except OSError as error:
        raise OutputError(f"cannot write in {parent} ({error.strerror}); choose another --out.") from error


def _check_apart(made: Sequence[Path], inputs: Sequence[Path]) -> None:
    """What is read is not written over: an output neither is, nor holds, nor lies within an input."""
    for path, source in product(made, inputs):
        new, read = path.resolve(), source.resolve()
        relations = {"is": new == read, "holds": new in read.parents, "lies within": read in new.parents}
        for relation, holds in relations.items():
            if holds and (source.is_file() or (source / "model.json").is_file()):  # of folders, only fits are read
                raise FileExistsError(
                    f"{path} {relation} {source}, which this command reads, so --force does not replace it either; "
                    "choose another --out."
                )


def _check_replaceable(path: Path, force: bool, folder: bool) -> None:
    """A file that was named, or a folder with nothing in it that cormorant did not write; never somebody's home."""
    if path.is_dir() != folder:
        kinds = ("a file", "a folder") if folder else ("a folder", "a file")
        raise FileExistsError(f"{path} is {kinds[0]}, and {kinds[1]} is to be written; choose another --out.")
    if not (path.is_file() or path.is_dir()):
        raise FileExistsError(f"{path} is neither a file nor a folder (a device, a pipe); choose another --out.")
    if not force:
        raise FileExistsError(f"{path} exists; choose another --out, or add --force to replace it.")
    if folder and (others := strangers(path)):
        raise FileExistsError(
            f"{path} holds files that were not written by cormorant ({others[0]}), so --force does not replace it; "
            "choose another --out."
        )


@contextmanager
def new_folder(path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """A folder to fill and a record to fill in, which take their place (and that of older ones) once all is written."""
    from cormorant.estimators.folders import whole_folder

    record: dict[str, Any] = {}
    with _told(path), whole_folder(path) as made:
        yield made, record
        write_record(made, record)


@contextmanager
def new_file(path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """A file to make and a record to fill in, likewise."""
    from cormorant.explore.files import new_path

    record: dict[str, Any] = {}
    with _told(path):
        with new_path(path, overwrite=True) as made:
            yield made, record
        write_record(path, record)


def report(out: Path, record: dict[str, Any], json: bool, *lines: str) -> None:
    """What was written: to machines its record, to people some lines."""
    if json:
        print_json({**record, "out": str(out)})
        return
    for line in lines:
        say(line)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """A disk that is full, or a place that may not be written to, in one line that names what was asked for."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).removeprefix("the model could not be saved: ")
        if error.errno in FULL:
            reason = os.strerror(error.errno)  # some libraries (HDF5) put lines of their own in its place
        raise OutputError(
            f"{path} could not be written: {reason}. Nothing is left of it; free the disk, or choose another --out."
        ) from error
