"""`cormorant export`: what a fit found, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cormorant.cli import options as o
from cormorant.cli.known_rows import check_covariates, load_covariates
from cormorant.cli.outputs import check_output, new_file, new_folder, report
from cormorant.cli.sources import counts_for, load_fit

#: Formats, and how the name of the output ends if none is given.
SUFFIXES = {"csv": "-csv", "graphml": ".graphml", "gexf": ".gexf", "h5ad": ".h5ad", "arviz": ".nc"}
GRAPHS = ("graphml", "gexf")


def export(
    fit: o.FitArgument,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            help="csv (a folder of tables), graphml or gexf (the correlation graph), h5ad (AnnData), arviz (netCDF).",
        ),
    ] = "csv",
    out: Annotated[
        Path | None, typer.Option("--out", help="File (csv: folder) to write. Default: named after FIT, here.")
    ] = None,
    counts: o.CountsOption = None,
    covariates: o.Covariates = None,
    among: o.Among = None,
    least: Annotated[
        float | None,
        typer.Option("--least", min=0, max=1, help="Least |correlation| of an edge (graphml, gexf). Default: 0.5."),
    ] = None,
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Write what a fit found in a format that other programs read.

    Example: cormorant export nyt-cnpf --format graphml --out nyt.graphml
    """
    if format not in SUFFIXES:
        raise ValueError(f"--format must be one of {', '.join(SUFFIXES)}; got {format!r}.")
    of_graphs, of_rows = {"among": among, "least": least}, {"counts": counts, "covariates": covariates}
    taken, unused = (of_graphs, of_rows) if format in GRAPHS else (of_rows, of_graphs)
    for name, value in unused.items():
        if value is not None:
            raise ValueError(f"--{name} does nothing for --format {format}; leave it out.")
    check_covariates(covariates, counts)
    out = Path(f"{fit.resolve().name}{SUFFIXES[format]}") if out is None else out
    check_output(out, force, folder=format == "csv", inputs=(fit, counts, covariates))
    from cormorant.explore import export as exports

    model = load_fit(fit)
    options: dict[str, Any] = {name: value for name, value in taken.items() if value is not None}
    if counts is not None:
        rows = counts_for(model, counts)
        options = {"X": rows, "covariates": load_covariates(covariates, rows)}
    with (new_folder if format == "csv" else new_file)(out) as (made, record):
        getattr(exports, f"write_{format}")(model, made, **options, overwrite=True)
        recorded = {name: str(value) if isinstance(value, Path) else value for name, value in taken.items()}
        record |= {"command": "export", "fit": str(fit), "format": format, **recorded}
    report(out, record, json, f"Written to {out}")
