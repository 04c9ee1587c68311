"""Figures: what is drawn, where, and in which order."""

from types import SimpleNamespace

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from cormorant.explore import figures, palette
from cormorant.explore.checks import STATISTICS, PredictiveCheck
from cormorant.explore.figures.frame import cut, text_width
from cormorant.explore.figures.images import component_pictures
from cormorant.explore.labels import component_labels

from .handmade import handmade


@pytest.fixture
def ax():
    return Figure(figsize=(7, 5), layout="constrained").add_subplot()


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def draw(ax):
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    return canvas


def ink(ax):
    """Pixels that are not background."""
    return int((np.asarray(draw(ax).buffer_rgba())[..., :3] < 250).any(axis=2).sum())


def texts(ax):
    return [text for text in ax.texts if text.get_text()]


def test_sorted_weights(model, ax):
    assert figures.sorted_weights(model, ax) is ax
    assert sorted(bar.get_height() for bar in ax.patches) == sorted(model.weights_)
    assert "3 of 4 components" in ax.get_title()
    labels = {text.get_text() for text in ax.get_legend().get_texts()}
    assert labels == {"in use", "not in use", "truncation, $T=4$"}
    assert ax.get_lines()[0].get_xdata()[0] == 4.5  # the truncation, after the last component
    assert ink(ax) > 1000


def test_all_in_use(uncorrelated, ax):
    figures.sorted_weights(uncorrelated, ax)
    assert "not in use" not in {text.get_text() for text in ax.get_legend().get_texts()}


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


def test_labels_of_the_heatmap_are_whole():
    """Names as long as those of diagnoses have room beside the cells."""
    name = "Hypertensive chronic kidney disease, unspecified, stage I-IV"
    model = many(20)
    model.column_names_ = np.array([f"{name[:-2]}{i:2d}" for i in range(20)], dtype=object)
    ax = figures.correlation_heatmap(model, among=20)
    renderer = draw(ax).get_renderer()
    labels = ax.get_yticklabels()
    assert all(label.get_text().startswith(name[:-2]) for label in labels)
    assert min(label.get_window_extent(renderer).x0 for label in labels) >= 0
    cells = ax.get_window_extent(renderer)
    assert cells.width > 0.15 * 20 * ax.figure.dpi  # and the cells keep theirs


def test_dollars_are_dollars(model, ax):
    figures.correlation_heatmap(model, ax, among=4)
    labels = ax.get_yticklabels()
    assert any(label.get_text().startswith("$dog$") for label in labels)
    assert not any(label.get_parse_math() for label in labels)
    assert ink(ax) > 1000


def test_graph(model, ax):
    assert figures.correlation_graph(model, ax, n_positive=5, n_negative=1) is ax
    positive, negative = ax.get_lines()
    assert (positive.get_color(), negative.get_color()) == (palette.TOGETHER, palette.APART)
    assert positive.get_linestyle() == "-"
    assert negative.get_linestyle() == "--"  # told from the other without colour
    assert negative.get_linewidth() > positive.get_linewidth()  # rho = -.995 and .6
    (circles,) = ax.collections
    area = np.asarray(circles.get_sizes())
    np.testing.assert_allclose(area / area.max(), model.usage_[[1, 0, 2]] / 0.5)
    assert {"bird", "apple", "cat"} <= {text.get_text().split()[0] for text in texts(ax)}
    assert ink(ax) > 1000


def many(n):
    """n components with long names whose correlations are those of random directions."""
    rng = np.random.default_rng(n)
    names = np.array([f"a name {i} of $ome length" for i in range(n)], dtype=object)
    return handmade(rng.standard_normal((n, 5)), np.full(n, 1 / n), components_=np.eye(n) + 0.01, column_names_=names)


@pytest.mark.parametrize("n", [3, 30, 80])
def test_labels_of_the_graph_do_not_meet_or_leave_the_page(n):
    ax = figures.correlation_graph(many(n), among=n)
    renderer = draw(ax).get_renderer()
    labels = [text for text in texts(ax) if not text.get_text().isdigit()]
    assert len(labels) == n
    boxes = [text.get_window_extent(renderer) for text in labels]
    page = ax.figure.bbox
    for i, box in enumerate(boxes):
        assert page.x0 <= box.x0 < box.x1 <= page.x1
        assert page.y0 <= box.y0 < box.y1 <= page.y1
        assert not any(box.overlaps(other) for other in boxes[i + 1 :])


