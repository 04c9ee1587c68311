"""Options of the verbs: those that several share, and tables of those that go to the library as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cormorant.cli.expand import panel

CountsArgument = Annotated[
    str,
    typer.Argument(
        metavar="COUNTS",
        help="File of counts in any format that cormorant.read tells by its name, or nyt for the embedded sample; of "
        "features also a matrix (.npy, .csv, .tsv), which may have entries missing.",
    ),
]
FitArgument = Annotated[Path, typer.Argument(metavar="FIT", help="Folder written by cormorant fit.")]
CountsOption = Annotated[
    str | None,
    typer.Option("--counts", metavar="COUNTS", help="Rows to take in place of those that the fit saw; or nyt."),
]
Covariates = Annotated[
    Path | None,
    typer.Option(
        "--covariates",
        metavar="TABLE",
        help="csv or tsv with a header, a line a row: matched by name if its first column holds the rows' names, else "
        "by order.",
    ),
]
Model = Annotated[
    str,
    typer.Option(
        "--model",
        help="cnpf, softplus-cnpf, scaled-hgp, hgp, diln or hdp; components that come and go with covariates: thinned; "
        "features that rows show or not: beta-features, gamma-features or ibp.",
    ),
]
Among = Annotated[
    int | None,
    typer.Option("--among", min=2, help="So many of the most used components. Default: those with 90% of the counts."),
]
Observed = Annotated[
    str,
    typer.Option("--observed", help="Shares of a held-out row's entries that are shown, with commas between."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the held-out rows and of the fit.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object in place of tables.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what an earlier run wrote there.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress, no remarks; notes and errors only.")]


def names(text: str) -> list[str]:
    """The parts of a list with commas between."""
    return [part.strip() for part in text.split(",") if part.strip()]


def fractions(text: str) -> list[float]:
    """Shares strictly between 0 and 1."""
    try:
        found = [float(part) for part in names(text)]
    except ValueError:
        found = []
    if not found or not all(0 < fraction < 1 for fraction in found) or len(set(found)) < len(found):
        raise ValueError(f"--observed must be different shares between 0 and 1 such as 0.1,0.5; got {text!r}.")
    return found


def batch_size(text: str) -> int | str | None:
    """What the estimators call batch_size: a number, "auto", or None for all rows."""
    if text == "auto":
        return text
    if text == "all":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"--batch-size must be a whole number of at least 1, all, or auto; got {text!r}.")
    return int(text)


def number_or_word(text: str) -> int | float | str:
    """A whole number, a fraction, or else the text as it is (whose reader says what is wrong with it)."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def stop_words(text: str) -> str | list[str] | None:
    """What the readers call stop_words: "english", None, or a list of words from a file."""
    if text in ("english", "none"):
        return None if text == "none" else text
    try:
        return Path(text).read_text(encoding="utf-8").split()
    except OSError as error:
        expected = "--stop-words must be english, none, or a file with one word a line"
        raise ValueError(f"{expected}; {text} could not be read ({error.strerror}).") from error


# Said of a model that is fitted and of one that is drawn.
OF_THE_MEASURE = (
    (
        "tuples", "--tuples", str,
        "The process of the components: gamma, pitman-yor, dirichlet or beta. Default: gamma.",
    ),
    ("top", "--top", str, "The same of diln. Default: dirichlet."),
    (
        "kernel", "--kernel", str,
        "What locations mean: linear, rbf, matern, brownian or groups. Default: linear.",
    ),
    ("length_scale", "--length-scale", float, "Of the kernels rbf and matern; otherwise by the dimension."),
    ("nu", "--nu", float, "Smoothness of the kernel matern. Default: 1.5."),
    ("n_frequencies", "--frequencies", int, "Frequencies that stand for rbf and matern. Default: 32.", 1),
)  # fmt: skip

