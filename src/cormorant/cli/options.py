"""Arguments and options that several verbs share, and how their text is read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

CountsArgument = Annotated[
    str,
    typer.Argument(
        metavar="COUNTS",
        help="File of counts in any format that cormorant.read knows, or nyt for the embedded sample.",
    ),
]
FitArgument = Annotated[Path, typer.Argument(metavar="FIT", help="Folder written by cormorant fit.")]
Components = Annotated[
    int | None,
    typer.Option("--components", min=1, help="Most components there can be (truncation). Default: 200."),
]
Dims = Annotated[
    int | None,
    typer.Option("--dims", min=1, help="Dimension of the locations, which carry correlations. Default: 25."),
]
Inference = Annotated[str, typer.Option("--inference", help="auto, structured, or mean-field (the paper's).")]
Allocation = Annotated[
    str,
    typer.Option("--allocation", help="How structured inference shares counts out: zero-order or digamma."),
]
BatchSize = Annotated[str, typer.Option("--batch-size", help="Rows a step visits: a number, all, or auto.")]
MaxEpochs = Annotated[int, typer.Option("--max-epochs", min=1, help="Most passes over the rows.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the held-out rows and of the fit.")]
Jobs = Annotated[int, typer.Option("--jobs", help="Threads; -1 takes every core. Results do not depend on it.")]
Observed = Annotated[
    str,
    typer.Option("--observed", help="Shares of a held-out row's entries that are shown, with commas between."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object in place of tables.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what an earlier run wrote there.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress, no remarks; notes and errors only.")]


def names(text: str) -> list[str]:
    """The parts of a list with commas between."""
    return [part.strip() for part in text.split(",") if part.strip()]


def fractions(text: str) -> list[float]:
    """Shares strictly between 0 and 1."""
    try:
        found = [float(part) for part in names(text)]
    except ValueError:
        found = []
    if not found or not all(0 < fraction < 1 for fraction in found):
        raise ValueError(f"--observed must be shares between 0 and 1 such as 0.1,0.5; got {text!r}.")
    return found


def batch_size(text: str) -> int | str | None:
    """What the estimators call batch_size: a number, "auto", or None for all rows."""
    if text == "auto":
        return text
    if text == "all":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"--batch-size must be a whole number of at least 1, all, or auto; got {text!r}.")
    return int(text)
