"""The contract of every model of the registry, under every inference and every likelihood that it takes.

Models, schemes, likelihoods and options are those that the library lists, so that one that is added is tested here
without being asked for; a new family fails `test_every_model_has_cases` until it has an entry in FAMILIES. Data are
drawn from the prior of the model under the options of the case. Whoever has a batch size is fitted with all rows a step
and with some; whoever has `partial_fit` is shown rows in parts. What is not taken stands in REFUSED, and is tested too.
"""

import copy
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby, product
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from cormorant.datasets import simulate_prior
from cormorant.datasets.prior import NAMES, options_of
from cormorant.estimators import feature_parameters, load, registry
from cormorant.estimators.parameters import ALLOCATIONS, DEFAULTS, FIELDS
from cormorant.models.cnpf import PROCESSES, WITH_RATE
from cormorant.models.features import LIKELIHOODS
from cormorant.models.kernels import KERNELS

pytestmark = pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")

# More rows than the 128 that a product takes at a time, so that two threads have something to share.
ROWS, COLUMNS, COMPONENTS, DIMS, COVARIATES = 140, 12, 4, 2, 2
SIZES = {
    "n_components": COMPONENTS, "n_dims": DIMS, "max_epochs": 10, "n_starts": 1, "n_chains": 2, "n_samples": 2,
    "random_state": 0,
}  # fmt: skip
OF_CHAINS = ("n_chains", "n_sweeps", "n_samples")  # refused by feature models that have none
SHOWN = 12  # rows that predictions are made for
BATCH = 50  # rows that a step of stochastic inference visits
PARTS = 3  # calls of `partial_fit`, each with a part of the rows


@dataclass(frozen=True, eq=False)  # each is one of the lists below, and is told from the others by being another
class Case:
    """A model, and what it is told beside its sizes."""

    name: str
    settings: Mapping[str, Any]
    has_covariates: bool = False

    @property
    def cls(self) -> Any:
        return registry.ALL[self.name]

    @property
    def family(self) -> str:
        return registry.family_of(self.name)

    @property
    def n_dims(self) -> int:
        """Columns of `locations_`."""
        if self.cls.model.needs_covariates:
            return COVARIATES
        if not self.cls.model.has_locations:
            return 0
        return 1 if self.settings.get("kernel") == "brownian" else DIMS

    @property
    def samples(self) -> bool:
        return self.settings.get("inference", "gibbs") == "gibbs"

    @property
    def is_stochastic(self) -> bool:
        return "batch_size" in self.settings

    @property
    def makes_steps(self) -> bool:
        """Whether rows may come in parts."""
        return hasattr(self.cls, "partial_fit") and not self.samples and not self.is_stochastic

    @property
    def drawn_with(self) -> tuple[tuple[str, Any], ...]:
        """What its data are drawn with beside their size; cases that differ in inference alone share it."""
        options = {name: value for name, value in self.settings.items() if name in options_of(self.name)}
        if self.settings.get("field") == "student-t":
            options["df"] = self.cls().df
        if self.has_covariates or self.cls.model.needs_covariates:
            options["n_covariates"] = COVARIATES
        return tuple(options.items())

    @property
    def has_bound(self) -> bool:
        """Whether the scheme has one; the zero-order allocation of counts only has something like it."""
        if self.family == "counts" and self.settings["inference"] == "structured":
            return self.settings["allocation"] == "digamma"
        return not self.samples

    def unfitted(self, **others: Any) -> Any:
        own = self.cls().get_params()
        every = {**SIZES, "n_sweeps": FAMILIES[self.family].n_sweeps}
        refused = OF_CHAINS if self.family == "features" and not self.samples else ()
        sizes = {name: size for name, size in every.items() if name in own and name not in refused}
        return self.cls(**{**sizes, **self.settings, **others})

    def __str__(self) -> str:
        return "-".join(
            [self.name, *map(str, self.settings.values()), *(["covariates"] if self.has_covariates else [])]
        )


@dataclass(frozen=True)
class Family:
    """What the models of a family are told, and what they must be able to say."""

    ways: Callable[[], Iterator[dict[str, str]]]
    n_sweeps: int
    predictions: tuple[str, ...]
    shapes: dict[str, tuple[int, ...]]  # of attributes that the other families lack
    told: tuple[str, ...] = ()  # attributes that are no numbers, and that the other families lack


