"""What is drawn: tuples of the Poisson process, one random measure, and groups of them. All immutable."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from cormorant.measures import _check
from cormorant.measures._check import Array, Mask

MeasurableSet = Callable[[Array], ArrayLike] | ArrayLike
"""A set of atoms: an indicator over rows of atoms, or one truth value for each component."""


@dataclass(frozen=True, eq=False, repr=False)
class Tuples:
    """Components {(a_k, w_k, l_k)}: atoms (K, d), weights (K,), locations (K, D).

    The first `fixed` of them were given in advance; `left_out` is the expected mass of the weights that
    truncation left out.
    """

    atoms: Array
    weights: Array
    locations: Array
    left_out: float = 0.0
    fixed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "atoms", _check.points("atoms", self.atoms))
        object.__setattr__(self, "weights", _check.array("weights", self.weights, ndim=1))
        object.__setattr__(self, "locations", _check.points("locations", self.locations))
        for name in ("atoms", "locations"):
            if len(getattr(self, name)) != len(self.weights):
                shape = getattr(self, name).shape
                raise ValueError(f"{name}: expected {len(self.weights)} rows like weights, got shape {shape}")
        _check.weights("weights", self.weights, math.inf)
        _check.fields(self, left_out=_check.nonnegative, fixed=partial(_check.count, least=0))
        if self.fixed > len(self):
            raise ValueError(f"fixed: expected at most {len(self)}, the number of components, got {self.fixed}")

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        fixed = f", {self.fixed} fixed" if self.fixed else ""
        return (
            f"Tuples({len(self)} components{fixed}, atoms in R^{self.atoms.shape[1]}, "
            f"locations in R^{self.locations.shape[1]}, total weight {self.weights.sum():.4g}, "
            f"expected weight left out {self.left_out:.2g})"
        )

    def members(self, of: MeasurableSet, *, name: str = "of") -> Mask:
        """Which components have their atom in a set; `name` is what errors call it."""
        inside = np.asarray(of(self.atoms) if callable(of) else of)
        if inside.shape != (len(self),) or inside.dtype != np.bool_:
            raise ValueError(
                f"{name}: expected {len(self)} truth values, one for each component, "
                f"got {inside.dtype} of shape {inside.shape}"
            )
        return inside


@dataclass(frozen=True, eq=False, repr=False)
class _Draw:
    """Transformed weights x over shared tuples, with components on the last axis."""

    weights: Array
    function: Array
    tuples: Tuples

    _axes: ClassVar[int]

    def __post_init__(self) -> None:
        _check.instance("tuples", self.tuples, Tuples)
        for name in ("weights", "function"):
            # Infinities pass: F where covariates decide a component's fate, x where it outgrows a float64.
            values = _check.numbers(name, getattr(self, name)).copy()
            if values.ndim != self._axes or values.shape[-1] != len(self.tuples):
                raise ValueError(
                    f"{name}: expected {self._axes} axes with {len(self.tuples)} components on the last, "
                    f"got shape {values.shape}"
                )
            values.flags.writeable = False
            object.__setattr__(self, name, values)

    @property
    def atoms(self) -> Array:
        """The atoms a_k, one a row."""
        return self.tuples.atoms

    @property
    def left_out(self) -> float:
        """The expected untransformed weight that truncation left out."""
        return self.tuples.left_out

    @property
    def total(self) -> Array:
        """M(E) = sum_k x_k."""
        return self.weights.sum(axis=-1)

    def measure(self, of: MeasurableSet) -> Array:
        """M(A) = sum_k x_k 1[a_k in A]."""
        return self.weights[..., self.tuples.members(of)].sum(axis=-1)

    def integral(self, function: Callable[[Array], ArrayLike] | None = None) -> Array:
        """M f = sum_k x_k f(a_k); without a function M a = sum_k x_k a_k."""
        if function is None:
            return self.weights @ self.atoms
        values = _check.numbers("function", _check.function("function", function)(self.atoms))
        if values.ndim == 0 or values.shape[0] != len(self.tuples):
            raise ValueError(
                f"function: expected a value for each of {len(self.tuples)} atoms, got shape {values.shape}"
            )
        if not np.isfinite(self.weights).all():
            # Infinite weight where the function is zero adds nothing.
            lifted = self.weights.reshape(-1, *[1] * (values.ndim - 1))
            return np.multiply(lifted, values, out=np.zeros(values.shape), where=values != 0.0).sum(axis=0)
        return self.weights @ values

    def normalize(self) -> Self:
        """G(A) = M(A) / M(E)."""
        with np.errstate(divide="ignore"):
            return replace(self, weights=normalized(np.log(self.weights)))


def normalized(log_weights: Array) -> Array:
    """x_k / sum_j x_j from log x, on the last axis: neither tiny nor huge x lose their shares."""
    log_total = special.logsumexp(log_weights, axis=-1, keepdims=True) if log_weights.size else np.array(-np.inf)
    if not np.isfinite(log_total).all():
        raise ValueError("normalize: expected a positive finite total mass, got one that is zero or infinite")
    return np.exp(log_weights - log_total)


@dataclass(frozen=True, eq=False, repr=False)
class MeasureDraw(_Draw):
    """One draw M = sum_k x_k delta_{a_k}: weights x and function values F of shape (K,)."""

    _axes = 1

    def __repr__(self) -> str:
        return f"MeasureDraw({len(self.tuples)} atoms, total {self.total:.4g}, from {self.tuples!r})"


@dataclass(frozen=True, eq=False, repr=False)
class GroupDraws(_Draw):
    """Draws M_u that share their tuples: weights x and function values F of shape (groups, K)."""

    _axes = 2

    def __len__(self) -> int:
        return len(self.weights)

    @overload
    def __getitem__(self, group: int) -> MeasureDraw: ...

    @overload
    def __getitem__(self, group: slice) -> GroupDraws: ...

    def __getitem__(self, group: int | slice) -> MeasureDraw | GroupDraws:
        if isinstance(group, slice):
            return GroupDraws(self.weights[group], self.function[group], self.tuples)
        if isinstance(group, bool) or not isinstance(group, int | np.integer):
            raise TypeError(f"group: expected a whole number or a slice, got {group!r}")
        return MeasureDraw(self.weights[group], self.function[group], self.tuples)

    def __iter__(self) -> Iterator[MeasureDraw]:
        return (self[group] for group in range(len(self)))

    def __repr__(self) -> str:
        mean = f", mean total {self.total.mean():.4g}" if len(self) else ""
        return f"GroupDraws({len(self)} groups{mean}, from {self.tuples!r})"
