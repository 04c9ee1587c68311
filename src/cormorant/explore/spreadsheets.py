"""Tables as CSV in which no name is a formula.

A spreadsheet program computes a cell that begins with = + - @ or a tab, and names come from data, which are anybody's.
Such text gets a single quote in front, as OWASP advises, and is text. Numbers stay as they are.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd

NUMBER = r"[+-]?\d+(\.\d+)?$"  # is computed to itself
FORMULA = re.compile(rf"(?!{NUMBER})'*[=+\-@\t\r]")
QUOTED = re.compile(r"'(?='*[=+\-@\t\r])")


def as_text(value: Any) -> Any:
    """Text that is not a formula to anybody; what is no text as it was."""
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


def from_text(value: str) -> str:
    """What `as_text` was given."""
    return QUOTED.sub("", value, count=1) if QUOTED.match(value) else value


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table without its index; names in cells and header are text."""
    safe = table.copy()
    for name in table.select_dtypes(exclude="number"):  # numbers may be many, and need no looking at
        safe[name] = table[name].map(as_text)
    safe.rename(columns=as_text).to_csv(path, index=False)
