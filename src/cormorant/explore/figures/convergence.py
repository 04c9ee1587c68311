"""How fits came to their end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cormorant.explore.figures.frame import axes, bare, whole_numbers
from cormorant.explore.fitted import FittedModel
from cormorant.explore.palette import CYCLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

QUANTITIES = {"perplexity": "validation perplexity", "bound": "evidence lower bound"}


def convergence(models: FittedModel | Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Perplexity of the validation rows against epochs (the bound, where no rows were kept aside).

    A model that was sampled has a line for each chain: that of the structured fit which the chain started from.

    Args:
        models: A fitted estimator, or several by name that watched the same quantity.
        ax: Where to draw.
    """
    several = isinstance(models, Mapping)
    fits: dict[str, Any] = dict(models) if several else {type(models).__name__: models}
    watched = {_watched(model) for model in fits.values()}
    if len(watched) > 1:
        raise ValueError("models must have been fitted by the same stopping: all by validation rows or by the bound.")
    quantity = watched.pop()
    ax = axes(ax, (6.0, 3.0))
    for i, (label, model) in enumerate(fits.items()):
        for number, run in enumerate(_runs([info for info in model.history_ if info[quantity] is not None])):
            ax.plot(
                [info["epoch"] for info in run],
                [info[quantity] for info in run],
                color=CYCLE[i % len(CYCLE)],
                linestyle=("-", "--", ":")[i // len(CYCLE) % 3],
                marker="o",
                markersize=3,
                label=label if number == 0 else None,
            )
    ax.set(xlabel="epoch", ylabel=QUANTITIES[quantity])
    whole_numbers(ax)
    if several:
        ax.legend(frameon=False)
    return bare(ax)


def _runs(seen: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The history cut where epochs begin again: at the fit that a further chain starts from."""
    runs: list[list[dict[str, Any]]] = []
    for info in seen:
        if not runs or info["epoch"] <= runs[-1][-1]["epoch"]:
            runs.append([])
        runs[-1].append(info)
    return runs


def _watched(model: FittedModel) -> str:
    for quantity in QUANTITIES:
        if any(info[quantity] is not None for info in model.history_):
            return quantity
    raise ValueError("the model has no history: it was not fitted by `fit`, or was interrupted at once.")
