"""The command `cormorant`: one file per verb, errors in one line."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main", "run"]

INTERRUPTED = "interrupted; nothing was written. Run the command again."


def main() -> None:
    """Entry point of the command."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code: 0 done, 1 failed or interrupted, 2 wrong usage or input."""
    try:
        from cormorant.cli.command import run_command  # takes a moment, and that is when one sees a slip
    except KeyboardInterrupt:
        sys.stderr.write(f"error: {INTERRUPTED}\n")
        return 1
    return run_command(arguments)
