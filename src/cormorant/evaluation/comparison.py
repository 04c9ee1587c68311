"""Several models on one split: the analogue of the paper's table of results."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cormorant.data import as_counts, hold_out, split_entries
from cormorant.estimators import ESTIMATORS
from cormorant.evaluation.perplexity import perplexity
from cormorant.models.cnpf import get_model

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Comparison:
    """What `compare` found, one record a model."""

    records: tuple[dict[str, Any], ...]
    n_held_out: int
    seed: int

    def table(self) -> pd.DataFrame:
        """A row a model: perplexity at each observed fraction, seconds, components in use."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "model": r["model"],
                    **{f"perplexity {float(f):.0%}": p for f, p in r["perplexity"].items()},
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
    models: Sequence[str] | Mapping[str, Any] = ("hgp", "scaled-hgp", "cnpf"),
    *,
    n_held_out: int = 1000,
    observed: Sequence[float] = (0.1, 0.5),
    seed: int = 1,
    **parameters: Any,
) -> Comparison:
    """Fit models on the same rows and score them on the same held-out entries.

    Args:
        X: Counts, or anything that `as_counts` takes.
        models: Names (`hgp`, `scaled-hgp`, `cnpf`, `softplus-cnpf`), or unfitted estimators by label.
        n_held_out: Rows kept from every fit.
        observed: Shares of a held-out row's entries that are shown. The first share's split goes on from the
            generator that drew the rows; each further one has a generator of its own.
        seed: Seed of rows and entries.
        **parameters: Passed to every model given by name, for example ``n_components=50``.
    """
    if isinstance(models, str):
        models = [models]
    counts = as_counts(X)
    rng = np.random.default_rng(seed)
    split = hold_out(counts, n_held_out, rng)
    generators = entry_generators(rng, seed, len(observed))
    pairs = {f: split_entries(split.held_out, f, g) for f, g in zip(observed, generators, strict=True)}
    if not isinstance(models, Mapping):
        models = {name: ESTIMATORS[get_model(name).name](**_fitting(name, parameters)) for name in models}
    records = []
    for label, estimator in models.items():
        begin = time.perf_counter()
        estimator.fit(split.train)
        seconds = time.perf_counter() - begin
        scores = {str(f): perplexity(estimator, seen, test) for f, (seen, test) in pairs.items()}
        records.append(
            {
                "model": label,
                "perplexity": scores,
                "seconds": seconds,
                "components_used": estimator.n_components_used_,
            }
        )
    return Comparison(tuple(records), n_held_out, seed)


def entry_generators(rows: np.random.Generator, seed: int, n: int) -> list[np.random.Generator]:
    """Generators of n splits of entries: the one that has drawn the rows, then one of its own for each further."""
    return [rows, *(np.random.default_rng(seed + i) for i in range(1, n))]


def _fitting(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters that this model has; one that no model has is an error of the constructor."""
    known = {key for cls in ESTIMATORS.values() for key in cls._get_param_names()}
    own = set(ESTIMATORS[name]._get_param_names())
    return {key: value for key, value in parameters.items() if key in own or key not in known}
