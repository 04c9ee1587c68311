"""Features beside components: shares of rows, atoms that may be negative, rows that show them or not."""

import warnings

import numpy as np
import pytest

from cormorant.datasets.features import simulate_features
from cormorant.estimators import IBP, BetaBernoulliFeatures
from cormorant.explore import export, tables
from cormorant.explore.figures.images import component_pictures
from cormorant.explore.fitted import added, has_features, heavily_used, top_columns
from cormorant.explore.page.document import document
from cormorant.explore.page.lookup import RowLookup
from cormorant.explore.scores import column_scores, probabilities
from cormorant.models.features import FEATURE_MODELS, LIKELIHOODS

from .handmade import handmade


@pytest.fixture
def features():
    """Three features of four columns: 0 and 1 go together, 2 avoids them; atoms of binary data have both signs."""
    atoms = np.array([[3.0, 1.0, -2.0, 0.0], [-1.0, 2.0, 2.0, -4.0], [0.5, -3.0, 0.0, 1.5]])
    found = handmade([[1, 0], [3, 4], [-1, 0.1]], [0.9, 0.6, 0.4], components_=atoms)
    found.model = FEATURE_MODELS["beta-features"]
    return found


def test_they_are_told_from_components(features, model):
    assert has_features(features)
    assert not has_features(model)


def test_what_an_atom_takes_away_does_not_count(features):
    expected = [[0.75, 0.25, 0, 0], [0, 0.5, 0.5, 0], [0.25, 0, 0, 0.75]]
    np.testing.assert_allclose(probabilities(features), expected)
    for by in ("lift", "frex", "divergence"):
        assert np.isfinite(column_scores(features, by)).all()


def test_features_of_zeros_and_ones_are_told_by_chances(features):
    """The same logit adds much where the background is undecided, and next to nothing where it is sure."""
    features.likelihood, features.background_ = "bernoulli", np.array([-12.0, 0.0, 1.0, 6.0])
    chance = 1 / (1 + np.exp(-features.background_))
    with_feature = 1 / (1 + np.exp(-(features.background_ + features.components_)))
    np.testing.assert_allclose(added(features), with_feature - chance)
    np.testing.assert_allclose(component_pictures(features, (2, 2)).reshape(3, 4), with_feature - chance)
    assert top_columns(features, 0, 1) == ["bird"]  # a logit of 3 at column 0 takes a chance of 6e-6 to 1e-4
    np.testing.assert_array_equal(np.argmax(probabilities(features), axis=1), [1, 1, 3])
    table = tables.component_columns(features, 1)
    np.testing.assert_allclose(table["mean"], added(features)[[0, 1, 2], [1, 1, 3]])


def test_a_binary_feature_adds_what_the_model_expects():
    """Of a fitted model: what a row that shows one feature alone is expected to show, less what one without shows."""
    y = simulate_features(likelihood="bernoulli", n_rows=40, n_columns=6, n_components=2, seed=0).y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = IBP(3, likelihood="bernoulli", n_starts=1, n_sweeps=6, n_samples=2, random_state=0).fit(y)
    alone, none = model.inverse_transform(np.eye(3)), model.inverse_transform(np.zeros((3, 3)))
    np.testing.assert_allclose(added(model), alone - none)


def test_an_atom_that_only_takes_away():
    gloomy = handmade(np.zeros((1, 0)), [0.5], components_=np.array([[-1.0, -2.0]]))
    np.testing.assert_array_equal(probabilities(gloomy), [[0.0, 0.0]])


def test_shares_of_rows_need_not_sum_to_one(features):
    """Nine tenths of 1.9 are 1.71: two features hold 1.5 of it, so all three are looked at."""
    np.testing.assert_array_equal(heavily_used(features), [0, 1, 2])
    pairs = tables.correlated_pairs(features)
    assert list(pairs["sign"]) == ["positive", "negative", "negative"]


def test_the_page_tells_what_shares_are_of(features, model):
    assert document(features)["shareOf"] == "rows"
    assert document(model)["shareOf"] == "counts"
    held = [entry[2] for component in document(features)["components"] for entry in component["columns"]]
    assert all(0 < share <= 1 for share in held)


