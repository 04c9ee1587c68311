"""Covariates of rows as numbers: a formula, and what it remembers of a fit, so that new rows are coded alike.

Columns are centred and scaled by the fit's mean and standard deviation: an intercept would only shift what the atoms'
scales already fit, and the ridge prior then weighs every column alike. Effects are reported per unit all the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from cormorant._words import counted
from cormorant.data.names import Names
from cormorant.estimators.covariate_checks import (
    check_columns,
    check_finite,
    check_no_intercept,
    check_numbers,
    check_rows,
    kind_of,
    listed,
    to_matrix,
)
from cormorant.estimators.formulas import check_formula, looked_up, variables, why_it_failed

FORMULA = "~ age + C(sex)"  # the example that errors give


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
        cls, covariates: Any, formula: str | None, n_rows: int, names: Names = None, *, more_to_come: bool = False
    ) -> tuple[Encoding, np.ndarray]:
        """The encoding of the rows of a fit, and their theta.

        Levels that a categorical column declares and no row has are dropped, and columns of one number refused, unless
        there are rows ``more_to_come``.
        """
        if isinstance(covariates, pd.DataFrame):
            check_rows(covariates, n_rows, names)
            formula = _all_columns(covariates) if formula is None else formula
            matrix, parts = _expand(covariates if more_to_come else _with_levels_seen(covariates), formula, names)
        elif formula is not None:
            raise ValueError(
                f"formula = {formula!r} names columns, so covariates must be a data frame; got {kind_of(covariates)}."
            )
        else:
            matrix = to_matrix(covariates, n_rows, names)
            parts = {
                "names": [f"covariate {c}" for c in range(matrix.shape[1])],
                "formula": None, "variables": [], "levels": {}, "kinds": {}, "states": {},
            }  # fmt: skip
        if matrix.shape[1] == 0:
            raise ValueError(f"covariates must have a column, for example by the formula {FORMULA!r}; they have none.")
        centre, scale = matrix.mean(axis=0), matrix.std(axis=0)
        is_constant = scale <= 1e-12 * np.abs(centre)
        if not more_to_come:
            check_no_intercept(is_constant, centre, parts["names"])
        scale[is_constant] = 1.0
        encoding = cls(centre=centre.tolist(), scale=scale.tolist(), **parts)
        return encoding, (matrix - centre) / scale

    def encode(self, covariates: Any, n_rows: int, names: Names = None) -> np.ndarray:
        """theta of new rows."""
        if self.formula is None:
            matrix = to_matrix(covariates, n_rows, names)
            if matrix.shape[1] != len(self.names):
                raise ValueError(
                    f"covariates must have the {counted(len(self.names), 'column')} of the fit; got {matrix.shape[1]}."
                )
        else:
            if not isinstance(covariates, pd.DataFrame):
                wanted = ", ".join(self.variables)
                raise ValueError(
                    f"covariates must be a data frame with the columns {wanted}, as in the fit; "
                    f"got {kind_of(covariates)}."
                )
            check_rows(covariates, n_rows, names)
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


def taken(covariates: Any, rows: Any, n_rows: int, names: Names = None) -> Any:
    """The covariates (a data frame, numbers, or None) of some of so many rows, which may have names."""
    if covariates is None:
        return None
    check_rows(covariates, n_rows, names)
    # Rows are matched by now: an index left to them could look like names in another order.
    is_frame = hasattr(covariates, "iloc")
    return covariates.iloc[rows].reset_index(drop=True) if is_frame else np.asarray(covariates)[rows]


def _all_columns(frame: pd.DataFrame) -> str:
    """The formula of a frame that comes without one; it would take some names for something else, or for nothing."""
    names = _named(frame).columns
    wrong = [name for name in names if "`" in name or name in ("1", "Intercept")]
    if wrong:
        raise ValueError(
            f"the columns of covariates must have names without ` and other than 1 and Intercept; rename "
            f"{listed([repr(name) for name in wrong])}."
        )
    return "~ " + " + ".join(f"`{name}`" for name in names)


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns that have numbers for names (those of a frame made from an array) are x0, x1, ..."""
    if frame.columns.nlevels > 1:
        raise ValueError(
            f"the columns of covariates must have one name each; they have names of {frame.columns.nlevels} levels. "
            "Join them: covariates.columns = ['_'.join(map(str, name)) for name in covariates.columns]."
        )
    return frame.rename(columns=lambda name: name if isinstance(name, str) else f"x{name}")