def test_lines_of_the_graph_run_around_circles():
    """A line that ran through a circle would seem to end there."""
    model = handmade(np.eye(3), [0.4, 0.3, 0.3], components_=np.eye(3) + 0.01)
    model.correlation_ = np.array([[1.0, 0.5, 0.9], [0.5, 1.0, 0.9], [0.9, 0.9, 1.0]])  # 2 lies between 0 and 1
    ax = figures.correlation_graph(model)
    (marks,) = ax.collections
    circles, radii = np.asarray(marks.get_offsets()), np.sqrt(np.asarray(marks.get_sizes())) / 2
    long = max((line.get_xydata() for line in ax.get_lines()), key=lambda line: np.linalg.norm(line[0] - line[-1]))
    np.testing.assert_allclose(long[[0, -1]], circles[:2])
    assert (np.linalg.norm(long - circles[2], axis=1) > radii[2]).all()


def test_circles_of_the_graph_hold_their_numbers():
    model = many(30)
    model.usage_ = np.linspace(1.0, 0.1, 30) ** 2
    ax = figures.correlation_graph(model, among=30)
    numbers = [text for text in texts(ax) if text.get_text().isdigit()]
    assert sorted(int(text.get_text()) for text in numbers) == list(range(30))
    sizes = [text.get_fontsize() for text in numbers]
    assert sizes[0] > sizes[-1] >= 5.0 - 1e-9
    radii = np.sqrt(np.asarray(ax.collections[0].get_sizes())) / 2
    widths = [text_width(text.get_text(), text.get_fontsize()) for text in numbers]
    assert (np.array(widths) < 1.3 * radii).all()


def test_graph_without_room_says_so(ax):
    ax.figure.set_size_inches(1, 1)
    with pytest.raises(ValueError, match=r"labels of 30 components have no room .* larger axes, or fewer components"):
        figures.correlation_graph(many(30), ax, among=30)


def test_graph_checks_its_numbers(model, ax):
    with pytest.raises(ValueError, match="must not be negative, got -1 and None"):
        figures.correlation_graph(model, ax, n_positive=-1)


@pytest.mark.parametrize("figure", [figures.correlation_heatmap, figures.correlation_graph])
def test_uncorrelated_models_have_none(uncorrelated, ax, figure):
    with pytest.raises(ValueError, match="no correlations"):
        figure(uncorrelated, ax)


def test_component_panels(model, ax):
    assert figures.component_panels(model, ax, components=[2, 0], n=2, across=2) is ax
    shown = [text.get_text() for text in texts(ax)]
    assert shown[0].startswith("2 cat")
    assert shown[1:3] == ["cat", "apple"]
    assert shown[4:] == ["apple", "bird"]
    lengths = np.array([bar.get_width() for bar in ax.patches])
    np.testing.assert_allclose(lengths / lengths.max(), [1, 0.4 / 1.2, 1, 0.3 / 1.4])


def test_titles_of_panels_show_where_they_are_cut(ax):
    model = many(8)
    figures.component_panels(model, ax, n=4, across=4)
    titles = [text.get_text() for text in texts(ax) if text.get_fontweight() == "bold"]
    labels = component_labels(model)
    assert len(titles) == 8
    for title in titles:
        number, shown = title.split(" ", 1)
        assert shown.endswith("…")
        assert labels[int(number)].startswith(shown[:-1])


def test_text_of_panels_stays_in_its_panel(ax):
    figures.component_panels(many(8), ax, n=4, across=4)
    renderer = draw(ax).get_renderer()
    right = ax.transData.inverted()
    for text in texts(ax):
        x0, x1 = (right.transform((x, 0))[0] for x in text.get_window_extent(renderer).intervalx)
        assert x1 < np.floor(x0 + 1e-6) + 1.0


@pytest.mark.parametrize(
    ("components", "message"),
    [([4], "numbers from 0 to 3"), ([-1], "numbers from 0 to 3"), ([], "a list of component numbers"), ([0.5], "list")],
)
def test_panels_of_components_that_there_are(model, ax, components, message):
    with pytest.raises(ValueError, match=message):
        figures.component_panels(model, ax, components=components)


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


def test_convergence_of_chains(model, ax):
    """Each chain's fit counts its epochs from one: a line each, one name in the legend."""
    watched = [(5, 30.0), (10, 20.0), (1, None), (5, 29.0), (10, 19.0)]
    model.history_ = [{"epoch": epoch, "perplexity": value, "bound": None} for epoch, value in watched]
    figures.convergence({"cnpf": model}, ax)
    first, second = ax.get_lines()
    np.testing.assert_array_equal(first.get_xydata(), [[5, 30], [10, 20]])
    np.testing.assert_array_equal(second.get_xydata(), [[5, 29], [10, 19]])
    assert first.get_color() == second.get_color()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["cnpf"]


