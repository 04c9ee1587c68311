"""The picture of the README: correlations between the most used components of the New York Times sample.

    python examples/readme_figure.py [--fit FIT] [--out PATH]

fits CNPF (a minute or two on two cores), or takes a saved model, and writes docs/figures/readme.png, or PATH.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from cormorant import CNPF, load, load_nyt
from cormorant.estimators import TruncationWarning
from cormorant.explore.figures import correlation_heatmap

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "readme.png"
COMPONENTS_SHOWN = 24


def fit() -> Any:
    """The sample in fifty components, which are enough for a picture."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        return CNPF(n_components=50, n_jobs=-1, random_state=1).fit(load_nyt())


def draw(model: Any, path: Path) -> None:
    """The heavily used components."""
    page = Figure(figsize=(7.6, 5.6), layout="constrained")
    correlation_heatmap(model, page.add_subplot(), among=COMPONENTS_SHOWN)
    path.parent.mkdir(parents=True, exist_ok=True)
    page.savefig(path, dpi=160, bbox_inches="tight", metadata={"Software": ""})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The picture of the README.")
    parser.add_argument("--fit", type=Path, help="a saved model; without one the sample is fitted")
    parser.add_argument("--out", type=Path, default=FIGURE, help="where to put the picture")
    given = parser.parse_args()
    draw(load(given.fit) if given.fit else fit(), given.out)
    print(f"wrote {given.out}")