def test_their_tables(features):
    assert "weight_correlation" not in tables.correlations(features)
    assert list(tables.components(features)["share"]) == [0.9, 0.6, 0.4]
    columns = tables.component_columns(features, 2)
    assert columns["mean"].iloc[0] == 3.0


def test_early_files_have_no_weights_of_rows(features, tmp_path):
    with pytest.raises(ValueError, match=r"X must be given.*saved by an earlier version"):
        export.write_csv(features, tmp_path / "tables")


@pytest.fixture
def with_rows(features):
    """Row 0 shows features 0 and 1, row 1 all three, row 2 the last alone, row 3 none for sure."""
    features._row_weights = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.2, 0.0, 0.0]])
    features.row_names_ = np.array(["two", "all", "one", "none"], dtype=object)
    features.likelihood, features.background_ = "bernoulli", np.zeros(4)
    return features


def test_rows_stand_for_features_that_they_show_and_few_others(with_rows):
    found = tables.representative_rows(with_rows, n=2)
    assert found[found["component"] == 2]["row"].tolist() == ["one", "all"]
    assert found[found["component"] == 0]["row"].tolist() == ["two", "all"]
    assert found["share"].tolist() == found["weight"].tolist()


def test_prevalence_counts_the_rows_that_show_a_feature(with_rows):
    found = tables.prevalence(with_rows).set_index("component")
    assert found["rows"].tolist() == [0.5, 0.5, 0.5]
    np.testing.assert_allclose(found["mean_share"], [0.55, 0.5, 0.5])
    assert tables.prevalence(with_rows, present=0.1).set_index("component")["rows"][0] == 0.75


def test_a_row_by_its_features(with_rows):
    found = tables.row_profile(with_rows, "one")
    assert (found["component"][0], found["share"][0], found["weight"][0]) == (2, 1.0, 1.0)
    assert "std" not in found
    assert tables.similar_rows(with_rows, "all", n=1)["row"].tolist() == ["two"]
    assert tables.similar_rows(with_rows, "two", n=1)["similarity"][0] == pytest.approx(np.sqrt(2 / 3))


def test_the_page_has_rows_that_show_a_feature(with_rows):
    page = document(with_rows)
    assert page["nRows"] == 4
    last = next(component for component in page["components"] if component["number"] == 2)
    assert last["rows"][0][1:] == ["one", 1.0]
    assert RowLookup(with_rows).profile(2)["components"] == [{"component": 2, "weight": 1.0, "share": 1.0}]


@pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_rows_of_a_fit_and_rows_that_are_given(likelihood):
    """Kept weights are P(z = 1) of the rows, as `transform` has it up to what sampling leaves; real rows, too."""
    y = simulate_features(likelihood=likelihood, n_rows=80, n_columns=8, n_components=3, noise=0.05, seed=1).y
    model = IBP(5, likelihood=likelihood, n_starts=1, n_sweeps=80, n_samples=10, random_state=0).fit(y)
    kept, given = model._row_weights, model.transform(y)
    assert kept.shape == given.shape
    assert np.abs(kept - given).mean() < 0.05
    np.testing.assert_allclose(tables.row_profile(model, 3, y)["share"].max(), given[3].max())
    found = tables.representative_rows(model, y, n=2)
    assert found["weight"].between(0, 1).all()
    if likelihood == "gaussian":
        with pytest.raises(ValueError, match="not of real numbers; predict_mean has"):
            tables.next_columns(model, 3, y)
        return
    following = tables.next_columns(model, 3, y, n=8)
    absent = np.flatnonzero(y[3] == 0)
    assert sorted(following["column"].astype(int)) == absent.tolist()
    np.testing.assert_allclose(following["expected"], np.sort(model.predict_mean(y[[3]])[0, absent])[::-1])
    assert len(tables.next_columns(model, 3, n=4)) == 4  # of what the row showed nothing is kept


