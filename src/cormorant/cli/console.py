"""Where things are shown: results on standard output, everything said about them on standard error."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    import pandas as pd

# Neither guesses at colours nor reads [tags]: names come from data and are shown as they are.
out = Console(highlight=False, markup=False)
err = Console(highlight=False, markup=False, stderr=True)

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # what a disk says that takes no more
NUMBER = re.compile(r"[+-]?[\d,]+(\.\d+)?%?")


class OutputError(OSError):
    """A place that cannot be written to."""


@contextmanager
def writing_results() -> Iterator[None]:
    """Results reach standard output whole, or it is said in one line why not; a reader that has left is no fault."""
    try:
        yield
        if sys.stdout is not None:  # closed by the shell (>&-): nobody wants the results
            sys.stdout.flush()
    except BrokenPipeError:
        _discard_the_rest()
    except OSError as error:
        if error.errno not in FULL or error.filename is not None:
            raise
        _discard_the_rest()
        raise OutputError(
            f"standard output could not be written: {error.strerror}. Free the disk, or send the results elsewhere."
        ) from error


def _discard_the_rest() -> None:
    """What is still to be written goes nowhere, or Python would fail again on its way out."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def say(message: str) -> None:
    """A line about the work."""
    err.print(message, soft_wrap=True)


def note(message: str) -> None:
    """A line that the user should read, though nothing failed."""
    err.print(Text(f"note: {message}", style="yellow"), soft_wrap=True)


def complain(message: str) -> None:
    """The one line of an error."""
    err.print(Text(f"error: {message}", style="bold red"), soft_wrap=True)


def print_json(value: Any) -> None:
    """One JSON object on standard output, nothing else."""
    out.print(json.dumps(value, indent=2), soft_wrap=True)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The lines of a table as dictionaries of plain values."""
    return [{str(name): value for name, value in line.items()} for line in table.to_dict("records")]


def print_table(title: str, header: Sequence[str], lines: Iterable[Sequence[Any]]) -> None:
    """A table under its title; numbers to the right, everything as plain text."""
    rows = [[printable(_shown(value)) for value in line] for line in lines]
    table = Table()
    for i, name in enumerate(header):
        numeric = all(NUMBER.fullmatch(row[i]) for row in rows)
        table.add_column(name, justify="right" if numeric else "left", no_wrap=numeric)
    for row in rows:
        table.add_row(*map(Text, row))
    out.print(Text(title, style="bold"), soft_wrap=True)  # by itself: a table would break it at its own width
    out.print(table)


def printable(text: str) -> str:
    """The text without control characters, which could move the cursor or worse."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
