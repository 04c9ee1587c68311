"""Several models on one split: the analogue of the paper's table of results."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from cormorant.data import Counts, as_counts, hold_out, split_entries
from cormorant.estimators.covariates import taken
from cormorant.estimators.parameters import default_of, idle_parameters
from cormorant.estimators.registry import OF_COUNTS
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

    def table(self) -> pd.DataFrame:
        """A row a model: perplexity at each observed fraction, seconds, components in use."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "model": r["model"],
                    **{f"perplexity {_percent(f)}": p for f, p in r["perplexity"].items()},
                    "seconds": r["seconds"],
                    "components used": r["components_used"],
                }
                for r in self.records
            ]
        ).set_index("model")

    def __str__(self) -> str:
        return self.table().round(1).to_string()


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

    An interrupt (Ctrl-C) ends the comparison with the models that were finished by then, and a warning in the log.

    Args:
        X: Counts, or anything that `as_counts` takes.
        models: Names (`hgp`, `scaled-hgp`, `cnpf`, `softplus-cnpf`, `hdp`, `diln`, `thinned`), or estimators by label,
            which are cloned.
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
    if covariates is None and (needing := [label for label, e in estimators.items() if e.model.needs_covariates]):
        raise ValueError(f"covariates must be given: {needing[0]} has them decide which components a row has.")
    if np.ndim(observed) != 1 or len(observed) == 0:
        raise ValueError(f"observed must be a list of fractions, for example [0.1, 0.5]; got {observed!r}.")
    counts = as_counts(X)
    names = counts.row_names
    counts = counts.numbered()  # the fits have their rows in another order
    rng = np.random.default_rng(seed)
    split = hold_out(counts, n_held_out, rng)
    generators = entry_generators(rng, seed, len(observed))
    pairs = {f: split_entries(split.held_out, f, g) for f, g in zip(observed, generators, strict=True)}
    if len({_percent(f) for f in pairs}) < len(observed):
        raise ValueError(f"observed must be different fractions, for example [0.1, 0.5]; got {observed!r}.")
    known = [taken(covariates, index, counts.n_rows, names) for index in (split.train_index, split.held_out_index)]
    records: dict[str, dict[str, Any]] = {}
    try:
        for label, estimator in estimators.items():
            told = known if estimator.model.takes_covariates else [None, None]
            records[label] = _fit_and_score(label, estimator, split.train, pairs, *told)
    except KeyboardInterrupt:
        if not records:
            raise
        logger.warning("interrupted: the comparison has only %s of %s", ", ".join(records), ", ".join(estimators))
    fitted = {label: estimators[label] for label in records}
    return Comparison(tuple(records.values()), n_held_out, seed, fitted)


def _percent(fraction: float | str) -> str:
    """A share of a row as the table calls it: 10%, 10.5%."""
    return f"{100 * float(fraction):g}%"


def _fit_and_score(
    label: str,
    estimator: Any,
    train: Counts,
    pairs: Mapping[float, tuple[Counts, Counts]],
    of_train: Any,
    of_held_out: Any,
) -> dict[str, Any]:
    """Fit, and score; the last two are covariates."""
    begin = time.perf_counter()
    estimator.fit(train, covariates=of_train)
    seconds = time.perf_counter() - begin
    if getattr(estimator, "interrupted_", False):  # a fit keeps an interrupt to itself; here it means all of them
        raise KeyboardInterrupt
    return {
        "model": label,
        "perplexity": {str(f): perplexity(estimator, seen, test, of_held_out) for f, (seen, test) in pairs.items()},
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
        raise ValueError(f"models must name at least one of {', '.join(OF_COUNTS)}, or hold an estimator.")
    return found


def _class(name: str) -> Any:
    if name not in OF_COUNTS:
        raise ValueError(f"model must be one of {', '.join(OF_COUNTS)}; got {name!r}.")
    return OF_COUNTS[name]


def _unfitted(label: str, estimator: Any, random_state: int | None) -> Any:
    """A clone, but for the callbacks: they are the caller's own, not to be copied."""
    if not isinstance(estimator, tuple(OF_COUNTS.values())):
        known = ", ".join(cls.__name__ for cls in OF_COUNTS.values())
        raise ValueError(
            f"models must hold cormorant's estimators of counts ({known}); {label!r} is {estimator!r}. "
            "Score other models on the same rows and entries by cormorant.data.hold_out and split_entries."
        )
    copy: Any = clone(estimator)
    copy.set_params(callbacks=estimator.callbacks)
    return copy if random_state is None else copy.set_params(random_state=random_state)


def _fitting(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters that this model has; one that no model has is an error of the constructor."""
    known = {key for cls in OF_COUNTS.values() for key in cls._get_param_names()}
    own = set(OF_COUNTS[name]._get_param_names())
    return {key: value for key, value in parameters.items() if key in own or key not in known}


def _leave_idle(estimators: list[Any]) -> None:
    """Set back what does nothing for one model but something for another; what does nothing for any, `fit` refuses."""
    idle = [set(idle_parameters(estimator)) for estimator in estimators]
    read = {
        key for estimator, found in zip(estimators, idle, strict=True) for key in set(estimator.get_params()) - found
    }
    for estimator, found in zip(estimators, idle, strict=True):
        estimator.set_params(**{key: default_of(estimator, key) for key in found & read})