def ways_of_counts() -> Iterator[dict[str, str]]:
    for inference in DEFAULTS:
        for allocation in ALLOCATIONS if inference == "structured" else ():
            yield {"inference": inference, "allocation": allocation}
        if inference != "structured":  # nobody else shares counts out in two ways
            yield {"inference": inference}


def ways_of_features() -> Iterator[dict[str, str]]:
    for likelihood, inference in product(LIKELIHOODS, feature_parameters.INFERENCES):
        yield {"likelihood": likelihood, "inference": inference}


PREDICTIONS_OF_COUNTS = ("transform", "column_probabilities", "score")
FAMILIES = {
    "counts": Family(
        ways=ways_of_counts,
        n_sweeps=6,
        predictions=PREDICTIONS_OF_COUNTS,
        shapes={
            "components_shape_": (COMPONENTS, COLUMNS),
            "components_rate_": (COMPONENTS,),
            "sticks_": (COMPONENTS,),
        },
        told=("inference_", "hyperparameters_"),
    ),
    "thinned": Family(
        ways=lambda: iter([{}]),  # there is but its sampler
        n_sweeps=6,
        predictions=PREDICTIONS_OF_COUNTS,
        shapes={
            "intercepts_": (COMPONENTS,),
            "covariate_effects_": (COMPONENTS, COVARIATES),
            "covariate_effects_interval_": (2, COMPONENTS, COVARIATES),
        },
    ),
    "features": Family(
        ways=ways_of_features,
        n_sweeps=14,  # in the first ten z stays where it starts
        predictions=("transform", "predict_mean", "impute", "score"),
        shapes={"background_": (COLUMNS,)},
    ),
}

# What is refused: models, settings, what is said. Everything else must fit.
REFUSED = (
    (("diln", "hdp"), {"inference": "mean-field"}, "is the paper's algorithm for Poisson factorisation"),
    (
        tuple(registry.FAMILIES["features"]),
        {"likelihood": "poisson", "inference": "structured"},
        "likelihood='poisson' is sampled",
    ),
)


def why_refused(case: Case) -> str | None:
    return next(
        (why for names, told, why in REFUSED if case.name in names and told.items() <= case.settings.items()), None
    )


def every_way() -> Iterator[Case]:
    """Model x inference x likelihood, with all rows a step and with some; a family that has no entry has no cases."""
    for name, cls in registry.ALL.items():
        family = FAMILIES.get(registry.family_of(name))
        for way in family.ways() if family else ():
            yield Case(name, way)
            if "batch_size" in cls().get_params():
                yield Case(name, {**way, "batch_size": BATCH})


OPTIONS = {"kernel": KERNELS, "field": FIELDS, "tuples": PROCESSES, "top": PROCESSES}
# Inference under each of them: a sampler, and a scheme whose bound can be watched.
SCHEMES = ({"inference": "gibbs"}, {"inference": "structured", "allocation": "digamma"})


def every_option() -> Iterator[Case]:
    """Every value but the default of every option, of the first model that has it; covariates of all that take them."""
    counts = registry.FAMILIES["counts"]
    for option, values in OPTIONS.items():
        name, default = next((name, own[option]) for name in counts if option in (own := counts[name]().get_params()))
        for value, scheme in product(values, SCHEMES):
            if value != default:
                few = {"n_frequencies": 3} if value in ("rbf", "matern") else {}
                yield Case(name, {**scheme, option: value, **few})
    for name, scheme in product(counts, SCHEMES):
        if counts[name].model.takes_covariates:
            yield Case(name, scheme, has_covariates=True)


WAYS = list(every_way())
CASES = [case for case in WAYS if why_refused(case) is None]
NOT_TAKEN = [case for case in WAYS if why_refused(case) is not None]
ALL_CASES = [*CASES, *every_option()]
STEPPING = [case for case in ALL_CASES if case.makes_steps]


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


def drawn(case: Case, seed: int = 0) -> tuple[Any, np.ndarray | None]:
    """Data and covariates, from the prior."""
    return _drawn(case.name, case.drawn_with, seed)


