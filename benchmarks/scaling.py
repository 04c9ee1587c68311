"""How the cost of an epoch grows, and how near the hot loops come to the processor's own limit.

    python benchmarks/scaling.py --out docs/benchmarks/scaling

Scaling: processor seconds of an epoch (structured) and of a sweep (sampler) and peak memory, each fit in a process of
its own, against rows, nonzeros of a row, components, dimensions and columns, one varied at a time; the exponent is the
slope between the logarithms over the upper half of each curve, and seconds are medians of three fits. Roofline:
floating-point operations a second of the allocation (4 K a nonzero and sweep) and of the field step, beside a matrix
product in the same run, all in single precision. Written as PATH.csv, PATH-rates.csv, PATH.md and PATH.png.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import matplotlib.pyplot as plt
import numpy as np
from harness.child import peak_megabytes
from harness.machine import describe
from matplotlib.ticker import LogLocator, NullLocator
from scipy import sparse
from threadpoolctl import threadpool_limits

from cormorant import __version__, load_nyt
from cormorant.backends.cpu import CpuBackend
from cormorant.backends.vectors import pad
from cormorant.data import Counts, as_counts
from cormorant.estimators import CNPF
from cormorant.inference.field import Design, FieldProblem
from cormorant.inference.links import LINKS
from cormorant.inference.prior import Prior

BASE = {"rows": 4000, "entries": 50, "components": 50, "dims": 25, "columns": 5000}
CURVES = {
    "rows": (1000, 2000, 4000, 8000, 16000),
    "many rows": (24000, 48000, 96000),  # in minibatches: an epoch of structured inference has several steps
    "entries": (12, 25, 50, 100, 200, 400, 800),
    "components": (12, 25, 50, 100, 200, 400, 800),
    "dims": (3, 6, 12, 25, 50),
    "columns": (1250, 2500, 5000, 10000, 20000),
}
EPOCHS = 4  # timed, after one that is not
FITS = 3
SHORT = (25, 50)  # nonzeros of the short rows whose rates are told beside those of the New York Times


def random_counts(rows: int, entries: int, columns: int) -> Counts:
    """Rows of just so many nonzeros, in columns drawn evenly, no column twice."""
    rng = np.random.default_rng(0)
    indices = np.sort(rng.integers(columns - entries + 1, size=(rows, entries)), axis=1) + np.arange(entries)
    matrix = (np.ones(indices.size), indices.ravel(), np.arange(rows + 1) * entries)
    return as_counts(sparse.csr_matrix(matrix, shape=(rows, columns)))


def measure(case: dict[str, int], inference: str) -> dict[str, float]:
    """Processor seconds of an epoch or sweep, median of some fits, and megabytes above the data."""
    counts = random_counts(case["rows"], case["entries"], case["columns"])
    settings = {"inference": inference, "validation": 0, "random_state": 0, "tol": 0.0, "max_epochs": EPOCHS + 1}
    if inference == "gibbs":
        settings |= {"max_epochs": 1, "n_chains": 1, "n_sweeps": EPOCHS + 1}
    CNPF(3, 2, **settings | {"max_epochs": 1}).fit(random_counts(300, 5, 50))  # compiles
    before = peak_megabytes()
    seconds = [epoch_seconds(case, settings, counts) for _ in range(FITS)]
    return {"seconds": median(seconds), "megabytes": peak_megabytes() - before}


def epoch_seconds(case: dict[str, int], settings: dict, counts: Counts) -> float:
    """Processor seconds of an epoch or sweep of one fit, the first left out."""
    stage = "chain" if settings["inference"] == "gibbs" else "fit"
    clock: list[float] = []

    def tick(info, state) -> None:
        if info.stage.startswith(stage):
            clock.append(time.process_time())

    CNPF(case["components"], case["dims"], callbacks=[tick], **settings).fit(counts)
    return (clock[-1] - clock[0]) / (len(clock) - 1)


def exponent(sizes: list[float], values: list[float]) -> float:
    """Slope of log value against log size over the upper half of a curve."""
    half = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[half:]), np.log(values[half:]), 1)[0])


def best_rate(work, operations: float, repeats: int = 7) -> float:
    """Giga-operations a second in the quickest of some runs."""
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return operations / min(seconds) / 1e9


def roofline(rows: str, counts: Counts, components: int, dims: int = 25) -> list[dict]:
    """Rates of one thread on some rows: allocation and field step, beside matrix products."""
    rng, backend = np.random.default_rng(0), CpuBackend(1)
    atoms = pad(rng.gamma(0.5, size=(counts.n_columns, components)).astype(np.float32) + np.float32(1e-6))
    weights, n = np.full(components, 0.1), rng.gamma(0.5, size=(counts.n_rows, components))
    log_scale, sweeps = rng.normal(size=n.shape), 4
    values = counts.data.astype(np.float32)

    def allocate():
        backend.allocate(counts.indptr, counts.indices, values, atoms, weights, log_scale, n, sweeps, True)

    size = dims + 1
    loadings = np.hstack([0.3 * rng.normal(size=(components, dims)), np.ones((components, 1))])
    design = Design.build(loadings, Prior(np.ones(size)))
    problem = FieldProblem(design, LINKS["exp"], weights, np.zeros(components), backend, np.float32)
    field = problem.prior(counts.n_rows)
    # Two products with the table of g g^T, two with g; a factorisation, its inverse and its product with itself.
    step = counts.n_rows * (2 * components * size * (size + 1) + 4 * components * size + size**3)
    found = []
    with threadpool_limits(1, user_api="blas"):
        for name, work, operations, dtype in (
            ("allocation", allocate, 4.0 * components * counts.nnz * sweeps, np.float32),
            ("field step", lambda: problem.step(field, n), float(step), np.float32),
        ):
            square = rng.normal(size=(1500, 1500)).astype(dtype)
            work()
            product = best_rate(lambda a=square: a @ a, 2 * 1500.0**3)
            rate = best_rate(work, operations)
            found.append({"loop": name, "rows": rows, "components": components, "rate": rate, "product": product})
    return found


def draw(curves: list[dict], rates: list[dict], file: Path) -> None:
    """Time and memory, a panel a curve, and the rates as shares of a matrix product."""
    by_threes = (("rows", "many rows", "entries"), ("components", "dims", "columns"))
    panels = [[f"{unit} {what}" for what in three] for unit in ("seconds", "megabytes") for three in by_threes]
    figure, axes = plt.subplot_mosaic([*panels, ["rates"] * 3], figsize=(11, 16), layout="constrained")
    for what in CURVES:
        for inference, colour in (("structured", "#0072B2"), ("gibbs", "#D55E00")):
            part = [r for r in curves if r["varied"] == what and r["inference"] == inference]
            sizes, seconds = [r["size"] for r in part], [r["seconds"] for r in part]
            label = f"{inference}: exponent {exponent(sizes, seconds):.2f}"
            axes[f"seconds {what}"].loglog(sizes, seconds, "o-", color=colour, label=label)
            axes[f"megabytes {what}"].loglog(sizes, [r["megabytes"] for r in part], "o-", color=colour, label=inference)
        for unit in ("seconds", "megabytes"):
            ax = axes[f"{unit} {what}"]
            ax.set(xlabel="nonzeros of a row" if what == "entries" else what, ylabel=unit)
            ax.set_xticks(CURVES[what], [f"{size:,}" for size in CURVES[what]])
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
            ax.yaxis.set_major_formatter("{x:g}")
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_minor_locator(NullLocator())
            ax.legend(frameon=False, fontsize=8)
    names = [f"{r['loop']}, {r['rows']}, K = {r['components']}" for r in rates]
    axes["rates"].barh(names, [r["rate"] / r["product"] for r in rates], color="#009E73")
    axes["rates"].axvline(0.25, color="black", linewidth=0.8, linestyle=":")
    axes["rates"].invert_yaxis()
    axes["rates"].set(xlabel="share of a matrix product's rate")
    figure.savefig(file, dpi=110)
    plt.close(figure)


def render(curves: list[dict], rates: list[dict], picture: str) -> str:
    base = ", ".join(f"{value:,} {name}" for name, value in BASE.items())
    lines = [
        "# How the cost grows",
        "",
        f"Made by `benchmarks/scaling.py` on {datetime.date.today()} with cormorant {__version__} "
        f"({describe('one thread')}). One number is varied at a time, the others are: {base} "
        "(entries are the nonzeros of a row). Seconds are those of the processor, of an epoch (structured) or a "
        f"sweep (gibbs), medians of {FITS} fits; megabytes the peak above what was held with the data loaded. "
        "An exponent is the slope between logarithms over the upper half of a curve. Beyond 20,000 rows structured "
        "inference goes by minibatches, and an epoch has several steps: a curve of their own.",
        "",
        f"![Seconds and megabytes against rows, nonzeros, components, dimensions and columns; rates]({picture})",
        "",
        "| varied | scheme | from, to | seconds | exponent | megabytes |",
        "|---|---|---|---|---|---|",
    ]
    for what in CURVES:
        for inference in ("structured", "gibbs"):
            part = [r for r in curves if r["varied"] == what and r["inference"] == inference]
            sizes, seconds = [r["size"] for r in part], [r["seconds"] for r in part]
            memory = [r["megabytes"] for r in part]
            lines.append(
                f"| {what} | {inference} | {sizes[0]:,} to {sizes[-1]:,} | {seconds[0]:.3f} to {seconds[-1]:.3f} "
                f"| {exponent(sizes, seconds):.2f} | {memory[0]:.0f} to {memory[-1]:.0f} |"
            )
    lines += [
        "",
        "## How near the hot loops come to a matrix product",
        "",
        "Floating-point operations a second in single precision, beside a product of matrices of 1,500 x 1,500 in the "
        "same run, on the rows of the New York Times sample (some 114 nonzeros each) and on short ones, whose columns "
        "are drawn evenly; the allocation is counted as 4 K operations a nonzero and sweep.",
        "",
        "| loop, one thread | rows | K | Gflop/s | matrix product, Gflop/s | share |",
        "|---|---|---|---|---|---|",
    ]
    for r in rates:
        figures = f"{r['components']} | {r['rate']:.1f} | {r['product']:.1f} | {r['rate'] / r['product']:.0%}"
        lines.append(f"| {r['loop']} | {r['rows']} | {figures} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks/scaling"))
    parser.add_argument("--measure", help=argparse.SUPPRESS)  # a child: one case, as JSON
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(**json.loads(args.measure))))
        return
    curves = []
    for what, sizes in CURVES.items():
        for size in sizes:
            for inference in ("structured", "gibbs"):
                job = json.dumps({"case": BASE | {what.removeprefix("many "): size}, "inference": inference})
                child = [sys.executable, "-W", "ignore", __file__, "--measure", job]
                found = json.loads(subprocess.run(child, check=True, capture_output=True, text=True).stdout)
                curves.append({"varied": what, "size": size, "inference": inference, **found})
                print(curves[-1], flush=True)
    rows = {"NYT rows": load_nyt()} | {f"{n} nonzeros": random_counts(4000, n, 5000) for n in SHORT}
    rates = [r for name, counts in rows.items() for k in (50, 100, 200) for r in roofline(name, counts, k)]
    args.out.parent.mkdir(parents=True, exist_ok=True)
    for file, found in (
        (args.out.with_suffix(".csv"), curves),
        (args.out.with_name(f"{args.out.name}-rates.csv"), rates),
    ):
        with file.open("w", newline="") as lines:
            writer = csv.DictWriter(lines, list(found[0]))
            writer.writeheader()
            writer.writerows(found)
    table = render(curves, rates, args.out.with_suffix(".png").name)
    args.out.with_suffix(".md").write_text(table, encoding="utf-8")
    draw(curves, rates, args.out.with_suffix(".png"))
    print(table)


if __name__ == "__main__":
    main()
