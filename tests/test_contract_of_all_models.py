"""The contract of every model of the registry, under every inference, likelihood and option that it takes.

Whoever has a batch size is fitted with all rows a step and with some. What is not taken is tested too.
"""

import copy
import pickle
from itertools import groupby

import numpy as np
import pytest
from contract_cases import (
    ALL_CASES,
    CASES,
    COLUMNS,
    COMPONENTS,
    COVARIATES,
    FAMILIES,
    NOT_TAKEN,
    ROWS,
    SHOWN,
    SIZES,
    Case,
    assert_finite_and_shaped,
    assert_same_numbers,
    assert_same_predictions,
    column_shares,
    draw,
    drawn,
    fit,
    fitted,
    known,
    predicted,
    predictions,
    told_of_rows,
    why_refused,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from cormorant.backends.compiled import Threads
from cormorant.datasets.prior import NAMES, options_of
from cormorant.estimators import load, registry
from cormorant.models.cnpf import WITH_RATE

pytestmark = pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")


def test_every_model_has_cases():
    """A family that is not in FAMILIES, or a model that is refused everything, would be covered by nothing."""
    assert list(FAMILIES) == list(registry.FAMILIES)
    assert {case.name for case in CASES} == set(registry.ALL)


def test_every_model_is_drawn_under_every_option_that_it_has():
    """What decides the data is known to the simulators under the same names (a Student-t field by its `df`)."""
    assert list(NAMES) == list(registry.ALL)
    of_data = {option for name in NAMES for option in options_of(name)} - {"n_covariates", "row_total"}
    for name, cls in registry.ALL.items():
        assert of_data & set(cls().get_params()) == of_data & set(options_of(name)), name
        assert ("n_covariates" in options_of(name)) == cls.model.takes_covariates, name


@pytest.fixture(scope="module", params=ALL_CASES, ids=str)  # so that all tests of a case come together
def case(request) -> Case:
    return request.param


@pytest.mark.parametrize("case", {(case.name, case.drawn_with): case for case in ALL_CASES}.values(), ids=str)
def test_data_of_the_right_kind_are_drawn(case):
    likelihood = case.settings.get("likelihood", "poisson")
    draws = [draw(case.name, case.drawn_with, seed) for seed in (0, 0, 1)]
    one, again, other = (y if case.family == "features" else y.tocsr().toarray() for y, _ in draws)
    assert one.shape == (ROWS, COLUMNS)
    assert set(np.unique(one)) == {0.0, 1.0} if likelihood == "bernoulli" else len(np.unique(one)) > 2
    assert bool(np.all(one % 1.0 == 0.0) and np.all(one >= 0.0)) == (likelihood != "gaussian")
    np.testing.assert_array_equal(again, one)
    assert not np.array_equal(other, one)
    covariates = draws[0][1]
    has_covariates = case.has_covariates or case.cls.model.needs_covariates
    assert (None if covariates is None else covariates.shape) == ((ROWS, COVARIATES) if has_covariates else None)


@pytest.mark.parametrize("case", NOT_TAKEN, ids=str)
def test_what_is_not_taken_is_refused(case):
    with pytest.raises(ValueError, match=why_refused(case)):
        fit(case)


def test_attributes_are_finite_and_have_their_shapes(case):
    model = fitted(case)
    assert_finite_and_shaped(case, model)
    assert np.all(np.diff(model.usage_) <= 0)
    assert (len(model.history_), model.interrupted_) == (model.n_epochs_, False)
    assert model.stop_reason_
    sizes = [SIZES["n_samples"]] * SIZES["n_chains"] if case.samples else []
    assert [len(chain) for chain in model.samples_] == sizes
    assert bool(model.traces_) == bool(model.diagnostics_) == case.samples


def test_attributes_agree_with_each_other(case):
    model = fitted(case)
    if case.family == "features":
        assert np.all((model.usage_ >= 0) & (model.usage_ <= 1))
        assert np.all((model.weights_ > 0) & (model.weights_ < (1 if model.model.process == "beta" else np.inf)))
        return
    assert model.usage_.sum() == pytest.approx(1.0)
    if case.family == "counts":
        np.testing.assert_allclose(model.components_, model.components_shape_ / model.components_rate_[:, None])
        left = np.concatenate([[1.0], np.cumprod(1.0 - model.sticks_[:-1])])
        np.testing.assert_allclose(model.weights_, model.total_ * model.sticks_ * left)
        assert model.sticks_[-1] == 1.0
        own = model.get_params()
        if not case.samples:
            covariance = model.loadings_ @ model.loadings_.T
            spread = np.sqrt(np.diag(covariance))
            np.testing.assert_allclose(model.correlation_ * np.outer(spread, spread), covariance, atol=1e-12)
        process = own.get("top", own.get("tuples", model.model.top))
        assert np.isclose(model.total_, 1.0) == (process == "dirichlet")
        assert (model.beta_ == 1.0) == (process in WITH_RATE)  # whose total scales the weights
        assert process != "beta" or np.all((model.weights_ > 0) & (model.weights_ < 1))
    if case.family == "thinned" or model.model.normalised:
        np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)


