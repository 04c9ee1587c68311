"""scipy's .npz of a sparse matrix, with the names of rows and columns as further arrays."""

from __future__ import annotations

import os
import zipfile
import zlib
from os import PathLike
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cormorant.data.convert import unsummed
from cormorant.data.counts import Counts
from cormorant.data.errors import DataError
from cormorant.data.readers.tokens import fractional_count
from cormorant.data.triples import say_summed


def read_npz(path: Path, vocabulary: list[str] | None, *, weights: bool = False) -> Counts:
    """A sparse matrix saved by `write` or by `scipy.sparse.save_npz`; pickles are never read."""
    if not zipfile.is_zipfile(path):  # numpy would take it for a pickle, and advise to trust it
        raise DataError(
            f"{path}: not a sparse matrix as scipy.sparse.save_npz writes it, or damaged: it is no zip archive. "
            "If it holds another format, give it that format's name."
        )
    try:
        with path.open("rb") as file:
            matrix = sparse.load_npz(file)
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                row_names, column_names = _unpack(arrays, "row"), _unpack(arrays, "column")
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error, TypeError) as error:
        raise DataError(
            f"{path}: not a sparse matrix as scipy.sparse.save_npz writes it, or damaged ({error})."
        ) from error
    return checked(path, matrix, row_names, vocabulary or column_names, weights)


def write(counts: Counts, path: str | PathLike[str]) -> None:
    """Write counts and names to a .npz that `read` gives back as it was and scipy.sparse.load_npz opens.

    The file appears whole or not at all.
    """
    path = Path(path)
    if path.suffix != ".npz":
        raise DataError(f"Counts are written as .npz, got the name {path.name!r}.")
    arrays: dict[str, Any] = {
        "format": np.array(b"csr"),
        "shape": np.array(counts.shape),
        "indptr": counts.indptr,
        "indices": counts.indices,
        "data": counts.data,
        **_pack(counts.row_names, "row"),
        **_pack(counts.column_names, "column"),
    }
    temporary = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with temporary.open("xb") as file:
            np.savez_compressed(file, **arrays)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def checked(
    path: Path, X: Any, row_names: Any, column_names: Any, weights: bool, *, layer: str | None = None
) -> Counts:
    """`as_counts` for files that have no lines: errors name the file, fractions need `weights`, sums are said."""
    try:
        matrix, *names = unsummed(X, row_names, column_names, layer)
        counts = Counts.from_csr(matrix, *names)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    is_fraction = counts.data != np.floor(counts.data)
    if not weights and is_fraction.any():
        first = int(np.argmax(is_fraction))
        raise DataError(f"{path}: at {counts.place(first)} {fractional_count(counts.data[first])}")
    say_summed(int(np.count_nonzero(matrix.data[: matrix.nnz])) - counts.nnz, path, counting=False)
    return counts


def _pack(names: NDArray[np.object_] | None, what: str) -> dict[str, NDArray[Any]]:
    """Strings as one run of UTF-8 and where each ends: no pickle, no padding to the longest."""
    if names is None:
        return {}
    encoded = [name.encode(errors="surrogatepass") for name in names]
    ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)
    return {f"{what}_names": np.frombuffer(b"".join(encoded), np.uint8), f"{what}_names_end": ends}


def _unpack(arrays: Any, what: str) -> list[str] | None:
    if f"{what}_names" not in arrays:
        return None
    text, ends = arrays[f"{what}_names"].tobytes(), arrays[f"{what}_names_end"].tolist()
    starts = [0, *ends[:-1]]
    return [text[a:b].decode(errors="surrogatepass") for a, b in zip(starts, ends, strict=True)]