#: Every parameter of the estimators that a command line can give.
FIT = (
    *panel(
        "Size",
        (
            "n_components", "--components", int,
            "Most components there can be. Default: 200 (features: 50, thinned: 20).", 1,
        ),
        ("n_dims", "--dims", int, "Dimension of the locations, for correlations. Default: 25 (features: 5).", 1),
        (
            "formula", "--formula", str,
            "What to take of --covariates, for example '~ bs(age, df=4) + C(sex)'. Default: every column.",
        ),
        ("field", "--field", str, "Process of the rows: gaussian, or student-t (outliers). Default: gaussian."),
        *OF_THE_MEASURE,
        ("discount", "--discount", float, "Of a pitman-yor process, from 0 (gamma) to below 1. Default: 0.5."),
    ),
    *panel(
        "Inference",
        (
            "inference", "--inference", str,
            "gibbs (samples), structured, mean-field (the paper's), or auto: gibbs where it can and helps. "
            "Default: auto (features: gibbs).",
        ),
        (
            "allocation", "--allocation", str,
            "How structured inference shares counts out: zero-order or digamma. Default: zero-order.",
        ),
        ("batch_size", "--batch-size", batch_size, "Rows a step visits: a number, all, or auto. Default: auto."),
        ("max_epochs", "--max-epochs", int, "Most passes over the rows. Default: 100 (features: 200).", 1),
        ("tol", "--tol", float, "Smallest relative improvement that counts as one. Default: 0.0003 (features: 1e-05)."),
        ("patience", "--patience", int, "Checks without an improvement before the fit stops. Default: 3.", 1),
        ("stopping", "--stopping", str, "What to stop by: validation, bound or auto. Default: auto."),
        (
            "validation", "--validation", number_or_word,
            "Rows kept aside to stop and to choose by: a number, a fraction, or auto. Default: auto.",
        ),
        (
            "n_chains", "--chains", int,
            "Chains of the sampler. Default: 8, or 16 where these promise enough, fewer for very large data "
            "(features: 1, thinned: 2).",
            1,
        ),
        (
            "n_sweeps", "--sweeps", int,
            "Sweeps of each chain. Default: 90 (features: 200, thinned: 200).", 1,
        ),
        ("n_samples", "--samples", int, "Samples kept of each chain. Default: 5 (features: 20, thinned: 20).", 1),
        (
            "learning_offset", "--learning-offset", float,
            "Steps of stochastic inference are (offset + t) to the power of minus decay.",
        ),
        ("learning_decay", "--learning-decay", float, "See --learning-offset."),
        ("n_jobs", "--jobs", int, "Threads; -1 takes every usable core. Results do not depend on it.", None, -1),
    ),
    *panel(
        "Hyper-parameters (the paper's names; by default the scheme's own)",
        ("a0", "--a0", float, "Shape of the gamma prior of the atoms (Dirichlet: diln, hdp, thinned); else learned."),
        ("b0", "--b0", float, "Rate of that prior."),
        ("sigma_l2", "--sigma-l2", float, "Prior variance of the locations (thinned: 4.0)."),
        ("sigma_m2", "--sigma-m2", float, "Prior variance of a row's mean; the sampler learns it unless it is given."),
        ("sigma_g2", "--sigma-g2", float, "Prior variance of the coefficients of covariates. Default: 1.0."),
        ("df", "--df", float, "Degrees of freedom of --field student-t. Default: 4.0."),
        ("a_alpha", "--a-alpha", float, "Shape of the prior of alpha, the mass of the process. Default: 1.0."),
        ("b_alpha", "--b-alpha", float, "Its rate. Default: 0.01."),
        ("a_c", "--a-c", float, "Shape of the prior of c, the rate of the process. Default: 1.0."),
        ("b_c", "--b-c", float, "Its rate. Default: 0.01."),
        ("a_beta", "--a-beta", float, "Shape of the prior of beta, which scales weights (diln, hdp). Default: 1.0."),
        ("b_beta", "--b-beta", float, "Its rate. Default: 0.01."),
    ),
    *panel(
        "Components that come and go with covariates (thinned)",
        ("alpha", "--alpha", float, "Mass of the process. Default: 1.0."),
        ("sigma_b2", "--sigma-b2", float, "Prior variance of a component's log odds. Default: 4.0."),
    ),
    *panel(
        "Features (beta-features, gamma-features, ibp)",
        (
            "likelihood", "--likelihood", str,
            "How entries scatter: gaussian (any numbers), poisson (counts) or bernoulli (0 and 1). Default: gaussian.",
        ),
        ("mass", "--mass", float, "Expected number of features of a row. Default: learned."),
        ("concentration", "--concentration", float, "Concentration (or rate) of the process. Default: learned."),
        ("atom_variance", "--atom-variance", float, "Variance of the atoms, not of counts. Default: by likelihood."),
        ("n_starts", "--starts", int, "Quick fits to choose a start from. Default: 4.", 1),
    ),
)  # fmt: skip

