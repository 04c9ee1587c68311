"""Numbers and index:value pairs out of blocks of text, by array operations, each with its line.

The line formats (UCI, Matrix Market, LDA-C, SVMlight) differ only in how they arrange such tokens on a line.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cormorant.data.canonical import INT32_MAX
from cormorant.data.errors import at_line
from cormorant.data.readers.files import LineFile

Mask = NDArray[np.bool_]
#: Marks faulty records, and says what is wrong with the i-th.
Fault = tuple[Mask, Callable[[int], str]]

#: An index past this is a fault of the file (a hash or an identifier, say), not a matrix so large.
MAX_INDEX = INT32_MAX

_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_TOKEN = re.compile(_NUMBER.pattern + rb"(:" + _NUMBER.pattern + rb")?")


def _table(characters: bytes) -> Mask:
    table = np.zeros(256, dtype=bool)
    table[list(characters)] = True
    return table


_IS_SPACE = _table(b" \t\r\n\f\v")
_IN_NUMBER = _table(b"0123456789+-.eE")
_IN_TOKEN = _table(b"0123456789+-.eE:")


class Tokens(NamedTuple):
    """The tokens of a block in order; a plain number has `key` equal to `value`."""

    line: NDArray[np.int64]
    is_pair: Mask
    key: NDArray[np.float64]
    value: NDArray[np.float64]


def read_tokens(file: LineFile, prepare: Callable[[bytes], bytes] | None = None) -> Iterator[Tokens]:
    """Cut the rest of a file, block by block, into numbers and number:number pairs.

    A malformed token raises once everything on the lines before it has been handed out, so that an earlier
    fault of another kind is told first. `prepare` may rewrite a block, but not its line ends.
    """
    for first_line, block in file.blocks():
        text = block if prepare is None else prepare(block)
        tokens = _tokenize(first_line, text)
        if tokens is not None:
            yield tokens
            continue
        line, token = _first_malformed(text)
        before = _tokenize(first_line, b"\n".join(text.split(b"\n", line)[:line]))
        if before is not None:
            yield before
        expected = "an index:value pair of numbers" if b":" in token else "a number"
        shown = token[:40].decode(errors="replace")
        raise at_line(file.path, first_line + line, f"expected {expected}, got {shown!r}.")


def raise_first(path: Path, *groups: tuple[NDArray[np.int64], Sequence[Fault]]) -> None:
    """Raise for the fault on the earliest line, of groups of faults that share the lines of their records."""
    found: list[tuple[int, str]] = []
    for line, faults in groups:
        for mask, describe in faults:
            if mask.any():
                first = int(np.argmax(mask))
                found.append((int(line[first]), describe(first)))
    if found:
        raise at_line(path, *min(found, key=lambda item: item[0]))


def count_faults(values: NDArray[np.float64], weights: bool) -> list[Fault]:
    """What may be wrong with counts: not finite, negative or (unless `weights`) fractional."""
    faults: list[Fault] = [
        (~np.isfinite(values), lambda i: f"the count {values[i]} is not finite."),
        (values < 0, lambda i: f"expected a count of at least 0, got {show(values[i])}."),
    ]
    if not weights:
        fractional = np.isfinite(values) & (values != np.floor(values))
        faults.append((fractional, lambda i: fractional_count(values[i])))
    return faults


def fractional_count(value: Any) -> str:
    """What to say of a count that is not a whole number."""
    return f"expected a whole number, got {show(value)}; weights=True accepts fractions."


def index_fault(values: NDArray[np.float64], low: int, high: int | None, what: str, origin: str) -> Fault:
    """Indices that are not whole numbers in low..high; `origin` says who sets the upper bound, if any."""
    outside = ~((values >= low) & (values <= (MAX_INDEX if high is None else high)) & (values == np.floor(values)))

    def describe(i: int) -> str:
        if high is not None:
            return f"expected a {what} in {low}..{high} ({origin}), got {show(values[i])}."
        if values[i] > MAX_INDEX:
            return f"expected a {what} of at most {MAX_INDEX}, got {show(values[i])}; number them anew, without gaps."
        return f"expected a {what} of at least {low}, got {show(values[i])}."

    return outside, describe


def show(value: Any) -> str:
    """A number as a person would write it."""
    return f"{value:.15g}"


def _tokenize(first_line: int, block: bytes) -> Tokens | None:
    """The tokens of whole lines, or None if one is malformed.

    Equivalent to splitting each line at white space and matching every token with `_TOKEN`.
    """
    text = np.frombuffer(block, dtype=np.uint8)
    is_space = _IS_SPACE[text]
    starts = np.flatnonzero(~is_space & np.concatenate([[True], is_space[:-1]]))
    colons = np.flatnonzero(text == ord(":"))
    n_colons = np.bincount(np.searchsorted(starts, colons, side="right") - 1, minlength=len(starts))
    numbers = _numbers(block.replace(b":", b" ")) if len(starts) else np.empty(0)
    well_formed = (
        len(numbers) == len(starts) + len(colons)
        and n_colons.max(initial=0) <= 1
        and bool((is_space | _IN_TOKEN[text]).all())
        and _between_numbers(text, colons)
    )
    if not well_formed:
        return None
    line = first_line + np.searchsorted(np.flatnonzero(text == ord("\n")), starts)
    is_pair = n_colons == 1
    last = np.cumsum(1 + is_pair) - 1
    return Tokens(line, is_pair, numbers[last - is_pair], numbers[last])


def _numbers(text: bytes) -> NDArray[np.float64]:
    """The numbers of a text separated by white space; none if one of them is malformed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # NumPy 1 warns where NumPy 2 raises
        try:
            return np.fromstring(text, sep=" ")
        except (ValueError, DeprecationWarning):
            return np.empty(0)


def _between_numbers(text: NDArray[np.uint8], colons: NDArray[np.intp]) -> bool:
    if not len(colons):
        return True
    inside = colons[0] > 0 and colons[-1] < len(text) - 1
    return bool(inside and _IN_NUMBER[text[colons - 1]].all() and _IN_NUMBER[text[colons + 1]].all())


def _first_malformed(block: bytes) -> tuple[int, bytes]:
    """The first token that does not match `_TOKEN`, and how many lines of the block come before it."""
    return next(
        (line, token)
        for line, text in enumerate(block.split(b"\n"))
        for token in text.split()
        if _TOKEN.fullmatch(token) is None
    )
