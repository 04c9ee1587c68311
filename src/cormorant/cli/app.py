"""The verbs, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from cormorant._version import __version__
from cormorant.cli import (
    compare,
    components,
    correlations,
    demo,
    effects,
    evaluate,
    explore,
    export,
    fit,
    impute,
    info,
    prepare,
    rows,
    simulate,
)
from cormorant.cli.console import out

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")


def _show_version(wanted: bool) -> None:
    if wanted:
        out.print(f"cormorant {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def cormorant(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Correlated random measures: factorise counts into components that go together or avoid each other.

    Begin with: cormorant demo
    """
    # `debug` stands here for the help: `run_command` finds the option anywhere on the line and takes it out.
    if context.invoked_subcommand is None:
        out.print(context.get_help())


for verb in (
    demo.demo,
    prepare.prepare,
    fit.fit,
    evaluate.evaluate,
    compare.compare,
    components.components,
    correlations.correlations,
    effects.effects,
    rows.rows,
    impute.impute,
    explore.explore,
    export.export,
    simulate.simulate,
    info.info,
):
    app.command()(verb)
