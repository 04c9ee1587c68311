"""Seconds and perplexity together: what a fit takes beside the packages it is compared with, in one run.

    python benchmarks/speed.py                       # the embedded New York Times sample
    python benchmarks/speed.py --data DATA           # also arxiv_100k of that folder: a fit to its plateau, transform
    python benchmarks/speed.py --repeats 1 --only structured,lda

Every line is a process of its own with two jobs, the lines in turn, medians over the repeats: other work on the machine
then slows all of them alike. tomotopy's CTM, by far the slowest, runs in the first repeat only. Compilation is not
timed but for the line that says so. NYT: K = 50, D = 25, 1,000 rows held out with seed 1; arXiv: T = 200, D = 25.
Written to PATH.md and PATH.csv (docs/benchmarks/speed.md is written by hand from several runs).
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from harness.child import peak_megabytes
from harness.machine import describe
from harness.packages.scikit import FittedLDA
from harness.packages.tomotopy_models import TomotopyCTM, documents
from harness.scoring import Pair, column_mean, entry_probabilities
from harness.scoring import perplexity as score
from harness.splits import Split, load, split
from sklearn.decomposition import LatentDirichletAllocation

from cormorant import CNPF, __version__, load_nyt
from cormorant.evaluation import perplexity

Figures = dict[str, Any]
LEVEL = 1640.0  # perplexity at 10% that structured inference is timed to
COMPONENTS, DIMS, TRUNCATION = 50, 25, 200
JOBS = 2  # of every package, however many cores there are
ONCE = {"ctm"}  # lines that are not repeated


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def warm_up() -> None:
    """Compile, or load what was compiled."""
    rows = load_nyt().rows(slice(0, 300))
    for inference in ("structured", "gibbs"):
        CNPF(3, 2, inference=inference, max_epochs=2, n_sweeps=3, random_state=0, n_jobs=JOBS).fit(rows).transform(rows)


def levels(pairs: Callable[[Any], list[Pair]], parts: Split) -> Figures:
    """Perplexity of another package's model at each fraction."""
    return {f: score(entry_probabilities(pairs(seen), test), test) for f, (seen, test) in parts.pairs.items()}


def our_levels(model: CNPF, parts: Split) -> Figures:
    return {f: perplexity(model, *pair) for f, pair in parts.pairs.items()}


def lda(parts: Split) -> Figures:
    model = LatentDirichletAllocation(COMPONENTS, max_iter=10, n_jobs=JOBS, random_state=0)
    seconds = timed(lambda: model.fit(parts.train.tocsr(copy=True)))
    return {"seconds": seconds, **levels(FittedLDA(model, column_mean(parts.train)).pairs, parts)}


def ctm(parts: Split, iterations: int = 300) -> Figures:
    import tomotopy

    model: Any = tomotopy.CTModel(k=COMPONENTS, seed=1)
    for row in documents(parts.train):
        model.add_doc(row)
    seconds = timed(lambda: model.train(iterations, workers=JOBS))
    peer = TomotopyCTM()
    return {"seconds": seconds, **levels(peer.fitted(model, parts.train.n_columns).pairs, parts)}


def default(parts: Split) -> Figures:
    model = CNPF(COMPONENTS, DIMS, random_state=0, n_jobs=JOBS)
    return {"seconds": timed(lambda: model.fit(parts.train)), **our_levels(model, parts)}


def sweeps(parts: Split, n_chains: int) -> Figures:
    """400 sweeps, by chains side by side; the short fits that they start from are left out of the time."""
    clocks: dict[str, list[float]] = {}

    def tick(info: Any, state: Any) -> None:
        if info.stage.startswith("chain"):
            clocks.setdefault(info.stage, []).append(time.perf_counter())

    each = 400 // n_chains
    model = CNPF(
        COMPONENTS,
        DIMS,
        inference="gibbs",
        n_chains=n_chains,
        n_sweeps=each,
        callbacks=[tick],
        random_state=0,
        n_jobs=JOBS,
    )
    model.fit(parts.train)
    seconds = max((clock[-1] - clock[0]) * each / (each - 1) for clock in clocks.values())
    return {"seconds": seconds, **our_levels(model, parts)}


def structured(parts: Split) -> Figures:
    """Seconds to LEVEL: fits of more and more epochs, the first whose held-out perplexity is at or below it.

    A fit looks at its own validation rows to choose among starts and to stop; the held-out rows are only scored.
    """
    for epochs in (4, 5, 6, 7, 8, 9, 10, 15, 20, 30, 50, 100):
        model = CNPF(COMPONENTS, DIMS, inference="structured", max_epochs=epochs, random_state=0, n_jobs=JOBS)
        seconds = timed(lambda model=model: model.fit(parts.train))
        found = our_levels(model, parts)
        if found["10%"] <= LEVEL:
            break
    return {"seconds": seconds, **found, "note": f"{model.n_epochs_} epochs"}


def arxiv_lda(parts: Split) -> Figures:
    """With 50 topics: with 200 it had not ended after twelve minutes."""
    model = LatentDirichletAllocation(
        COMPONENTS, max_iter=2, learning_method="online", batch_size=4096, n_jobs=JOBS, random_state=0
    )
    seconds = timed(lambda: model.fit(parts.train.tocsr(copy=True)))
    return {"seconds": seconds, **levels(FittedLDA(model, column_mean(parts.train)).pairs, parts)}


