"""Components of pixel data, as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from cormorant.explore.figures.frame import axes
from cormorant.explore.fitted import FittedModel, added, by_usage, check_number
from cormorant.explore.palette import SEQUENTIAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 0.22  # between pictures, of a picture's height


def component_images(
    model: FittedModel,
    shape: tuple[int, int],
    ax: Axes | None = None,
    *,
    pixels: ArrayLike | None = None,
    n: int = 40,
    across: int = 10,
) -> Axes:
    """The most used components as pictures, each scaled to its brightest pixel; below, its share of the counts.

    Of features the share is that of the rows that show them, and a picture has what a feature adds to the background:
    of zeros and ones to the chance of a one. What it takes away is left dark.

    Args:
        model: A fitted estimator whose columns are pixels.
        shape: Height and width of the pictures, for example (28, 28).
        ax: Where to draw.
        pixels: Which pixel each column is, counted along the lines of the picture; None: columns are all of them.
        n: Most pictures.
        across: Pictures in a line.
    """
    check_number("n", n)
    check_number("across", across)
    chosen = by_usage(model)[:n]
    across = min(across, len(chosen))
    rows = -(-len(chosen) // across)
    height, width = shape
    ax = axes(ax, (0.85 * across, 0.85 * rows * (1.0 + GAP) * height / width))
    gap = GAP * height
    for place, (k, picture) in enumerate(zip(chosen, component_pictures(model, shape, pixels)[chosen], strict=True)):
        y, x = divmod(place, across)
        left, top = x * 1.08 * width, y * (height + gap)
        ax.imshow(
            picture / max(picture.max(), 1e-300),
            cmap=SEQUENTIAL,
            vmin=0,
            vmax=1,
            extent=(left, left + width, top + height, top),
            interpolation="nearest",
        )
        middle = left + width / 2, top + height + gap / 2
        ax.text(*middle, f"{model.usage_[k]:.1%}", ha="center", va="center", fontsize=6.5)
    ax.set(xlim=(0, across * 1.08 * width - 0.08 * width), ylim=(rows * (height + gap), 0), aspect="equal")
    ax.axis("off")
    return ax


def component_pictures(model: FittedModel, shape: tuple[int, int], pixels: ArrayLike | None = None) -> np.ndarray:
    """What components add to E y, as pictures, components x height x width; pixels that are no column are zero."""
    n_components, n_columns = model.components_.shape
    size = int(np.prod(shape))
    at = np.arange(n_columns) if pixels is None else np.asarray(pixels)
    if len(shape) != 2 or (pixels is None and size != n_columns):
        raise ValueError(
            f"shape must be the height and width of pictures of {n_columns} pixels, one a column, got {shape}; "
            "if some pixels are not columns, say with pixels which ones are."
        )
    if at.shape != (n_columns,) or at.dtype.kind not in "iu" or at.min() < 0 or at.max() >= size:
        raise ValueError(f"pixels must be {n_columns} numbers from 0 to {size - 1}, one a column; got {pixels!r}.")
    pictures = np.zeros((n_components, size))
    pictures[:, at] = added(model)
    return pictures.reshape(n_components, *shape)
