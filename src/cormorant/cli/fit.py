"""`cormorant fit`: from a file of counts to a fitted model in a folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cormorant._words import counted
from cormorant.cli import options as o
from cormorant.cli.console import say
from cormorant.cli.errors import StoppedEarly, in_options
from cormorant.cli.expand import Given, with_options
from cormorant.cli.known_rows import check_formula_has_covariates, load_covariates, models_without
from cormorant.cli.outputs import check_output, new_folder, report
from cormorant.cli.records import fit_record
from cormorant.cli.settings import check_settings, is_feature_model, likelihood_of, make_estimator
from cormorant.cli.sources import describe, load_rows, note_on_likelihood
from cormorant.cli.watching import watching

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


@with_options(settings=o.FIT)
def fit(
    counts: o.CountsArgument,
    out: Annotated[Path, typer.Option("--out", metavar="FIT", help="Folder to write the fitted model to.")],
    settings: Given,
    model: o.Model = "cnpf",
    covariates: o.Covariates = None,
    holdout: Annotated[
        int,
        typer.Option("--holdout", min=0, help="Rows kept from the fit and recorded, for cormorant evaluate."),
    ] = 0,
    seed: o.Seed = 1,
    json: o.Json = False,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Fit a model to counts and write it to a folder.

    Ctrl-C ends the fit early and keeps what it has so far.

    Example: cormorant fit nyt --model cnpf --components 50 --holdout 1000 --out nyt-cnpf
    """
    check_settings([model], settings, seed)
    models_without([model], covariates)
    check_formula_has_covariates(settings.get("formula"), covariates)
    check_output(out, force, folder=True, inputs=(counts, covariates))
    likelihood = likelihood_of([model], settings)
    data = load_rows(counts, likelihood)
    note_on_likelihood(counts, data, likelihood, "likelihood" in settings)
    known = load_covariates(covariates, data)
    train, fitted, held_out = split_rows(data, holdout, seed)
    known = None if known is None else known.iloc[fitted].reset_index(drop=True)
    if not quiet:
        say(f"{counts}: {describe(data)}; {counted(len(held_out), 'row')} held out")
        _say_forecast(model, settings, seed, train, known)
    begin = time.perf_counter()
    with watching([model], quiet) as callbacks:
        estimator = make_estimator(model, settings, seed, callbacks[model])
        estimator.fit(train, **({} if known is None else {"covariates": known}))
    seconds = time.perf_counter() - begin
    estimator.held_out_rows_ = held_out
    with new_folder(out) as (folder, record):
        estimator.save(folder, overwrite=True)
        record |= fit_record(estimator, counts, data, seed, seconds)
        record |= {} if covariates is None else {"covariates": str(covariates)}
    what = "features" if is_feature_model(model) else "components"
    used = f"{estimator.n_components_used_} of {estimator.n_components} {what} in use"
    why = [] if estimator.interrupted_ else [in_options(estimator.stop_reason_)]  # an interrupt is told last
    lines = [*why, f"{used}; {seconds:.0f} s. Written to {out}"]
    report(out, record, json, *([] if quiet else lines))
    if estimator.interrupted_:
        raise StoppedEarly(f"{estimator.stop_reason_}, in {out}.")


def split_rows(data: Any, holdout: int, seed: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """The rows to fit, their positions and those of the rows held out, as `cormorant.evaluation.compare` chooses them.

    Rows without names are named by their numbers first: in the fit they come in another order.
    """
    import numpy as np

    from cormorant.data import hold_out_rows

    if not holdout:
        return data, np.arange(data.n_rows), np.array([], dtype=np.int64)
    fitted, held_out = hold_out_rows(data.n_rows, holdout, seed)
    return data.numbered().rows(fitted), fitted, held_out


def _say_forecast(model: str, settings: Given, seed: int, train: Any, known: pd.DataFrame | None) -> None:
    from cormorant.cli.forecast import forecast

    estimator = make_estimator(model, settings, seed)
    say(f"This takes {forecast(estimator, train, known)}. Ctrl-C ends it early and keeps what it has.")
