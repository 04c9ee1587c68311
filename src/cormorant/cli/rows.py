"""`cormorant rows`: what the model says of rows: their components, what they would show next, which are like them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cormorant._words import counted
from cormorant.cli import options as o
from cormorant.cli.console import print_json, print_table, records
from cormorant.cli.evaluate import is_fitted_to
from cormorant.cli.known_rows import load_covariates
from cormorant.cli.records import read_record
from cormorant.cli.sources import counts_for, load_fit

if TYPE_CHECKING:
    from cormorant.data import Counts, Matrix


def rows(
    fit: o.FitArgument,
    counts: o.CountsArgument,
    covariates: o.Covariates = None,
    row: Annotated[
        list[str] | None, typer.Option("--row", help="A row by name or number (from 0); can be given several times.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Components, columns and similar rows to list.")] = 5,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Rows to list where no --row is given.")] = 10,
    json: o.Json = False,
) -> None:
    """Rows of the fit or new ones: the components that hold most of each, and the columns it would show next.

    Of features: those that a row shows most surely, and the columns where most is expected that it does not show.

    With --row also the rows of the fit that are most like it.

    Example: cormorant rows nyt-cnpf nyt --row 17 --top 8
    """
    from cormorant.explore.fitted import has_features
    from cormorant.explore.row_weights import kept_weights

    model = load_fit(fit)
    is_features = has_features(model)
    if is_features and covariates is not None:
        raise ValueError(f"--covariates do nothing here: {model.model.name} takes none; leave them out.")
    data = counts_for(model, counts)
    chosen = [_place(text, data) for text in row] if row else list(range(min(limit, data.n_rows)))
    known = load_covariates(covariates, data)
    told = {place: None if known is None else known.iloc[[place]] for place in chosen}
    found = [_look(model, data, place, top, told[place]) for place in chosen]
    if row and kept_weights(model) is not None:
        own = is_fitted_to(model, read_record(fit), data)
        for one, place in zip(found, chosen, strict=True):
            one["similar"] = _similar(model, data, place, one["row"] if own else None, top, told[place])
    if json:
        print_json({"model": model.model.name, "rows": found})
    elif row:
        for one in found:
            _print_one(one, is_features)
    else:
        title = f"The first {len(found)} of {counted(data.n_rows, 'row')}"
        header = ["row", _what(is_features), *(["would show next"] if _tells_next(found) else [])]
        print_table(title, header, (_line(one)[: len(header)] for one in found))


def _place(text: str, data: Counts | Matrix) -> int:
    """Where a row is; a name comes before a number."""
    from cormorant.explore.row_weights import row_place

    is_name = data.row_names is not None and text in data.row_names
    return row_place(int(text) if text.isdecimal() and not is_name else text, data.n_rows, data.row_names)


def _look(model: Any, data: Counts | Matrix, place: int, top: int, covariates: Any) -> dict[str, Any]:
    from cormorant.explore import tables
    from cormorant.explore.fitted import named

    one = data.rows([place])
    is_real = getattr(model, "likelihood", None) == "gaussian"  # what a row would show next is told of whole numbers
    return {
        "row": named(data.row_names, [place])[0],
        "components": records(tables.row_profile(model, 0, one, n=top, covariates=covariates)),
        "next": [] if is_real else records(tables.next_columns(model, 0, one, n=top, covariates=covariates)),
    }


def _similar(
    model: Any, data: Counts | Matrix, place: int, own: str | None, top: int, covariates: Any
) -> list[dict[str, Any]]:
    """Rows of the fit that are most like this one, itself left out where it was one of them."""
    from cormorant.explore import tables

    table = tables.similar_rows(model, 0, data.rows([place]), n=top + 1, covariates=covariates)
    return records(table[table["row"] != own].head(top))


def _line(found: dict[str, Any]) -> list[Any]:
    from cormorant.explore.labels import numbered

    # Labels may hold commas, so that something else has to stand between them.
    held = "; ".join(
        f"{line['share']:.0%} {numbered(line['label'], line['component'])}" for line in found["components"]
    )
    return [found["row"], held, [line["column"] for line in found["next"]]]


def _what(is_features: bool) -> str:
    return "features" if is_features else "components"


def _tells_next(found: list[dict[str, Any]]) -> bool:
    return any(one["next"] for one in found)


def _print_one(found: dict[str, Any], is_features: bool) -> None:
    (_print_features if is_features else _print_components)(found)
    if "similar" in found:
        alike = ([line["row"], f"{line['similarity']:.3f}"] for line in found["similar"])
        print_table(f"Row {found['row']}: similar rows of the fit", ["row", "similarity"], alike)


def _print_components(found: dict[str, Any]) -> None:
    lines = (
        [f"{line['share']:.1%}", f"{line['weight']:.2f}", f"{line['std']:.2f}", line["component"], line["top_columns"]]
        for line in found["components"]
    )
    header = ["share", "weight", "std", "component", "top columns"]
    print_table(f"Row {found['row']}: its components", header, lines)
    following = ([line["column"], f"{line['probability']:.2%}"] for line in found["next"])
    print_table(f"Row {found['row']}: would show next", ["column", "probability"], following)


def _print_features(found: dict[str, Any]) -> None:
    lines = ([f"{line['share']:.1%}", line["component"], line["top_columns"]] for line in found["components"])
    print_table(f"Row {found['row']}: its features", ["probability", "feature", "top columns"], lines)
    if _tells_next([found]):
        following = ([line["column"], f"{line['expected']:.2f}"] for line in found["next"])
        print_table(f"Row {found['row']}: would show next", ["column", "expected"], following)
