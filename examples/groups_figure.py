"""The picture of docs/models/processes.md: topics of the New York Times in groups that rise and fall together.

    python examples/groups_figure.py [--fit FIT] [--out PATH]

fits CNPF with kernel="groups" as that page does, or takes a saved model, and writes docs/figures/groups.png, or PATH.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from cormorant import CNPF, load, load_nyt
from cormorant.estimators import TruncationWarning
from cormorant.explore import tables
from cormorant.explore.palette import CYCLE

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "groups.png"
GROUPS_SHOWN, MEMBERS_SHOWN = 7, 5


def fit() -> Any:
    """Fifty components in at most twelve groups."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        articles = load_nyt().rows(slice(0, 3000))
        return CNPF(n_components=50, kernel="groups", n_dims=12, random_state=1, n_jobs=-1).fit(articles)


def draw(model: Any, path: Path) -> None:
    """The largest groups, of each its largest components: bars of their shares, named by their words."""
    words = tables.components(model, n=4).set_index("component")["top_columns"]
    groups = sorted(model.locations_.T, key=lambda group: -(group @ model.usage_))[:GROUPS_SHOWN]
    page = Figure(figsize=(8.0, 7.5), layout="constrained")
    ax = page.add_subplot()
    place, places, names = 0.0, [], []
    for i, group in enumerate(groups):
        members = group.nonzero()[0]
        for k in members[model.usage_[members].argsort()[::-1]][:MEMBERS_SHOWN]:
            ax.barh(place, 100 * model.usage_[k], color=CYCLE[i % len(CYCLE)])
            places.append(place)
            names.append(", ".join(words[k]))
            place += 1.0
        place += 0.8  # groups stand apart
    ax.set_yticks(places, names, fontsize=8)
    ax.invert_yaxis()
    ax.margins(y=0.01)
    ax.set_xlabel("share of the counts, in percent")
    ax.spines[["top", "right"]].set_visible(False)
    page.savefig(path, dpi=130, metadata={"Software": ""})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Groups of topics.")
    parser.add_argument("--fit", type=Path, help="a saved model; without one the articles are fitted")
    parser.add_argument("--out", type=Path, default=FIGURE, help="where to put the picture")
    given = parser.parse_args()
    draw(load(given.fit) if given.fit else fit(), given.out)
    print(f"wrote {given.out}")
