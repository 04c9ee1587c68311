"""Held-out perplexity against fit seconds: every point is a fit of its own, given that many passes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cormorant.explore.palette import CYCLE

from . import table
from .choosing import Runner, Score, Trial
from .packages import PEERS, Setting

PASSES = (1, 2, 5, 10, 20, 50)
SWEEPS = (10, 30, 100, 300)
CTM_SWEEPS = (3, 10, 30)
SAMPLER_SWEEPS = (2, 10, 30, 60, 90, 120)
CHUNKS = (10, 30, 100)
FIELDS = ("data", "rows", "curve", "setting", "chains", "fit seconds", "wall seconds", *table.FRACTIONS)
Curves = dict[str, list[Score]]


def budgets(components: int, truncation: int) -> dict[str, tuple[str, int, list[Setting]]]:
    """Name of a curve -> the package, its chains and its settings, from few passes to many."""
    ours, lda = "cormorant CNPF", "tomotopy LDA"

    def each(option: str, numbers: Sequence[int], **others: Any) -> list[Setting]:
        return [others | {option: n} for n in numbers]

    sampled = each("iterations", SWEEPS, k=components)
    return {
        f"{ours}, default": (ours, 1, each("n_sweeps", SAMPLER_SWEEPS, n_components=truncation)),
        f"{ours}, structured": (
            ours, 1, each("max_epochs", PASSES, n_components=truncation, inference="structured"),
        ),
        f"{lda}, ten chains": (lda, 10, sampled),
        f"{lda}, a chain": (lda, 1, sampled),
        "tomotopy CTM, a chain": ("tomotopy CTM", 1, each("iterations", CTM_SWEEPS, k=components)),
        "tomotopy HDP, a chain": ("tomotopy HDP", 1, each("iterations", SWEEPS)),
        "scikit-learn LDA": ("scikit-learn LDA", 1, each("max_iter", PASSES, n_components=components)),
        "gensim LDA": ("gensim LDA", 1, each("passes", PASSES, num_topics=components, alpha="auto")),
        "gensim HDP": ("gensim HDP", 1, each("max_chunks", CHUNKS)),
        "hpfrec": ("hpfrec", 1, each("maxiter", SWEEPS, k=components)),
        "poismf": ("poismf", 1, each("niter", PASSES[:4], k=components, l2_reg=10.0)),
    }  # fmt: skip


def measure(runner: Runner, folder: Path) -> Curves:
    """All points of all curves, for the packages that are installed; the middle one of the numbers of components."""
    components = runner.effort.components[len(runner.effort.components) // 2]
    trials = {
        curve: [Trial(PEERS[name], setting, chains) for setting in settings]
        for curve, (name, chains, settings) in budgets(components, runner.effort.truncation).items()
        if not PEERS[name].missing()
    }
    scores = iter(runner.score([trial for several in trials.values() for trial in several], folder))
    return {curve: [next(scores) for _ in several] for curve, several in trials.items()}


def draw(data: table.Data, curves: Curves, folder: Path) -> None:
    """``folder/time-DATA.csv`` and ``.png``."""
    lines = [
        table.line(data, "test", score) | {"curve": curve}
        for curve, scores in curves.items()
        for score in scores
        if not score.outcome.failure
    ]
    file = folder / f"time-{data.name}.csv"
    table.write(file, [{name: line[name] for name in FIELDS} for line in lines], FIELDS)
    _figure(data, lines).savefig(file.with_suffix(".png"), dpi=150)


def _figure(data: table.Data, lines: Sequence[table.Line]):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    panels = figure.subplots(1, 2)
    for panel, fraction in zip(panels, table.FRACTIONS, strict=True):
        for number, curve in enumerate(dict.fromkeys(line["curve"] for line in lines)):
            points = sorted((float(p["fit seconds"]), float(p[fraction])) for p in lines if p["curve"] == curve)
            again, colour = divmod(number, len(CYCLE))
            style = {"color": CYCLE[colour], "linestyle": "--" if again else "-", "linewidth": 2.5 if number < 2 else 1}
            panel.plot(*zip(*points, strict=True), marker="o", markersize=3, label=curve, **style)
        panel.set(xscale="log", xlabel="fit, processor seconds", title=f"{fraction} observed")
    panels[0].set_ylabel("held-out perplexity")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=8
    )
    figure.suptitle(f"{data.name}, {data.rows:,} rows")
    return figure
