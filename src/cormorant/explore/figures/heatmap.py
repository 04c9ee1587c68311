"""Correlations as a matrix, in clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cormorant.explore.figures.frame import PLAIN, axes, text_width
from cormorant.explore.fitted import FittedModel, heavily_used, require_correlations
from cormorant.explore.labels import labels_of
from cormorant.explore.layout import cluster_order
from cormorant.explore.palette import DIVERGING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def correlation_heatmap(model: FittedModel, ax: Axes | None = None, *, among: int | None = None) -> Axes:
    """Correlations of the heavily used components, those that go together side by side.

    Args:
        model: A fitted estimator with locations.
        ax: Where to draw.
        among: How many of the most used components to show; None takes as few as hold 90% of the counts.
    """
    require_correlations(model)
    chosen = heavily_used(model, among)
    chosen = chosen[cluster_order(model.correlation_[np.ix_(chosen, chosen)])]
    size = len(chosen)
    cell, font = (0.17, 7.5) if size <= 60 else (0.1, 4.5)  # inches, points
    labels = [f"{label}  {k}" for label, k in zip(labels_of(model, chosen), chosen, strict=True)]
    beside = max(text_width(label, font) for label in labels) / 72.0
    ax = axes(ax, (1.2 + beside + cell * size, 1.0 + cell * size), layout="compressed")
    rho = model.correlation_[np.ix_(chosen, chosen)].copy()
    np.fill_diagonal(rho, np.nan)  # always one: it would only draw the eye
    image = ax.imshow(rho, cmap=DIVERGING, vmin=-1, vmax=1, interpolation="nearest")
    ax.set_yticks(range(size), labels, fontsize=font, **PLAIN)
    ax.set_xticks(range(size), [str(k) for k in chosen], fontsize=font, rotation=90)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.figure.colorbar(image, ax=ax, ticks=[-1, 0, 1], shrink=0.6, pad=0.02, label="correlation")
    return ax
