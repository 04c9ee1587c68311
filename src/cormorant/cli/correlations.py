"""`cormorant correlations`: which components go together, and which avoid each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cormorant.cli import options as o
from cormorant.cli.console import print_json, print_table, records
from cormorant.cli.mixing import note_on_intervals
from cormorant.cli.sources import load_fit

if TYPE_CHECKING:
    import pandas as pd

TITLES = {"positive": "Components that go together", "negative": "Components that avoid each other"}


def correlations(
    fit: o.FitArgument,
    pairs: Annotated[int, typer.Option("--pairs", min=1, help="Pairs of each sign.")] = 10,
    among: o.Among = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Columns to name for each component.")] = 5,
    json: o.Json = False,
) -> None:
    """The most positively and the most negatively correlated pairs of heavily used components.

    Example: cormorant correlations nyt-cnpf --pairs 10
    """
    from cormorant.explore import tables

    model = load_fit(fit)
    table = tables.correlated_pairs(model, pairs, among=among, n_columns=top)
    if json:
        print_json({"model": model.model.name, "pairs": records(table)})
    else:
        print_pairs(table, model)


def print_pairs(table: pd.DataFrame, model: Any) -> None:
    """A table for each sign; and what to think of intervals from chains that have not mixed."""
    for sign, title in TITLES.items():
        lines = map(_line, records(table[table["sign"] == sign]))
        print_table(title, ["correlation", "component", "other"], lines)
    if "low" in table:
        note_on_intervals(model)


def _line(pair: dict[str, Any]) -> list[str]:
    interval = f" ({pair['low']:+.2f} to {pair['high']:+.2f})" if "low" in pair else ""
    return [
        f"{pair['correlation']:+.2f}{interval}",
        f"{pair['component']}: {', '.join(pair['top_columns'])}",
        f"{pair['other']}: {', '.join(pair['other_columns'])}",
    ]
