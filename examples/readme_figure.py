"""The picture of the README: correlations between the most used components of the New York Times sample.

    python examples/readme_figure.py [PATH]

fits CNPF (about a minute on two cores) and writes docs/figures/readme.png, or PATH.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from matplotlib.figure import Figure

from cormorant import CNPF, load_nyt
from cormorant.estimators import TruncationWarning
from cormorant.explore.figures import correlation_heatmap

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "readme.png"
COMPONENTS_SHOWN = 24


def figure(path: Path) -> None:
    """Fit the sample, draw its heavily used components."""
    with warnings.catch_warnings():
        # Fifty components are enough for a picture.
        warnings.simplefilter("ignore", TruncationWarning)
        model = CNPF(n_components=50, n_jobs=-1, random_state=1).fit(load_nyt())
    page = Figure(figsize=(7.6, 5.6), layout="constrained")
    correlation_heatmap(model, page.add_subplot(), among=COMPONENTS_SHOWN)
    path.parent.mkdir(parents=True, exist_ok=True)
    page.savefig(path, dpi=160, bbox_inches="tight", metadata={"Software": ""})


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else FIGURE
    figure(target)
    print(f"wrote {target}")