def test_predictions_are_what_they_say(case):
    found = predicted(case)
    for name, value in found.items():
        assert np.isfinite(value).all(), name
    weights = found["transform"]
    assert weights.shape == (SHOWN, COMPONENTS)
    assert np.all(weights >= 0)
    assert fitted(case).inverse_transform(weights).shape == (SHOWN, COLUMNS)
    if case.family == "features":
        assert np.all(weights <= 1)
        assert found["predict_mean"].shape == (SHOWN, COLUMNS)
        np.testing.assert_array_equal(found["impute"], drawn(case)[0][:SHOWN])  # nothing is missing
    else:
        assert found["column_probabilities"].shape == (SHOWN, COLUMNS)
        np.testing.assert_allclose(found["column_probabilities"].sum(axis=1), 1.0)
        assert told_of_rows(case, found["column_probabilities"]) > told_of_rows(case, column_shares(case))
        if case.cls.model.normalised:
            np.testing.assert_allclose(weights.sum(axis=1), 1.0)


def test_the_bound_never_falls(case):
    """In any stage of a fit that has one; samplers of features begin with such a fit, and end without.

    Steps that see some of the rows shrink and may fall, but not for long; sweeps of a chain see all rows.
    """
    model = fitted(case)
    stages = [
        [info["bound"] for info in stage if info["bound"] is not None]
        for _, stage in groupby(model.history_, key=lambda info: info["stage"])
    ]
    if (case.has_bound and not case.is_stochastic) or case.family == "features":
        assert max(map(len, stages)) >= 5
        for bounds in stages:
            assert np.diff(bounds).min(initial=0.0) >= -1e-9 * np.abs(bounds).max(initial=0.0)  # rounding
    if case.has_bound:
        assert stages[-1][-1] > stages[-1][0]
    rho = [info["rho"] for info in model.history_ if not info["stage"].startswith("chain")]
    assert np.all(np.array(rho) < 1.0) if case.is_stochastic else set(rho) == {1.0}
    assert getattr(model, "bound_", None) == (stages[-1][-1] if case.has_bound else None)


def test_a_saved_model_is_the_same_model(case, tmp_path):
    model = fitted(case)
    again = load(model.save(tmp_path / "model"))
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert_same_numbers(model, again)
    assert_same_predictions(case, again)
    assert_same_numbers(model, pickle.loads(pickle.dumps(model)))
    for name in ("history_", "traces_", "diagnostics_", "stop_reason_", *FAMILIES[case.family].told):
        np.testing.assert_equal(getattr(again, name), getattr(model, name), name)  # NaN is NaN


def test_parameters_make_the_same_model_again(case):
    given = fitted(case).get_params()
    assert given | dict(case.settings) == given
    assert case.cls(**given).get_params() == given
    unfitted = clone(fitted(case))
    assert unfitted.get_params() == given
    with pytest.raises(NotFittedError):
        unfitted.transform(drawn(case)[0], **known(case))


@pytest.mark.parametrize("case", {case.name: case for case in CASES}.values(), ids=str)
def test_set_output_names_the_components(case):
    """Of `transform` by itself, too, which scikit-learn sees to only where the class that has it is its transformer."""
    model = copy.copy(fitted(case)).set_output(transform="pandas")
    found = model.transform(drawn(case)[0][:SHOWN], **{name: value[:SHOWN] for name, value in known(case).items()})
    assert list(found.columns) == [f"{case.cls.__name__.lower()}{k}" for k in range(COMPONENTS)]
    np.testing.assert_array_equal(found, predicted(case)["transform"])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_seed_decides_whatever_the_threads(case):
    again = fit(case, n_jobs=2)
    assert_same_numbers(fitted(case), again)
    assert_same_predictions(case, again)
    assert not np.array_equal(fit(case, random_state=1).components_, fitted(case).components_)


@pytest.mark.parametrize("case", {(case.family, case.samples): case for case in CASES}.values(), ids=str)
def test_what_predictions_prepare_for_one_another_is_not_pickled(case):
    before = pickle.dumps(fit(case))
    model = pickle.loads(before)
    assert_same_predictions(case, model)
    assert len(pickle.dumps(model)) == len(pickle.dumps(pickle.loads(before)))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_predictions_take_the_threads_that_are_asked_for_now(case, monkeypatch):
    """As scikit-learn's users expect of `set_params`: whoever loads a model has other cores than who fitted it."""
    model, before = copy.copy(fitted(case)).set_params(n_jobs=3), predicted(case)
    used, pool = set(), Threads._pool.fget

    def note(threads):
        used.add(threads.count)
        return pool(threads)

    monkeypatch.setattr(Threads, "_pool", property(note))
    for name, value in predictions(case, model).items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)
    assert used == {3}
    with pytest.raises(ValueError, match="n_jobs must be a non-zero whole number"):
        predictions(case, model.set_params(n_jobs=0))
