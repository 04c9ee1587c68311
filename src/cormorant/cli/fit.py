"""`cormorant fit`: from a file of counts to a fitted model in a folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from cormorant.cli import options as o
from cormorant.cli.console import print_json, say
from cormorant.cli.errors import in_options
from cormorant.cli.outputs import check_output, new_folder
from cormorant.cli.progress import fitting
from cormorant.cli.records import save_fit
from cormorant.cli.settings import FitSettings
from cormorant.cli.sources import describe, load_counts


def fit(
    counts: o.CountsArgument,
    out: Annotated[Path, typer.Option("--out", metavar="FIT", help="Folder to write the fitted model to.")],
    model: Annotated[str, typer.Option("--model", help="cnpf, softplus-cnpf, scaled-hgp or hgp.")] = "cnpf",
    components: o.Components = None,
    dims: o.Dims = None,
    inference: o.Inference = "auto",
    allocation: o.Allocation = "zero-order",
    batch_size: o.BatchSize = "auto",
    max_epochs: o.MaxEpochs = 100,
    seed: o.Seed = 1,
    jobs: o.Jobs = -1,
    holdout: Annotated[
        int,
        typer.Option("--holdout", min=0, help="Rows kept from the fit and recorded, for cormorant evaluate."),
    ] = 0,
    json: o.Json = False,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Fit a model to counts and write it to a folder.

    Example: cormorant fit nyt --components 50 --holdout 1000 --out nyt-cnpf
    """
    import numpy as np

    from cormorant.data import hold_out
    from cormorant.models.cnpf import get_model

    if dims is not None and not get_model(model).has_locations:
        raise ValueError(f"--dims is for models with locations; {model} has none.")
    settings = FitSettings(components, dims, inference, allocation, batch_size, max_epochs, seed, jobs)
    settings.estimator(model)  # a wrong name or value is told before anything is read
    check_output(out, force)
    data = load_counts(counts)
    train, held_out = data, np.array([], dtype=np.int64)
    if holdout:
        split = hold_out(data, holdout, seed)
        train, held_out = split.train, split.held_out_index
    if not quiet:
        say(f"{counts}: {describe(data)}; {len(held_out):,} rows held out")
    begin = time.perf_counter()
    with fitting([model], quiet) as callbacks:
        estimator = settings.estimator(model, callbacks[model]).fit(train)
    seconds = time.perf_counter() - begin
    estimator.held_out_rows_ = held_out
    with new_folder(out) as folder:
        record = save_fit(folder, estimator, counts, data, seed, seconds)
    if json:
        print_json({**record, "out": str(out)})
    elif not quiet:
        say(in_options(estimator.stop_reason_))
        say(
            f"{estimator.n_components_used_} of {estimator.n_components} components in use; "
            f"{seconds:.0f} s. Written to {out}"
        )
