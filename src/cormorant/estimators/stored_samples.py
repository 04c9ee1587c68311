"""Posterior samples as arrays and numbers, for saving; counts in the smallest type that holds them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from scipy import sparse

from cormorant.inference.samples import Sample
from cormorant.inference.state import Globals
from cormorant.models.cnpf import Hyperparameters

ARRAYS = ("atom_rate", "weights", "locations", "coefficients", "base")  # early files have none of the last two
NUMBERS = ("alpha", "c", "beta")


def to_arrays(chains: list[list[Sample]]) -> dict[str, np.ndarray]:
    """What goes to safetensors."""
    arrays = {}
    for prefix, sample in _named(chains):
        for name in ("data", "indices", "indptr"):
            arrays[f"{prefix}.{name}"] = _small(getattr(sample.counts, name))
        for name in ARRAYS:
            arrays[f"{prefix}.{name}"] = getattr(sample.rest, name)
    return arrays


def to_numbers(chains: list[list[Sample]]) -> list[list[dict[str, Any]]]:
    """What goes to JSON."""
    return [[numbers_of(sample.rest) for sample in chain] for chain in chains]


def numbers_of(g: Globals) -> dict[str, Any]:
    """The single numbers of globals."""
    return {**{name: getattr(g, name) for name in NUMBERS}, "hyper": asdict(g.hyper)}


def from_file(arrays: dict[str, np.ndarray], numbers: list[list[dict[str, Any]]], n_columns: int) -> list[list[Sample]]:
    """The samples that `to_arrays` and `to_numbers` describe."""
    return [
        [_sample(arrays, f"sample.{c}.{s}", info, n_columns) for s, info in enumerate(chain)]
        for c, chain in enumerate(numbers)
    ]


def read_numbers(info: dict[str, Any]) -> dict[str, Any]:
    """The single numbers of `Globals`; early files have no beta."""
    return {name: float(info[name]) for name in NUMBERS if name in info}


def _named(chains: list[list[Sample]]):
    return ((f"sample.{c}.{s}", sample) for c, chain in enumerate(chains) for s, sample in enumerate(chain))


def _small(values: np.ndarray) -> np.ndarray:
    """Whole numbers as unsigned ones of as few bytes as will do."""
    largest = int(values.max()) if len(values) else 0
    return values.astype(np.min_scalar_type(largest))


def _sample(arrays: dict[str, np.ndarray], prefix: str, info: dict[str, Any], n_columns: int) -> Sample:
    data, indices, indptr = (arrays[f"{prefix}.{name}"] for name in ("data", "indices", "indptr"))
    found = {name: arrays[f"{prefix}.{name}"] for name in ARRAYS if f"{prefix}.{name}" in arrays}
    rest = Globals(
        np.zeros((0, len(found["weights"]))),
        **found,
        **read_numbers(info),
        hyper=Hyperparameters(**info["hyper"]),
    )
    shape = (n_columns, len(rest.weights))
    parts = (data.astype(np.float64), indices.astype(np.int32), indptr.astype(np.int64))
    return Sample(sparse.csr_matrix(parts, shape=shape), rest)
