"""What an exception means to the user: one line that says what to do, and an exit code."""

from __future__ import annotations

import re
import traceback
from pathlib import Path
from typing import Any, cast

import typer

from cormorant.cli import INTERRUPTED
from cormorant.cli.options import FIT, READ, SIMULATE

USAGE, FAILURE = 2, 1
PACKAGE = Path(__file__).parents[1]

# Typer's class of usage errors, wherever the installed version keeps it.
_TYPER_ERROR = cast(type[Exception], typer.BadParameter.__bases__[0])

# The library speaks of parameters; on the command line they are options.
_OPTIONS = {setting.parameter: setting.flag.split("/")[0] for setting in (*SIMULATE, *READ, *FIT)} | {
    "n_held_out": "--holdout",
    "random_state": "--seed",
    **{
        name: f"--{name}"
        for name in ("query", "model", "models", "observed", "by", "among", "least", "port", "seed", "covariates")
    },
}
_WORDS = {
    "pass overwrite=True": "add --force",
    "give format= one of": "say which by cormorant prepare --format, one of",
    "weights=True accepts fractions": "cormorant prepare --weights accepts fractions",
    "choose row=, column= and count=": "choose them by cormorant prepare --row, --column and --count",
    "row=, column= and count= choose": "cormorant prepare --row, --column and --count choose",
    "a matrix is read by as_counts(pandas.read_csv(path, index_col=0))": "a matrix becomes triples by cormorant "
    "prepare --query 'UNPIVOT source ON * EXCLUDE FIRST', where FIRST names its first column",
    "X must be given": "--counts must be given",
    "fit(X, covariates=...) with": "cormorant fit --covariates TABLE --model",
    "CNPF, SoftplusCNPF, DILN or ThinnedPoissonFactorization": "cnpf, softplus-cnpf, diln or thinned",
    "set validation to": "set --validation to",
    "whole number or None (-1": "whole number (-1",
    "leave it at None": "leave it out",
    "positive, or None to learn it": "positive, or left out to be learned",
    "X has fractions: round X": "the counts have fractions: round them",
    "it has fractions. Round X.": "they have fractions. Round them.",
    "Choose them by name: as_counts(X).columns(model.column_names_).": "Read their source again by cormorant prepare "
    "--vocabulary FILE, where FILE names the columns of the fit, one a line.",
    "Choose them by name: as_matrix(X).columns(model.column_names_).": "Write them to the file in that order.",
}
_PATTERNS = {
    r"^X has (\d+) features, but \w+ is expecting (\d+) features as input": (
        r"the counts must have the \2 columns of the fit; they have \1"
    ),
    r"^X must have (the \d+ columns of the fit, in their order); it has": r"the counts must have \1; they have",
    r"^X must have": "the counts must have",
    r"is not a saved model: (it .*?)(?:; give the folder that save wrote)?\.$": (
        r"is not a saved model: \1. Give the folder that cormorant fit wrote."
    ),
}


class StoppedEarly(Exception):
    """An interrupt after which something is left; the message says what."""


def explain(error: BaseException) -> tuple[str, int]:
    """The message and the exit code of an exception.

    Where the library itself raises `ValueError` (`DataError`, `ModelFileError`) it was given something wrong:
    that is the user's to mend, like a wrong option. Anything else is a failure.
    """
    if isinstance(error, _TYPER_ERROR):
        return _usage(error), USAGE
    if isinstance(error, StoppedEarly):
        return in_options(_one_line(error)), FAILURE
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return INTERRUPTED, FAILURE
    if isinstance(error, FileNotFoundError):
        return _missing(error), USAGE
    if isinstance(error, FileExistsError | IsADirectoryError | NotADirectoryError):
        return in_options(_one_line(error)), USAGE
    if isinstance(error, ValueError) and _is_ours(error):
        return in_options(_one_line(error)), USAGE
    if isinstance(error, OSError | ImportError):
        return in_options(_one_line(error)), FAILURE
    if isinstance(error, MemoryError):
        return "out of memory: fewer --components, or a smaller --batch-size, need less.", FAILURE
    return f"{type(error).__name__}: {_one_line(error)} (a bug? --debug shows where)", FAILURE


def in_options(message: str) -> str:
    """The message with parameters under the names of their options.

    Names of one common word ("row", "count") are parameters only where the message begins with them.
    """
    for words, ours in _WORDS.items():
        message = message.replace(words, ours)
    for pattern, ours in _PATTERNS.items():
        message = re.sub(pattern, ours, message)
    for parameter, option in _OPTIONS.items():
        place = rf"\b{parameter}\b(?!=)" if "_" in parameter else rf"^{parameter}(?= must )"
        message = re.sub(place, option, message)
        value = rf"\b{parameter}=('[^']*'(?:(?: or|,) '[^']*')*|-?[\w.]+)"
        message = re.sub(value, lambda found, option=option: f"{option} {_bare(found[1])}", message)
        message = re.sub(rf"\b{parameter}=(?!\w)", option, message)
    return re.sub(r"^--[\w-]+ must be .*?(?=[;,] got |$)", lambda found: _bare(found[0]), message)


def _bare(values: str) -> str:
    """Without the quotes that values have in Python."""
    return re.sub(r"'([\w-]*)'", r"\1", values)


def _usage(error: Any) -> str:
    command = error.ctx.command_path if error.ctx else "cormorant"
    message = " ".join(error.format_message().split()).rstrip(".")
    return f"{message}{'' if message.endswith('?') else '.'} See: {command} --help"


def _missing(error: FileNotFoundError) -> str:
    if error.filename is None:  # our own, with a sentence
        return in_options(_one_line(error))
    return f"{error.filename} does not exist; give the path of a file, or nyt for the embedded sample."


def _is_ours(error: BaseException) -> bool:
    """Whether cormorant raised it, not a library that cormorant calls wrongly."""
    frames = traceback.extract_tb(error.__traceback__)
    return not frames or Path(frames[-1].filename).is_relative_to(PACKAGE)


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    return " ".join(str(error).split()) or type(error).__name__
