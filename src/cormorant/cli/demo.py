"""`cormorant demo`: the whole story on the embedded New York Times sample."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cormorant.cli import options as o
from cormorant.cli.compare import print_comparison
from cormorant.cli.components import print_components
from cormorant.cli.console import say
from cormorant.cli.correlations import print_pairs
from cormorant.cli.fit import split_rows
from cormorant.cli.outputs import check_output, new_folder, report
from cormorant.cli.records import fit_record, write_record
from cormorant.cli.sources import SAMPLE, describe
from cormorant.cli.watching import watching

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cormorant.data import Counts
    from cormorant.evaluation import Comparison

HELD_OUT, OBSERVED, SEED = 1000, (0.1, 0.5), 1
PAGE, TABLES = "page.html", ("components.csv", "correlations.csv", "comparison.csv")


@dataclass(frozen=True)
class Scale:
    """How much the demo does: about a minute on two cores, or a few seconds for a first look."""

    n_components: int
    n_dims: int
    max_epochs: int  # of the fit that the sampler starts from
    n_sweeps: int  # of its one chain


FULL = Scale(n_components=50, n_dims=25, max_epochs=10, n_sweeps=60)
QUICK = Scale(n_components=20, n_dims=5, max_epochs=5, n_sweeps=6)


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for tables, figures, the page and both models.")] = Path(
        "demo-output"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Small and short: seconds, with rougher results.")] = False,
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Fit the embedded New York Times sample with and without correlations, and show what comes out.

    Example: cormorant demo
    """
    from cormorant import load_nyt
    from cormorant.explore import export, page, tables
    from cormorant.explore.spreadsheets import write_table

    check_output(out, force, folder=True)
    counts = load_nyt()
    say(f"New York Times sample: {describe(counts)} (articles x words); {HELD_OUT:,} rows held out.")
    say("Fitting HGP (independent components) and CNPF (correlated components).")
    found = _fit(counts, QUICK if quick else FULL)
    cnpf = found.models["cnpf"]
    components, pairs = tables.components(cnpf), tables.correlated_pairs(cnpf)
    if not json:
        print_components(components.head(20), "The 20 most used components of CNPF")
        print_pairs(pairs, cnpf)
        print_comparison(found)
    with new_folder(out) as (folder, record):
        _save_fits(found, counts, folder)
        written = export.flat_lists(components), export.flat_lists(pairs), found.table().reset_index()
        for name, table in zip(TABLES, written, strict=True):
            write_table(table, folder / name)
        page.write(cnpf, folder / PAGE, title="New York Times articles")
        figures = _draw(found, folder)
        record |= {"command": "demo", "quick": quick, "seed": SEED, "models": found.records}
    report(
        out,
        record,
        json,
        "Figures, tables (CSV), the interactive page and both fitted models:",
        *(f"  {out / name}" for name in (*figures, *TABLES, PAGE)),
        f"Open {out / PAGE} in a browser, or look further with:",
        f"  cormorant correlations {out / 'cnpf'} --pairs 20",
    )


def _fit(counts: Counts, scale: Scale) -> Comparison:
    """Both models, fitted and scored on one split."""
    from cormorant import CNPF, HGP
    from cormorant.evaluation import compare

    common: dict[str, Any] = {
        "n_components": scale.n_components,
        "max_epochs": scale.max_epochs,
        "n_sweeps": scale.n_sweeps,
        "n_chains": 1,
        "random_state": SEED,
        "n_jobs": -1,
    }
    with watching(["hgp", "cnpf"], truncation_notes=False) as callbacks:
        models = {
            "hgp": HGP(**common, callbacks=tuple(callbacks["hgp"])),
            "cnpf": CNPF(**common, n_dims=scale.n_dims, callbacks=tuple(callbacks["cnpf"])),
        }
        found = compare(counts, models, n_held_out=HELD_OUT, observed=OBSERVED, seed=SEED)
    if len(found.records) < len(models):
        raise KeyboardInterrupt
    return found


def _save_fits(found: Comparison, counts: Counts, folder: Path) -> None:
    """The models with the rows that `compare` kept from them, so that `cormorant evaluate` finds those."""
    *_, held_out = split_rows(counts, HELD_OUT, SEED)
    for (name, model), score in zip(found.models.items(), found.records, strict=True):
        model.held_out_rows_ = held_out
        model.save(folder / name)
        write_record(folder / name, fit_record(model, SAMPLE, counts, SEED, score["seconds"]))


def _draw(found: Comparison, folder: Path) -> list[str]:
    """The figures, made without pyplot: no window, no state left behind."""
    from cormorant.explore import figures

    cnpf = found.models["cnpf"]
    drawings = {
        "correlations.png": _page((10.0, 8.0), lambda ax: figures.correlation_heatmap(cnpf, ax)),
        "graph.png": _page((10.0, 8.0), lambda ax: figures.correlation_graph(cnpf, ax), frame=False),
        "components.png": _page((8.0, 5.0), lambda ax: figures.component_panels(cnpf, ax), frame=False),
        "weights.png": _page((6.5, 3.2), lambda ax: figures.sorted_weights(cnpf, ax)),
        "convergence.png": _page((8.5, 6.0), lambda ax: figures.convergence(found.models, ax)),
        "comparison.png": _page((6.5, 2.4), lambda ax: figures.model_comparison(found.table(), ax)),
    }
    for name, drawing in drawings.items():
        drawing.savefig(folder / name, dpi=160, bbox_inches="tight")
    return list(drawings)


def _page(size: tuple[float, float], draw: Any, frame: bool = True) -> Figure:
    """A drawing on a page of its own; without a frame it fills the page."""
    from matplotlib.figure import Figure

    page = Figure(figsize=size, layout="constrained" if frame else None)
    draw(page.add_subplot() if frame else page.add_axes((0.01, 0.01, 0.98, 0.98)))
    return page
