"""What every row asks of a fit whatever the row shows, made when the first one asks: services look up one row a call.

Atoms are not among it, as samples keep them by what few counts there are: of 40 samples with 200 components and 20,000
columns they would take 1.3 GB.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cormorant.inference.field import Design
from cormorant.inference.gibbs import Gibbs
from cormorant.inference.prior import WIDE_LEVEL
from cormorant.inference.samples import Sample, in_use
from cormorant.inference.scheme import RowSolver
from cormorant.inference.state import Globals


class Once:
    """A value made when it is first asked for. Copies and pickles go without, and make their own."""

    def __init__(self) -> None:
        self._value: Any = None

    def __call__(self, make: Callable[[], Any]) -> Any:
        """The value; of threads that ask at once each may make it, and all make the same."""
        if self._value is None:
            self._value = make()
        return self._value

    def __reduce__(self):
        return Once, ()


@dataclass(frozen=True)
class Prepared:
    """A sample as new rows need it."""

    sample: Sample  # of the components in use
    globals: Globals  # as a row sees them that may be shown in part; without atoms
    design: Design
    scale: np.ndarray  # A_k
    _prior: Once = field(default_factory=Once)

    @property
    def atoms(self) -> np.ndarray:
        """E a, columns x components: made anew."""
        return self.sample.atom_mean

    def prior_mean(self, solver: RowSolver, covariates: np.ndarray | None) -> np.ndarray:
        """That of rows that show nothing, an average over thousands of draws."""
        if covariates is not None:
            return solver.prior_mean(self.sample.globals, covariates)
        return self._prior(lambda: solver.prior_mean(self.sample.globals))


def prepare(gibbs: Gibbs, chains: Sequence[Sequence[Sample]]) -> list[list[Prepared]]:
    """All samples, each with the components that its chain has in use."""
    return [[_prepared(gibbs, sample.only(used)) for sample in chain] for chain in chains for used in [in_use(chain)]]


def _prepared(gibbs: Gibbs, sample: Sample) -> Prepared:
    g = sample.rest
    if gibbs.learns_sigma_m2:
        g = replace(g, hyper=replace(g.hyper, sigma_m2=WIDE_LEVEL))
    return Prepared(sample, g, gibbs.solver.design(g), sample.atom_mean.sum(axis=0))
