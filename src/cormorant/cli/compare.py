"""`cormorant compare`: several models on one split, the analogue of the paper's table of results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cormorant._words import counted
from cormorant.cli import options as o
from cormorant.cli.console import note, print_json, print_table, say
from cormorant.cli.errors import StoppedEarly
from cormorant.cli.expand import Given, with_options
from cormorant.cli.known_rows import check_formula_has_covariates, load_covariates, models_without
from cormorant.cli.settings import check_settings, is_feature_model, likelihood_of, make_estimator
from cormorant.cli.sources import describe, load_rows, note_on_likelihood
from cormorant.cli.watching import watching

if TYPE_CHECKING:
    from cormorant.evaluation import Comparison


@with_options(settings=o.FIT)
def compare(
    counts: o.CountsArgument,
    settings: Given,
    models: Annotated[
        str,
        typer.Option(
            "--models",
            help="Names, with commas between: hgp, scaled-hgp, cnpf, softplus-cnpf, hdp, diln, thinned; or those of "
            "features: beta-features, gamma-features, ibp.",
        ),
    ] = "hgp,scaled-hgp,cnpf,softplus-cnpf",
    covariates: o.Covariates = None,
    holdout: Annotated[int, typer.Option("--holdout", min=1, help="Rows kept from every fit, to score on.")] = 1000,
    observed: o.Observed = "0.1,0.5",
    seed: o.Seed = 1,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Fit several models on the same rows and score them on the same held-out entries.

    Models of counts are compared by perplexity, those of features by the mean log density of the hidden entries.

    Ctrl-C ends the comparison with the models that are finished by then.

    Example: cormorant compare nyt --models hgp,cnpf --components 50 --holdout 1000 --observed 0.1,0.5
    """
    from cormorant import evaluation

    chosen, shares = o.names(models), o.fractions(observed)
    _check_models(chosen)
    check_settings(chosen, settings, seed)
    without = models_without(chosen, covariates)
    check_formula_has_covariates(settings.get("formula"), covariates)
    likelihood = likelihood_of(chosen, settings)
    data = load_rows(counts, likelihood)
    note_on_likelihood(counts, data, likelihood, "likelihood" in settings)
    known = load_covariates(covariates, data)
    if not quiet:
        say(f"{counts}: {describe(data)}; {counted(holdout, 'row')} held out")
    if without:
        note(f"--covariates are for models with correlations: compared without are {', '.join(without)}.")
    with watching(chosen, quiet) as callbacks:
        estimators = {name: make_estimator(name, settings, seed, callbacks[name]) for name in chosen}
        found = evaluation.compare(data, estimators, n_held_out=holdout, observed=shares, seed=seed, covariates=known)
    if json:
        described = {"counts": counts, "n_held_out": found.n_held_out, "seed": found.seed, "parameters": settings}
        known_of_rows = {"covariates": str(covariates), "without_covariates": without} if covariates else {}
        print_json({**described, **known_of_rows, "models": found.records})
    else:
        print_comparison(found)
    if len(found.records) < len(chosen):
        raise StoppedEarly(f"interrupted; only {len(found.records)} of {len(chosen)} models were compared.")


def _check_models(chosen: list[str]) -> None:
    """Refuse names that are none, that come twice, and models of counts beside models of features."""
    from cormorant.estimators.registry import ALL

    if not chosen:
        raise ValueError("--models must name at least one model, for example hgp,cnpf.")
    if unknown := [name for name in chosen if name not in ALL]:
        raise ValueError(f"--models must be some of {', '.join(ALL)}; got {unknown[0]!r}.")
    features = [name for name in chosen if is_feature_model(name)]
    if features and len(features) < len(chosen):
        raise ValueError(
            "--models must be all of counts, which are compared by perplexity, or all of features, which are compared "
            f"by log density; got {','.join(chosen)!r}. Compare them apart."
        )
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"--models must name each model once; got {','.join(chosen)!r}.")


def print_comparison(found: Comparison) -> None:
    """The table of results; the lowest perplexity is the best, or the highest log density."""
    shares = list(found.records[0][found.metric])
    header = ["model", *(f"{100 * float(share):g}% observed" for share in shares), "seconds", "components used"]
    rows = counted(found.n_held_out, "held-out row")
    titles = {
        "perplexity": f"Perplexity of {rows} (lower is better)",
        "log_density": f"Mean log density of the hidden entries of {rows} (higher is better)",
    }
    print_table(titles[found.metric], header, (_line(record, found.metric) for record in found.records))


def _line(record: dict[str, Any], metric: str) -> list[Any]:
    digits = 1 if metric == "perplexity" else 4
    scores = (f"{value:,.{digits}f}" for value in record[metric].values())
    return [record["model"], *scores, f"{record['seconds']:.1f}", record["components_used"]]
