"""The picture of docs/models/diln.md: which topics of the New York Times go together, and which do not.

    python examples/diln_figure.py [--fit FIT] [--out PATH]

fits DILN to the articles of that page's example, or takes a saved model, and writes docs/figures/diln.png, or PATH.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from cormorant import compare, load, load_nyt
from cormorant.estimators import TruncationWarning
from cormorant.explore.figures import correlation_graph

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "diln.png"
TOPICS_SHOWN = 30


def fit() -> Any:
    """The same model as the page's, so that the picture and the text speak of the same topics."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        found = compare(load_nyt().rows(slice(0, 3000)), ["diln"], n_components=50, n_held_out=1000, n_jobs=-1)
    return found.models["diln"]


def draw(model: Any, path: Path) -> None:
    """The heavily used topics as a graph."""
    page = Figure(figsize=(9.0, 7.0))
    ax = correlation_graph(model, page.add_axes((0, 0, 1, 0.95)), among=TOPICS_SHOWN, n_negative=6)
    for line in ax.lines:  # those bent around the topmost topics leave the axes
        line.set_clip_on(False)
    page.savefig(path, dpi=130, metadata={"Software": ""})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Topics that go together.")
    parser.add_argument("--fit", type=Path, help="a saved model; without one the articles are fitted")
    parser.add_argument("--out", type=Path, default=FIGURE, help="where to put the picture")
    given = parser.parse_args()
    draw(load(given.fit) if given.fit else fit(), given.out)
    print(f"wrote {given.out}")
