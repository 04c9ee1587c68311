"""Covariates of rows as numbers: a formula, and what it remembers of a fit, so that new rows are coded alike.

Columns are centred and scaled by the fit's mean and standard deviation: an intercept would only shift what the atoms'
scales already fit, and the ridge prior then weighs every column alike. Effects are reported per unit all the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from cormorant._words import counted
from cormorant.data.names import Names
from cormorant.estimators.formulas import check_formula, looked_up

FORMULA = "~ age + C(sex)"  # the example that errors give
MOST_LISTED = 5  # names in an error
HANDFUL = 10  # values that a column of numbers and text may have as levels without being asked


@dataclass(frozen=True)
class Encoding:
    """How covariates become columns theta."""

    names: list[str]  # of the columns
    centre: list[float]
    scale: list[float]  # one where a column is constant
    formula: str | None  # None: the covariates are numbers already
    variables: list[str]  # that the formula needs
    levels: dict[str, list[Any]]  # of each factor that is categorical
    kinds: dict[str, str]  # of every factor
    states: dict[str, Any]  # of transformations that look at all rows, such as splines

    @classmethod
    def learn(
        cls, covariates: Any, formula: str | None, n_rows: int, names: Names = None
    ) -> tuple[Encoding, np.ndarray]:
        """The encoding of the rows of a fit (whose names errors use), and their theta."""
        if isinstance(covariates, pd.DataFrame):
            _check_length(covariates, n_rows)
            formula = _all_columns(covariates) if formula is None else formula
            matrix, parts = _expand(covariates, formula, names)
        elif formula is not None:
            raise ValueError(
                f"formula = {formula!r} names columns, so covariates must be a data frame; got {_kind(covariates)}."
            )
        else:
            matrix = _numbers(covariates, n_rows, names)
            parts = {
                "names": [f"covariate {c}" for c in range(matrix.shape[1])],
                "formula": None, "variables": [], "levels": {}, "kinds": {}, "states": {},
            }  # fmt: skip
        if matrix.shape[1] == 0:
            raise ValueError(f"covariates must have a column, for example by the formula {FORMULA!r}; they have none.")
        centre, scale = matrix.mean(axis=0), matrix.std(axis=0)
        scale[scale <= 1e-12 * np.abs(centre)] = 1.0
        encoding = cls(centre=centre.tolist(), scale=scale.tolist(), **parts)
        return encoding, (matrix - centre) / scale

    def encode(self, covariates: Any, n_rows: int, names: Names = None) -> np.ndarray:
        """theta of new rows."""
        if self.formula is None:
            matrix = _numbers(covariates, n_rows, names)
            if matrix.shape[1] != len(self.names):
                raise ValueError(
                    f"covariates must have the {counted(len(self.names), 'column')} of the fit; got {matrix.shape[1]}."
                )
        else:
            if not isinstance(covariates, pd.DataFrame):
                wanted = ", ".join(self.variables)
                raise ValueError(
                    f"covariates must be a data frame with the columns {wanted}, as in the fit; "
                    f"got {_kind(covariates)}."
                )
            _check_length(covariates, n_rows)
            matrix = _expand(covariates, self.formula, names, self)[0]
        return (matrix - np.array(self.centre)) / np.array(self.scale)

    def to_json(self) -> dict[str, Any]:
        """For a file; whole-number keys of states become pairs."""
        return {**asdict(self), "states": _to_plain(self.states), "levels": _to_plain(self.levels)}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Encoding:
        """From a file. A formula is code, so it is checked again."""
        if document["formula"] is not None:
            check_formula(document["formula"])
        return cls(**{**document, "states": _from_plain(document["states"]), "levels": _from_plain(document["levels"])})


def taken(covariates: Any, rows: Any, n_rows: int) -> Any:
    """The covariates (a data frame, numbers, or None) of some of so many rows."""
    if covariates is None:
        return None
    _check_length(covariates, n_rows)
    return covariates.iloc[rows] if hasattr(covariates, "iloc") else np.asarray(covariates)[rows]


def _all_columns(frame: pd.DataFrame) -> str:
    """The formula of a frame that comes without one; it would take some names for something else, or for nothing."""
    names = _named(frame).columns
    wrong = [name for name in names if "`" in name or name in ("1", "Intercept")]
    if wrong:
        raise ValueError(
            f"the columns of covariates must have names without ` and other than 1 and Intercept; rename "
            f"{_listed([repr(name) for name in wrong])}."
        )
    return "~ " + " + ".join(f"`{name}`" for name in names)


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns that have numbers for names (those of a frame made from an array) are x0, x1, ..."""
    return frame.rename(columns=lambda name: name if isinstance(name, str) else f"x{name}")