def test_convergence_of_a_sampled_model_shows_its_chains(sampled, ax):
    figures.convergence(sampled, ax)
    start, *panels = ax.figure.axes
    assert start is ax
    assert start.get_ylabel() == "evidence lower bound"  # there are too few rows to keep some aside
    titles = {"total", "alpha", "a0", "effective components", "location variance"}
    assert {panel.get_title().split("\n")[0] for panel in panels} == titles
    for name, panel in zip(sampled.traces_[0], panels, strict=True):
        for line, trace in zip(panel.get_lines(), sampled.traces_, strict=True):
            np.testing.assert_array_equal(line.get_ydata(), trace[name])
        found = sampled.diagnostics_[name]
        assert panel.get_title().endswith(f"R-hat {found['rhat']:.2f}, ESS {found['ess']:.0f}")


@pytest.mark.parametrize("layout", ["constrained", None])
def test_panels_of_the_chains_do_not_meet(sampled, layout):
    page = Figure(figsize=(8.5, 6), layout=layout)
    ax = page.add_subplot() if layout else page.add_axes((0.1, 0.1, 0.85, 0.85))
    figures.convergence({"cnpf": sampled, "again": sampled}, ax)
    renderer = draw(ax).get_renderer()
    assert len(page.axes) == 11
    boxes = [panel.get_tightbbox(renderer) for panel in page.axes]
    assert not any(box.overlaps(other) for i, box in enumerate(boxes) for other in boxes[i + 1 :])


def test_starts_too_short_to_be_seen_falling_are_left_out(sampled, model):
    """Two points a chain; a fit without chains has its line however short it is."""
    short = SimpleNamespace(**vars(model), traces_=sampled.traces_, diagnostics_=sampled.diagnostics_)
    ax = figures.convergence({"cnpf": short, "again": short})
    assert len(ax.figure.axes) == 10
    assert ax is ax.figure.axes[0]
    assert ax.get_ylabel() == "cnpf"
    assert {line.get_color() for panel in ax.figure.axes for line in panel.get_lines()} == {palette.INK}
    ax = figures.convergence({"cnpf": short, "variational": model})
    assert len(ax.figure.axes) == 6
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["variational"]


def test_traces_too_short_to_tell(ax):
    short = handmade(np.eye(2), [0.5, 0.5], traces_=[{"a0": [1.0]}])
    short.diagnostics_ = {"a0": {"rhat": float("nan"), "ess": float("nan")}}
    figures.convergence(short, ax)
    assert ax.get_title() == "a0\nR-hat -, ESS -"


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


@pytest.fixture
def table():
    return pd.DataFrame(
        {"perplexity 10%": [1900.0, 1600.0], "perplexity 50%": [1500.0, 1400.0], "seconds": [1.0, 2.0]},
        index=["hgp", "cnpf"],
    )


def test_model_comparison(table, ax):
    assert figures.model_comparison(table, ax) is ax
    ten, fifty = ax.get_lines()
    np.testing.assert_array_equal(ten.get_xydata(), [[1900, 0], [1600, 1]])
    np.testing.assert_array_equal(fifty.get_xydata(), [[1500, 0], [1400, 1]])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["hgp", "cnpf"]
    assert [text.get_text() for text in ax.texts] == ["1,900", "1,600", "1,500", "1,400"]
    assert ten.get_marker() != fifty.get_marker()


def test_model_comparison_of_features(ax):
    """Log densities differ by less, and the higher is the better."""
    table = pd.DataFrame({"log density 50%": [-0.398, -0.408], "seconds": [1.0, 2.0]}, index=["beta-features", "ibp"])
    figures.model_comparison(table, ax)
    assert [text.get_text() for text in ax.texts] == ["-0.398", "-0.408"]
    assert "higher is better" in ax.get_xlabel()


def test_model_comparison_needs_perplexities(table, ax):
    with pytest.raises(ValueError, match=r"table must be that of evaluation.compare.*the columns seconds"):
        figures.model_comparison(table[["seconds"]], ax)


def test_component_images(ax):
    model = handmade(np.eye(2), [0.4, 0.6], components_=np.array([[1.0, 2, 3, 4], [0, 0, 8, 2]]))
    assert figures.component_images(model, (2, 2), ax) is ax
    first, second = (image.get_array() for image in ax.get_images())
    np.testing.assert_allclose(first, [[0, 0], [1, 0.25]])  # the more used one, scaled to its brightest pixel
    np.testing.assert_allclose(second, [[0.25, 0.5], [0.75, 1]])
    assert [text.get_text() for text in ax.texts] == ["60.0%", "40.0%"]


