"""Several models on one split."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cormorant.explore.figures.frame import PLAIN, axes, bare
from cormorant.explore.palette import CYCLE, PALE

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MARKERS = "osD^vP"
# What the columns of a table are called: what is below the axis, and digits of the numbers beside the marks.
METRICS = {
    "perplexity": ("held-out perplexity (lower is better)", 0),
    "log density": ("mean log density of hidden entries (higher is better)", 3),
}


def model_comparison(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Held-out perplexity of each model (of features: log density), a mark for each share of a row that was shown.

    Args:
        table: What ``evaluation.compare(...).table()`` gives: a row a model, columns "perplexity 10%" and so on, or
            "log density 10%".
        ax: Where to draw.
    """
    metric = next((m for m in METRICS if any(str(name).startswith(m) for name in table.columns)), "perplexity")
    scores = [name for name in table.columns if str(name).startswith(metric)]
    if not scores or table.empty:
        raise ValueError(
            "table must be that of evaluation.compare, a row a model with columns named perplexity ... or "
            f"log density ...; got {len(table)} rows and the columns {', '.join(map(str, table.columns)) or 'none'}."
        )
    ax = axes(ax, (6.0, 1.3 + 0.38 * len(table)))
    lines = range(len(table))
    values = table[scores].to_numpy(dtype=float)
    ax.hlines(lines, values.min(), values.max(), color=PALE, linewidth=0.8, zorder=0)
    for i, name in enumerate(scores):
        shown = str(name).removeprefix(metric).strip()
        ax.plot(
            values[:, i], lines, MARKERS[i % len(MARKERS)], color=CYCLE[i % len(CYCLE)], label=f"{shown} of a row shown"
        )
        for line, value in zip(lines, values[:, i], strict=True):
            # Above and below in turn, so that numbers of scores that are close do not meet.
            offset, side = ((0, 6), "bottom") if i % 2 == 0 else ((0, -6), "top")
            place = {"xytext": offset, "textcoords": "offset points", "ha": "center", "va": side}
            ax.annotate(f"{value:,.{METRICS[metric][1]}f}", (value, line), fontsize=7, **place)
    ax.set_yticks(lines, [str(model) for model in table.index], **PLAIN)
    ax.set(ylim=(len(table) - 0.5, -0.6), xlabel=METRICS[metric][0])
    ax.margins(x=0.08)
    ax.tick_params(axis="y", length=0)
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.0 + 0.6 / len(table)), ncols=len(scores))
    ax.spines["left"].set_visible(False)
    return bare(ax)
