"""`cormorant effects`: how covariates of the rows move components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cormorant.cli import options as o
from cormorant.cli.console import print_json, print_table, records
from cormorant.cli.mixing import note_on_intervals
from cormorant.cli.sources import load_fit

if TYPE_CHECKING:
    import pandas as pd


def effects(
    fit: o.FitArgument,
    among: Annotated[
        int | None,
        typer.Option("--among", min=1, help="So many of the most used components. Default: all that hold any counts."),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Components of each sign to list for a covariate.")] = 5,
    json: o.Json = False,
) -> None:
    """What a unit of each covariate adds to F, with 90% intervals.

    F is the logarithm (softplus-cnpf: about the size) of a component's weight in a row, of thinned the log odds that
    the row has it. What a covariate does to all components alike is taken out (not of thinned). The strongest effects
    are listed; --json has all.

    Example: cormorant effects stays-cnpf --top 3
    """
    from cormorant.explore import tables

    model = load_fit(fit)
    table = tables.covariate_effects(model, among=among)
    if json:
        print_json({"model": model.model.name, "effects": records(table)})
        return
    for covariate, part in table.groupby("covariate", sort=False):
        print_table(str(covariate), ["effect", "90% interval", "component"], map(_line, _strongest(part, top)))
    note_on_intervals(model)


def _strongest(part: pd.DataFrame, top: int) -> list[dict[str, Any]]:
    """The effects of a covariate, the largest first: so many above zero, and so many below."""
    effect = part["effect"]
    return records(part[effect > 0].head(top)) + records(part[effect < 0].tail(top))


def _line(found: dict[str, Any]) -> list[str]:
    from cormorant.explore.labels import numbered

    interval = f"{found['low']:+.2f} to {found['high']:+.2f}"
    return [f"{found['effect']:+.2f}", interval, numbered(found["label"], found["component"])]
