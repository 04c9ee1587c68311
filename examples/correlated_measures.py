"""Draws of a hierarchical gamma process beside correlated ones, and the covariance of their weights.

    python examples/correlated_measures.py [PATH]

writes docs/figures/correlated_measures.png, or PATH.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from cormorant.measures import (
    CallableAtoms,
    CorrelatedRandomMeasure,
    GammaProcess,
    GaussianLocations,
    GroupDraws,
    Tuples,
    UncorrelatedGamma,
    correlated_gamma_process,
    weight_moments,
)

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "correlated_measures.png"
GREEN, BLUE = "#009E73", "#0072B2"  # Okabe and Ito's palette, distinct to colour-blind readers
SIDES = ((-1, GREEN, "s"), (1, BLUE, "o"))  # sign of the location, colour, marker
DIVERGING = "PuOr"  # as in every figure here: purple goes together, orange avoids each other
GROUPS, COMPONENTS = 4, 24
# Seeds chosen for the eye: locations on both sides of zero, and functions that rise and fall in turn.
TUPLES_SEED, DRAWS_SEED = 301, 103


def measures() -> tuple[CorrelatedRandomMeasure, CorrelatedRandomMeasure]:
    """x ~ Gamma(w, 1), and x ~ Gamma(w, exp(-F)) with F(l) = l d, on one set of tuples."""
    correlated = correlated_gamma_process(
        GammaProcess(mass=40.0, rate=0.4),
        CallableAtoms(lambda rng, n: rng.random((n, 1))),
        GaussianLocations(dimension=1, variance=0.5),
    )
    return replace(correlated, transform=UncorrelatedGamma()), correlated


def draw_stems(axes: Axes, draws: GroupDraws, group: int) -> None:
    """One measure: a stem of height x_k at each atom a_k, coloured by the sign of its location."""
    draw = draws[group]
    position = draw.atoms[:, 0]
    for sign, colour, marker in SIDES:
        chosen = np.sign(draw.tuples.locations[:, 0]) == sign
        axes.vlines(position[chosen], 0, draw.weights[chosen], color=colour, linewidth=1.6)
        axes.plot(position[chosen], draw.weights[chosen], marker, color=colour, markersize=3.2)
    axes.set(xlim=(0, 1), xticks=[0, 0.5, 1], xticklabels=["0", ".5", "1"])
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.spines[["top", "right"]].set_visible(False)


def draw_correlation(axes: Axes, measure: CorrelatedRandomMeasure, tuples: Tuples):
    """Corr(x_k, x_m | tuples), components in the order of their locations; the diagonal is left blank."""
    order = np.argsort(tuples.locations[:, 0])
    correlation = weight_moments(measure, tuples).correlation[np.ix_(order, order)]
    np.fill_diagonal(correlation, np.nan)
    image = axes.imshow(correlation, cmap=DIVERGING, vmin=-0.8, vmax=0.8, interpolation="nearest")
    border = int((tuples.locations[:, 0] < 0).sum())
    axes.set_xticks([0, border - 0.5, len(order) - 1], ["$\\ell<0$", "0", "$\\ell>0$"])
    axes.set_yticks([])
    axes.tick_params(length=0)
    axes.set_ylabel("components, by location")
    return image


def figure(path: Path) -> None:
    """Draw both measures with the same tuples and write the figure."""
    uncorrelated, correlated = measures()
    tuples = correlated.sample_tuples(TUPLES_SEED, number=COMPONENTS)
    plt.rcParams.update({"font.size": 9, "axes.titlesize": 9.5})
    page, grid = plt.subplots(
        2, GROUPS + 1, figsize=(10.5, 4.9), width_ratios=[1] * GROUPS + [1.45], layout="constrained"
    )
    rows = (
        (grid[0], uncorrelated, "hierarchical gamma process\n$x\\sim$ Gamma$(w,\\,1)$"),
        (grid[1], correlated, "correlated gamma process\n$x\\sim$ Gamma$(w,\\,e^{-F(\\ell)})$"),
    )
    for row, measure, name in rows:
        draws = measure.sample_groups(GROUPS, DRAWS_SEED, tuples=tuples)
        top = 1.08 * draws.weights.max()
        for group in range(GROUPS):
            draw_stems(row[group], draws, group)
            row[group].set(ylim=(0, top), title=f"$M_{group + 1}$" if measure is uncorrelated else "")
            row[group].tick_params(labelleft=group == 0, labelbottom=measure is correlated)
        row[0].set_ylabel(f"{name}\nweight $x$")
        image = draw_correlation(row[-1], measure, tuples)
        scale = page.colorbar(image, ax=row[-1], ticks=[-0.8, 0, 0.8], shrink=0.85)
        scale.ax.set_yticklabels(["-.8, avoid\neach other", "0", ".8, go\ntogether"])
    grid[0, -1].set_title("covariance of weights,\nscaled to correlations")
    for axes in grid[1, :GROUPS]:
        axes.set_xlabel("atom $a$")
    marks = [Line2D([], [], color=colour, marker=marker, markersize=4) for _, colour, marker in SIDES]
    page.legend(
        marks,
        ["location $\\ell<0$", "location $\\ell>0$"],
        loc="outside lower center",
        ncols=2,
        frameon=False,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    page.savefig(path, dpi=160, bbox_inches="tight", metadata={"Software": ""})
    plt.close(page)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else FIGURE
    figure(target)
    print(f"wrote {target}")
