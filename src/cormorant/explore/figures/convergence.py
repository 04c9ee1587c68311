"""How fits came to their end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from cormorant.explore.figures.frame import PLAIN, axes, bare, whole_numbers
from cormorant.explore.fitted import FittedModel
from cormorant.explore.palette import CYCLE, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Run = list[tuple[int, float]]  # epochs, and what was seen at each
QUANTITIES = {"perplexity": "validation perplexity", "bound": "evidence lower bound"}
SMALL = 7.5  # points; panels of traces stand side by side
LEAST_POINTS = 3  # of a line that shows where a fit went


def convergence(models: FittedModel | Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Perplexity of the validation rows against epochs (the bound, where no rows were kept aside), and the chains.

    A model that was sampled has a row of panels in the room of ``ax``, one for each of `traces_`: a grey line a chain,
    after its burn-in, with the split R-hat and effective sample size. Chains that have mixed cover each other and do
    not drift. The perplexity stands above them; of sampled models it is that of the fits which the first two chains
    started from, and left out where each is too short to be seen falling.

    Args:
        models: A fitted estimator, or several by name; those with a perplexity to show must have watched the same.
        ax: Where to draw; becomes the first of the axes.
    """
    several = isinstance(models, Mapping)
    fits: dict[str, Any] = dict(models) if several else {type(models).__name__: models}
    sampled = {label: model for label, model in fits.items() if getattr(model, "traces_", None)}
    watched = {label: _watched(model) for label, model in fits.items()}
    runs = {label: _runs(model.history_, watched[label]) for label, model in fits.items()}
    shown = [name for name in fits if name not in sampled or max(map(len, runs[name]), default=0) >= LEAST_POINTS]
    if len({watched[label] for label in shown}) > 1:
        raise ValueError("models must have been fitted by the same stopping: all by validation rows or by the bound.")
    ax = axes(ax, (8.5, 2.6 * bool(shown) + 1.8 * len(sampled)) if sampled else (6.0, 3.0))
    panels = _panels(ax, list(sampled.values()), above=bool(shown))
    for row, (label, model) in zip(panels, sampled.items(), strict=True):
        _draw_traces(model, row)
        if several:
            row[0].set_ylabel(label, **PLAIN)
    if shown:
        _draw_starts(ax, {label: runs[label] for label in shown}, QUANTITIES[watched[shown[0]]], legend=several)
    return ax


def _draw_starts(ax: Axes, runs: dict[str, list[Run]], quantity: str, *, legend: bool) -> None:
    """A line a run, a colour a model."""
    for i, (label, lines) in enumerate(runs.items()):
        for number, line in enumerate(lines):
            ax.plot(
                *zip(*line, strict=True),
                color=CYCLE[i % len(CYCLE)],
                linestyle=("-", "--", ":")[i // len(CYCLE) % 3],
                marker="o",
                markersize=3,
                label=label if number == 0 else None,
            )
    ax.set(xlabel="epoch", ylabel=quantity)
    whole_numbers(ax)
    if legend:
        ax.legend(frameon=False)
    bare(ax)


def _panels(ax: Axes, sampled: list[Any], *, above: bool) -> list[list[Axes]]:
    """A row of panels for each model in the room that the axes have; they move above, or become the first panel."""
    figure, room, box = ax.get_figure(root=False), ax.get_subplotspec(), ax.get_position()
    if not sampled or figure is None:
        return []
    if room is None:  # axes that stand in no grid
        room = figure.add_gridspec(1, 1, left=box.x0, right=box.x1, bottom=box.y0, top=box.y1)[0]
    apart, beside = (None, None) if figure.get_layout_engine() else (0.8, 0.5)  # an engine knows better
    heights = [1.4] * above + [1.0] * len(sampled)
    rows = room.subgridspec(len(heights), 1, height_ratios=heights, hspace=apart)
    grids = [rows[above + i].subgridspec(1, len(model.traces_[0]), wspace=beside) for i, model in enumerate(sampled)]
    ax.set_subplotspec(rows[0] if above else grids[0][0])
    return [[ax if cell == ax.get_subplotspec() else figure.add_subplot(cell) for cell in grid] for grid in grids]


def _draw_traces(model: Any, panels: list[Axes]) -> None:
    """What each summary was after every sweep, a line a chain; all of one colour, since colours tell models apart."""
    for name, panel in zip(model.traces_[0], panels, strict=True):
        for trace in model.traces_:
            values = trace[name]
            panel.plot(range(1, len(values) + 1), values, color=INK, alpha=0.45, linewidth=0.7)
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


def _runs(history: Sequence[dict[str, Any]], quantity: str) -> list[Run]:
    """What was seen by epoch, cut where epochs begin again: at the fit that a further chain starts from."""
    runs: list[Run] = []
    for info in history:
        if info[quantity] is None:
            continue
        if not runs or info["epoch"] <= runs[-1][-1][0]:
            runs.append([])
        runs[-1].append((info["epoch"], info[quantity]))
    return runs


def _watched(model: FittedModel) -> str:
    for quantity in QUANTITIES:
        if any(info[quantity] is not None for info in model.history_):
            return quantity
    if getattr(model, "traces_", None):  # starts that ran to their end watched nothing
        return next(iter(QUANTITIES))
    raise ValueError("the model has no history: it was not fitted by `fit`, or was interrupted at once.")
