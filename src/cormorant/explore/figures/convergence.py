"""How fits came to their end."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

from cormorant.explore.figures.frame import axes, bare, whole_numbers
from cormorant.explore.fitted import FittedModel
from cormorant.explore.palette import CYCLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

QUANTITIES = {"perplexity": "validation perplexity", "bound": "evidence lower bound"}
SMALL = 7.5  # points; panels of traces stand side by side


def convergence(models: FittedModel | Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Perplexity of the validation rows against epochs (the bound, where no rows were kept aside), and the chains.

    A model that was sampled has a line for each chain: that of the structured fit which the chain started from. Below,
    in a part of the room of ``ax``, are the chains themselves after their burn-in: a panel for each of `traces_`, with
    its split R-hat and effective sample size. Chains that have mixed cover each other and do not drift.

    Args:
        models: A fitted estimator, or several by name that watched the same quantity.
        ax: Where to draw; becomes the axes of the perplexity.
    """
    several = isinstance(models, Mapping)
    fits: dict[str, Any] = dict(models) if several else {type(models).__name__: models}
    watched = {_watched(model) for model in fits.values()}
    if len(watched) > 1:
        raise ValueError("models must have been fitted by the same stopping: all by validation rows or by the bound.")
    quantity = watched.pop()
    sampled = {label: model for label, model in fits.items() if getattr(model, "traces_", None)}
    ax = axes(ax, (8.5, 2.6 + 1.8 * len(sampled)) if sampled else (6.0, 3.0))
    for panels, (label, model) in zip(_below(ax, list(sampled.values())), sampled.items(), strict=True):
        _draw_traces(model, panels)
        if several:
            panels[0].set_ylabel(label)
    for i, (label, model) in enumerate(fits.items()):
        for number, run in enumerate(_runs([info for info in model.history_ if info[quantity] is not None])):
            ax.plot(
                [info["epoch"] for info in run],
                [info[quantity] for info in run],
                color=CYCLE[(i if several else number) % len(CYCLE)],  # of one model, that of the chain below
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


def _below(ax: Axes, sampled: list[Any]) -> list[list[Axes]]:
    """A row of panels for each model, in the lower part of the room that the axes have."""
    figure, room, box = ax.get_figure(root=False), ax.get_subplotspec(), ax.get_position()
    if not sampled or figure is None:
        return []
    if room is None:  # axes that stand in no grid
        room = figure.add_gridspec(1, 1, left=box.x0, right=box.x1, bottom=box.y0, top=box.y1)[0]
    apart, beside = (None, None) if figure.get_layout_engine() else (0.8, 0.5)  # an engine knows better
    rows = room.subgridspec(1 + len(sampled), 1, height_ratios=[1.4] + [1.0] * len(sampled), hspace=apart)
    ax.set_subplotspec(rows[0])
    grids = (rows[i].subgridspec(1, len(model.traces_[0]), wspace=beside) for i, model in enumerate(sampled, start=1))
    return [[figure.add_subplot(cell) for cell in grid] for grid in grids]


def _draw_traces(model: Any, panels: list[Axes]) -> None:
    """What each summary was after every sweep, a line a chain."""
    for name, panel in zip(model.traces_[0], panels, strict=True):
        for number, trace in enumerate(model.traces_):
            values = trace[name]
            colour = CYCLE[number % len(CYCLE)]
            panel.plot(range(1, len(values) + 1), values, color=colour, linewidth=0.9)
        told = model.diagnostics_[name]
        title = f"{name.replace('_', ' ')}\nR-hat {_shown(told['rhat'], '.2f')}, ESS {_shown(told['ess'], '.0f')}"
        panel.set_title(title, fontsize=SMALL)
        panel.set_xlabel("sweep", fontsize=SMALL)
        panel.tick_params(labelsize=SMALL)
        panel.locator_params(axis="y", nbins=4)
        whole_numbers(panel, most=3)
        bare(panel)


def _shown(number: float, form: str) -> str:
    """A number, or a dash where a chain is too short to have one."""
    return format(number, form) if isfinite(number) else "-"


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
