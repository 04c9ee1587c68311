"""The picture and the numbers of docs/models/thinned.md: hospital discharges whose components come and go with age.

    python examples/thinned_figure.py --data FOLDER [--out PATH]

FOLDER holds counts.npz, columns.txt and row_metadata.tsv.gz (age_unit, age, sex) of the National Hospital Discharge
Survey 2010 (docs/tutorials/hospital_discharges.md tells where it comes from; without it the picture stays as it is).
Fits 5,000 discharges, prints what the page says, and writes docs/figures/thinned.png, or PATH.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import sparse

from cormorant import ThinnedPoissonFactorization, as_counts, compare
from cormorant.data import Counts
from cormorant.estimators import TruncationWarning
from cormorant.explore import palette, tables
from cormorant.explore.labels import component_labels

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "thinned.png"
FORMULA = "~ bs(age, df=4) + C(sex)"
N_ROWS, MIN_CODES, MIN_ROWS, N_COMPONENTS, SEED = 5_000, 5, 20, 30, 1
N_SWEEPS = 1_000  # of the fit that is drawn; those that are compared make their default numbers
AGES = np.arange(0, 91)
SHOWN = 8  # components of which age changes the expected codes most


def load(folder: Path) -> tuple[Counts, pd.DataFrame]:
    """Discharges with several codes, codes that are not too rare, and age (years; newborns have none yet) and sex."""
    matrix = sparse.csr_matrix(sparse.load_npz(folder / "counts.npz"))
    known = pd.read_csv(folder / "row_metadata.tsv.gz", sep="\t")
    names = [line.split("\t")[-1] for line in (folder / "columns.txt").read_text().splitlines()]
    unique = [name if names.count(name) == 1 else f"{name} ({i})" for i, name in enumerate(names)]
    several = np.flatnonzero(np.diff(matrix.indptr) >= MIN_CODES)
    rows = np.sort(np.random.default_rng(0).permutation(several)[:N_ROWS])
    counts = as_counts(matrix[rows]).named(column_names=unique)
    years = known["age"].where(known["age_unit"] == "years", 0)
    frame = pd.DataFrame({"age": years, "sex": known["sex"]}).iloc[rows].reset_index(drop=True)
    return counts.columns(np.flatnonzero(counts.column_totals() >= MIN_ROWS)), frame


def by_age(model: ThinnedPoissonFactorization) -> dict[str, np.ndarray]:
    """P(z = 1) at every age, ages x components, of women and men."""
    return {sex: model.inclusion(pd.DataFrame({"age": AGES, "sex": sex})) for sex in ("female", "male")}


def draw(model: ThinnedPoissonFactorization, path: Path) -> None:
    """A panel a component: the share of discharges that have it, by age and sex."""
    curves = by_age(model)
    moved = model.weights_ * sum(np.ptp(curve, axis=0) for curve in curves.values())
    chosen = np.argsort(-moved, kind="stable")[:SHOWN]
    labels = component_labels(model, 2)
    page = Figure(figsize=(10.0, 5.2), layout="constrained")
    panels = page.subplots(2, SHOWN // 2, sharex=True, sharey=True)
    for ax, k in zip(panels.flat, chosen, strict=True):
        for (sex, curve), colour in zip(curves.items(), (palette.ORANGE, palette.BLUE), strict=True):
            ax.plot(AGES, curve[:, k], color=colour, label=sex)
        ax.set_title(f"{fill(labels[k], 34)}\n(brings {model.weights_[k]:.1f} codes)", fontsize=7.5)
        ax.spines[["top", "right"]].set_visible(False)
    panels[0, 0].legend(frameon=False, fontsize=8)
    page.supxlabel("age in years", fontsize=9)
    page.supylabel("probability of the component", fontsize=9)
    page.savefig(path, dpi=130, metadata={"Software": ""})


def main() -> None:
    """Fit, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="where the survey is")
    parser.add_argument("--out", type=Path, default=FIGURE, help="where to put the picture")
    given = parser.parse_args()
    if given.data is None:
        print(f"{given.out} stays as it is: the survey is not in the package (--data FOLDER)")
        return
    warnings.simplefilter("ignore", TruncationWarning)
    pd.set_option("display.width", 200, "display.max_colwidth", 90, "display.max_columns", 20)
    counts, frame = load(given.data)
    print(counts)
    settings = {"n_components": N_COMPONENTS, "n_jobs": -1}
    model = ThinnedPoissonFactorization(**settings, formula=FORMULA, n_sweeps=N_SWEEPS, random_state=SEED)
    model.fit(counts, covariates=frame)
    print(model.stop_reason_)
    print({name: round(found["rhat"], 2) for name, found in model.diagnostics_.items()})
    print(tables.components(model, 4).drop(columns="label").round(3))
    sexes = tables.covariate_effects(model, among=model.n_components_used_)
    sexes = sexes[sexes["covariate"] == "C(sex)[T.male]"]
    print(sexes.round(2))
    print(tables.correlated_pairs(model, 3, n_columns=2))
    draw(model, given.out)
    print(f"wrote {given.out}")
    told = compare(
        counts, ["hgp", "thinned", "cnpf"], n_held_out=500, covariates=frame, formula=FORMULA, seed=SEED, **settings
    )  # fmt: skip
    print(told)


if __name__ == "__main__":
    main()
