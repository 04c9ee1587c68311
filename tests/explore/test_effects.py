"""Effects of covariates as a table and as a figure."""

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pytest
from matplotlib.figure import Figure

from cormorant import DILN
from cormorant.explore import figures, palette, tables

pytestmark = pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")


def test_table(with_covariates):
    model = with_covariates
    table = tables.covariate_effects(model)
    assert list(table.columns) == ["component", "label", "covariate", "effect", "low", "high"]
    assert table["covariate"].unique().tolist() == ["covariate 0", "covariate 1"]
    assert (table["low"] <= table["effect"]).all()
    assert (table["effect"] <= table["high"]).all()
    for _, part in table.groupby("covariate"):
        assert part["effect"].is_monotonic_decreasing
    first = table.iloc[0]
    assert first["effect"] == model.covariate_effects_[first["component"], 0]
    assert first["low"] > 0  # a planted effect
    assert model.components_[first["component"]].argmax() < 4
    assert tables.covariate_effects(model, among=2)["component"].nunique() == 2


def test_what_all_components_share(with_covariates):
    relative, whole = (tables.covariate_effects(with_covariates, relative=r) for r in (True, False))
    key = ["covariate", "component"]
    difference = whole.set_index(key)["effect"] - relative.set_index(key)["effect"]
    assert difference.groupby("covariate").std().max() < 1e-10
    assert difference.abs().max() > 1e-3


def test_refusals(fitted, counts):
    with pytest.raises(ValueError, match="fitted without covariates"):
        tables.covariate_effects(fitted)
    model = DILN(4, 2, inference="structured", max_epochs=2, random_state=0)
    model.fit(counts, covariates=np.arange(150.0)[:, None])
    with pytest.raises(ValueError, match="relative must be True for DILN"):
        tables.covariate_effects(model, relative=False)


def test_figure(with_covariates):
    ax = Figure(figsize=(6, 3), layout="constrained").add_subplot()
    assert figures.covariate_effects(with_covariates, "covariate 0", n=3, ax=ax) is ax
    table = tables.covariate_effects(with_covariates)
    table = table[table["covariate"] == "covariate 0"]
    shown = table.loc[table["effect"].abs().sort_values(ascending=False).index[:3]].sort_values(
        "effect", ascending=False
    )
    assert [text.get_text() for text in ax.get_yticklabels()] == shown["label"].tolist()
    dots = [line for line in ax.get_lines() if line.get_marker() == "o"]
    assert [dot.get_xdata()[0] for dot in dots] == shown["effect"].tolist()
    assert dots[0].get_color() == palette.TOGETHER
    assert "covariate 0" in ax.get_xlabel()
    with pytest.raises(ValueError, match="one of 'covariate 0', 'covariate 1'; got 'age'"):
        figures.covariate_effects(with_covariates, "age")