def test_pixels_that_are_no_columns():
    model = handmade(np.eye(1), [1.0], components_=np.array([[1.0, 2.0]]))
    np.testing.assert_array_equal(component_pictures(model, (2, 2), [3, 0]), [[[2, 0], [0, 1]]])
    with pytest.raises(ValueError, match="say with pixels which ones are"):
        component_pictures(model, (2, 2))
    with pytest.raises(ValueError, match="pixels must be 2 numbers from 0 to 3"):
        component_pictures(model, (2, 2), [0, 4])


def compared(**names):
    """Three things: as replicated, below the interval, above it."""
    values = {"observed": [2.0, 1.0, 9.0], "replicated": [2.0, 2.0, 2.0], "low": 1.5, "high": 2.5, "tail": [0.5, 1, 0]}
    return pd.DataFrame({**names, **values})


@pytest.fixture
def check():
    statistics = pd.DataFrame({"statistic": STATISTICS, "observed": 0.5, "tail": np.linspace(0, 1, len(STATISTICS))})
    replicates = pd.DataFrame(0.4 + 0.01 * np.arange(10)[:, None] + np.zeros(len(STATISTICS)), columns=list(STATISTICS))
    tables = compared(quantile=[0, 0.5, 1]), compared(column=list("abc")), compared(column=list("abc"))
    return PredictiveCheck(statistics, *tables, compared(column=list("abc"), other=list("def")), replicates)


@pytest.mark.parametrize("quantity", ["row totals", "column totals", "dispersion", "co-occurrence"])
def test_predictive_check(check, ax, quantity):
    assert figures.predictive_check(check, quantity, ax) is ax
    inside, outside, _ = ax.get_lines()
    np.testing.assert_array_equal(inside.get_xydata(), [[2, 2]])
    np.testing.assert_array_equal(outside.get_xydata(), [[2, 1], [2, 9]])
    assert outside.get_color() == palette.ORANGE


def test_predictive_check_of_zeros(check, ax):
    figures.predictive_check(check, "zeros", ax)
    (line,) = ax.get_lines()
    assert line.get_xdata()[0] == 0.5
    assert sum(bar.get_height() for bar in ax.patches) == 10


def test_predictive_check_of_tails(check, ax):
    figures.predictive_check(check, "tail probabilities", ax)
    marks = ax.collections[-1]
    np.testing.assert_allclose(marks.get_offsets()[:, 0], check.statistics["tail"])
    assert [text.get_text() for text in ax.texts] == list(STATISTICS)
    renderer = draw(ax).get_renderer()
    heights = [(box.y0 + box.y1) / 2 for box in (text.get_window_extent(renderer) for text in ax.texts)]
    own = ax.transData.transform(marks.get_offsets())[:, 1]
    assert (np.abs(own[:-1] - heights[:-1]) < 0.8 * np.abs(own[:-1] - heights[1:])).all()  # no doubt whose mark it is


def test_all_checks_in_one_figure(check):
    page = figures.predictive_checks(check)
    assert len(page.axes) == 6
    assert len({ax.get_title() for ax in page.axes}) == 6


def test_unknown_quantities(check, ax):
    with pytest.raises(ValueError, match=r"quantity must be one of row totals, .*; got 'sizes'"):
        figures.predictive_check(check, "sizes", ax)


@pytest.mark.parametrize(
    "figure",
    [
        figures.sorted_weights,
        figures.correlation_heatmap,
        figures.correlation_graph,
        figures.component_panels,
        figures.convergence,
        lambda model: figures.component_images(model, (2, 2)),
    ],
)
def test_figures_of_their_own(model, figure):
    before = set(plt.get_fignums())
    ax = figure(model)
    assert len(set(plt.get_fignums()) - before) == 1
    assert ink(ax) > 1000


def test_text_is_cut_to_its_room():
    width = text_width("component", 8)
    assert cut("component", width, 8) == "component"
    assert cut("components", width, 8).endswith("…")
    assert text_width(cut("components", width, 8), 8) <= width
    assert cut("components", 0.0, 8) == "…"
    assert cut("one two three", text_width("one two…", 8), 8) == "one two…"  # words stay whole, and the cut shows
    assert cut("one two three", text_width("one two th…", 8), 8) == "one two…"


def test_ranks_and_epochs_are_whole_numbers(model):
    """However few there are: between two of them there is nothing to read."""
    model.history_ = [{"epoch": 5, "perplexity": 9.0, "bound": None}]
    for draw in (figures.sorted_weights, figures.convergence):
        ticks = draw(model).get_xticks()
        np.testing.assert_array_equal(ticks, ticks.astype(int))
