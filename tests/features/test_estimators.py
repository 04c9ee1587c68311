"""Latent features as estimators: the scikit-learn contract, planted structure, missing entries, files, errors."""

import json
import warnings
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from cormorant.data import Matrix, as_counts, as_matrix
from cormorant.datasets.features import bars, simulate_features
from cormorant.estimators import (
    FEATURE_ESTIMATORS,
    IBP,
    BetaBernoulliFeatures,
    GammaBernoulliFeatures,
    ModelFileError,
    TruncationWarning,
    load,
)
from cormorant.models.features import LIKELIHOODS, log_density


def small(name="beta-features", **parameters):
    defaults = {"n_components": 6, "n_starts": 1, "max_epochs": 10, "random_state": 0}
    if parameters.get("inference") != "structured":
        defaults |= {"n_sweeps": 16, "n_samples": 3}
    if name != "ibp":
        defaults["n_dims"] = 2
    return FEATURE_ESTIMATORS[name](**{**defaults, **parameters})


def quietly(fit, *arguments, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        return fit(*arguments, **parameters)


@pytest.fixture(scope="module")
def data():
    return {name: simulate_features(likelihood=name, n_rows=60, n_columns=8, seed=1).y for name in LIKELIHOODS}


@pytest.mark.parametrize(
    "name", [name if name == "ibp" else pytest.param(name, marks=pytest.mark.slow) for name in FEATURE_ESTIMATORS]
)
def test_check_estimator(name):
    """Real numbers only: the checks feed normal draws, which counts and binary data refuse, as they should."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small data leave no feature unused
        check_estimator(small(name, n_components=2, n_sweeps=4, n_samples=2), on_skip=None)


def test_clone_pipeline_and_set_output(data):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(data["gaussian"], columns=[f"c{i}" for i in range(8)])
    model = clone(small()).set_output(transform="pandas")
    out = quietly(model.fit_transform, frame)
    assert list(out.columns) == [f"betabernoullifeatures{k}" for k in range(6)]
    assert list(model.column_names_) == list(frame.columns)
    assert quietly(make_pipeline(StandardScaler(), small()).fit_transform, frame).shape == (60, 6)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[frame.columns[::-1]])


@pytest.mark.parametrize("names", [list("abcdefgh"), range(8), range(10, 90, 10)], ids=["text", "default", "numbers"])
@pytest.mark.parametrize("as_fitted", ["frame", "matrix"])
def test_columns_in_another_order_are_refused(names, as_fitted, data):
    """By name, whatever the names are and whichever of the two kinds of named matrices was fitted."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(data["gaussian"], columns=names)
    columns = np.array([str(name) for name in names], dtype=object)
    fitted = frame if as_fitted == "frame" else Matrix(data["gaussian"], None, columns)
    model = quietly(small(n_sweeps=4, n_samples=1).fit, fitted)
    turned = frame[frame.columns[::-1]]
    for other in (turned, as_matrix(turned)):
        with pytest.raises(ValueError, match=r"the columns in another order|Feature names must be in the same order"):
            model.transform(other)
    again = as_matrix(turned).columns(model.column_names_)
    np.testing.assert_array_equal(model.transform(again), model.transform(frame))


def test_dense_and_sparse_give_the_same_fit(data):
    dense = quietly(small(likelihood="poisson").fit, data["poisson"])
    other = quietly(small(likelihood="poisson").fit, sparse.csr_matrix(data["poisson"]))
    np.testing.assert_array_equal(dense.components_, other.components_)


def test_parameters_of_the_restriction_are_only_those_it_uses():
    assert {"n_dims", "sigma_l2"} <= set(BetaBernoulliFeatures().get_params())
    assert not {"n_dims", "sigma_l2"} & set(IBP().get_params())


# Planted structure


def matched_accuracy(z, probability):
    """Share of entries of z that agree with the rounded probabilities of the features matched to them."""
    agree = np.array([[(a == (b > 0.5)).mean() for b in probability.T] for a in z.T])
    rows, columns = linear_sum_assignment(-agree)
    return agree[rows, columns].mean(), columns


def found_bars(likelihood, seed):
    """Accuracy of the features matched to the bars, and how alike the worst matched atom is to its bar."""
    truth = bars(300, 4, likelihood=likelihood, seed=seed)
    model = quietly(BetaBernoulliFeatures(14, 2, likelihood=likelihood, random_state=seed).fit, truth.y)
    accuracy, columns = matched_accuracy(truth.z, model.transform(truth.y))
    return accuracy, np.diag(np.corrcoef(truth.atoms, model.components_[columns])[:8, 8:]).min()


def test_bars_are_found():
    """The classic images: every bar a feature. Who knows the bars and the noise has an accuracy of .965 to .98."""
    accuracy, alike = found_bars("gaussian", 0)
    assert accuracy > 0.95
    assert alike > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_bars_are_found_again_and_again(likelihood):
    """The mean over five draws of images, so that no lucky one decides. Binary images allow .972 at best."""
    assert np.mean([found_bars(likelihood, seed)[0] for seed in range(5)]) > 0.95


@pytest.mark.parametrize("cls", [BetaBernoulliFeatures, GammaBernoulliFeatures])
def test_planted_correlations_have_their_signs(cls):
    """Features 0, 1 go together, 2, 3 too, and the two pairs avoid each other."""
    side = np.array([1.0, 1.0, -1.0, -1.0])[:, None]
    truth = simulate_features(n_rows=500, n_columns=20, n_components=4, locations=3.0 * side, noise=0.1, seed=3)
    model = quietly(cls(6, 2, n_sweeps=120, n_starts=2, random_state=0).fit, truth.y)
    accuracy, columns = matched_accuracy(truth.z, model.transform(truth.y))
    assert accuracy > 0.95
    found = model.correlation_[np.ix_(columns, columns)]
    assert (np.sign(found) == np.sign(side @ side.T)).all()
    assert np.abs(found).min() > 0.5


def test_correlated_features_predict_better_where_features_are_correlated():
    """A feature is hidden with its columns in some rows; with correlations, the row's other features tell."""
    side = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])[:, None]
    truth = simulate_features(n_rows=400, n_columns=24, n_components=6, locations=1.5 * side, seed=4)
    atoms = np.where(np.arange(24) // 4 == np.arange(6)[:, None], truth.atoms, 0.0)  # features own four columns each
    y = truth.z @ atoms + 0.3 * np.random.default_rng(5).normal(size=truth.y.shape)
    hidden = np.zeros(y.shape, dtype=bool)
    hidden[:, :4] = np.random.default_rng(6).random((400, 1)) < 0.3
    errors = {}
    for name in ("beta-features", "ibp"):
        model = quietly(small(name, n_components=8, n_sweeps=100, n_starts=2, n_samples=20).fit, y, mask=hidden)
        errors[name] = ((model.predict_mean(y, mask=hidden) - y)[hidden] ** 2).mean()
    assert errors["beta-features"] < 0.9 * errors["ibp"]


# Missing entries


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_missing_is_missing_not_zero(likelihood, data):
    """What stands at a masked entry is never looked at, NaN and mask say the same, and shown entries stay."""
    y = data[likelihood]
    hidden = np.random.default_rng(7).random(y.shape) < 0.2
    with_nan, changed = np.where(hidden, np.nan, y), np.where(hidden, 1.0 - np.minimum(y, 1.0).round(), y)
    first = quietly(small(likelihood=likelihood).fit, with_nan)
    for X, mask in ((y, hidden), (np.abs(changed) if likelihood != "gaussian" else changed, hidden)):
        second = quietly(small(likelihood=likelihood).fit, X, mask=mask)
        np.testing.assert_array_equal(first.components_, second.components_)
    filled = first.impute(with_nan)
    np.testing.assert_array_equal(filled[~hidden], y[~hidden])
    assert np.isfinite(filled).all()


def test_imputed_entries_are_near_the_truth():
    """Within twice the error of whoever knows the bars and adds up all 2^8 sets of them, row by row."""
    truth = bars(300, 4, seed=8)
    hidden = np.random.default_rng(9).random(truth.y.shape) < 0.15
    every = np.array(list(product([0.0, 1.0], repeat=8)))
    signal = every @ truth.atoms
    fit = (log_density("gaussian", truth.y[:, None], signal, 0.25) * ~hidden[:, None]).sum(axis=2)
    best = softmax(fit + every @ truth.log_odds, axis=1) @ signal
    model = quietly(BetaBernoulliFeatures(14, 2, n_sweeps=200, random_state=0).fit, truth.y, mask=hidden)
    found = model.impute(truth.y, mask=hidden)
    error, least = (((mean - truth.mean)[hidden] ** 2).mean() for mean in (found, best))
    assert error < 2.0 * least


def test_a_row_without_entries_is_at_its_prior(data):
    model = quietly(small().fit, data["gaussian"])
    nothing = model.transform(np.full((1, 8), np.nan))
    assert np.abs(nothing[0] - model.usage_).max() < 0.5
    with pytest.raises(ValueError, match="every entry is missing"):
        small().fit(np.full((3, 8), np.nan))


# What is refused


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"likelihood": "binomial"}, "likelihood must be one of gaussian, poisson, bernoulli"),
        ({"inference": "nuts"}, "inference must be 'gibbs' or 'structured'"),
        ({"inference": "structured", "likelihood": "poisson"}, "Use inference='gibbs'"),
        (
            {"inference": "structured", "likelihood": "gaussian", "n_sweeps": 7},
            "n_sweeps=7 does nothing with inference=",
        ),
        (
            {"inference": "structured", "likelihood": "gaussian", "n_chains": 2},
            "n_chains=2 does nothing with inference=",
        ),
        ({"mass": -1.0}, "mass must be positive"),
        ({"sigma_l2": "wide"}, "sigma_l2 must be a number"),
        ({"atom_variance": 2.0, "likelihood": "poisson"}, "leave it at None"),
        ({"n_sweeps": 0}, "n_sweeps must be a whole number of at least 1"),
        ({"n_dims": 0}, "n_dims must be a whole number of at least 1"),
        ({"tol": -1.0}, "tol must be at least 0"),
        ({"callbacks": 3}, "callbacks must be functions"),
    ],
)
def test_bad_parameters(parameters, message, data):
    with pytest.raises(ValueError, match=message):
        small(**parameters).fit(data["poisson"])


