"""The command `cormorant`: one file per verb, errors in one line."""

from cormorant.cli.run import main, run

__all__ = ["main", "run"]
