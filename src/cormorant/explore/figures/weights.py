"""The paper's figure of the sticks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cormorant.explore.figures.frame import axes, bare, whole_numbers
from cormorant.explore.fitted import FittedModel, by_usage
from cormorant.explore.palette import BLUE, GREY, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def sorted_weights(model: FittedModel, ax: Axes | None = None) -> Axes:
    """The weights w of the tuples by size, up to the truncation (the paper's figure of the sticks).

    Components that hold next to none of the counts are grey; without any, the truncation may be too low.
    """
    ax = axes(ax, (6.0, 3.0))
    order = np.argsort(-model.weights_, kind="stable")
    used = np.isin(order, by_usage(model)[: model.n_components_used_])
    rank = np.arange(1, len(order) + 1)
    for chosen, colour, label in ((used, BLUE, "in use"), (~used, GREY, "not in use")):
        if chosen.any():
            ax.bar(rank[chosen], model.weights_[order][chosen], color=colour, width=0.8, label=label)
    ax.axvline(len(order) + 0.5, color=INK, linewidth=0.8, linestyle="--", label=f"truncation, $T={len(order)}$")
    ax.set(
        xlim=(0.2, len(order) + 0.5 + 0.02 * len(order)),
        xlabel="components, by weight",
        ylabel="weight $w$",
        title=f"{model.n_components_used_} of {len(order)} components in use",
    )
    whole_numbers(ax)
    ax.legend(frameon=False)
    return bare(ax)
