"""Figures: what is drawn, where, and in which order."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from cormorant.explore import figures


@pytest.fixture
def ax():
    return Figure(layout="constrained").add_subplot()


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def ink(ax):
    """Pixels that are not background."""
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    return int((np.asarray(canvas.buffer_rgba())[..., :3] < 250).any(axis=2).sum())


def test_sorted_weights(model, ax):
    assert figures.sorted_weights(model, ax) is ax
    assert sorted(bar.get_height() for bar in ax.patches) == sorted(model.weights_)
    assert "3 of 4 components" in ax.get_title()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["in use", "not in use"]
    assert ink(ax) > 1000


def test_no_legend_where_all_are_in_use(uncorrelated, ax):
    figures.sorted_weights(uncorrelated, ax)
    assert ax.get_legend() is None


def test_heatmap_shows_heavily_used_components_in_clusters(model, ax):
    assert figures.correlation_heatmap(model, ax) is ax
    shown = [int(label.get_text()) for label in ax.get_xticklabels()]
    assert sorted(shown) == [0, 1, 2]
    assert abs(shown.index(0) - shown.index(1)) == 1  # alike, so side by side
    image = ax.get_images()[0].get_array()
    assert image is not None
    assert np.isnan(np.diag(image.filled(np.nan))).all()
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(image[off], model.correlation_[np.ix_(shown, shown)][off])
    assert len(ax.figure.axes) == 2  # with its colour bar
    assert ink(ax) > 1000


def test_heatmap_of_two_components(model, ax):
    figures.correlation_heatmap(model, ax, among=2)
    assert ax.get_images()[0].get_array().shape == (2, 2)


def test_labels(model):
    assert figures.component_label(model, 0, n=2) == "apple bird  0"
    # Dollars stay dollars; long labels are cut.
    assert figures.component_label(model, 3, n=1) == r"\$dog\$  3"
    model.column_names_[0] = "a" * 99
    assert len(figures.component_label(model, 0, n=1)) == figures.LABEL_LETTERS + 3


def test_labels_with_dollars_can_be_drawn(model, ax):
    figures.correlation_heatmap(model, ax, among=4)
    assert ink(ax) > 1000


def test_uncorrelated_models_have_no_heatmap(uncorrelated, ax):
    with pytest.raises(ValueError, match="no correlations"):
        figures.correlation_heatmap(uncorrelated, ax)


def test_convergence_of_one(model, ax):
    figures.convergence(model, ax)
    (line,) = ax.get_lines()
    np.testing.assert_array_equal(line.get_xydata(), [[2, 30], [3, 20]])
    assert ax.get_ylabel() == "validation perplexity"
    assert ax.get_legend() is None


def test_convergence_of_several(model, uncorrelated, ax):
    figures.convergence({"cnpf": model, "hgp": uncorrelated}, ax)
    assert len(ax.get_lines()) == 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["cnpf", "hgp"]


def test_convergence_by_the_bound(model, uncorrelated, ax):
    uncorrelated.history_ = [{"epoch": 1, "perplexity": None, "bound": -9.0}]
    with pytest.raises(ValueError, match="same stopping"):
        figures.convergence({"cnpf": model, "hgp": uncorrelated}, ax)
    figures.convergence(uncorrelated, ax)
    assert ax.get_ylabel() == "evidence lower bound"


def test_convergence_needs_a_history(model, ax):
    model.history_ = []
    with pytest.raises(ValueError, match="no history"):
        figures.convergence(model, ax)


@pytest.mark.parametrize("draw", [figures.sorted_weights, figures.correlation_heatmap, figures.convergence])
def test_figures_of_their_own(model, draw):
    before = set(plt.get_fignums())
    ax = draw(model)
    assert len(set(plt.get_fignums()) - before) == 1
    assert ink(ax) > 1000
