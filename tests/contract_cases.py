"""The cases of the contract of all models: who is told what, what it is fitted to, and what it then says.

Models, schemes, likelihoods and options are those that the library lists, so that one that is added is tested without
being asked for; a new family fails `test_every_model_has_cases` until it has an entry in FAMILIES. Data are drawn from
the prior of the model under the options of the case.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from cormorant.datasets import simulate_prior
from cormorant.datasets.prior import options_of
from cormorant.estimators import feature_parameters, registry
from cormorant.estimators.parameters import ALLOCATIONS, DEFAULTS, FIELDS
from cormorant.models.cnpf import PROCESSES
from cormorant.models.features import LIKELIHOODS
from cormorant.models.kernels import KERNELS

# More rows than the 128 that a product takes at a time, so that two threads have something to share.
ROWS, COLUMNS, COMPONENTS, DIMS, COVARIATES = 140, 12, 4, 2, 2
SIZES = {
    "n_components": COMPONENTS, "n_dims": DIMS, "max_epochs": 10, "n_starts": 1, "n_chains": 2, "n_samples": 2,
    "random_state": 0,
}  # fmt: skip
OF_CHAINS = ("n_chains", "n_sweeps", "n_samples")  # refused by feature models that have none
SHOWN = 12  # rows that predictions are made for
BATCH = 50  # rows that a step of stochastic inference visits


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
            "base_": (COLUMNS,),
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


def draw(name: str, options: tuple[tuple[str, Any], ...], seed: int) -> tuple[Any, np.ndarray | None]:
    """Data and covariates, from the prior."""
    truth: Any = simulate_prior(name, ROWS, COLUMNS, COMPONENTS, DIMS, **dict(options), seed=seed)
    data = truth.counts if hasattr(truth, "counts") else truth.y
    return data, getattr(truth, "covariates", None)


_drawn = cache(draw)


def drawn(case: Case) -> tuple[Any, np.ndarray | None]:
    """What a case is fitted to."""
    return _drawn(case.name, case.drawn_with, 0)


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


def assert_finite_and_shaped(case: Case, model: Any) -> None:
    found = numbers_of(model)
    for name, value in found.items():
        assert np.isfinite(value).all(), name
    shapes = {
        "components_": (COMPONENTS, COLUMNS), "weights_": (COMPONENTS,), "usage_": (COMPONENTS,),
        "locations_": (COMPONENTS, case.n_dims), "correlation_": (COMPONENTS, COMPONENTS),
        **FAMILIES[case.family].shapes,
    }  # fmt: skip
    if case.samples and case.n_dims:
        shapes["correlation_interval_"] = (2, COMPONENTS, COMPONENTS)
    if case.has_covariates:
        shapes["covariate_effects_"] = (COMPONENTS, COVARIATES)
        shapes["covariate_effects_interval_"] = (2, COMPONENTS, COVARIATES)
    assert {name: found[name].shape for name in shapes} == shapes
    assert np.allclose(np.diag(model.correlation_), 1.0)