@pytest.mark.parametrize(
    ("likelihood", "entry", "message"),
    [
        ("poisson", -1.0, "row 2, column 3 is -1"),
        ("poisson", 0.5, "use likelihood='gaussian'"),
        ("bernoulli", 2.0, "use likelihood='poisson'"),
        ("gaussian", np.inf, "infinity"),
    ],
)
def test_bad_entries(likelihood, entry, message, data):
    y = data["bernoulli"].copy()
    y[2, 3] = entry
    with pytest.raises(ValueError, match=message):
        small(likelihood=likelihood).fit(y)


def test_masked_arrays_and_counts(data):
    """What a masked array hides is missing; counts with names must have the columns of the fit."""
    y = data["poisson"]
    hidden = np.random.default_rng(7).random(y.shape) < 0.2
    first = quietly(small(likelihood="poisson").fit, np.ma.MaskedArray(y, hidden))
    second = quietly(small(likelihood="poisson").fit, y, mask=sparse.csr_matrix(hidden))
    np.testing.assert_array_equal(first.components_, second.components_)
    counts = as_counts(y, column_names=[f"c{i}" for i in range(8)])
    named = quietly(small(likelihood="poisson").fit, counts)
    with pytest.raises(ValueError, match="the columns in another order"):
        named.transform(counts.columns([f"c{i}" for i in reversed(range(8))]))


