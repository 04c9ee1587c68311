"""Several models on one split: the analogue of the paper's table of results."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from cormorant.data import as_counts, as_matrix, hold_out, hold_out_rows, split_entries
from cormorant.estimators.covariates import taken
from cormorant.estimators.features import FEATURE_ESTIMATORS, FeatureModel
from cormorant.estimators.parameters import default_of, idle_parameters
from cormorant.estimators.registry import ALL, OF_COUNTS
from cormorant.evaluation.hidden import hidden_entries
from cormorant.evaluation.perplexity import perplexity

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger("cormorant")

MODELS = ("hgp", "scaled-hgp", "cnpf", "softplus-cnpf")


@dataclass(frozen=True)
class Comparison:
    """What `compare` found: one record and one fitted model for each label."""

    records: tuple[dict[str, Any], ...]
    n_held_out: int
    seed: int
    models: dict[str, Any] = field(default_factory=dict, repr=False)
    metric: str = "perplexity"  # or "log_density", of models of features

    def table(self) -> pd.DataFrame:
        """A row a model: perplexity (features: log density) at each observed fraction, seconds, components in use."""
        import pandas as pd

        name = self.metric.replace("_", " ")
        return pd.DataFrame(
            [
                {
                    "model": r["model"],
                    **{f"{name} {_percent(f)}": p for f, p in r[self.metric].items()},
                    "seconds": r["seconds"],
                    "components used": r["components_used"],
                }
                for r in self.records
            ]
        ).set_index("model")

    def __str__(self) -> str:
        return self.table().round(1 if self.metric == "perplexity" else 4).round({"seconds": 1}).to_string()


@dataclass(frozen=True)
class Trial:
    """What every model of a comparison goes through."""

    metric: str
    fit: Callable[[Any], Any]  # on the rows that are not held out
    scores: Callable[[Any], dict[str, float]]  # of a fitted model on the others, by the share of a row that is shown


def compare(
    X: Any,
    models: Sequence[str] | Mapping[str, Any] = MODELS,
    *,
    n_held_out: int = 1000,
    observed: Sequence[float] = (0.1, 0.5),
    seed: int = 1,
    random_state: int | None = None,
    covariates: Any = None,
    **parameters: Any,
) -> Comparison:
    """Fit models on the same rows and score them on the same held-out entries.

    Models of counts are scored by the perplexity of the counts that are not shown. Models of features are scored by the
    mean log density of the entries that are not shown (masked), zeros among them, so that they are compared with each
    other alone.

    An interrupt (Ctrl-C) ends the comparison with the models that were finished by then, and a warning in the log.

    Args:
        X: Counts, or anything that `as_counts` takes; for models of features anything that their `fit` takes.
        models: Names (`hgp`, `scaled-hgp`, `cnpf`, `softplus-cnpf`, `hdp`, `diln`, `thinned`; or `beta-features`,
            `gamma-features`, `ibp`), or estimators by label, which are cloned.
        n_held_out: Rows kept from every fit.
        observed: Different shares of a held-out row's entries that are shown. The first share's split goes on from the
            generator that drew the rows; each further one has a generator of its own.
        seed: Seed of rows and entries.
        covariates: Of the rows of X, for the models that take them (those with locations); `thinned` needs them.
        random_state: Seed of every fit. None: estimators keep their own, models given by name take `seed`.
        **parameters: Passed to every model given by name, for example ``n_components=50``.
    """
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0, to have the same split again; got {seed!r}.")
    estimators = _estimators(models, parameters, seed, random_state)
    _check_comparable(estimators)
    _check_covariates(estimators, covariates)
    _check_shares(observed)
    if any(isinstance(estimator, FeatureModel) for estimator in estimators.values()):
        trial = _feature_trial(X, n_held_out, observed, seed)
    else:
        trial = _count_trial(X, n_held_out, observed, seed, covariates)
    records: dict[str, dict[str, Any]] = {}
    try:
        for label, estimator in estimators.items():
            records[label] = _fit_and_score(label, estimator, trial)
    except KeyboardInterrupt:
        if not records:
            raise
        logger.warning("interrupted: the comparison has only %s of %s", ", ".join(records), ", ".join(estimators))
    fitted = {label: estimators[label] for label in records}
    return Comparison(tuple(records.values()), n_held_out, seed, fitted, trial.metric)


def _check_comparable(estimators: dict[str, Any]) -> None:
    """Refuse models whose scores say nothing of each other."""
    features = {label: e for label, e in estimators.items() if isinstance(e, FeatureModel)}
    if features and len(features) < len(estimators):
        other = next(label for label in estimators if label not in features)
        raise ValueError(
            "models must be all of counts, which are compared by perplexity, or all of features, which are compared by "
            f"log density; got {other} and {next(iter(features))}. Compare them apart."
        )
    real = [label for label, estimator in features.items() if estimator.likelihood == "gaussian"]
    if real and len(real) < len(features):
        other = next(label for label in features if label not in real)
        raise ValueError(
            "models of features must all have likelihood='gaussian' or none: a density of real numbers and a "
            f"probability of whole ones are not compared. {real[0]} has it, {other} has {features[other].likelihood!r}."
        )


def _check_covariates(estimators: dict[str, Any], covariates: Any) -> None:
    """Refuse covariates that nobody takes of features, and models that need some where there are none."""
    if covariates is None and (needing := [label for label, e in estimators.items() if e.model.needs_covariates]):
        raise ValueError(f"covariates must be given: {needing[0]} has them decide which components a row has.")
    if covariates is not None and isinstance(first := next(iter(estimators.values())), FeatureModel):
        raise ValueError(f"covariates must be left out: {type(first).__name__} takes none.")


def _check_shares(observed: Sequence[float]) -> None:
    if np.ndim(observed) != 1 or len(observed) == 0:
        raise ValueError(f"observed must be a list of fractions, for example [0.1, 0.5]; got {observed!r}.")


def _count_trial(X: Any, n_held_out: int, observed: Sequence[float], seed: int, covariates: Any) -> Trial:
    """Rows of counts held out, and their entries divided in those shown and those to predict."""
    counts = as_counts(X)
    names, counts = counts.row_names, counts.numbered()  # the fits have their rows in another order
    rng = np.random.default_rng(seed)
    split = hold_out(counts, n_held_out, rng)
    generators = entry_generators(rng, seed, len(observed))
    pairs = {f: split_entries(split.held_out, f, g) for f, g in zip(observed, generators, strict=True)}
    _check_different(pairs, observed)
    known = [taken(covariates, index, counts.n_rows, names) for index in (split.train_index, split.held_out_index)]

    def told(estimator: Any) -> list[Any]:
        return known if estimator.model.takes_covariates else [None, None]

    return Trial(
        "perplexity",
        lambda e: e.fit(split.train, covariates=told(e)[0]),
        lambda e: {str(f): perplexity(e, seen, test, told(e)[1]) for f, (seen, test) in pairs.items()},
    )


def _feature_trial(X: Any, n_held_out: int, observed: Sequence[float], seed: int) -> Trial:
    """Rows held out, and some of their entries, zeros among them, hidden."""
    matrix, rng = as_matrix(X), np.random.default_rng(seed)
    train, kept = (matrix.rows(index) for index in hold_out_rows(matrix.n_rows, n_held_out, rng))
    generators = entry_generators(rng, seed, len(observed))
    hidden = {f: hidden_entries(kept.shape, f, g) for f, g in zip(observed, generators, strict=True)}
    _check_different(hidden, observed)
    return Trial(
        "log_density",
        lambda e: e.fit(train),
        lambda e: {str(f): e.log_likelihood(kept, of_share) for f, of_share in hidden.items()},
    )


def _check_different(by_share: Mapping[float, Any], observed: Sequence[float]) -> None:
    """Refuse shares that the table could not tell apart."""
    if len({_percent(f) for f in by_share}) < len(observed):
        raise ValueError(f"observed must be different fractions, for example [0.1, 0.5]; got {observed!r}.")


def _percent(fraction: float | str) -> str:
    """A share of a row as the table calls it: 10%, 10.5%."""
    return f"{100 * float(fraction):g}%"


def _fit_and_score(label: str, estimator: Any, trial: Trial) -> dict[str, Any]:
    begin = time.perf_counter()
    trial.fit(estimator)
    seconds = time.perf_counter() - begin
    if getattr(estimator, "interrupted_", False):  # a fit keeps an interrupt to itself; here it means all of them
        raise KeyboardInterrupt
    return {
        "model": label,
        trial.metric: trial.scores(estimator),
        "seconds": seconds,
        "components_used": estimator.n_components_used_,
    }


def entry_generators(rows: np.random.Generator, seed: int, n: int) -> list[np.random.Generator]:
    """Generators of n splits of entries: the one that has drawn the rows, then one of its own for each further."""
    return [rows, *(np.random.default_rng(seed + i) for i in range(1, n))]


def _estimators(
    models: Sequence[str] | Mapping[str, Any], parameters: dict[str, Any], seed: int, random_state: int | None
) -> dict[str, Any]:
    """Unfitted estimators by label: those of the names, or clones of those given."""
    if isinstance(models, Mapping):
        if parameters:
            raise ValueError(f"parameters are for models given by name; set {', '.join(parameters)} in the estimators.")
        found = {label: _unfitted(label, estimator, random_state) for label, estimator in models.items()}
    else:
        names = [models] if isinstance(models, str) else models
        if not isinstance(names, Sequence):
            raise ValueError(f"models must be names, or a dict of estimators by label; got {models!r}.")
        parameters = {**parameters, "random_state": seed if random_state is None else random_state}
        found = {name: _class(name)(**_fitting(name, parameters)) for name in names}
        _leave_idle(list(found.values()))
    if not found:
        raise ValueError(f"models must name at least one of {', '.join(ALL)}, or hold an estimator.")
    return found


def _class(name: str) -> Any:
    if name not in ALL:
        raise ValueError(f"model must be one of {', '.join(ALL)}; got {name!r}.")
    return ALL[name]


def _unfitted(label: str, estimator: Any, random_state: int | None) -> Any:
    """A clone, but for the callbacks: they are the caller's own, not to be copied."""
    if not isinstance(estimator, tuple(ALL.values())):
        known = ", ".join(cls.__name__ for cls in ALL.values())
        raise ValueError(
            f"models must hold cormorant's estimators ({known}); {label!r} is {estimator!r}. "
            "Score other models on the same rows and entries by cormorant.data.hold_out and split_entries."
        )
    copy: Any = clone(estimator)
    copy.set_params(callbacks=estimator.callbacks)
    return copy if random_state is None else copy.set_params(random_state=random_state)


def _fitting(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters that this model has; one that no model of its kind has is an error of the constructor."""
    kind = FEATURE_ESTIMATORS if name in FEATURE_ESTIMATORS else OF_COUNTS
    known = {key for cls in kind.values() for key in cls._get_param_names()}
    own = set(kind[name]._get_param_names())
    return {key: value for key, value in parameters.items() if key in own or key not in known}


def _leave_idle(estimators: list[Any]) -> None:
    """Set back what does nothing for one model but something for another; what does nothing for any, `fit` refuses."""
    idle = [set(idle_parameters(estimator)) for estimator in estimators]
    read = {
        key for estimator, found in zip(estimators, idle, strict=True) for key in set(estimator.get_params()) - found
    }
    for estimator, found in zip(estimators, idle, strict=True):
        estimator.set_params(**{key: default_of(estimator, key) for key in found & read})
