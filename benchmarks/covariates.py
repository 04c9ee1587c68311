"""Hospital discharges with and without age and sex: held-out perplexity, and what the covariates do to the components.

    python benchmarks/covariates.py --data FOLDER --max-rows 20000 --seeds 0,1,2 --out docs/benchmarks/covariates.md

FOLDER holds counts.npz, columns.txt and row_metadata.tsv.gz (age_unit, age, sex). Rows with several codes are sampled
once; each seed holds other rows out, which both fits are scored on. The effects are those of the first seed.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from cormorant import CNPF, as_counts
from cormorant.data import Counts, hold_out, split_entries
from cormorant.estimators import TruncationWarning
from cormorant.evaluation import perplexity
from cormorant.explore import figures, tables

FORMULA = '~ C(age, contr.treatment("45 to 59")) + C(sex)'
BOUNDS = {
    1: "infant",
    18: "1 to 17",
    30: "18 to 29",
    45: "30 to 44",
    60: "45 to 59",
    75: "60 to 74",
    200: "75 and over",
}
FRACTIONS = (0.1, 0.5)


def age_groups(frame: pd.DataFrame) -> pd.Series:
    """Newborns (days), infants (months), and years in groups."""
    years = frame["age"].where(frame["age_unit"] == "years", 0)
    groups = pd.cut(years, [-1, *(b - 1 for b in BOUNDS)], labels=list(BOUNDS.values())).astype(str)
    return groups.where(frame["age_unit"] != "days", "newborn")


def load(folder: Path, max_rows: int, min_codes: int) -> tuple[Counts, pd.DataFrame]:
    """A sample of the rows with several codes, and their covariates."""
    matrix = sparse.csr_matrix(sparse.load_npz(folder / "counts.npz"))
    known = pd.read_csv(folder / "row_metadata.tsv.gz", sep="\t")
    names = [line.split("\t")[-1] for line in (folder / "columns.txt").read_text().splitlines()]
    several = np.flatnonzero(np.diff(matrix.indptr) >= min_codes)
    rows = np.sort(np.random.default_rng(0).permutation(several)[:max_rows])
    frame = pd.DataFrame({"age": age_groups(known), "sex": known["sex"]}).iloc[rows].reset_index(drop=True)
    unique = [name if names.count(name) == 1 else f"{name} ({i})" for i, name in enumerate(names)]
    return as_counts(matrix[rows]).named(column_names=unique), frame


def compare(counts: Counts, frame: pd.DataFrame, seed: int, args: argparse.Namespace) -> tuple[list[dict], CNPF]:
    """Both models on one split."""
    rng = np.random.default_rng(seed + 1)
    held = hold_out(counts, args.holdout, rng)
    pairs = [split_entries(held.held_out, fraction, rng) for fraction in FRACTIONS]
    seen = np.flatnonzero(held.train.column_totals() > 0)
    train, pairs = held.train.columns(seen), [(a.columns(seen), b.columns(seen)) for a, b in pairs]
    records, model = [], None
    for label, formula in (("CNPF", None), ("CNPF with age and sex", FORMULA)):
        model = CNPF(
            args.components, args.dims, inference=args.inference, formula=formula, n_chains=args.chains,
            n_sweeps=args.sweeps, random_state=seed, n_jobs=args.jobs,
        )  # fmt: skip
        told = [None if formula is None else frame.iloc[index] for index in (held.train_index, held.held_out_index)]
        model.fit(train, covariates=told[0])
        scores = [perplexity(model, *pair, told[1]) for pair in pairs]
        records.append({"model": label, "seed": seed, "10%": scores[0], "50%": scores[1]})
        print(records[-1], flush=True)
    assert model is not None  # the loop ran
    return records, model


def strongest(model: CNPF, n: int) -> pd.DataFrame:
    """Of each covariate the components that it raises and lowers most, among those whose interval excludes zero."""
    table = tables.covariate_effects(model)
    sure = table[(table["low"] > 0) | (table["high"] < 0)]
    parts = []
    for _, part in sure.groupby("covariate", sort=False):
        ordered = part.sort_values("effect")
        parts += [ordered.tail(n)[::-1], ordered.head(1)]
    return pd.concat(parts).drop_duplicates()


def means_of(records: list[dict]) -> str:
    n = len({record["seed"] for record in records})
    return f"mean of {n} splits" if n > 1 else "one split"


def write(records: list[dict], model: CNPF, args: argparse.Namespace, n_rows: int) -> None:
    """The page of results."""
    means = pd.DataFrame(records).groupby("model", sort=False).mean(numeric_only=True)
    lines = [
        "# Hospital discharges with age and sex",
        "",
        f"{n_rows:,} discharges of the National Hospital Discharge Survey 2010 with at least {args.min_codes} codes, "
        f"{args.holdout:,} of them held out; T = {args.components}, D = {args.dims}, inference "
        f"`{model.inference_}`; {means_of(records)} (`benchmarks/covariates.py`). Perplexity, lower is "
        "better, with a tenth and with half of a row's codes observed:",
        "",
        "| model | 10% | 50% |",
        "|---|---|---|",
        *(f"| {label} | {r['10%']:.0f} | {r['50%']:.0f} |" for label, r in means.iterrows()),
        "",
        "What the covariates do to the components, relative to what they do to all: the change of F, the logarithm",
        "of a component's weight, with 90% intervals. Age is against 45 to 59, sex against female. Of each covariate",
        "the three components that it raises most and the one that it lowers most, where the interval excludes zero.",
        "",
        "| covariate | component | effect | 90% interval |",
        "|---|---|---|---|",
    ]
    for row in strongest(model, 3).itertuples():
        covariate = row.covariate.split(")[")[-1].removesuffix("]").removeprefix("T.")
        lines.append(f"| {covariate} | {row.label} | {row.effect:+.1f} | {row.low:+.1f} to {row.high:+.1f} |")
    Path(args.out).write_text("\n".join(lines) + "\n", encoding="utf-8")


def draw(model: CNPF, path: str) -> None:
    """Two covariates, the components that each moves most."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 1, figsize=(8.5, 7.0), layout="constrained")
    for ax, ending in zip(panels, ("[T.male]", "[T.18 to 29]"), strict=True):
        name = next(name for name in model.covariate_names_ if name.endswith(ending))
        figures.covariate_effects(model, name, n=10, ax=ax)
        ax.set_xlabel(f"effect of {ending[3:-1]}, relative to all")
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", default="docs/benchmarks/covariates.md")
    parser.add_argument("--max-rows", type=int, default=20_000)
    parser.add_argument("--min-codes", type=int, default=3)
    parser.add_argument("--holdout", type=int, default=1000)
    parser.add_argument("--components", type=int, default=50)
    parser.add_argument("--dims", type=int, default=25)
    parser.add_argument("--inference", default="auto")
    parser.add_argument("--chains", type=int, default=None)
    parser.add_argument("--sweeps", type=int, default=None)
    parser.add_argument("--seeds", type=lambda text: [int(s) for s in text.split(",")], default=[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--figure", help="File to draw two covariates' effects to.")
    parser.add_argument("--save", help="Folder to save the first seed's model with covariates to.")
    args = parser.parse_args()
    warnings.simplefilter("ignore", TruncationWarning)
    counts, frame = load(Path(args.data), args.max_rows, args.min_codes)
    records, first = [], None
    for seed in args.seeds:
        found, model = compare(counts, frame, seed, args)
        records += found
        first = model if first is None else first
        if args.save and seed == args.seeds[0]:
            model.save(args.save, overwrite=True)
        write(records, first, args, counts.n_rows)
    if args.figure and first is not None:
        draw(first, args.figure)


if __name__ == "__main__":
    main()