def _expand(
    frame: pd.DataFrame, formula: str, rows: Names, known: Encoding | None = None
) -> tuple[np.ndarray, dict[str, Any]]:
    """Columns of the formula, less the intercept, and what was learned on the way."""
    from formulaic import ModelSpec
    from formulaic.errors import DataMismatchWarning, FormulaicError
    from formulaic.parser.types import Factor

    check_formula(formula)
    frame = _named(frame).reset_index(drop=True)
    state: dict[str, Any] = {}
    if known is not None:
        kinds = {name: Factor.Kind(kind) for name, kind in known.kinds.items()}
        memory = {name: {"categories": known.levels[name]} if name in known.levels else {} for name in kinds}
        state = {
            "encoder_state": {name: (kind, memory[name]) for name, kind in kinds.items()},
            "transform_state": {name: dict(found) for name, found in known.states.items()},
        }
    try:
        spec: Any = ModelSpec(formula=formula, na_action="ignore", output="pandas", **state)  # type: ignore[arg-type]
        names = looked_up(spec.formula)
        # Of a name with a dot formulaic says that the part before it is required.
        needed = sorted(names | set(map(str, spec.required_variables)) - {name.partition(".")[0] for name in names})
        _check_columns(frame, needed, rows)
        _check_numbers(frame[sorted(names & set(frame.columns))], rows)
        with warnings.catch_warnings(), np.errstate(all="ignore"):  # what is not finite is told below
            warnings.simplefilter("error", DataMismatchWarning)
            matrix = spec.get_model_matrix(frame, context={})
    except DataMismatchWarning as warning:
        levels = "; ".join(f"{name}: {_listed(found)}" for name, found in known.levels.items()) if known else ""
        raise ValueError(
            f"covariates must have levels that the fit saw ({levels}); {str(warning).partition('. They')[0]}."
        ) from None
    except (FormulaicError, NameError, SyntaxError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"formula = {formula!r} could not be worked out for these covariates: {reason}") from None
    learned = matrix.model_spec
    kept = [name for name in matrix.columns if name != "Intercept"]
    if known is not None and kept != known.names:
        raise ValueError(
            f"covariates must be of the kinds that they had in the fit, giving {_listed(known.names)}; they give "
            f"{_listed(kept)}. Text in a column of numbers makes each of its values a level."
        )
    values = matrix[kept].to_numpy(np.float64)
    _check_finite(values, kept, rows)
    return values, {
        "names": kept,
        "formula": formula,
        "variables": needed,
        "levels": {n: s["categories"] for n, (_, s) in learned.encoder_state.items() if "categories" in s},
        "kinds": {n: kind.value for n, (kind, _) in learned.encoder_state.items()},
        "states": dict(learned.transform_state),
    }


def _check_columns(frame: pd.DataFrame, needed: list[str], rows: Names) -> None:
    """Everything that the formula needs is there, and nothing of it is missing."""
    absent = [name for name in needed if name not in frame.columns]
    if absent:
        raise ValueError(
            f"covariates must have the columns {', '.join(needed)}; {', '.join(absent)} is not among "
            f"{_listed(frame.columns)}."
        )
    for name in needed:
        missing = np.flatnonzero(frame[name].isna())
        if len(missing):
            raise ValueError(
                f"covariates must have no missing values; {name} is missing in {counted(len(missing), 'row')}, first "
                f"in {_row(missing[0], rows)}. Drop such rows, fill them in, or make 'unknown' a level."
            )


def _check_numbers(frame: pd.DataFrame, rows: Names) -> None:
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


def _numbers(covariates: Any, n_rows: int, names: Names) -> np.ndarray:
    """A matrix of finite numbers."""
    expected = f"covariates must be a data frame or {counted(n_rows, 'row')} x columns of numbers"
    try:
        matrix = np.asarray(covariates, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{expected}; got {_kind(covariates)}.") from None
    if matrix.ndim != 2:
        raise ValueError(f"{expected}; got shape {matrix.shape}.")
    _check_length(matrix, n_rows)
    _check_finite(matrix, [str(c) for c in range(matrix.shape[1])], names)
    return matrix


def _check_length(covariates: Any, n_rows: int) -> None:
    if len(covariates) != n_rows:
        raise ValueError(f"covariates must have a row for each of the {n_rows} rows of X; got {len(covariates)}.")


def _check_finite(matrix: np.ndarray, names: list[str], rows: Names) -> None:
    places = np.argwhere(~np.isfinite(matrix))
    if len(places):
        row, column = places[0]
        raise ValueError(
            f"covariates must be finite; column {names[column]} of {_row(row, rows)} is {matrix[row, column]}."
        )


def _row(row: int, names: Names) -> str:
    """A row as users know it: by its name, which rows of a split keep, or by its number."""
    return f"row {row if names is None else names[row]}"


def _listed(names: Collection[Any]) -> str:
    """The first few of names, and how many more there are."""
    more = len(names) - MOST_LISTED
    return ", ".join(map(str, islice(names, MOST_LISTED))) + (f" and {more} more" if more > 0 else "")


def _kind(value: Any) -> str:
    return type(value).__name__


def _to_plain(value: Any) -> Any:
    """Numbers, lists and pairs for what formulas remember."""
    if isinstance(value, dict):
        return {"pairs": [[_to_plain(k), _to_plain(v)] for k, v in value.items()]}
    if isinstance(value, list | tuple | np.ndarray):
        return [_to_plain(v) for v in value]
    return value.item() if isinstance(value, np.generic) else value


def _from_plain(value: Any) -> Any:
    """The inverse of ``_to_plain``."""
    if isinstance(value, dict):
        return {_from_plain(k): _from_plain(v) for k, v in value["pairs"]}
    return [_from_plain(v) for v in value] if isinstance(value, list) else value
