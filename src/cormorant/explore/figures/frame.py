"""What all figures share: axes to draw on, their bare frame, the width of text."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from cormorant.explore.labels import short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Names come from data: a dollar in one is a dollar, not the beginning of mathematics.
PLAIN: dict[str, Any] = {"parse_math": False}
MOST_LETTERS = 200  # more have no room in any line of a figure


def axes(ax: Axes | None, size: tuple[float, float], layout: str = "constrained") -> Axes:
    """The axes given, or those of a new figure of ``size`` inches."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout=layout)[1]


def whole_page(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes given, or some without frame that fill a new figure of ``size`` inches."""
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.figure(figsize=size).add_axes((0.01, 0.01, 0.98, 0.98))
    ax.axis("off")
    return ax


def bare(ax: Axes) -> Axes:
    """Without the lines on top and at the right."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def whole_numbers(ax: Axes, most: int | Literal["auto"] = "auto") -> None:
    """Ticks of the horizontal axis at whole numbers only, for what is counted; at most so many steps between them."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(most, integer=True, min_n_ticks=1))


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Width and height of the axes as they stand now.

    A layout engine moves axes when the figure is drawn, mostly to more room than the grid gave them at first.
    """
    extent = ax.get_window_extent()
    points = 72.0 / ax.figure.dpi
    return points * extent.width, points * extent.height


@lru_cache(maxsize=4096)
def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Width of a line of text in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size, weight=weight)
    return text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]


def cut(text: str, width: float, size: float, weight: str = "normal") -> str:
    """As much of a line as has room in ``width`` points: whole words, as in labels."""
    parts = (short_name(text, letters) for letters in range(min(len(text), MOST_LETTERS), -1, -1))
    return next((part for part in parts if text_width(part, size, weight) <= width), "…")
