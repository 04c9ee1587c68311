"""`cormorant simulate`: counts drawn from a model, with the truth that a fit should find."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cormorant.cli import options as o
from cormorant.cli.expand import Given, with_options
from cormorant.cli.outputs import check_output, new_folder, report
from cormorant.cli.records import size_record
from cormorant.cli.sources import describe

if TYPE_CHECKING:
    import numpy as np

    from cormorant.data import Counts, Matrix


@with_options(sizes=o.SIMULATE)
def simulate(
    out: Annotated[Path, typer.Option("--out", help="Folder to write counts.npz (or matrix.npy) and truth.npz to.")],
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

    Real numbers, of features with --likelihood gaussian, are written as matrix.npy.

    Example: cormorant simulate --model cnpf --rows 2000 --columns 300 --components 12 --out simulated
    """
    simulator = _simulator(model, prior)
    _check_idle(model, prior, sizes, simulator)
    check_output(out, force, folder=True)
    drawn = simulator(**sizes, seed=seed)
    truth = {name: value for name, value in vars(drawn).items() if value is not None}
    is_real = "y" in truth and sizes.get("likelihood", "gaussian") == "gaussian"
    counts = truth.pop("counts") if "counts" in truth else _named(truth.pop("y"), is_real)
    with new_folder(out) as (folder, record):
        _write(counts, truth | {"correlation": drawn.correlation}, folder)
        record |= {"command": "simulate", "model": model, "prior": prior, "parameters": sizes, "seed": seed}
        record |= size_record(counts)
    files = "counts.npz, covariates.csv" if "covariates" in truth else "matrix.npy" if is_real else "counts.npz"
    report(out, record, json, f"{describe(counts)}. Written to {out}: {files}, and the truth as truth.npz.")


def _simulator(model: str, prior: bool) -> Callable[..., Any]:
    """The function that draws from the model."""
    from cormorant import datasets
    from cormorant.estimators.registry import estimator_class, family_of

    estimator_class(model)  # refuses names that are none
    if prior:
        return partial(datasets.simulate_prior, model)
    of_family = {
        "counts": partial(datasets.simulate, model),
        "thinned": datasets.simulate_thinned,
        "features": partial(datasets.simulate_features, model),
    }
    return of_family[family_of(model)]


def _check_idle(model: str, prior: bool, sizes: Given, simulator: Callable[..., Any]) -> None:
    """Refuse what would do nothing: with this model, with or without --prior, or beside the other options."""
    from cormorant.datasets import simulate_prior
    from cormorant.estimators.registry import ALL

    own, all_models = ALL[model]().get_params(), {name for cls in ALL.values() for name in cls().get_params()}
    read, of_prior = (inspect.signature(function).parameters for function in (simulator, simulate_prior))
    for setting in o.SIMULATE:
        name, why = setting.parameter, ""
        if name in all_models and name not in own:  # what a fit of this model does not have
            why = f"with --model {model}"
        elif name not in read and prior:
            why = "with --prior, which has numbers of its own"
        elif name not in read:
            why = "without --prior" if name in of_prior and name in own else f"with --model {model}"
        if name in sizes and why:
            raise ValueError(f"{setting.flag} does nothing {why}; leave it out.")
    if "noise" in sizes and sizes.get("likelihood", "gaussian") != "gaussian":
        raise ValueError(f"--noise does nothing with --likelihood {sizes['likelihood']}; leave it out.")
    if "sigma_g2" in sizes and not sizes.get("n_covariates"):
        raise ValueError("--sigma-g2 does nothing without --n-covariates; leave it out.")


def _named(y: np.ndarray, is_real: bool) -> Counts | Matrix:
    from cormorant.data import as_counts, as_matrix

    return as_matrix(y) if is_real else as_counts(y)


def _write(counts: Counts | Matrix, truth: dict[str, Any], folder: Path) -> None:
    """Counts or real numbers as `fit` reads them; the truth as named arrays, under the names of `Simulation`."""
    import numpy as np

    from cormorant.data import Matrix, write

    if isinstance(counts, Matrix):
        np.save(folder / "matrix.npy", counts.values)
    else:
        write(counts, folder / "counts.npz")
    if "covariates" in truth:
        header = ",".join(f"covariate{c}" for c in range(truth["covariates"].shape[1]))
        np.savetxt(folder / "covariates.csv", truth["covariates"], delimiter=",", header=header, comments="")
    np.savez_compressed(folder / "truth.npz", **truth)
