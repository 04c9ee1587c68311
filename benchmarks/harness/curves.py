"""Held-out perplexity against fit seconds: every point is a fit of its own, given that many passes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cormorant.explore.palette import CYCLE

from . import table
from .choosing import Runner, Score, Trial
from .packages import PEERS, Setting

PASSES = (1, 2, 5, 10, 20, 50)
SWEEPS = (10, 30, 100, 300)
CTM_SWEEPS = (3, 10, 30)
SAMPLER_SWEEPS = (2, 10, 30, 60, 120)
FIELDS = ("data", "rows", "curve", "setting", "fit seconds", "wall seconds", *table.FRACTIONS)
Curves = dict[str, list[Score]]


def budgets(components: int, truncation: int) -> dict[str, tuple[str, list[Setting]]]:
    """Name of a curve -> the package and its settings, from few passes to many."""
    ours = "cormorant CNPF"
    structured = {"n_components": truncation, "inference": "structured"}
    return {
        f"{ours}, default": (ours, [{"n_components": truncation, "n_sweeps": n} for n in SAMPLER_SWEEPS]),
        f"{ours}, structured": (ours, [structured | {"max_epochs": n} for n in PASSES]),
        "scikit-learn LDA": (
            "scikit-learn LDA",
            [{"n_components": components, "learning_method": "online", "max_iter": n} for n in PASSES],
        ),
        "tomotopy LDA, a chain": ("tomotopy LDA", [{"k": components, "iterations": n} for n in SWEEPS]),
        "tomotopy CTM, a chain": ("tomotopy CTM", [{"k": components, "iterations": n} for n in CTM_SWEEPS]),
    }


def measure(runner: Runner, folder: Path) -> Curves:
    """All points of all curves, for the packages that are installed; the middle one of the numbers of components."""
    components = runner.effort.components[len(runner.effort.components) // 2]
    wanted = budgets(components, runner.effort.truncation).items()
    present = {curve: (PEERS[name], settings) for curve, (name, settings) in wanted if not PEERS[name].missing()}
    trials = {curve: [Trial(peer, setting, 1) for setting in settings] for curve, (peer, settings) in present.items()}
    scores = iter(runner.score([trial for several in trials.values() for trial in several], folder))
    return {curve: [next(scores) for _ in several] for curve, several in trials.items()}


def draw(data: str, rows: int, curves: Curves, folder: Path) -> None:
    """``folder/time-DATA.csv`` and ``.png``."""
    lines = [
        table.line(data, rows, "test", score) | {"curve": curve}
        for curve, scores in curves.items()
        for score in scores
        if not score.outcome.failure
    ]
    file = folder / f"time-{data}.csv"
    table.write(file, [{name: line[name] for name in FIELDS} for line in lines], FIELDS)
    _figure(data, rows, lines).savefig(file.with_suffix(".png"), dpi=150)


def _figure(data: str, rows: int, lines: Sequence[table.Line]):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.2), layout="constrained")
    panels = figure.subplots(1, 2)
    for panel, fraction in zip(panels, table.FRACTIONS, strict=True):
        for curve, colour in zip(dict.fromkeys(line["curve"] for line in lines), CYCLE, strict=False):
            points = sorted((float(p["fit seconds"]), float(p[fraction])) for p in lines if p["curve"] == curve)
            panel.plot(*zip(*points, strict=True), marker="o", markersize=3, color=colour, label=curve)
        panel.set(xscale="log", xlabel="fit, processor seconds", title=f"{fraction} observed")
    panels[0].set_ylabel("held-out perplexity")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False, fontsize=8
    )
    figure.suptitle(f"{data}, {rows:,} rows")
    return figure
