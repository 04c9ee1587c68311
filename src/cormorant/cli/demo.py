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
from cormorant.cli.outputs import check_output, new_folder
from cormorant.cli.progress import fitting
from cormorant.cli.records import save_fit, write_record
from cormorant.cli.sources import SAMPLE, describe

if TYPE_CHECKING:
    import pandas as pd

    from cormorant.data import Counts
    from cormorant.evaluation import Comparison

HELD_OUT, OBSERVED, SEED = 1000, (0.1, 0.5), 1


@dataclass(frozen=True)
class Scale:
    """How much the demo does: about a minute on two cores, or a few seconds for a first look."""

    n_components: int
    n_dims: int
    max_epochs: int


FULL = Scale(n_components=50, n_dims=25, max_epochs=100)
QUICK = Scale(n_components=20, n_dims=5, max_epochs=10)


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for tables, figures and fitted models.")] = Path(
        "demo-output"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Small and short: seconds, with rougher results.")] = False,
    force: o.Force = False,
) -> None:
    """Fit the embedded New York Times sample with and without correlations, and show what comes out.

    Example: cormorant demo
    """
    from cormorant import load_nyt
    from cormorant.explore import tables

    check_output(out, force)
    counts = load_nyt()
    say(f"New York Times sample: {describe(counts)} (articles x words); {HELD_OUT:,} rows held out.")
    say("Fitting HGP (independent components) and CNPF (correlated components).")
    models, found = _fit(counts, QUICK if quick else FULL)
    components, pairs = tables.components(models["cnpf"]), tables.correlated_pairs(models["cnpf"])
    print_components(components.head(20), "The 20 most used components of CNPF")
    print_pairs(pairs)
    print_comparison(found)
    with new_folder(out) as folder:
        _save_fits(models, found, counts, folder)
        _write_csv(components, folder / "components.csv")
        _write_csv(pairs, folder / "correlations.csv")
        found.table().to_csv(folder / "comparison.csv")
        figures = _draw(models, folder)
        write_record(folder, {"command": "demo", "quick": quick, "seed": SEED, "models": found.records})
    say("Figures:")
    for figure in figures:
        say(f"  {out / figure}")
    say(f"Tables (CSV) and both fitted models are in {out} too. Look further with:")
    say(f"  cormorant correlations {out / 'cnpf'} --pairs 20")


def _fit(counts: Counts, scale: Scale) -> tuple[dict[str, Any], Comparison]:
    """Both models, fitted and scored on one split."""
    from cormorant import CNPF, HGP
    from cormorant.evaluation import compare

    common: dict[str, Any] = {
        "n_components": scale.n_components,
        "max_epochs": scale.max_epochs,
        "random_state": SEED,
        "n_jobs": -1,
    }
    with fitting(["hgp", "cnpf"], truncation_notes=False) as callbacks:
        models = {
            "hgp": HGP(**common, callbacks=callbacks["hgp"]),
            "cnpf": CNPF(**common, n_dims=scale.n_dims, callbacks=callbacks["cnpf"]),
        }
        return models, compare(counts, models, n_held_out=HELD_OUT, observed=OBSERVED, seed=SEED)


def _save_fits(models: dict[str, Any], found: Comparison, counts: Counts, folder: Path) -> None:
    """The models with the rows that `compare` kept from them, so that `cormorant evaluate` finds those."""
    from cormorant.data import hold_out

    held_out = hold_out(counts, HELD_OUT, SEED).held_out_index
    for (name, model), score in zip(models.items(), found.records, strict=True):
        model.held_out_rows_ = held_out
        save_fit(folder / name, model, SAMPLE, counts, SEED, score["seconds"])


def _write_csv(table: pd.DataFrame, path: Path) -> None:
    """Lists of columns as text with semicolons between, which names seldom contain."""
    lists = [name for name in table.columns if name.endswith("columns")]
    table.assign(**{name: table[name].str.join("; ") for name in lists}).to_csv(path, index=False)


def _draw(models: dict[str, Any], folder: Path) -> list[str]:
    """The figures, made without pyplot: no window, no state left behind."""
    from matplotlib.figure import Figure

    from cormorant.explore import figures

    cnpf = models["cnpf"]
    drawings = {
        "correlations.png": ((10.0, 8.0), lambda ax: figures.correlation_heatmap(cnpf, ax)),
        "weights.png": ((6.5, 3.2), lambda ax: figures.sorted_weights(cnpf, ax)),
        "convergence.png": ((6.5, 3.2), lambda ax: figures.convergence(models, ax)),
    }
    for name, (size, draw) in drawings.items():
        page = Figure(figsize=size, layout="constrained")
        draw(page.add_subplot())
        page.savefig(folder / name, dpi=160, bbox_inches="tight")
    return list(drawings)
