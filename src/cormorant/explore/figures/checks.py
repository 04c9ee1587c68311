"""Observed against replicated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cormorant.explore.compared import PredictiveCheck
from cormorant.explore.figures.frame import axes, bare
from cormorant.explore.palette import BLUE, GREY, INK, ORANGE, PALE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Quantity: the table of the check that has it, and what is drawn.
SCATTERS = {
    "row totals": ("row_totals", "row totals, quantiles"),
    "column totals": ("columns", "column totals"),
    "dispersion": ("dispersion", "columns, variance / mean"),
    "co-occurrence": ("pairs", "pairs, share of rows with both"),
}
OF_REAL_NUMBERS = {"dispersion": "columns, variance", "co-occurrence": "pairs, correlation"}
QUANTITIES = (*SCATTERS, "zeros", "tail probabilities")
EXTREME = 0.05  # tail probabilities nearer to 0 or 1 than this are orange


def predictive_check(check: PredictiveCheck, quantity: str, ax: Axes | None = None) -> Axes:
    """One quantity: what is observed against what the replicates have, with their 90% interval.

    Where the model makes such data, the marks lie on the diagonal. Those outside the interval are orange. The share
    of zeros, one number, is a line in the histogram of the replicates' shares. The tail probabilities are those of
    all statistics; near 0 the replicates are mostly below what is observed, near 1 above. Of real numbers the
    dispersion is the variance and the co-occurrence the correlation, and there are no zeros to count; of zeros and ones
    the totals say how many zeros there are, and how the columns disperse.

    Args:
        check: What `checks.predictive_check` found.
        quantity: "row totals", "column totals", "dispersion", "co-occurrence", "zeros" or "tail probabilities".
        ax: Where to draw.
    """
    if quantity not in QUANTITIES:
        raise ValueError(f"quantity must be one of {', '.join(QUANTITIES)}; got {quantity!r}.")
    if quantity not in _quantities(check):
        raise ValueError(
            f"quantity must be one that the check has: {', '.join(_quantities(check))}; {quantity!r} says nothing of "
            f"likelihood={check.likelihood!r}."
        )
    ax = axes(ax, (3.2, 3.0))
    if quantity == "zeros":
        return _histogram(check, "share of zeros", ax)
    if quantity == "tail probabilities":
        return _tails(check, ax)
    table, title = SCATTERS[quantity]
    if check.likelihood == "gaussian":
        return _scatter(getattr(check, table), OF_REAL_NUMBERS.get(quantity, title), ax, is_logarithmic=False)
    return _scatter(getattr(check, table), title, ax)


def _quantities(check: PredictiveCheck) -> list[str]:
    """Those that the check has."""
    absent = {"zeros"} if "share of zeros" not in check.replicates else set()
    absent |= {"dispersion"} if check.dispersion is None else set()
    return [quantity for quantity in QUANTITIES if quantity not in absent]


def predictive_checks(check: PredictiveCheck) -> Figure:
    """A figure of all quantities."""
    import matplotlib.pyplot as plt

    shown = _quantities(check)
    n_across = 3 if len(shown) > 4 else 2
    page, grid = plt.subplots(2, n_across, figsize=(3.2 * n_across, 6.0), layout="constrained")
    for quantity, ax in zip(shown, grid.flat, strict=False):
        predictive_check(check, quantity, ax)
    for ax in grid.flat[len(shown) :]:
        ax.set_axis_off()
    return page


def _scatter(table: pd.DataFrame, title: str, ax: Axes, is_logarithmic: bool = True) -> Axes:
    drawn = table[(table["observed"] > 0) & (table["replicated"] > 0)] if is_logarithmic else table
    outside = (drawn["observed"] < drawn["low"]) | (drawn["observed"] > drawn["high"])
    for chosen, colour in ((~outside, BLUE), (outside, ORANGE)):
        part = drawn[chosen]
        # Zero has no place on a logarithmic axis.
        least = np.maximum(part["low"], 0.1 * part["replicated"]) if is_logarithmic else part["low"]
        ax.hlines(part["observed"], least, part["high"], color=colour, alpha=0.3, linewidth=0.8)
        ax.plot(part["replicated"], part["observed"], "o", color=colour, markersize=2.5, alpha=0.6, markeredgewidth=0)
    ends = [drawn[["observed", "replicated"]].to_numpy().min(), drawn[["observed", "replicated"]].to_numpy().max()]
    ax.plot(ends, ends, color=INK, linewidth=0.8, zorder=3)
    ax.set(xlabel="replicated", ylabel="observed")
    if is_logarithmic:
        ax.set(xscale="log", yscale="log")
        for axis in (ax.xaxis, ax.yaxis):
            _plain_ticks(axis)
    return _titled(ax, title)


def _plain_ticks(axis: Any) -> None:
    """Plain numbers on a logarithmic axis: powers of ten, or some between where there are less than two of them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0,) if high > 100 * low else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _histogram(check: PredictiveCheck, statistic: str, ax: Axes) -> Axes:
    from matplotlib.ticker import MaxNLocator

    line: dict[Any, Any] = check.statistics.set_index("statistic").loc[statistic].to_dict()
    ax.hist(check.replicates[statistic], bins="auto", color=GREY, label="replicated")
    ax.axvline(line["observed"], color=ORANGE, linewidth=2, label="observed")
    ax.set(xlabel=statistic, ylabel="replicates")
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.margins(y=0.3)  # room for the legend
    ax.legend(frameon=False, fontsize=8, loc="upper center", ncols=2)
    return _titled(ax, f"{statistic}, tail {line['tail']:.2f}")


def _tails(check: PredictiveCheck, ax: Axes) -> Axes:
    table = check.statistics
    lines = np.arange(len(table))
    extreme = np.minimum(table["tail"], 1.0 - table["tail"]) < EXTREME
    ax.axvspan(EXTREME, 1.0 - EXTREME, color=PALE, linewidth=0, zorder=0)
    ax.hlines(lines, 0.0, 1.0, color="white", linewidth=1.0, zorder=1)
    ax.scatter(table["tail"], lines, c=np.where(extreme, ORANGE, BLUE), s=22, zorder=3, clip_on=False)
    for line, statistic in zip(lines, table["statistic"], strict=True):
        # Close above its own line, so that a mark is not taken for that of the name below.
        place = {"xytext": (0, 3), "textcoords": "offset points", "ha": "center", "va": "bottom"}
        ax.annotate(statistic, (0.5, line), fontsize=7, **place)
    ax.set(xlim=(0, 1), ylim=(len(table) - 0.5, -0.9), yticks=[], xlabel="P(replicated > observed)")
    ax.spines["left"].set_visible(False)
    return _titled(ax, "tail probabilities")


def _titled(ax: Axes, title: str) -> Axes:
    ax.set_title(title, fontsize=9.5)
    return bare(ax)
