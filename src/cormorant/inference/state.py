"""What inference carries: globals (shared by all rows), locals (one row each), statistics (sums over rows)."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Self

import numpy as np

from cormorant.models.cnpf import Hyperparameters


def _nothing() -> np.ndarray:
    """Sums, or coefficients, of what rows do not have."""
    return np.zeros((0, 0))


def flat() -> np.ndarray:
    """A base measure that was not learned."""
    return np.zeros(0)


def _some(of_components: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Sums of some components, or of what rows do not have."""
    return of_components[order] if of_components.size else of_components


@dataclass(frozen=True)
class Globals:
    """The tuples (a_k, w_k, l_k), what governs them, and how covariates move f.

    q(a_ki) = Gamma(shape, rate); ``locations`` has no columns for the uncorrelated models. Normalised models have
    q(a_k) = Dirichlet(shape), whose ``atom_rate`` is the sum of the shapes, so that E a is shape / rate there too.
    """

    atom_shape: np.ndarray  # columns x components
    atom_rate: np.ndarray  # components, or columns x components where entries are missing
    weights: np.ndarray  # the shapes of x: w_k = s v_k prod_{j<k} (1 - v_j); in normalised models beta w_k
    locations: np.ndarray  # components x D
    alpha: float
    c: float
    hyper: Hyperparameters
    beta: float = 1.0
    coefficients: np.ndarray = field(default_factory=_nothing)  # Gamma, P x covariates, where there are any
    base: np.ndarray = field(default_factory=flat)  # a column's a0 over the mean of all; empty: they are alike

    @property
    def prior_shape(self) -> np.ndarray:
        """The shapes of the atoms' prior, a0 times the base: columns x 1, or 1 x 1 where columns are alike."""
        return self.hyper.a0 * (self.base[:, None] if len(self.base) else np.ones((1, 1)))

    @property
    def n_components(self) -> int:
        """The truncation T."""
        return len(self.weights)

    @property
    def atom_mean(self) -> np.ndarray:
        """E a, columns x components."""
        return self.atom_shape / self.atom_rate

    @property
    def held_counts(self) -> np.ndarray:
        """Counts of each component in the data: what its posterior shapes have above the prior's."""
        return (self.atom_shape - self.prior_shape).sum(axis=0)

    def reorder(self, order: np.ndarray) -> Globals:
        """The same with the components in another order."""
        return replace(
            self,
            # Contiguous, so that a model read from a file adds up in the same order.
            atom_shape=np.ascontiguousarray(self.atom_shape[:, order]),
            atom_rate=np.ascontiguousarray(self.atom_rate[..., order]),
            weights=self.weights[order],
            locations=self.locations[order],
        )

    @property
    def atom_total(self) -> np.ndarray:
        """A_k = sum_i E a_ki."""
        return self.atom_mean.sum(axis=0)


@dataclass(frozen=True)
class Locals:
    """The rows' own quantities: allocated counts n and q(f) = N(mean, covariance)."""

    n: np.ndarray  # rows x components
    mean: np.ndarray  # rows x P
    covariance: np.ndarray  # rows x P (P + 1) / 2, packed


@dataclass(frozen=True)
class RowPosterior:
    """What is known of the rows' weights x."""

    mean: np.ndarray  # E x, rows x components
    variance: np.ndarray | None  # Var x, where asked for


@dataclass(frozen=True)
class State:
    """What one global step hands to the next: the globals, and what the scheme remembers of earlier steps."""

    globals: Globals
    memory: object = None  # structured: averaged statistics; mean field: running averages of squared gradients
    n_steps: int = 0


@dataclass(frozen=True)
class Additive:
    """Sums over rows: blocks add up, and a sample of the rows is scaled to all of them, field by field."""

    def __add__(self, other: Self) -> Self:
        return replace(self, **{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})

    def __mul__(self, factor: float) -> Self:
        return replace(self, **{f.name: getattr(self, f.name) * factor for f in fields(self)})


@dataclass(frozen=True)
class Statistics(Additive):
    """Sums over rows that the global step needs. They can be added and scaled; pairs are linear in the weights:

    a pair S stands for ``w S[0] + S[1]``, so that the later updates of one global step see the new weights.
    """

    n_rows: float
    counts: np.ndarray  # columns x components: sum_u y_ui phi_uik
    tables: np.ndarray  # sum_u w (psi(w + n) - psi(w)), the expected number of tables
    log_one: np.ndarray  # sum_u E log(1 + A r)
    exposure: np.ndarray  # sum_u e_u E x_uk; columns x components where entries are missing
    share: np.ndarray  # pair: sum_u (w + n) (E log(1 + A r))'
    curvature: np.ndarray  # pair: sum_u omega_uk (packed E f f^T, E f, 1)
    linear: np.ndarray  # pair: sum_u (slope_uk + omega_uk E F_uk) E f
    bound: float  # the rows' part of the bound
    regression: np.ndarray = field(default_factory=_nothing)  # 2 x C x (C + P): `regression.regression_sums`
    information: np.ndarray = field(default_factory=_nothing)  # what the rows tell of Gamma: `regression.information`
    location_information: np.ndarray = field(default_factory=_nothing)  # of the features, components x R (R + 1) / 2

    def reorder(self, order: np.ndarray) -> Statistics:
        """The same with the components in another order."""
        return replace(
            self, counts=self.counts[:, order], tables=self.tables[order], log_one=self.log_one[order],
            exposure=self.exposure[..., order], share=self.share[:, order], curvature=self.curvature[:, order],
            linear=self.linear[:, order], location_information=_some(self.location_information, order),
        )  # fmt: skip

    def with_unused(self, n_components: int) -> Statistics:
        """With components added that hold nothing; what a weight would lose is taken from the others."""
        more = n_components - len(self.tables)
        if more == 0:
            return self

        def widen(a: np.ndarray, axis: int) -> np.ndarray:
            return np.concatenate([a, np.zeros((*a.shape[:axis], more, *a.shape[axis + 1 :]))], axis=axis)

        return replace(
            self,
            counts=widen(self.counts, 1),
            tables=widen(self.tables, 0),
            log_one=np.append(self.log_one, np.full(more, self.log_one.mean())),
            exposure=widen(self.exposure, self.exposure.ndim - 1),
            share=widen(self.share, 1),
            curvature=widen(self.curvature, 1),
            linear=widen(self.linear, 1),
            location_information=widen(self.location_information, 0) if self.location_information.size else _nothing(),
        )

    def blend(self, new: Statistics, rho: float) -> Statistics:
        """(1 - rho) self + rho new."""
        return new if rho == 1.0 else self * (1.0 - rho) + new * rho