def arxiv_plateau(parts: Split, **rule: float) -> Figures:
    """Until the ``rule`` (tol and patience) says that nothing improves; then `transform` of every row.

    (A step visits some of the rows, and every epoch is looked at. By default a fit goes on to three epochs below .03%.)
    """
    before = peak_megabytes()
    model = CNPF(TRUNCATION, DIMS, inference="structured", random_state=0, n_jobs=JOBS, **rule)
    seconds = timed(lambda: model.fit(parts.train))
    megabytes = peak_megabytes() - before
    watched = [h["perplexity"] for h in model.history_ if h["perplexity"] is not None]
    gain = 1.0 - watched[-1] / watched[-6] if len(watched) > 5 else np.inf
    transform = timed(lambda: model.transform(parts.train))
    note = (
        f"{model.n_epochs_} epochs, the last five {gain:.2%} better; {megabytes:.0f} MB above the data; "
        f"transform of {parts.train.n_rows:,} rows {transform:.1f} s"
    )
    return {
        "seconds": seconds,
        "megabytes": megabytes,
        "transform": transform,
        **our_levels(model, parts),
        "note": note,
    }


LINES: dict[str, tuple[str, Callable[[Split], Figures]]] = {
    "lda": ("scikit-learn LDA, K = 50, 10 passes, 2 jobs", lda),
    "structured": (f"CNPF, structured, to {LEVEL:.0f}", structured),
    "default": ("CNPF, default", default),
    "sweeps": ("CNPF, 400 sweeps: two chains of 200", partial(sweeps, n_chains=2)),
    "one-chain": ("CNPF, 400 sweeps of one chain", partial(sweeps, n_chains=1)),
    "ctm": ("tomotopy CTM, K = 50, 300 iterations", ctm),
    "arxiv-lda": ("arXiv: scikit-learn LDA, K = 50, online, 2 passes, 2 jobs", arxiv_lda),
    "arxiv": ("arXiv: CNPF, structured, until five epochs gain < .5%", partial(arxiv_plateau, tol=0.005, patience=5)),
    "arxiv-default": ("arXiv: CNPF, structured, by the default rule", arxiv_plateau),
}


def compilation() -> Figures:
    """Seconds that a first and a later process wait for compiled code: a tiny fit, cache empty and full."""
    code = (
        "import time, warnings; warnings.simplefilter('ignore'); from cormorant import CNPF, load_nyt\n"
        "rows = load_nyt().rows(slice(0, 300)); begin = time.perf_counter()\n"
        "CNPF(3, 2, max_epochs=2, n_sweeps=3, random_state=0).fit(rows); print(time.perf_counter() - begin)"
    )
    with tempfile.TemporaryDirectory() as cache:
        runs = [
            float(subprocess.run(
                [sys.executable, "-c", code], env=os.environ | {"NUMBA_CACHE_DIR": cache},
                check=True, capture_output=True, text=True,
            ).stdout)
            for _ in range(2)
        ]  # fmt: skip
    return {"seconds": runs[0], "note": f"a tiny fit with an empty cache; with a full one {runs[1]:.1f} s"}


def child(name: str, data: Path | None) -> Figures:
    warnings.simplefilter("ignore")
    if name == "compile":
        return compilation()
    if name.startswith("arxiv"):
        assert data is not None
        parts = split(load(data / "arxiv_100k"))
    else:
        parts = split(load_nyt())
    if "lda" not in name and name != "ctm":
        warm_up()
    return LINES[name][1](parts)


def measure(names: Sequence[str], repeats: int, data: Path | None) -> list[Figures]:
    """All lines in turn, so often."""
    found = []
    for repeat in range(repeats):
        for name in (name for name in names if not (repeat and name in ONCE)):
            command = [sys.executable, __file__, "--child", name, *(["--data", str(data)] if data else [])]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found.append({"line": name, "repeat": repeat, **json.loads(out.splitlines()[-1])})
            print(found[-1], flush=True)
    return found


def render(found: list[Figures]) -> str:
    head = (
        f"Made by `benchmarks/speed.py` on {datetime.date.today()} with cormorant {__version__} ({describe()}). "
        "Seconds are on the clock, medians over the repeats, all lines in turn in one run; perplexity with 10% and "
        "50% of a row's entries observed."
    )
    lines = [
        "# Seconds and perplexity",
        "",
        head,
        "",
        "| | seconds | to LDA | 10% | 50% | |",
        "|---|---|---|---|---|---|",
    ]
    seconds = {
        n: median(f["seconds"] for f in found if f["line"] == n) for n in dict.fromkeys(f["line"] for f in found)
    }
    for name, value in seconds.items():
        runs = [f for f in found if f["line"] == name]
        peer = seconds.get("arxiv-lda" if name.startswith("arxiv") else "lda")
        ratio = f"{value / peer:.2f}" if peer and name != "compile" else ""
        ppl = [f"{median(f[k] for f in runs):.0f}" if k in runs[0] else "" for k in ("10%", "50%")]
        title = LINES[name][0] if name in LINES else "compilation"
        lines.append(f"| {title} | {value:.1f} | {ratio} | {ppl[0]} | {ppl[1]} | {runs[-1].get('note', '')} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with arxiv_100k")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", type=lambda text: text.split(","), help=f"some of: {', '.join([*LINES, 'compile'])}")
    parser.add_argument("--out", type=Path, default=Path("speed"))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(child(args.child, args.data)))
        return
    unknown = [name for name in args.only or () if name not in [*LINES, "compile"]]
    if unknown:
        parser.error(f"--only takes some of {', '.join([*LINES, 'compile'])}; got {', '.join(unknown)}")
    names = args.only or [name for name in [*LINES, "compile"] if args.data or not name.startswith("arxiv")]
    found = measure(names, args.repeats, args.data)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    fields = list(dict.fromkeys(key for figures in found for key in figures))
    with args.out.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fields)
        writer.writeheader()
        writer.writerows(found)
    args.out.with_suffix(".md").write_text(render(found), encoding="utf-8")
    print(render(found))


if __name__ == "__main__":
    main()
