"""Covariates of rows from a file: a table with a header, a line a row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cormorant._words import counted

if TYPE_CHECKING:
    import pandas as pd

    from cormorant.data import Counts, Matrix


def models_without(models: Sequence[str], source: Path | None) -> list[str]:
    """Those of the models that take no covariates.

    Covariates that none of them takes are refused, and so is a model that needs some where there are none.
    """
    from cormorant.estimators.registry import ALL, estimator_class

    kinds = {name: estimator_class(name).model for name in models}
    if source is None:
        if needing := [name for name, kind in kinds.items() if kind.needs_covariates]:
            raise ValueError(
                f"--covariates must be given: {needing[0]} has them decide which components a row has. "
                "--model cnpf can do without."
            )
        return []
    without = [name for name, kind in kinds.items() if not kind.takes_covariates]
    if len(without) == len(models):
        have = "takes none" if len(models) == 1 else "take none"
        takers = ", ".join(name for name, cls in ALL.items() if cls.model.takes_covariates)
        raise ValueError(
            f"--covariates do nothing here: {', '.join(models)} {have}; leave them out, or fit one of {takers}."
        )
    return without


def check_formula_has_covariates(formula: str | None, source: Path | None) -> None:
    """Refuse a formula without a table whose columns it could name, before any counts are read."""
    if formula is not None and source is None:
        raise ValueError(
            f"--formula {formula!r} names columns of --covariates, so it does nothing without; give both, or neither."
        )


def check_covariates(source: Path | None, counts: str | None) -> None:
    """Refuse covariates of no rows, where counts are optional: what the fit keeps of its own rows needs none."""
    if source is not None and counts is None:
        raise ValueError(
            "--covariates tells of the rows of --counts, so it does nothing without; give both, or neither."
        )


def load_covariates(source: Path | None, counts: Counts | Matrix) -> pd.DataFrame | None:
    """Covariates in the order of the rows of ``counts``.

    Where the rows have names and the first column of the file holds all of them, lines are matched by name, else by
    their order.
    """
    if source is None:
        return None
    import pandas as pd

    from cormorant.explore.spreadsheets import from_text

    if not source.is_file():
        raise FileNotFoundError(f"--covariates {source} is not a file; give a table (csv, tsv) with a header.")
    try:
        table = pd.read_csv(source, sep="\t" if ".tsv" in source.suffixes else ",")
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).removeprefix("Error tokenizing data. C error: ").split())
        raise ValueError(
            f"--covariates {source} must be a table (csv, tsv) with a header and a line a row; it could not be read: "
            f"{reason}."
        ) from None
    first = table[table.columns[0]].astype(str).map(from_text)  # the file may be one that we wrote
    if counts.row_names is not None and set(counts.row_names) <= set(first):
        if first.duplicated().any():
            twice = first[first.duplicated()].iloc[0]
            raise ValueError(f"--covariates {source} must name a row once; {twice} is there twice.")
        return table.iloc[:, 1:].set_axis(first).loc[list(counts.row_names)].reset_index(drop=True)
    if len(table) != counts.n_rows:
        names = " by name" if counts.row_names is not None else ""
        raise ValueError(
            f"--covariates {source} must have a line for each of {counted(counts.n_rows, 'row')}{names}; it has "
            f"{len(table)}."
        )
    return table
