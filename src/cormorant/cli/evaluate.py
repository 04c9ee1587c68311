"""`cormorant evaluate`: how well a fitted model predicts rows that it did not see."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cormorant._words import counted
from cormorant.cli import options as o
from cormorant.cli.console import note, print_json, print_table
from cormorant.cli.fit import split_rows
from cormorant.cli.known_rows import load_covariates
from cormorant.cli.records import fingerprint, read_record
from cormorant.cli.sources import counts_for, load_fit

if TYPE_CHECKING:
    import numpy as np

    from cormorant.data import Counts, Matrix


def evaluate(
    fit: o.FitArgument,
    counts: o.CountsArgument,
    covariates: o.Covariates = None,
    observed: o.Observed = "0.1,0.5",
    top: Annotated[
        int | None, typer.Option("--top", min=1, help="Length of the list for recall and NDCG. Default: 20.")
    ] = None,
    json: o.Json = False,
) -> None:
    """Perplexity and ranking metrics on the rows that the fit held out, or on all rows of another file.

    Of features: the mean log density of the entries that are not shown.

    Example: cormorant evaluate nyt-cnpf nyt --observed 0.1,0.5
    """
    from cormorant.explore.fitted import has_features

    shares = o.fractions(observed)
    model = load_fit(fit)
    if has_features(model) and top is not None:
        raise ValueError(f"--top does nothing here: {model.model.name} is scored by entries, not lists; leave it out.")
    data = counts_for(model, counts)
    record = read_record(fit)
    rows = held_out_rows(model, record, data)
    if has_features(model) and covariates is not None:
        raise ValueError(f"--covariates do nothing here: {model.model.name} takes none; leave them out.")
    known = load_covariates(covariates, data)
    if known is not None and rows is not None:
        known = known.iloc[model.held_out_rows_].reset_index(drop=True)
    if rows is None and is_fitted_to(model, record, data):
        note("the fit held no rows out, so these are the rows it was fitted to: the scores flatter it.")
    generators = _generators(record.get("seed", 0), len(shares), None if rows is None else data.n_rows)
    scored = data if rows is None else rows
    score = _score_features if has_features(model) else _scorer(min(top or 20, scored.n_columns), known)
    scores = {
        str(share): score(model, scored, share, generator) for share, generator in zip(shares, generators, strict=True)
    }
    metrics = list(scores[str(shares[0])])
    if json:
        by_metric = {metric: {share: score[metric] for share, score in scores.items()} for metric in metrics}
        described = {"model": model.model.name, "fit": str(fit), "counts": counts}
        print_json({**described, "rows": scored.n_rows, "held_out": rows is not None, **by_metric})
        return
    which = "row" if rows is None else "held-out row"
    header = ["observed", *(metric.replace("_", " ") for metric in metrics)]
    lines = (
        [f"{100 * float(share):g}%", *(f"{found[m]:,.1f}" if m == "perplexity" else f"{found[m]:.3f}" for m in metrics)]
        for share, found in scores.items()
    )
    print_table(f"{model.model.name} on {counted(scored.n_rows, which)}", header, lines)


def held_out_rows(model: Any, record: dict[str, Any], data: Counts | Matrix) -> Any:
    """The rows that the fit kept aside, if the data are those it was fitted to and it kept any."""
    if not is_fitted_to(model, record, data):
        return None
    kept = _held_out_index(model, record, data)
    return data.numbered().rows(kept) if len(kept) else None  # errors about a row call it by its number in the data


def _held_out_index(model: Any, record: dict[str, Any], data: Counts | Matrix) -> np.ndarray:
    """Positions of the rows that the fit kept aside; models of features do not keep them, so they are drawn again."""
    if hasattr(model, "held_out_rows_"):
        return model.held_out_rows_
    return split_rows(data, record.get("held_out", 0), record.get("seed", 0))[2]


def is_fitted_to(model: Any, record: dict[str, Any], data: Counts | Matrix) -> bool:
    """Whether these are the counts that the fit was given.

    A model saved from Python has no record of its counts: then the number of rows has to do.
    """
    from cormorant.explore.row_weights import kept_weights

    if "counts_sha256" in record:
        return record["counts_sha256"] == fingerprint(data)
    weights = kept_weights(model)
    n_fitted = model.n_rows_seen_ if weights is None else len(weights)
    return data.n_rows == n_fitted + len(getattr(model, "held_out_rows_", ()))


def _generators(seed: int, n: int, n_rows_split: int | None) -> list[np.random.Generator]:
    """Generators of the splits, as `cormorant.evaluation.compare` has them: the first has drawn the rows.

    So `fit --holdout` followed by `evaluate` gives the very numbers of `compare` with the same seed.
    """
    import numpy as np

    from cormorant.evaluation.comparison import entry_generators

    first = np.random.default_rng(seed)
    if n_rows_split is not None:
        first.permutation(n_rows_split)
    return entry_generators(first, seed, n)


def _scorer(top: int, covariates: Any) -> Callable[..., dict[str, float]]:
    """The scores of models of counts, with lists of so many columns."""
    from cormorant.data import split_entries
    from cormorant.evaluation import perplexity, ranking_metrics

    def score(model: Any, rows: Counts | Matrix, share: float, generator: np.random.Generator) -> dict[str, float]:
        shown, test = split_entries(rows, share, generator)
        ranked = ranking_metrics(model, shown, test, top, covariates)
        return {"perplexity": perplexity(model, shown, test, covariates), **ranked}

    return score


def _score_features(
    model: Any, rows: Counts | Matrix, share: float, generator: np.random.Generator
) -> dict[str, float]:
    """Mean log density of hidden entries, zeros among them."""
    from cormorant.evaluation.hidden import hidden_entries

    return {"log_density": model.log_likelihood(rows, hidden_entries(rows.shape, share, generator))}
