"""`cormorant simulate`: counts drawn from a model, with the truth that a fit should find."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cormorant.cli import options as o
from cormorant.cli.expand import Given, with_options
from cormorant.cli.outputs import check_output, new_folder, report
from cormorant.cli.records import size_record
from cormorant.cli.sources import describe

if TYPE_CHECKING:
    from cormorant.datasets import Simulation


@with_options(sizes=o.SIMULATE)
def simulate(
    out: Annotated[Path, typer.Option("--out", help="Folder to write counts.npz and truth.npz to.")],
    sizes: Given,
    model: o.Model = "cnpf",
    prior: Annotated[
        bool, typer.Option("--prior", help="Draw everything from the prior, the weights of the components too.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the draws.")] = 0,
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Draw counts from a model, and keep what they were drawn from.

    Example: cormorant simulate --model cnpf --rows 2000 --columns 300 --components 12 --out simulated
    """
    from cormorant import datasets

    check_output(out, force, folder=True)
    if prior:
        numbers = [setting.flag for setting in o.SIMULATE if setting.panel != "Size" and setting.parameter in sizes]
        if numbers:
            raise ValueError(f"{numbers[0]} does nothing with --prior, which draws it; leave it out.")
        drawn = datasets.simulate_prior(model, **sizes, seed=seed)
    else:
        drawn = datasets.simulate(model, **sizes, seed=seed)
    with new_folder(out) as (folder, record):
        _write(drawn, folder)
        record |= {"command": "simulate", "model": model, "prior": prior, "parameters": sizes, "seed": seed}
        record |= size_record(drawn.counts)
    report(out, record, json, f"{describe(drawn.counts)}. Written to {out}: counts.npz, and the truth as truth.npz.")


def _write(drawn: Simulation, folder: Path) -> None:
    """Counts as `fit` reads them; the truth as named arrays, under the names of `Simulation`."""
    import numpy as np

    from cormorant.data import write

    write(drawn.counts, folder / "counts.npz")
    if drawn.covariates is not None:
        header = ",".join(f"covariate{c}" for c in range(drawn.covariates.shape[1]))
        np.savetxt(folder / "covariates.csv", drawn.covariates, delimiter=",", header=header, comments="")
    truth = {name: value for name, value in vars(drawn).items() if name != "counts" and value is not None}
    np.savez_compressed(folder / "truth.npz", **truth, correlation=drawn.correlation)
