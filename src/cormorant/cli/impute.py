"""`cormorant impute`: a matrix with its missing entries filled in by the features that rows show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cormorant.cli import options as o
from cormorant.cli.outputs import check_output, new_file, report
from cormorant.cli.records import size_record
from cormorant.cli.sources import counts_for, describe, load_fit

if TYPE_CHECKING:
    from cormorant.data import Matrix


def impute(
    fit: o.FitArgument,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Matrix with the columns of the fit; NaN (.npy) or an empty cell (.csv, .tsv) is filled in.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File to write, its name ending as that of DATA.")],
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Fill in missing entries by what a model of features expects of them, given the row's other entries.

    Of zeros and ones that is the chance of a one. Entries that are there stay as they are, and so do all names.

    Example: cormorant impute soil soil.csv --out filled.csv
    """
    from cormorant.data.readers import write_matrix

    _check_kinds(data, out)
    check_output(out, force, folder=False, inputs=(fit, data))
    matrix = _with_missing(model := _features(fit), data)
    filled = replace(matrix, values=model.impute(matrix))
    with new_file(out) as (made, record):
        write_matrix(filled, made)
        record |= {
            "command": "impute",
            "fit": str(fit),
            "data": data,
            "filled": matrix.n_missing,
            **size_record(filled),
        }
    report(out, record, json, f"{describe(matrix)}: filled in. Written to {out}")


def _check_kinds(data: str, out: Path) -> None:
    """Refuse files that hold no matrix, and an output of another kind than the input."""
    from cormorant.data.readers import MATRIX_SUFFIXES

    suffix = Path(data).suffix
    if suffix not in MATRIX_SUFFIXES:
        raise ValueError(
            f"DATA must be a matrix in which entries can be missing ({', '.join(MATRIX_SUFFIXES)}); got {data}."
        )
    if out.suffix != suffix:
        raise ValueError(f"--out must be a file of the kind of DATA, its name ending in {suffix}; got {out}.")


def _features(fit: Path) -> Any:
    """The model, if it is one that knows of missing entries."""
    from cormorant.explore.fitted import has_features

    model = load_fit(fit)
    if not has_features(model):
        raise ValueError(
            f"{fit} must be a fit of features (beta-features, gamma-features, ibp), which fill in what is missing; it "
            f"is one of {model.model.name}, to which an entry that is not there is zero."
        )
    return model


def _with_missing(model: Any, data: str) -> Matrix:
    from cormorant.data import Matrix

    found = counts_for(model, data)
    if isinstance(found, Matrix) and found.n_missing:
        return found
    why = "" if isinstance(found, Matrix) else " (triples of counts are zero where there is none)"
    raise ValueError(
        f"{data} has no missing entries, so that there is nothing to fill in{why}; NaN, or an empty cell of a table, "
        "marks one."
    )
