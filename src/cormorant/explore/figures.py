"""Drawings of the tables: sorted weights, the correlations in clusters, convergence.

Every function takes the axes to draw on (`ax`), or makes a figure of its own, and returns the axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cormorant.explore.fitted import FittedModel, heavily_used, require_correlations, top_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette and a purple-orange scale: distinct to colour-blind readers, and in print.
BLUE, ORANGE, GREEN, PINK, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#BBBBBB"
DIVERGING = "PuOr"  # orange: avoid each other; purple: go together
LABEL_LETTERS = 34  # longer labels are cut


def sorted_weights(model: FittedModel, ax: Axes | None = None) -> Axes:
    """The weights w of the tuples by size, up to the truncation (the paper's figure of the sticks).

    Components that hold next to none of the counts are grey; without any, the truncation may be too low.
    """
    ax = _axes(ax, (6.0, 3.0))
    order = np.argsort(-model.weights_, kind="stable")
    used = np.isin(order, np.argsort(-model.usage_, kind="stable")[: model.n_components_used_])
    rank = np.arange(1, len(order) + 1)
    for chosen, colour, label in ((used, BLUE, "in use"), (~used, GREY, "not in use")):
        if chosen.any():
            ax.bar(rank[chosen], model.weights_[order][chosen], color=colour, width=0.8, label=label)
    ax.set(
        xlim=(0.2, len(order) + 0.8),
        xlabel="components, by weight",
        ylabel="weight $w$",
        title=f"{model.n_components_used_} of {len(order)} components in use",
    )
    if not used.all():
        ax.legend(frameon=False)
    return _bare(ax)


def correlation_heatmap(model: FittedModel, ax: Axes | None = None, *, among: int | None = None) -> Axes:
    """Correlations of the heavily used components, those that go together side by side.

    Args:
        model: A fitted estimator with locations.
        ax: Where to draw.
        among: How many of the most used components to show; None takes as few as hold 90% of the counts.
    """
    require_correlations(model)
    chosen = heavily_used(model, among)
    chosen = chosen[_cluster_order(model.correlation_[np.ix_(chosen, chosen)])]
    size = len(chosen)
    ax = _axes(ax, (3.2 + 0.17 * size, 1.0 + 0.17 * size), layout="compressed")
    rho = model.correlation_[np.ix_(chosen, chosen)].copy()
    np.fill_diagonal(rho, np.nan)  # always one: it would only draw the eye
    image = ax.imshow(rho, cmap=DIVERGING, vmin=-1, vmax=1, interpolation="nearest")
    font = 7.5 if size <= 60 else 4.5
    ax.set_yticks(range(size), [component_label(model, k) for k in chosen], fontsize=font)
    ax.set_xticks(range(size), [str(k) for k in chosen], fontsize=font, rotation=90)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.figure.colorbar(image, ax=ax, ticks=[-1, 0, 1], shrink=0.6, pad=0.02, label="correlation")
    return ax


def convergence(models: FittedModel | Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Perplexity of the validation rows against epochs (the bound, where no rows were kept aside).

    Args:
        models: A fitted estimator, or several by name that watched the same quantity.
        ax: Where to draw.
    """
    ax = _axes(ax, (6.0, 3.0))
    several = isinstance(models, Mapping)
    fits: dict[str, Any] = dict(models) if several else {type(models).__name__: models}
    colours = (BLUE, ORANGE, GREEN, PINK)
    watched = {_watched(model) for model in fits.values()}
    if len(watched) > 1:
        raise ValueError("models must have been fitted by the same stopping: all by validation rows or by the bound.")
    quantity = watched.pop()
    for i, (label, model) in enumerate(fits.items()):
        seen = [info for info in model.history_ if info[quantity] is not None]
        ax.plot(
            [info["epoch"] for info in seen],
            [info[quantity] for info in seen],
            color=colours[i % len(colours)],
            linestyle=("-", "--", ":")[i // len(colours) % 3],
            marker="o",
            markersize=3,
            label=label,
        )
    names = {"perplexity": "validation perplexity", "bound": "evidence lower bound"}
    ax.set(xlabel="epoch", ylabel=names[quantity])
    if several:
        ax.legend(frameon=False)
    return _bare(ax)


def component_label(model: FittedModel, component: int, n: int = 3) -> str:
    """A short label: the component's largest columns and its number."""
    words = " ".join(top_columns(model, component, n))
    cut = words if len(words) <= LABEL_LETTERS else words[: LABEL_LETTERS - 1].rstrip() + "…"
    # A dollar in a name is a dollar, not the beginning of mathematics.
    return f"{cut}  {component}".replace("$", r"\$")


def _watched(model: FittedModel) -> str:
    for quantity in ("perplexity", "bound"):
        if any(info[quantity] is not None for info in model.history_):
            return quantity
    raise ValueError("the model has no history: it was not fitted by `fit`, or was interrupted at once.")


def _cluster_order(rho: np.ndarray) -> np.ndarray:
    """Leaves of the average-linkage tree over 1 - rho, neighbours as alike as the tree allows."""
    if len(rho) < 3:
        return np.arange(len(rho))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    apart = squareform(np.clip(1.0 - rho, 0.0, 2.0), checks=False)
    return leaves_list(linkage(apart, method="average", optimal_ordering=True))


def _axes(ax: Axes | None, size: tuple[float, float], layout: str = "constrained") -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout=layout)[1]


def _bare(ax: Axes) -> Axes:
    ax.spines[["top", "right"]].set_visible(False)
    return ax
