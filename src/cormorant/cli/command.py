"""From arguments to an exit code: 0 done, 1 failed or interrupted, 2 wrong usage or input."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from cormorant.cli.app import app
from cormorant.cli.console import complain, note, writing_results
from cormorant.cli.errors import FAILURE, explain, in_options

SWALLOWED = 130  # what newer typers make of an interrupt


def run_command(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; ``--debug`` anywhere lets exceptions through."""
    debug = "--debug" in arguments
    command: Any = typer.main.get_command(app)
    code: Any = FAILURE  # where whoever read the results has left
    try:
        with _warnings_of_the_library(), writing_results():
            # Outside standalone mode typer leaves errors to us, so that all of them look alike.
            code = command.main(
                [argument for argument in arguments if argument != "--debug"],
                prog_name="cormorant",
                standalone_mode=False,
            )
        if code == SWALLOWED:
            raise KeyboardInterrupt
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            raise
        message, code = explain(error)
        complain(message)
    return code if isinstance(code, int) else 0


class _Notes(logging.Handler):
    """Warnings that the library logs, as notes."""

    def emit(self, record: logging.LogRecord) -> None:
        note(in_options(record.getMessage()))


@contextmanager
def _warnings_of_the_library() -> Iterator[None]:
    logger, handler = logging.getLogger("cormorant"), _Notes(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