def test_names_of_rows_are_kept(data, tmp_path):
    counts = as_counts(data["poisson"], row_names=[f"r{u}" for u in range(60)])
    model = quietly(small(likelihood="poisson").fit, counts)
    assert load(model.save(tmp_path / "model")).row_names_.tolist() == list(counts.row_names)
    assert quietly(small().fit, data["gaussian"]).row_names_ is None


def test_bad_masks_and_shapes(data):
    y = data["gaussian"]
    with pytest.raises(ValueError, match="row 0, column 0 is NaN"):
        small().fit(y, mask=np.full(y.shape, np.nan))
    with pytest.raises(ValueError, match=r"mask must be truth values .* got shape \(60, 7\)"):
        small().fit(y, mask=np.zeros((60, 7)))
    with pytest.raises(ValueError, match="mask must be truth values"):
        small().fit(y, mask=np.full(y.shape, "x"))
    with pytest.raises(NotFittedError):
        small().transform(y)
    model = quietly(small().fit, y)
    with pytest.raises(ValueError, match="rows x 6 features"):
        model.inverse_transform(np.zeros((2, 5)))
    with pytest.raises(ValueError, match="nothing to predict"):
        model.log_likelihood(y, np.zeros(y.shape))


def test_a_truncation_that_is_too_low_warns(data):
    with pytest.warns(TruncationWarning, match="all 2 features are in use"):
        small(n_components=2).fit(data["gaussian"])


