"""Words of messages."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """ "1 row", "1,200 rows"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