@cache
def _drawn(name: str, options: tuple[tuple[str, Any], ...], seed: int):
    truth: Any = simulate_prior(name, ROWS, COLUMNS, COMPONENTS, DIMS, **dict(options), seed=seed)
    return getattr(truth, "counts", None) or truth.y, getattr(truth, "covariates", None)


def known(case: Case) -> dict[str, np.ndarray]:
    """What `fit` and predictions are given beside the data."""
    covariates = drawn(case)[1]
    return {} if covariates is None else {"covariates": covariates}


def fit(case: Case, **others: Any) -> Any:
    return case.unfitted(**others).fit(drawn(case)[0], **known(case))


@cache
def fitted(case: Case) -> Any:
    return fit(case)


def predictions(case: Case, model: Any) -> dict[str, Any]:
    """What a model says of the first rows."""
    X, beside = drawn(case)[0][:SHOWN], {name: value[:SHOWN] for name, value in known(case).items()}
    return {name: getattr(model, name)(X, **beside) for name in FAMILIES[case.family].predictions}


def told_of_rows(case: Case, probabilities: np.ndarray) -> float:
    """Mean log probability of a count of the first rows, each row weighing the same."""
    y = drawn(case)[0].tocsr().toarray()[:SHOWN]
    each = (y * np.log(probabilities)).sum(axis=1)[y.any(axis=1)] / y.sum(axis=1)[y.any(axis=1)]
    return float(each.mean())


def column_shares(case: Case) -> np.ndarray:
    """What whoever knows no components would say of every row; columns that nobody shows have a little."""
    totals = drawn(case)[0].column_totals() + 1e-3
    return totals / totals.sum()


@cache
def predicted(case: Case) -> dict[str, Any]:
    return predictions(case, fitted(case))


def numbers_of(model: Any) -> dict[str, np.ndarray]:
    """Public attributes of a fit that are numbers or arrays of them."""
    public = {name: np.asarray(value) for name, value in vars(model).items() if name.endswith("_") and name[0] != "_"}
    return {name: value for name, value in public.items() if value.dtype.kind in "fiu"}


def assert_same_numbers(one: Any, other: Any) -> None:
    ours, theirs = numbers_of(one), numbers_of(other)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        np.testing.assert_array_equal(theirs[name], value, err_msg=name)


def assert_same_predictions(case: Case, model: Any) -> None:
    for name, value in predictions(case, model).items():
        np.testing.assert_array_equal(value, predicted(case)[name], err_msg=name)


@pytest.fixture(scope="module", params=ALL_CASES, ids=str)  # so that all tests of a case come together
def case(request) -> Case:
    return request.param


@pytest.mark.parametrize("case", {(case.name, case.drawn_with): case for case in ALL_CASES}.values(), ids=str)
def test_data_of_the_right_kind_are_drawn(case):
    likelihood = case.settings.get("likelihood", "poisson")
    draws = [_drawn.__wrapped__(case.name, case.drawn_with, seed) for seed in (0, 0, 1)]
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


def assert_finite_and_shaped(case: Case, model: Any) -> None:
    found = numbers_of(model)
    for name, value in found.items():
        assert np.isfinite(value).all(), name
    shapes = {
        "components_": (COMPONENTS, COLUMNS), "weights_": (COMPONENTS,), "usage_": (COMPONENTS,),
        "locations_": (COMPONENTS, case.n_dims), "correlation_": (COMPONENTS, COMPONENTS),
        **FAMILIES[case.family].shapes,
    }  # fmt: skip
    if case.samples and case.n_dims and case.family != "features":
        shapes["correlation_interval_"] = (2, COMPONENTS, COMPONENTS)
    if case.has_covariates:
        shapes["covariate_effects_"] = (COMPONENTS, COVARIATES)
        shapes["covariate_effects_interval_"] = (2, COMPONENTS, COVARIATES)
    assert {name: found[name].shape for name in shapes} == shapes
    assert np.allclose(np.diag(model.correlation_), 1.0)


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


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_seed_decides_whatever_the_threads(case):
    again = fit(case, n_jobs=2)
    assert_same_numbers(fitted(case), again)
    assert_same_predictions(case, again)
    assert not np.array_equal(fit(case, random_state=1).components_, fitted(case).components_)


