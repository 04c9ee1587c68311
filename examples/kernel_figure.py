"""The picture of docs/models/processes.md: components on a ring, as a linear and as an RBF kernel see them.

    python examples/kernel_figure.py [--out PATH]

plants ten components, fits CNPF twice (half a minute), and writes docs/figures/kernels.png, or PATH.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment

from cormorant import CNPF
from cormorant.datasets import Simulation, simulate
from cormorant.estimators import TruncationWarning
from cormorant.measures import RBF

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "kernels.png"
N_COMPONENTS = 10


def plant() -> tuple[Simulation, np.ndarray]:
    """Rows whose F has an RBF covariance over points on a circle: a linear kernel with a root of it for locations."""
    angle = 2 * np.pi * np.arange(N_COMPONENTS) / N_COMPONENTS
    covariance = 2.0 * RBF(0.6)(np.c_[np.cos(angle), np.sin(angle)])
    root = np.linalg.cholesky(covariance)
    truth = simulate("cnpf", 2000, 300, N_COMPONENTS, locations=root, row_total=300.0, weight=1.0, seed=1)
    return truth, covariance / 2.0


def fitted_correlation(truth: Simulation, kernel: str) -> np.ndarray:
    """Of the components found, in the order of the planted ones that they are most like."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        model = CNPF(N_COMPONENTS, 2, kernel=kernel, inference="structured", random_state=1).fit(truth.counts)
    found, wanted = (a / np.linalg.norm(a, axis=1, keepdims=True) for a in (model.components_, truth.atoms))
    _, match = linear_sum_assignment(-(wanted @ found.T))
    return model.correlation_[np.ix_(match, match)]


def draw(path: Path) -> None:
    """Three panels: truth, linear, RBF."""
    truth, planted = plant()
    panels = {
        "planted on a ring": planted,
        'kernel="linear", n_dims=2': fitted_correlation(truth, "linear"),
        'kernel="rbf", n_dims=2': fitted_correlation(truth, "rbf"),
    }
    page = Figure(figsize=(9.0, 3.2), layout="constrained")
    axes = page.subplots(1, 3)
    for ax, (title, rho) in zip(axes, panels.items(), strict=True):
        image = ax.imshow(rho, cmap="PuOr", vmin=-1, vmax=1)
        ax.set(title=title, xticks=[], yticks=[], xlabel="component")
    page.colorbar(image, ax=list(axes), label="correlation", shrink=0.8)
    page.savefig(path, dpi=130, metadata={"Software": ""})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Components on a ring, under two kernels.")
    parser.add_argument("--out", type=Path, default=FIGURE, help="where to put the picture")
    given = parser.parse_args()
    draw(given.out)
    print(f"wrote {given.out}")
