"""`cormorant compare`: several models on one split, the analogue of the paper's table of results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cormorant.cli import options as o
from cormorant.cli.console import print_json, print_table, say
from cormorant.cli.progress import fitting
from cormorant.cli.settings import FitSettings
from cormorant.cli.sources import describe, load_counts

if TYPE_CHECKING:
    from cormorant.evaluation import Comparison


def compare(
    counts: o.CountsArgument,
    models: Annotated[
        str,
        typer.Option("--models", help="Names, with commas between: hgp, scaled-hgp, cnpf, softplus-cnpf."),
    ] = "hgp,scaled-hgp,cnpf",
    holdout: Annotated[int, typer.Option("--holdout", min=1, help="Rows kept from every fit, to score on.")] = 1000,
    observed: o.Observed = "0.1,0.5",
    components: o.Components = None,
    dims: o.Dims = None,
    inference: o.Inference = "auto",
    allocation: o.Allocation = "zero-order",
    batch_size: o.BatchSize = "auto",
    max_epochs: o.MaxEpochs = 100,
    seed: o.Seed = 1,
    jobs: o.Jobs = -1,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Fit several models on the same rows and score them on the same held-out entries.

    Example: cormorant compare nyt --models hgp,cnpf --components 50 --holdout 1000 --observed 0.1,0.5
    """
    from cormorant import evaluation

    settings = FitSettings(components, dims, inference, allocation, batch_size, max_epochs, seed, jobs)
    chosen = o.names(models)
    if not chosen:
        raise ValueError("--models must name at least one model, for example hgp,cnpf.")
    for name in chosen:
        settings.estimator(name)  # a wrong name or value is told before any fit
    shares = o.fractions(observed)
    data = load_counts(counts)
    if not quiet:
        say(f"{counts}: {describe(data)}; {holdout:,} rows held out")
    with fitting(chosen, quiet) as callbacks:
        estimators = {name: settings.estimator(name, callbacks[name]) for name in chosen}
        found = evaluation.compare(data, estimators, n_held_out=holdout, observed=shares, seed=seed)
    if json:
        print_json(
            {
                "counts": counts,
                "n_held_out": found.n_held_out,
                "seed": found.seed,
                "models": found.records,
            }
        )
    else:
        print_comparison(found)


def print_comparison(found: Comparison) -> None:
    """The table of results; the lowest perplexity is the best."""
    shares = list(found.records[0]["perplexity"])
    header = ["model", *(f"{float(share):.0%} observed" for share in shares), "seconds", "components used"]
    print_table(
        f"Perplexity of {found.n_held_out:,} held-out rows (lower is better)",
        header,
        map(_line, found.records),
    )


def _line(record: dict[str, Any]) -> list[Any]:
    perplexities = (f"{value:,.1f}" for value in record["perplexity"].values())
    return [record["model"], *perplexities, f"{record['seconds']:.1f}", record["components_used"]]
