"""`cormorant correlations`: which components go together, and which avoid each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cormorant.cli import options as o
from cormorant.cli.console import print_json, print_table

if TYPE_CHECKING:
    import pandas as pd


def correlations(
    fit: o.FitArgument,
    pairs: Annotated[int, typer.Option("--pairs", min=1, help="Pairs of each sign.")] = 10,
    among: Annotated[
        int | None,
        typer.Option(
            "--among",
            min=2,
            help="Look at so many of the most used. Default: as few as hold 90% of the counts.",
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Columns to name for each component.")] = 5,
    json: o.Json = False,
) -> None:
    """The most positively and the most negatively correlated pairs of heavily used components.

    Example: cormorant correlations nyt-cnpf --pairs 10
    """
    from cormorant.estimators import load
    from cormorant.explore import tables

    model = load(fit)
    table = tables.correlated_pairs(model, pairs, among=among, n_columns=top)
    if json:
        print_json({"model": model.model.name, "pairs": table.to_dict("records")})
    else:
        print_pairs(table)


def print_pairs(table: pd.DataFrame) -> None:
    """A table for each sign."""
    titles = {"positive": "Components that go together", "negative": "Components that avoid each other"}
    for sign, title in titles.items():
        lines = (
            [
                f"{line['correlation']:+.2f}",
                f"{line['component']}: {', '.join(line['top_columns'])}",
                f"{line['other']}: {', '.join(line['other_columns'])}",
            ]
            for line in table[table["sign"] == sign].to_dict("records")
        )
        print_table(title, ["correlation", "component", "other"], lines)
