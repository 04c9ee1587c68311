"""What a package must offer to be compared."""

from __future__ import annotations

import importlib
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

from cormorant.data import Counts

from ..scoring import Fitted

Setting = dict[str, Any]


@dataclass(frozen=True)
class Effort:
    """How much is tried: numbers of components, sweeps of a chain of LDA, and our truncation."""

    components: tuple[int, ...] = (20, 50, 100)
    iterations: int = 500
    truncation: int = 200


class Peer(ABC):
    """One model of one package. ``fold_in`` says how it finds the weights of a held-out row."""

    name: ClassVar[str]
    package: ClassVar[str]  # as pip knows it
    module: ClassVar[str]  # as Python knows it
    fold_in: ClassVar[str]
    is_sampler: ClassVar[bool] = False  # chains are run apart and their probabilities averaged
    is_repeated: ClassVar[bool] = False  # fits of several seeds are reported by their mean

    @abstractmethod
    def settings(self, effort: Effort) -> list[Setting]:
        """Sensible settings, of which validation rows choose; arguments of `fit`."""

    @abstractmethod
    def fit(self, train: Counts, seed: int, **setting: Any) -> Fitted:
        """The package's own fit, on one thread."""

    def warm_up(self) -> None:
        """What is done before the clock starts: importing, compilation."""
        importlib.import_module(self.module)

    def missing(self) -> str | None:
        """Why the package cannot be run, if it cannot."""
        if importlib.util.find_spec(self.module) is not None:
            return None
        return f"not installed (pip install {self.package})"


def grid(**choices: tuple[Any, ...]) -> list[Setting]:
    """Every combination of the choices."""
    return [dict(zip(choices, chosen, strict=True)) for chosen in product(*choices.values())]


def row_entries(counts: Counts) -> Iterator[tuple[Any, Any]]:
    """Columns and counts of each row."""
    for first, last in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        yield counts.indices[first:last], counts.data[first:last]
