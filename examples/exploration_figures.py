"""The figures of `cormorant.explore`, of fits to the New York Times sample.

    python examples/exploration_figures.py [FOLDER]

fits HGP and CNPF, scores and checks them (about four minutes on two cores that had other work, too), and writes a
picture of each kind to docs/figures/explore, or FOLDER.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

from cormorant import CNPF, HGP, Counts, load_nyt
from cormorant.data import hold_out
from cormorant.estimators import TruncationWarning
from cormorant.explore import figures
from cormorant.explore.checks import predictive_check

FOLDER = Path(__file__).parents[1] / "docs" / "figures" / "explore"
HELD_OUT, OBSERVED, SEED = 1000, (0.1, 0.5), 1


def fit(counts: Counts) -> dict[str, Any]:
    """Both models, with fifty components: enough for pictures."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        return {
            name: estimator(n_components=50, n_jobs=-1, random_state=SEED).fit(counts)
            for name, estimator in (("hgp", HGP), ("cnpf", CNPF))
        }


def scores(models: dict[str, Any], held_out: Counts) -> pd.DataFrame:
    """A table like that of `cormorant.compare`, of models that are fitted already."""
    return pd.DataFrame(
        {f"perplexity {f:.0%}": [model.perplexity(held_out, f) for model in models.values()] for f in OBSERVED},
        index=list(models),
    )


def draw(folder: Path) -> None:
    """Fit, draw everything and write it."""
    split = hold_out(load_nyt(), HELD_OUT, SEED)
    models = fit(split.train)
    cnpf = models["cnpf"]
    drawn = {
        "weights": figures.sorted_weights(cnpf).figure,
        "heatmap": figures.correlation_heatmap(cnpf).figure,
        "graph": figures.correlation_graph(cnpf).figure,
        "components": figures.component_panels(cnpf).figure,
        "convergence": figures.convergence(models).figure,
        "comparison": figures.model_comparison(scores(models, split.held_out)).figure,
        "checks": figures.predictive_checks(predictive_check(cnpf, split.train)),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in drawn.items():
        page.savefig(folder / f"{name}.png", dpi=160, metadata={"Software": ""})
    plt.close("all")


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    draw(target)
    print(f"wrote {target}")
