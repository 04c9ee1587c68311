"""Effects of a covariate: a dot and its interval for each component, a colour for each sign."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cormorant.explore.effects import are_relative
from cormorant.explore.effects import covariate_effects as effects_table
from cormorant.explore.figures.frame import PLAIN, axes, bare
from cormorant.explore.palette import APART, GREY, PALE, TOGETHER

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def covariate_effects(
    model: Any, covariate: str | None = None, n: int = 12, *, relative: bool | None = None, ax: Axes | None = None
) -> Axes:
    """The components that a covariate moves most, up or down: effect on F and 90% interval, the largest on top.

    Purple raises a component, orange lowers it, grey has zero in its interval.

    Args:
        model: An estimator that was fitted with covariates.
        covariate: One of ``model.covariate_names_``; None takes the first.
        n: Components to show.
        relative: As for `tables.covariate_effects`.
        ax: Where to draw.
    """
    table = effects_table(model, relative=relative)
    names = list(model.covariate_names_)
    covariate = names[0] if covariate is None else covariate
    if covariate not in names:
        raise ValueError(f"covariate must be one of {', '.join(map(repr, names))}; got {covariate!r}.")
    table = table[table["covariate"] == covariate]
    shown = table.loc[table["effect"].abs().sort_values(ascending=False).index[:n]].sort_values(
        "effect", ascending=False
    )
    ax = axes(ax, (6.0, 1.0 + 0.3 * len(shown)))
    ax.axvline(0.0, color=PALE, linewidth=1.0, zorder=0)
    for line, (effect, low, high) in enumerate(shown[["effect", "low", "high"]].to_numpy()):
        colour = GREY if low <= 0 <= high else (TOGETHER if effect > 0 else APART)
        ax.hlines(line, low, high, color=colour, linewidth=2.0)
        ax.plot(effect, line, "o", color=colour, markersize=5)
    ax.set_yticks(range(len(shown)), shown["label"], **PLAIN)
    ax.set_xlabel(
        f"effect of {covariate} on F" + (", relative to all components" if are_relative(model, relative) else ""),
        **PLAIN,
    )
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    return bare(ax)
