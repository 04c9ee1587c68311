"""From arguments to an exit code: 0 done, 1 failed, 2 wrong usage or input, 130 interrupted."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer

from cormorant.cli.app import app
from cormorant.cli.console import complain
from cormorant.cli.errors import INTERRUPTED, explain


def main() -> None:
    """Entry point of the command."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; ``--debug`` anywhere lets exceptions through."""
    debug = "--debug" in arguments
    command: Any = typer.main.get_command(app)
    try:
        # Outside standalone mode typer leaves errors to us, so that all of them look alike.
        code = command.main(
            [argument for argument in arguments if argument != "--debug"],
            prog_name="cormorant",
            standalone_mode=False,
        )
        if code == INTERRUPTED:  # newer typers swallow the interrupt and leave its code
            raise KeyboardInterrupt
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            raise
        message, code = explain(error)
        complain(message)
    return code if isinstance(code, int) else 0