def _with_levels_seen(frame: pd.DataFrame) -> pd.DataFrame:
    """A level that no row has would be a covariate without an effect to learn, and a first one that all differ from."""
    return _each_categorical(frame, lambda column: column.cat.remove_unused_categories())


def _with_plain_levels(frame: pd.DataFrame) -> pd.DataFrame:
    """Levels that are intervals (those of `pd.cut`) as text: a model that is saved has to hold them."""

    def plain(column: pd.Series) -> pd.Series:
        is_interval = isinstance(column.cat.categories, pd.IntervalIndex)
        return column.cat.rename_categories(str) if is_interval else column

    return _each_categorical(frame, plain)


def _each_categorical(frame: pd.DataFrame, change: Callable[[pd.Series], pd.Series]) -> pd.DataFrame:
    """The frame with its categorical columns changed; by place, since names may not be distinct."""
    columns = [frame.iloc[:, c] for c in range(frame.shape[1])]
    if not any(isinstance(column.dtype, pd.CategoricalDtype) for column in columns):
        return frame
    changed = [change(column) if isinstance(column.dtype, pd.CategoricalDtype) else column for column in columns]
    return pd.concat(changed, axis=1).set_axis(frame.columns, axis=1)


def _expand(
    frame: pd.DataFrame, formula: str, rows: Names, known: Encoding | None = None
) -> tuple[np.ndarray, dict[str, Any]]:
    """Columns of the formula, less the intercept, and what was learned on the way."""
    from formulaic import ModelSpec
    from formulaic.errors import DataMismatchWarning, FormulaicError
    from formulaic.parser.types import Factor

    check_formula(formula)
    frame = _with_plain_levels(_named(frame)).reset_index(drop=True)
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
        needed = sorted(variables(spec.formula))
        check_columns(frame, needed, rows)
        check_numbers(frame[sorted(names & set(frame.columns))], rows)
        with warnings.catch_warnings(), np.errstate(all="ignore"):  # what is not finite is told below
            warnings.simplefilter("error", DataMismatchWarning)
            matrix = spec.get_model_matrix(frame, context={})
    except DataMismatchWarning as warning:
        seen = "levels that the formula names"
        if known is not None:
            seen = "; ".join(f"{name}: {listed(found)}" for name, found in known.levels.items())
            seen = f"levels that the fit saw ({seen})"
        raise ValueError(f"covariates must have {seen}; {str(warning).partition('. They')[0]}.") from None
    except (FormulaicError, NameError, SyntaxError) as error:
        raise ValueError(why_it_failed(formula, error, {} if known is None else known.states)) from None
    learned = matrix.model_spec
    kept = [name for name in matrix.columns if name != "Intercept"]
    if known is not None and kept != known.names:
        raise ValueError(
            f"covariates must be of the kinds that they had in the fit, giving {listed(known.names)}; they give "
            f"{listed(kept)}. Text in a column of numbers makes each of its values a level."
        )
    values = matrix[kept].to_numpy(np.float64)
    check_finite(values, kept, rows)
    return values, {
        "names": kept,
        "formula": formula,
        "variables": needed,
        "levels": {n: s["categories"] for n, (_, s) in learned.encoder_state.items() if "categories" in s},
        "kinds": {n: kind.value for n, (kind, _) in learned.encoder_state.items()},
        "states": dict(learned.transform_state),
    }


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
