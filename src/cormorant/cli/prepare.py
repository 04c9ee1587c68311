"""`cormorant prepare`: from whatever holds counts to a file that fits begin with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cormorant._words import counted
from cormorant.cli import options as o
from cormorant.cli.console import note
from cormorant.cli.expand import Given, with_options
from cormorant.cli.outputs import check_output, new_file, report
from cormorant.cli.records import RECORD, size_record
from cormorant.cli.sources import describe, load_counts

if TYPE_CHECKING:
    from cormorant.data import Counts

FILTERS = "Filters, in this order"


@with_options(reader=o.READ)
def prepare(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="File in any format, a database (with --query), or nyt.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="COUNTS", help="File to write, named .npz.")],
    reader: Given,
    query: Annotated[
        str | None,
        typer.Option(
            "--query",
            metavar="SQL",
            help="SELECT of row, column[, count] from the table source (CSV, TSV, Parquet, JSON) "
            "or from the tables of a DuckDB or SQLite database.",
        ),
    ] = None,
    min_rows: Annotated[
        int, typer.Option("--min-rows", min=0, help="Rows that a column must appear in.", rich_help_panel=FILTERS)
    ] = 0,
    top_columns: Annotated[
        int | None,
        typer.Option("--top-columns", min=1, help="Keep so many columns, the most frequent.", rich_help_panel=FILTERS),
    ] = None,
    min_count: Annotated[
        int,
        typer.Option("--min-count", min=0, help="What a row must then add up to.", rich_help_panel=FILTERS),
    ] = 0,
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Read counts in any format, filter them, and write them to one file with their names.

    Example: cormorant prepare visits.csv --row patient --column code --min-rows 10 --out visits.npz

    Example: cormorant prepare shop.duckdb --query "SELECT customer, product, n FROM sales" --out shop.npz
    """
    from cormorant.data import write

    if out.suffix != ".npz":
        raise ValueError(f"--out must be named .npz, the format that is written; got {str(out)!r}.")
    files = (source, reader.get("vocabulary"), reader.get("row_names"))
    check_output(out, force, folder=False, inputs=files)
    read = _read(source, query, reader)
    kept = filter_counts(read, min_rows, top_columns, min_count)
    with new_file(out) as (made, record):
        write(kept, made)
        record |= {
            "command": "prepare",
            "source": source,
            "query": query,
            "reader": reader,
            "filters": {"min_rows": min_rows, "top_columns": top_columns, "min_count": min_count},
            **size_record(kept),
        }
    written = f"{out}: {describe(kept)}; the settings are in {out.name}.{RECORD}"
    report(out, record, json, f"{source}: {describe(read)}", written)
    if empty := int((kept.row_totals() == 0).sum()):
        note(f"{counted(empty, 'row')} without counts; --min-count 1 leaves such rows out.")


def _read(source: str, query: str | None, reader: Given) -> Counts:
    if query is None:
        try:
            return load_counts(source, **_by_position(reader))
        except TypeError as error:  # an option that the format does not take
            raise ValueError(f"{error} Leave it out, or say the right --format.") from error
    from cormorant.data import read_query

    if unused := [setting.flag for setting in o.READ if setting.parameter in reader and setting.flag != "--weights"]:
        raise ValueError(f"{unused[0]} does nothing beside --query, which chooses what is read; leave it out.")
    return read_query(source, query, **reader)


def _by_position(reader: Given) -> dict[str, Any]:
    """Columns of a table without a header, by their positions."""
    if reader.get("header", True):
        return reader
    return {k: o.number_or_word(v) if k in ("row", "column", "count") else v for k, v in reader.items()}


def filter_counts(counts: Counts, min_rows: int, top_columns: int | None, min_count: int) -> Counts:
    """Columns that enough rows show, of those the most frequent, and rows that then have enough counts."""
    import numpy as np

    if 0 in counts.shape:
        raise ValueError(f"there is nothing to count: the source has {describe(counts)}. Is it of another --format?")
    shown_by = np.bincount(counts.indices, minlength=counts.n_columns)
    columns = np.flatnonzero(shown_by >= min_rows)
    if top_columns is not None:
        most_frequent = np.argsort(-counts.column_totals()[columns], kind="stable")[:top_columns]
        columns = np.sort(columns[most_frequent])
    kept = counts.columns(columns) if len(columns) < counts.n_columns else counts
    rows = np.flatnonzero(kept.row_totals() >= min_count)
    if len(columns) == 0 or len(rows) == 0:
        what = "column" if len(columns) == 0 else "row"
        raise ValueError(f"the filters leave no {what} of {describe(counts)}; lower --min-rows or --min-count.")
    return kept.rows(rows) if len(rows) < kept.n_rows else kept
