"""Correlations as a graph, the paper's figure of the New York Times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cormorant.explore.figures.frame import PLAIN, cut, size_in_points, text_width, whole_page
from cormorant.explore.fitted import FittedModel, heavily_used, require_correlations
from cormorant.explore.labels import labels_of
from cormorant.explore.layout import fit_into, line_around, separate, stress_layout
from cormorant.explore.palette import APART, INK, PALE, TOGETHER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONTS = (8.0, 7.0, 6.0, 5.0, 4.0)  # the first with which all labels have room
LABEL_WIDTH = 78.0  # points
LARGEST = 15.0  # radius of the most used component, in points
POSITIVE: dict[str, Any] = {"color": TOGETHER, "linestyle": "-"}
NEGATIVE: dict[str, Any] = {"color": APART, "linestyle": (0, (3, 2))}  # dashed: the sign shows without colour too
LEGEND = 18.0  # points kept free below the graph
LARGEST_NUMBER = 0.8  # of the size of the labels
SMALLEST_NUMBER = 5.0  # points, unless labels are smaller still; no circle is too small for it
WITHIN = 1.25  # width of a number over the radius of its circle, with air on both sides


@dataclass(frozen=True, eq=False)
class Nodes:
    """Components with their labels, as boxes: a circle, and lines of text below it. Everything in points."""

    components: np.ndarray
    lines: list[list[str]]
    radius: np.ndarray
    font: float

    @property
    def label_sizes(self) -> np.ndarray:
        """Width and height of the text of each label."""
        width = [max(text_width(line, self.font) for line in lines) for lines in self.lines]
        return np.column_stack([width, [1.25 * self.font * len(lines) for lines in self.lines]])

    @property
    def sizes(self) -> np.ndarray:
        """Width and height of each box, with a little air around."""
        width, height = self.label_sizes.T
        return np.column_stack([np.maximum(width, 2 * self.radius) + 6.0, height + 2 * self.radius + 4.0])

    @property
    def rise(self) -> np.ndarray:
        """How far the centre of a circle is above the centre of its box."""
        return self.sizes[:, 1] / 2 - 2.0 - self.radius


def correlation_graph(
    model: FittedModel,
    ax: Axes | None = None,
    *,
    among: int | None = None,
    n_positive: int | None = None,
    n_negative: int | None = None,
) -> Axes:
    """Components near those that they go with: purple lines join what goes together, dashed orange ones what does not.

    Circles are as large as a component's share of the counts (the smallest as large as its number needs); lines are as
    wide as |rho|, and bent around circles and, where they can be, labels that they pass. Distances on the page follow
    1 - rho as well as a plane can.

    Args:
        model: A fitted estimator with locations.
        ax: Where to draw; its size should not change afterwards, or labels may meet.
        among: How many of the most used components to show; None takes as few as hold 90% of the counts.
        n_positive: Positive pairs to join, the strongest; None joins as many as there are components.
        n_negative: Negative pairs to join; None joins a third as many (at most 20), since these lines cross the page.
    """
    require_correlations(model)
    chosen = heavily_used(model, among)
    defaults = len(chosen), min(len(chosen) // 3, 20)
    numbers = [n if given is None else given for n, given in zip(defaults, (n_positive, n_negative), strict=True)]
    if min(numbers) < 0:
        raise ValueError(f"n_positive and n_negative must not be negative, got {n_positive!r} and {n_negative!r}.")
    scale = max(1.0, np.sqrt(len(chosen) / 40))  # a page with room for as many labels
    ax = whole_page(ax, (9.5 * scale, 7.5 * scale))
    width, height = size_in_points(ax)
    ax.set(xlim=(0, width), ylim=(-LEGEND, height - LEGEND))
    nodes, places = _arrange(model, chosen, np.array([width, height - LEGEND]))
    circles = places + np.column_stack([np.zeros(len(chosen)), nodes.rise])
    _draw_edges(ax, model.correlation_[np.ix_(chosen, chosen)], circles, nodes, *numbers)
    _draw_nodes(ax, nodes, circles)
    _draw_legend(ax)
    return ax


def _arrange(model: FittedModel, chosen: np.ndarray, room: np.ndarray) -> tuple[Nodes, np.ndarray]:
    """Boxes and their places; smaller text until all have room."""
    wanted = stress_layout(1.0 - model.correlation_[np.ix_(chosen, chosen)])
    share = model.usage_[chosen]
    for font in FONTS:
        radius = np.maximum(LARGEST * font / FONTS[0] * np.sqrt(share / share.max()), _least_radii(chosen, font))
        nodes = Nodes(chosen, _label_lines(model, chosen, font), radius, font)
        places = separate(fit_into(wanted, nodes.sizes, room), nodes.sizes, room)
        if places is not None:
            return nodes, places
    raise ValueError(
        f"the labels of {len(chosen)} components have no room in {room[0] / 72:.1f} x {room[1] / 72:.1f} inches: "
        "draw on larger axes, or fewer components (among)."
    )


def _least_radii(components: np.ndarray, font: float) -> np.ndarray:
    """Radii of circles that hold the smallest numbers."""
    return np.array([text_width(str(k), min(SMALLEST_NUMBER, LARGEST_NUMBER * font)) / WITHIN for k in components])


def _label_lines(model: FittedModel, chosen: np.ndarray, font: float) -> list[list[str]]:
    """Each label in lines that are not too wide."""
    found = []
    for label in labels_of(model, chosen):
        lines: list[str] = []
        for word in label.split():
            longer = f"{lines[-1]} {word}" if lines else word
            if lines and text_width(longer, font) <= LABEL_WIDTH * font / FONTS[0] * 0.75:
                lines[-1] = longer
            else:
                lines.append(cut(word, LABEL_WIDTH, font))
        found.append(lines)
    return found


def _draw_edges(ax: Axes, rho: np.ndarray, circles: np.ndarray, nodes: Nodes, n_positive: int, n_negative: int) -> None:
    sizes = nodes.label_sizes
    labels = circles - np.column_stack([np.zeros(len(circles)), nodes.radius + 1.0 + sizes[:, 1] / 2])
    first, second = np.triu_indices(len(rho), k=1)
    strength = rho[first, second]
    for sign, number, style in ((1.0, n_positive, POSITIVE), (-1.0, n_negative, NEGATIVE)):
        order = np.argsort(-sign * strength, kind="stable")[:number]
        for edge in order[sign * strength[order] > 0]:
            ends = [first[edge], second[edge]]
            others = (np.delete(things, ends, axis=0) for things in (circles, nodes.radius, labels, sizes))
            line = line_around(circles[ends], *others)
            ax.plot(*line.T, linewidth=0.3 + 2.5 * strength[edge] ** 2, alpha=0.5, zorder=1, **style)


def _draw_nodes(ax: Axes, nodes: Nodes, circles: np.ndarray) -> None:
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=3.0, foreground="white")]  # keeps text readable where a line runs beneath it
    # Marks, not patches: their size is in points, and they stay round however the axes are stretched.
    ax.scatter(*circles.T, s=(2 * nodes.radius) ** 2, facecolor=PALE, edgecolor=INK, linewidth=0.7, zorder=2)
    for k, (x, y), radius, lines in zip(nodes.components, circles, nodes.radius, nodes.lines, strict=True):
        size = min(LARGEST_NUMBER, WITHIN * radius / text_width(str(k), nodes.font)) * nodes.font
        ax.text(x, y, str(k), ha="center", va="center_baseline", fontsize=size, color=INK, zorder=3)
        ax.text(
            x, y - radius - 1.0, "\n".join(lines), ha="center", va="top", fontsize=nodes.font, linespacing=1.05,
            color=INK, zorder=3, path_effects=halo, **PLAIN,
        )  # fmt: skip


def _draw_legend(ax: Axes) -> None:
    from matplotlib.lines import Line2D

    ax.legend(
        [Line2D([], [], linewidth=2, **style) for style in (POSITIVE, NEGATIVE)],
        ["go together", "avoid each other"],
        loc="lower center", ncols=2, frameon=False, fontsize=8, borderaxespad=0.0, handlelength=3.0,
    )  # fmt: skip
