"""`cormorant effects`: how covariates of the rows move components."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cormorant.cli import options as o
from cormorant.cli.console import print_json, print_table, records
from cormorant.cli.sources import load_fit


def effects(
    fit: o.FitArgument,
    among: o.Among = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Components of each sign to list for a covariate.")] = 5,
    json: o.Json = False,
) -> None:
    """What a unit of each covariate adds to the logarithm of a component's weight, with 90% intervals.

    What a covariate does to all components alike is taken out. Of thinned: what it adds to the log odds that a row has
    the component. The strongest are listed; --json has all.

    Example: cormorant effects stays-cnpf --top 3
    """
    from cormorant.explore import tables

    model = load_fit(fit)
    table = tables.covariate_effects(model, among=among)
    if json:
        print_json({"model": model.model.name, "effects": records(table)})
        return
    for covariate, part in table.groupby("covariate", sort=False):
        ends = part if len(part) <= 2 * top else part.iloc[[*range(top), *range(len(part) - top, len(part))]]
        print_table(str(covariate), ["effect", "90% interval", "component"], map(_line, records(ends)))


def _line(found: dict[str, Any]) -> list[str]:
    interval = f"{found['low']:+.2f} to {found['high']:+.2f}"
    return [f"{found['effect']:+.2f}", interval, f"{found['component']}: {found['label']}"]
