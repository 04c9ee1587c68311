"""Text files, gzipped or not, as whole lines that know their numbers."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from cormorant.data.errors import DataError, at_line

GZIP_MAGIC = b"\x1f\x8b"
UTF8_MARK = b"\xef\xbb\xbf"
BLOCK_SIZE = 1 << 24
PIECE_SIZE = 1 << 20


def is_gzipped(path: Path) -> bool:
    """Whether the file is gzipped, whatever its name says."""
    with path.open("rb") as file:
        return file.read(2) == GZIP_MAGIC


class LineFile:
    """A text file open for reading; `line` is the number of the last line read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 0
        self._file = gzip.GzipFile(path) if is_gzipped(path) else path.open("rb")  # closed by __exit__

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def fault(self, message: str) -> DataError:
        """The error for a fault on the last line read."""
        return at_line(self.path, self.line, message)

    def readline(self) -> str:
        """The next line without its end; DataError where the file has none."""
        line = self._guard(self._file.readline)
        if not line:
            raise self.fault("the file ends here, before its header does.")
        return self._decode(line)

    def lines(self) -> Iterator[str]:
        """Every further line without its end."""
        while line := self._guard(self._file.readline):
            yield self._decode(line)

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Further lines in blocks of some megabytes: (number of the first line, whole lines)."""
        while block := self._read_block():
            first = self.line + 1
            self.line += block.count(b"\n")
            yield first, block.removeprefix(UTF8_MARK) if first == 1 else block

    def _decode(self, line: bytes) -> str:
        self.line += 1
        if self.line == 1:
            line = line.removeprefix(UTF8_MARK)
        try:
            return line.decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise self.fault(f"not UTF-8 text ({error.reason}); convert the file first.") from error

    def _read_block(self) -> bytes:
        block = bytearray()
        while len(block) < BLOCK_SIZE:
            piece = self._guard(lambda: self._file.read1(PIECE_SIZE), block)
            if not piece:
                return bytes(block)
            block += piece
        if not block.endswith(b"\n"):
            block += self._guard(self._file.readline, block)
        return bytes(block)

    def _guard(self, read: Callable[[], bytes], pending: bytes | bytearray = b"") -> bytes:
        """`read()`, with a broken gzip stream told as what it is; `pending` is what was read just before."""
        try:
            return read()
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            line = self.line + pending.count(b"\n")
            raise DataError(
                f"{self.path}: the gzip stream is broken or cut short after line {line} ({error}); get the file again."
            ) from error


def read_names(path: Path) -> list[str]:
    """Names, one a line."""
    with LineFile(path) as file:
        names = list(file.lines())
    if not names:
        raise DataError(f"{path}: the file is empty; expected one name a line.")
    return names
