"""`cormorant explore`: the interactive page of a fit, as a file or served on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cormorant.cli import options as o
from cormorant.cli.console import say
from cormorant.cli.known_rows import check_covariates, load_covariates
from cormorant.cli.outputs import check_output, new_file, report
from cormorant.cli.sources import counts_for, load_fit


def explore(
    fit: o.FitArgument,
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write. Default: named after FIT, here, ending in .html.")
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the page on this machine alone, with a look-up of rows.")
    ] = False,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="Port to serve at. Default: any that is free.")
    ] = None,
    counts: Annotated[
        str | None,
        typer.Option(
            "--counts", metavar="COUNTS", help="With --serve: rows to look up, in place of the fit's; or nyt."
        ),
    ] = None,
    covariates: Annotated[
        Path | None,
        typer.Option("--covariates", metavar="TABLE", help="With --serve and --counts: what is known of those rows."),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Heading of the page.")] = None,
    among: Annotated[
        int | None,
        typer.Option("--among", min=1, help="So many of the most used components. Default: those in use, at most 300."),
    ] = None,
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Write one self-contained page that works offline, or serve it: graph, heatmap, components, search.

    Example: cormorant explore nyt-cnpf --out page.html

    Example: cormorant explore nyt-cnpf --serve --counts nyt
    """
    if serve:
        if out is not None:
            raise ValueError("--out and --serve exclude each other: the page is written, or served.")
        check_covariates(covariates, counts)
        _serve(fit, counts, covariates, port or 0, title, among)
        return
    for option, value in (("--counts", counts), ("--covariates", covariates), ("--port", port)):
        if value is not None:
            raise ValueError(f"{option} is for --serve; a page that is written has no rows to look up.")
    from cormorant.explore import page

    out = Path(f"{fit.resolve().name}.html") if out is None else out
    check_output(out, force, folder=False, inputs=(fit,))
    model = load_fit(fit)
    with new_file(out) as (made, record):
        page.write(model, made, title=title, among=among)
        record |= {"command": "explore", "fit": str(fit), "title": title, "among": among}
    report(out, record, json, f"Written to {out}: open it in any browser, it needs no network.")


def _serve(
    fit: Path, counts: str | None, covariates: Path | None, port: int, title: str | None, among: int | None
) -> None:
    from cormorant.explore.fitted import has_features
    from cormorant.explore.serve import serve

    model = load_fit(fit)
    rows = None if counts is None else counts_for(model, counts)
    if covariates is not None and has_features(model):
        raise ValueError(f"--covariates do nothing here: {model.model.name} takes none; leave them out.")
    known = None if rows is None else load_covariates(covariates, rows)
    options = {"counts": rows, "covariates": known, "title": title, "among": among}
    serve(model, port, **options, ready=lambda url: say(f"Open {url} (Ctrl-C ends it)"))
