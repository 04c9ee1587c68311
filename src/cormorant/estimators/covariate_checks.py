"""What covariates may be: a row for each row of X, in their order, with numbers or levels in the columns."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from cormorant._words import counted
from cormorant.data.names import Names

MOST_LISTED = 5  # names in an error
HANDFUL = 10  # values that a column of numbers and text may have as levels without being asked
# Kinds of values that are neither numbers nor levels, and a number to take in their place.
TIMES = {
    "datetime64": "{}.dt.year",
    "datetime": "pd.to_datetime({}).dt.year",
    "date": "pd.to_datetime({}).dt.year",
    "period": "{}.dt.year",
    "timedelta64": "{}.dt.days",
    "timedelta": "pd.to_timedelta({}).dt.days",
    "time": "{}.map(lambda time: time.hour)",
}


def check_rows(covariates: Any, n_rows: int, names: Names = None) -> None:
    """A row for each row of X, in their order where both say whose they are."""
    if len(covariates) != n_rows:
        raise ValueError(f"covariates must have a row for each of the {n_rows} rows of X; got {len(covariates)}.")
    if names is not None and isinstance(covariates, pd.DataFrame) and not _only_numbers_rows(covariates.index):
        _check_order(covariates.index.map(str).to_numpy(), names)


def _only_numbers_rows(index: pd.Index) -> bool:
    """Whether it is the index that a frame has where nobody gave it one."""
    return isinstance(index, pd.RangeIndex) and (index.start, index.step) == (0, 1)


def _check_order(labels: np.ndarray, names: np.ndarray) -> None:
    """Labels that have nothing to do with the names of the rows tell no order."""
    differs = labels != names
    if differs.any() and sorted(labels) == sorted(map(str, names)):
        first = int(np.argmax(differs))
        raise ValueError(
            f"covariates must have their rows in the order of X; they have the labels of its rows in another, "
            f"{labels[first]!r} in row {first} where X has {names[first]!r}. Reorder them: covariates.loc[X.index] "
            "(X.row_names of Counts)."
        )


def check_columns(frame: pd.DataFrame, needed: list[str], rows: Names) -> None:
    """Everything that the formula needs is there, once, as numbers or levels, and nothing of it is missing."""
    absent = [name for name in needed if name not in frame.columns]
    if absent:
        raise ValueError(
            f"covariates must have the columns {', '.join(needed)}; {', '.join(absent)} is not among "
            f"{listed(frame.columns)}."
        )
    twice = [name for name in needed if (frame.columns == name).sum() > 1]
    if twice:
        raise ValueError(
            f"the columns of covariates must have names of their own; {listed(twice)} is there more than once. "
            "Rename or drop all but one."
        )
    for name in needed:
        _check_values(frame[name], name, rows)
        missing = np.flatnonzero(frame[name].isna())
        if len(missing):
            raise ValueError(
                f"covariates must have no missing values; {name} is missing in {counted(len(missing), 'row')}, first "
                f"in {_row(missing[0], rows)}. Drop such rows, fill them in, or make 'unknown' a level."
            )


def _check_values(column: pd.Series, name: str, rows: Names) -> None:
    """Refuse values that are neither numbers nor levels: times, complex numbers, lists and the like."""
    expected = f"covariates must have numbers or levels in a column; {name} has"
    # The categories of a categorical column are its values, and have to be stored with a fit.
    values = pd.Series(column.cat.categories) if isinstance(column.dtype, pd.CategoricalDtype) else column
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if kind in TIMES:
        number = TIMES[kind].format(f"covariates[{name!r}]")
        raise ValueError(
            f"{expected} times ({kind}). Take a number from them, for example covariates[{name!r}] = {number}; to make "
            "each a level, its text: .astype(str)."
        )
    if kind == "complex":
        raise ValueError(f"{expected} complex numbers. Take their real and imaginary parts as two columns.")
    if values.dtype == object:
        several = np.flatnonzero([not pd.api.types.is_scalar(value) for value in values])
        if len(several):
            first = values.iloc[several[0]]
            place = f" in {_row(several[0], rows)}" if values is column else ""
            raise ValueError(
                f"{expected} a {type(first).__name__} ({first!r}){place}. Make a column of each of its parts, or text "
                "of it: .astype(str)."
            )


def check_numbers(frame: pd.DataFrame, rows: Names) -> None:
    """Refuse text in a column of numbers: it would make every value a level, and a column of theta."""
    for name, column in frame.select_dtypes(["object", "string"]).items():
        is_text = pd.to_numeric(column, errors="coerce").isna().to_numpy()
        if 0 < is_text.sum() < len(column) / 2 and column.nunique() > HANDFUL:
            first = int(np.flatnonzero(is_text)[0])
            raise ValueError(
                f"covariates must have numbers or levels in a column; {name} has numbers in {(~is_text).sum()} rows "
                f"and text in {is_text.sum()}, {column.iloc[first]!r} in {_row(first, rows)} first. Mend or drop those "
                f"rows; if its {column.nunique()} values are levels, say so by the formula: C({name})."
            )


def to_matrix(covariates: Any, n_rows: int, names: Names) -> np.ndarray:
    """Covariates that are numbers already: a matrix of finite ones."""
    expected = f"covariates must be a data frame or {counted(n_rows, 'row')} x columns of numbers"
    try:
        array = np.asarray(covariates)
        is_real = array.dtype.kind not in "cmM"  # complex numbers and times, of which numpy would make numbers
        matrix = array.astype(np.float64) if is_real else array
    except (TypeError, ValueError):
        raise ValueError(f"{expected}; got {kind_of(covariates)}.") from None
    if not is_real:
        raise ValueError(f"{expected}; got {array.dtype}. Take real numbers from them, such as parts or years.")
    if matrix.ndim != 2:
        raise ValueError(f"{expected}; got shape {matrix.shape}.")
    check_rows(covariates, n_rows, names)
    check_finite(matrix, [str(c) for c in range(matrix.shape[1])], names)
    return matrix


def check_finite(matrix: np.ndarray, names: list[str], rows: Names) -> None:
    """Refuse infinities and NaN, with the first."""
    places = np.argwhere(~np.isfinite(matrix))
    if len(places):
        row, column = places[0]
        raise ValueError(
            f"covariates must be finite; column {names[column]} of {_row(row, rows)} is {matrix[row, column]}."
        )


def check_no_intercept(is_constant: np.ndarray, values: np.ndarray, names: list[str]) -> None:
    """Refuse a column that has one number in all rows, whose effects would be draws from the prior.

    Zeros may stay: a level or a combination of levels that no row of a split has is such a column, and moves nothing.
    """
    wrong = np.flatnonzero(is_constant & (values != 0.0))
    if len(wrong):
        first = wrong[0]
        raise ValueError(
            f"covariates must differ between rows; {names[first]} is {values[first]:g} in all of them. There is no "
            "intercept, since the components' scales fit it already: leave the column out."
        )


def _row(row: int, names: Names) -> str:
    """A row as users know it: by its name, which rows of a split keep, or by its number."""
    return f"row {row if names is None else names[row]}"


def listed(names: Collection[Any]) -> str:
    """The first few of names, and how many more there are."""
    more = len(names) - MOST_LISTED
    return ", ".join(map(str, islice(names, MOST_LISTED))) + (f" and {more} more" if more > 0 else "")


def kind_of(value: Any) -> str:
    """For errors: the name of its type."""
    return type(value).__name__