def test_masked_rows_keep_what_the_fit_knew_of_them():
    """A feature whose columns are hidden in a row is known by its prior alone."""
    rng = np.random.default_rng(0)
    z = rng.random((200, 2)) < 0.5
    y = np.repeat(z, 4, axis=1) * 2.0 + 0.1 * rng.normal(size=(200, 8))
    hidden = np.zeros(y.shape, bool)
    hidden[:20, :4] = True
    model = IBP(4, n_starts=2, n_sweeps=100, random_state=0).fit(y, mask=hidden)
    assert model.n_components_used_ == 2
    unsure = np.minimum(model._row_weights, 1 - model._row_weights)[:, :2].max(axis=1)
    assert np.median(unsure[:20]) > 0.2
    assert unsure[20:].max() < 0.05


@pytest.fixture(scope="module")
def arviz():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ArviZ announces its own next version when it is imported
        return pytest.importorskip("arviz", reason="an optional package: pip install 'cormorant[arviz]'")


@pytest.mark.usefixtures("arviz")
@pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_samples_in_arviz_are_those_of_the_fit(likelihood, tmp_path):
    y = simulate_features(likelihood=likelihood, n_rows=60, n_columns=8, n_components=3, noise=0.05, seed=1).y
    short = {"n_starts": 1, "n_sweeps": 24, "n_samples": 4, "n_chains": 2, "random_state": 0}
    model = BetaBernoulliFeatures(5, 2, likelihood=likelihood, **short).fit(y)
    hidden = np.where(np.arange(60)[:, None] < 1, np.nan, y)
    data = export.to_arviz(model, hidden[:20], n_columns=8)
    sizes = {"chain": 2, "draw": 4, "component": 5, "column": 8, "other": 5, "row": 20}
    assert dict(data.posterior.sizes) == sizes
    chains = model.samples_
    np.testing.assert_array_equal(data.posterior["a"], [[g.atoms[:, 1:].T for g in chain] for chain in chains])
    np.testing.assert_array_equal(data.posterior["background"], [[g.atoms[:, 0] for g in c] for c in chains])
    np.testing.assert_array_equal(data.posterior["mass"], [[g.mass for g in chain] for chain in chains])
    np.testing.assert_array_equal(data.posterior["sigma_l2"], [[g.sigma_l2 for g in chain] for chain in chains])
    assert ("noise" in data.posterior) == (likelihood == "gaussian")
    first = data.posterior["z"].to_numpy()[0]
    assert set(np.unique(first)) <= {0, 1}
    assert np.abs(first.mean(axis=0) - model.transform(hidden[:20])).mean() < 0.15
    shown = data.observed_data["y"].to_numpy()
    assert np.isnan(shown[0]).all()
    np.testing.assert_array_equal(shown[1:], y[1:20])
    assert export.write_arviz(model, tmp_path / "draws.nc").is_file()


@pytest.mark.usefixtures("arviz")
@pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")
def test_structured_features_in_arviz_are_draws_of_q():
    """Means over 400 draws are those of q, within five standard errors; the rest is constant."""
    y = simulate_features(n_rows=60, n_columns=8, n_components=3, noise=0.05, seed=1).y
    model = IBP(5, inference="structured", n_starts=1, max_epochs=20, random_state=0).fit(y)
    data = export.to_arviz(model, y[:10], n_draws=400, n_columns=8)
    a = data.posterior["a"].to_numpy()[0]
    error = 5 * a.std(axis=0) / np.sqrt(400)
    assert (np.abs(a.mean(axis=0) - model.components_) < error + 1e-12).all()
    p = model.transform(y[:10])
    spread = 5 * np.sqrt(p * (1 - p) / 400) + 1e-6
    assert (np.abs(data.posterior["z"].to_numpy()[0].mean(axis=0) - p) < spread + 5 / 400).all()
    np.testing.assert_array_equal(data.constant_data["w"], model.weights_)
    assert data.constant_data["noise"] == model.noise_
    assert "correlation" not in data.constant_data
    assert "z" not in export.to_arviz(model, n_draws=2).posterior
    with pytest.raises(ValueError, match=r"X must have fewer rows .* draws of rows would be"):
        export.to_arviz(model, y, n_draws=1_000_000)


def test_independent_features(features):
    features.locations_ = np.zeros((3, 0))
    with pytest.raises(ValueError, match="Fit beta-features or gamma-features"):
        tables.correlated_pairs(features)