#: Every option of `cormorant.read`.
READ = (
    *panel(
        "Reading",
        (
            "format", "--format", str,
            "npz, matrix-market, uci, lda-c, svmlight, csv, tsv, parquet, h5ad, text or jsonl. Default: by the name.",
        ),
        ("vocabulary", "--vocabulary", str, "File with the names of the columns, one a line."),
        ("row_names", "--row-names", str, "File with the names of the rows, one a line."),
        ("weights", "--weights", bool, "Accept fractions as counts."),
    ),
    *panel(
        "Tables (csv, tsv, parquet)",
        ("row", "--row", str, "Column of the row labels (of jsonl: field). Default: the first."),
        ("column", "--column", str, "Column of the column labels. Default: the second."),
        ("count", "--count", str, "Column of the counts; where only row and column are given, each line counts once."),
        ("header", "--header/--no-header", bool, "Without a header, columns go by their positions, from 0."),
        ("delimiter", "--delimiter", str, "Character between fields."),
    ),
    *panel(
        "Text (text, jsonl)",
        ("text", "--text", str, "Field that holds the text (jsonl)."),
        ("min_df", "--min-df", number_or_word, "Documents that a word must be in: a number, or a share with a point."),
        ("max_df", "--max-df", number_or_word, "Documents that a word may be in at most, likewise."),
        ("max_features", "--max-features", int, "Most words.", 1),
        ("stop_words", "--stop-words", stop_words, "Words left out: english, none, or a file with one a line."),
        ("token_pattern", "--token-pattern", str, "Regular expression of a word."),
    ),
    *panel(
        "Other formats",
        ("layer", "--layer", str, "Layer to take in place of X (h5ad)."),
        ("n_columns", "--n-columns", int, "Number of columns (lda-c, svmlight).", 1),
        ("zero_based", "--zero-based/--one-based", bool, "Where indices begin (svmlight)."),
    ),
)  # fmt: skip

#: Sizes and numbers that data are drawn with.
SIMULATE = (
    *panel(
        "Size",
        ("n_rows", "--rows", int, "Rows. Default: 1000 (features: 500; 1000 with --prior).", 1),
        ("n_columns", "--columns", int, "Columns. Default: 200 (features: 40; 200 with --prior).", 1),
        ("n_components", "--components", int, "Components. Default: 10; 50 with --prior (features: 6, thinned: 6).", 1),
        ("n_dims", "--dims", int, "Dimension of the locations. Default: 5 (features: 2; 5 with --prior).", 1),
    ),
    *panel(
        "What is drawn",
        (
            "n_covariates", "--n-covariates", int,
            "Covariates of the rows, written as covariates.csv. Default: 0 (thinned: 2).", 0,
        ),
        ("df", "--df", float, "Degrees of freedom of a Student-t field; by default it is Gaussian."),
        (
            "likelihood", "--likelihood", str,
            "Of features: gaussian (any numbers), poisson (counts) or bernoulli (0 and 1). Default: gaussian.",
        ),
        (
            "row_total", "--row-total", float,
            "Expected total of an average row (with --prior: of diln and hdp alone). Default: 100.0.",
        ),
    ),
    *panel(
        "What is drawn with --prior",
        *OF_THE_MEASURE,
    ),
    *panel(
        "Numbers (without --prior)",
        ("a0", "--a0", float, "Shape of the atoms: small means few columns a component. Default: 0.1."),
        ("weight", "--weight", float, "w, the same for every component. Default: 0.5."),
        ("sigma_l2", "--sigma-l2", float, "Variance of the locations. Default: 0.5 (features: 2.0, thinned: 4.0)."),
        ("sigma_m2", "--sigma-m2", float, "Variance of the row means. Default: 0.25."),
        ("sigma_g2", "--sigma-g2", float, "Variance of the covariates' coefficients. Default: 1.0."),
        ("sigma_b2", "--sigma-b2", float, "Variance of the components' log odds, of thinned. Default: 0.25."),
        ("probability", "--probability", float, "Of a feature in an average row. Default: 0.3."),
        ("atom_scale", "--atom-scale", float, "Size of the atoms of features. Default: 2.0."),
        ("noise", "--noise", float, "Variance of real numbers around what features say. Default: 0.25."),
    ),
)  # fmt: skip