# Stochastic inference


@pytest.mark.parametrize("case", [case for case in CASES if case.is_stochastic and not case.samples], ids=str)
def test_steps_that_see_all_rows_are_those_of_batch_inference(case):
    told = {name: value for name, value in case.settings.items() if name != "batch_size"}
    (batch,) = (other for other in CASES if other.name == case.name and other.settings == told)
    assert_same_numbers(fit(case, batch_size=ROWS), fitted(batch))
    assert not np.array_equal(fitted(case).components_, fitted(batch).components_)


@pytest.mark.parametrize("name", [name for name, cls in registry.ALL.items() if "batch_size" not in cls().get_params()])
def test_models_without_stochastic_inference_say_so(name):
    assert not hasattr(registry.ALL[name], "partial_fit")
    with pytest.raises(TypeError, match="unexpected keyword argument 'batch_size'"):
        registry.ALL[name](batch_size=BATCH)


@pytest.mark.parametrize("case", [case for case in CASES if case.samples and hasattr(case.cls, "partial_fit")], ids=str)
def test_samplers_take_no_rows_in_parts(case):
    with pytest.raises(ValueError, match="visits all rows in every sweep, so it has no partial_fit; use inference="):
        show(case, case.unfitted(), slice(0, BATCH))


def show(case: Case, model: Any, rows: slice) -> Any:
    """One step on some of the rows."""
    return model.partial_fit(drawn(case)[0][rows], **{name: value[rows] for name, value in known(case).items()})


def shown_in_parts(case: Case, **others: Any) -> Any:
    model = case.unfitted(**others)
    for part in range(PARTS):
        show(case, model, slice(part * BATCH, (part + 1) * BATCH))
    return model


@pytest.mark.parametrize("case", STEPPING, ids=str)
def test_rows_may_come_in_parts(case, tmp_path):
    seen = []
    model = shown_in_parts(case, callbacks=[lambda info, state: seen.append(info)])
    assert_finite_and_shaped(case, model)
    shown = drawn(case)[0][: PARTS * BATCH].row_totals() + (not case.cls.model.normalised)
    assert model.n_rows_seen_ == np.count_nonzero(shown)  # normalised models see no empty rows
    assert len(model.history_) == len(seen) == model.n_epochs_ == PARTS
    assert [(info["epoch"], info["stage"]) for info in model.history_] == [(t, "partial_fit") for t in (1, 2, 3)]
    assert np.all(np.diff([info["rho"] for info in model.history_]) < 0)
    assert np.all(np.diff([info["seconds"] for info in model.history_]) > 0)
    assert {info["bound"] is not None for info in model.history_} == {case.has_bound}
    assert model.bound_ == model.history_[-1]["bound"]
    assert model.stop_reason_ == f"partial_fit takes one step a call: {PARTS} steps so far"
    assert len(model.validation_rows_) == len(model.held_out_rows_) == 0
    assert not model.interrupted_
    again = shown_in_parts(case, n_jobs=2)
    assert_same_numbers(model, again)
    read = load(again.save(tmp_path / "model"))
    for each in (model, read):
        show(case, each, slice(0, BATCH))
    assert_same_numbers(model, read)
    assert len(read.history_) == PARTS + 1


@pytest.mark.parametrize("case", STEPPING, ids=str)
def test_steps_go_on_from_a_fit_and_learn(case, tmp_path):
    """From a saved one as from the one in memory; and from nothing they come to know the rows better than at first."""
    model = copy.deepcopy(fitted(case))
    read = load(model.save(tmp_path / "model"))
    for each in (model, read):
        show(case, each, slice(0, BATCH))
    assert_same_numbers(model, read)
    learning = show(case, case.unfitted(), slice(0, ROWS))
    if case.settings["inference"] == "structured":  # a first step has nothing to average with: it is that of a batch
        assert_same_numbers(learning, show(case, case.unfitted(learning_offset=0.0), slice(0, ROWS)))
    first = told_of_rows(case, predictions(case, learning)["column_probabilities"])
    for _ in range(4):
        show(case, learning, slice(0, ROWS))
    assert told_of_rows(case, predictions(case, learning)["column_probabilities"]) > first
