"""The interfaces that every inference scheme has, so that one loop and one way of predicting serve them all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, Self

import numpy as np

from cormorant.backends.select import Backend
from cormorant.inference.batch import Batch
from cormorant.inference.rows import RowMemory, Rows
from cormorant.inference.state import Globals, RowPosterior, State
from cormorant.models.cnpf import PoissonFactorization


class Variational:
    """What variational schemes have in common: one pass a step, and rows that can be solved afresh."""

    def view(self, g: Globals) -> Any:
        """What every block of rows needs of the globals."""
        raise NotImplementedError

    def passes(self, state: State) -> int:
        """A step visits its rows once."""
        return 1

    def memory(self, rows: Rows) -> RowMemory:
        """A row can always be solved afresh: what is kept of it is bounded."""
        return RowMemory(rows.n_rows)

    @property
    def solver(self) -> Self:
        """Rows are predicted as they are fitted, if a scheme has nothing better."""
        return self

    def on(self, backend: Backend) -> Self:
        """The same where another does the work."""
        scheme: Any = self  # each is a frozen dataclass
        return replace(scheme, backend=backend)

    def visit(self, state: State) -> Any:
        """What a pass over the rows needs of the state."""
        return self.view(state.globals)


class RowSolver(Protocol):
    """What is said of rows while the globals stay as they are."""

    @property
    def allocation(self) -> str:
        """How a row's counts are shared out: "zero-order" or "digamma"."""
        ...

    @property
    def backend(self) -> Backend:
        """What does the work."""
        ...

    def on(self, backend: Backend) -> Self:
        """The same where another does the work."""
        ...

    @property
    def dtype(self) -> type:
        """Precision of the allocation, and of what is remembered of a row."""
        ...

    def view(self, g: Globals) -> Any:
        """What every block of rows needs of the globals."""
        ...

    def posterior(self, view: Any, batch: Batch, want_variance: bool = False) -> RowPosterior:
        """E x (and Var x) of rows seen for the first time; deterministic."""
        ...

    def prior_mean(self, g: Globals, covariates: np.ndarray | None = None) -> np.ndarray:
        """E x, up to a factor, of a row that shows nothing; rows x components where rows have covariates."""
        ...


class Scheme(Protocol):
    """Local step gives locals and statistics; global step gives the next state. A sampler draws where others solve."""

    @property
    def model(self) -> PoissonFactorization:
        """What is being fitted."""
        ...

    @property
    def backend(self) -> Backend:
        """What does the work."""
        ...

    @property
    def dtype(self) -> type:
        """Precision of the counts, and of what is remembered of a row."""
        ...

    def passes(self, state: State) -> int:
        """Steps from here, each over the same rows, that make a whole one: a sampler takes several."""
        ...

    def memory(self, rows: Rows) -> RowMemory:
        """Where rows are kept between visits."""
        ...

    @property
    def solver(self) -> RowSolver:
        """What predicts with the globals that this scheme finds."""
        ...

    def visit(self, state: State) -> Any:
        """What every block of rows needs of the state, computed once a pass."""
        ...

    def local_step(self, view: Any, batch: Batch, start: Any, want_bound: bool = False) -> tuple[Any, Any]:
        """Solve a block of rows: its locals, and statistics that can be added and scaled."""
        ...

    def global_step(self, state: State, new: Any, rho: float) -> State:
        """Move the globals by statistics of weight ``rho``."""
        ...

    def bound(self, g: Globals, statistics: Any) -> float:
        """The evidence lower bound at the globals that the statistics were computed at."""
        ...
