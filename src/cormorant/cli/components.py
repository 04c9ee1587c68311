"""`cormorant components`: what the components of a fitted model are about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cormorant.cli import options as o
from cormorant.cli.console import print_json, print_table, records
from cormorant.cli.sources import load_fit

if TYPE_CHECKING:
    import pandas as pd


def components(
    fit: o.FitArgument,
    top: Annotated[int, typer.Option("--top", min=1, help="Columns to name for each component.")] = 10,
    by: Annotated[
        str, typer.Option("--by", help="What makes a column a top column: mean, lift, frex or divergence.")
    ] = "mean",
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Show only so many. Default: the components in use.")
    ] = None,
    json: o.Json = False,
) -> None:
    """The components of a fitted model, the most used first: share of the counts, weight, top columns.

    Example: cormorant components nyt-cnpf --top 8 --by frex --limit 20
    """
    from cormorant.explore import tables
    from cormorant.explore.fitted import has_features
    from cormorant.explore.scores import check_score

    check_score(by)
    model = load_fit(fit)
    table = tables.components(model, top, by=by).head(limit or model.n_components_used_)
    if json:
        print_json({"model": model.model.name, "components": records(table)})
    else:
        used = f"{model.n_components_used_} of {len(model.weights_)}"
        what, share = ("features", "rows") if has_features(model) else ("components", "share")
        print_components(table, f"{model.model.name}: {used} {what} in use", share)


def print_components(table: pd.DataFrame, title: str, share: str = "share") -> None:
    """A line a component; ``share`` heads its share of the counts, or of a feature that of the rows that show it."""
    lines = (
        [line["component"], f"{line['share']:.1%}", f"{line['weight']:.3f}", line["top_columns"]]
        for line in records(table)
    )
    print_table(title, ["component", share, "weight", "top columns"], lines)
