"""The top columns of several components, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from cormorant.explore.figures.frame import PLAIN, cut, size_in_points, text_width, whole_page
from cormorant.explore.fitted import FittedModel, by_usage, check_number, largest, named
from cormorant.explore.labels import labels_of
from cormorant.explore.palette import BLUE, INK
from cormorant.explore.scores import column_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONT = 8.0
GAP = 0.1  # between panels, of a panel's width


def component_panels(
    model: FittedModel,
    ax: Axes | None = None,
    *,
    components: Sequence[int] | None = None,
    n: int = 8,
    by: str = "mean",
    across: int = 4,
) -> Axes:
    """A panel a component: its top columns, each over a bar as long as its score "mean" (the component's largest: 1).

    Args:
        model: A fitted estimator.
        ax: Where to draw.
        components: Numbers of the components; None takes the twelve most used.
        n: Columns of each.
        by: What makes a column a top column: "mean", "lift", "frex" or "divergence" (`explore.scores`).
        across: Panels in a line.
    """
    check_number("across", across)
    chosen = by_usage(model)[:12] if components is None else _checked(components, len(model.weights_))
    across = min(across, len(chosen))
    lines = n + 2  # a title and an empty line
    rows = -(-len(chosen) // across)
    ax = whole_page(ax, (1.95 * across, 0.17 * (lines * rows - 1)))
    ax.set(xlim=(0, across), ylim=(rows * lines - 1.4, -0.6))
    scores, atoms = column_scores(model, by), column_scores(model, "mean")
    width = (1.0 - GAP) * size_in_points(ax)[0] / across
    for panel, (k, label) in enumerate(zip(chosen, labels_of(model, chosen), strict=True)):
        y, x = divmod(panel, across)
        top = largest(scores[k], n)
        length = np.maximum(atoms[k, top], 0.0) / max(atoms[k].max(), 1e-300)
        room = width - text_width(f"{k}0", FONT, "bold")  # a space is no wider than a figure
        title = f"{k} {cut(label, room, FONT, 'bold')}"
        ax.text(x, y * lines, title, fontsize=FONT, fontweight="bold", va="center", **PLAIN)
        at = y * lines + 1.0 + np.arange(len(top))
        ax.barh(at, (1.0 - GAP) * length, left=x, height=0.86, color=BLUE, alpha=0.28, linewidth=0)
        for line, name in zip(at, named(model.column_names_, top), strict=True):
            ax.text(x + 0.01, line, cut(name, width, FONT), fontsize=FONT, color=INK, va="center", **PLAIN)
    return ax


def _checked(components: Sequence[int], n_components: int) -> np.ndarray:
    chosen = np.asarray(components)
    if chosen.ndim != 1 or len(chosen) == 0 or chosen.dtype.kind not in "iu":
        raise ValueError(f"components must be a list of component numbers, got {components!r}.")
    if chosen.min() < 0 or chosen.max() >= n_components:
        raise ValueError(f"components must be numbers from 0 to {n_components - 1}, got {components!r}.")
    return chosen