def test_a_damaged_file_is_refused(data, tmp_path):
    folder = quietly(small().fit, data["gaussian"]).save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="holds a BetaBernoulliFeatures, not a IBP"):
        IBP.load(folder)
    document = json.loads((folder / "model.json").read_text())
    del document["priors"], document["sha256"]
    (folder / "model.json").write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match="not a complete model"):
        load(folder)


def test_an_interrupt_leaves_a_model(data):
    def stop(info, state):
        if info.stage.startswith("chain") and info.epoch == 12:
            raise KeyboardInterrupt

    model = quietly(small(callbacks=[stop]).fit, data["gaussian"])
    assert model.interrupted_
    assert np.isfinite(model.score(data["gaussian"]))


@pytest.mark.parametrize("simulate", [simulate_features, bars])
def test_simulators_refuse_what_they_cannot_draw(simulate):
    with pytest.raises(ValueError, match="likelihood must be one of"):
        simulate(likelihood="binomial")
    with pytest.raises(ValueError, match="n_rows must be a whole number"):
        simulate(n_rows=0)


def test_simulated_features_follow_the_story():
    """Shares of features and means of entries, within four standard errors."""
    truth = simulate_features("ibp", "poisson", n_rows=4_000, n_columns=5, n_components=3, probability=0.2, seed=10)
    assert np.abs(truth.z.mean(axis=0) - 0.2).max() < 4 * np.sqrt(0.16 / 4_000)
    error = np.sqrt(truth.mean.mean() / truth.y.size)
    assert abs((truth.y - truth.mean).mean()) < 4 * error
    assert truth.locations.shape == (3, 0)
    assert np.isfinite(truth.correlation).all()


@pytest.mark.parametrize(
    "X",
    [
        np.array([["1", "2"], ["3", "four"]]),
        [[1.0, 2.0], [3.0, "four"]],
        np.array([[1, 2], [3, "four"]], dtype=object),
        np.ma.masked_array([["1", "2"], ["3", "four"]]),
    ],
)
def test_text_is_told_with_its_place(X):
    with pytest.raises(ValueError, match=r"X must have real numbers .*row 1, column 1 is 'four'\. Code text"):
        small().fit(X)
    with pytest.raises(ValueError, match=r"X must have real numbers .*got text in str"):
        small().fit("four")


@pytest.mark.parametrize("name", FEATURE_ESTIMATORS)
def test_what_only_models_of_counts_take_is_refused_with_what_to_do(name):
    y = np.random.default_rng(0).normal(size=(12, 4))
    cls = FEATURE_ESTIMATORS[name].__name__
    with pytest.raises(TypeError, match=rf"{cls}\.fit\(\) has no argument 'covariates': .*; fit CNPF, SoftplusCNPF"):
        small(name).fit(y, covariates=y[:, :1])
    with pytest.raises(TypeError, match=rf"{cls}\.fit\(\) has no argument 'exposure': .*; leave it out"):
        small(name).fit_transform(y, exposure=y[:, 0])
    with pytest.raises(TypeError, match=rf"has no argument 'mass'; it is a parameter of the model: {cls}\(mass=2.0\)"):
        small(name).fit(y, mass=2.0)
    with pytest.raises(TypeError, match=rf"{cls}\.transform\(\) has no argument 'return_std': z is 0 or 1"):
        small(name).transform(y, return_std=True)
    with pytest.raises(TypeError, match=r"transform\(\) has no argument 'masks'\.$"):
        small(name).transform(y, masks=None)
