"""Covariance functions K(l, l') of the random function, closed under sums, products and scaling.

`k1 + k2`, `k1 * k2` and `2.0 * k1` make the obvious kernels. A kernel of your own is one class with
`matrix`; giving it `diagonal_polynomial` lets `finiteness` reason about it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lapack

from cormorant.measures import _check
from cormorant.measures._check import Array
from cormorant.measures.traced import distances

FARTHEST = 1e150  # distances whose square fits a float64; any profile is zero long before


class Kernel(ABC):
    """A positive semidefinite function K(l, l')."""

    @abstractmethod
    def matrix(self, first: Array, second: Array) -> Array:
        """K(first_i, second_j) for rows of two checked arrays of points."""

    def diagonal_polynomial(self) -> tuple[float, ...] | None:
        """The (c_0, c_1, ...) with K(l, l) = sum_j c_j |l|^(2j), or None where there is none."""
        return None

    def affine(self) -> tuple[float, float] | None:
        """The (c_0, c_1) with K(l, l') = c_0 + c_1 l.l' everywhere, or None: F is then linear in l."""
        return None

    def __call__(self, first: ArrayLike, second: ArrayLike | None = None) -> Array:
        """K(first_i, second_j) between rows; among the rows of `first` when it is alone."""
        left = _check.points("first", first)
        right = left if second is None else _check.points("second", second)
        if left.shape[1] != right.shape[1]:
            raise ValueError(f"second: expected points of dimension {left.shape[1]} like first, got {right.shape[1]}")
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = self.matrix(left, right)
        if not np.isfinite(matrix).all():
            raise ValueError(f"first: expected points at which {self!r} fits a float64, got infinity; scale them down")
        return matrix

    def factor(self, points: Array) -> Array:
        """A matrix A with A A' = K(points, points), one column for each of its numerical rank.

        Pivoted Cholesky: it needs no jitter where the matrix is singular, as most kernel matrices nearly are.
        """
        lower, pivots, rank, _ = lapack.dpstrf(self.matrix(points, points), lower=1)
        factor = np.zeros((len(points), rank))
        factor[pivots - 1] = np.tril(lower)[:, :rank]
        return factor

    def __add__(self, other: Kernel) -> Kernel:
        return Sum(self, other)

    def __mul__(self, other: Kernel | float) -> Kernel:
        return Product(self, other) if isinstance(other, Kernel) else Scale(other, self)

    def __rmul__(self, other: float) -> Kernel:
        return Scale(other, self)


@dataclass(frozen=True)
class Linear(Kernel):
    """K(l, l') = l.l', the paper's: F(l) = l.d with d ~ N(0, I)."""

    def diagonal_polynomial(self) -> tuple[float, ...]:
        """|l|^2."""
        return (0.0, 1.0)

    def affine(self) -> tuple[float, float]:
        """l.l'."""
        return (0.0, 1.0)

    def matrix(self, first: Array, second: Array) -> Array:
        """l.l'."""
        return first @ second.T

    def factor(self, points: Array) -> Array:
        """The points themselves."""
        return points


@dataclass(frozen=True)
class Constant(Kernel):
    """K(l, l') = value: F(l) = mu with mu ~ N(0, value), one level for a whole group."""

    value: float = 1.0

    def __post_init__(self) -> None:
        _check.fields(self, value=_check.nonnegative)

    def diagonal_polynomial(self) -> tuple[float, ...]:
        """(value,)."""
        return (self.value,)

    def affine(self) -> tuple[float, float]:
        """(value, 0)."""
        return (self.value, 0.0)

    def matrix(self, first: Array, second: Array) -> Array:
        """value, everywhere."""
        return np.full((len(first), len(second)), self.value)

    def factor(self, points: Array) -> Array:
        """One column of sqrt(value)."""
        return np.full((len(points), 1), np.sqrt(self.value))


@dataclass(frozen=True)
class _Stationary(Kernel):
    """A function of the distance r = |l - l'| / lengthscale with K(l, l) = 1."""

    lengthscale: float = 1.0

    def __post_init__(self) -> None:
        _check.fields(self, lengthscale=_check.positive)

    @staticmethod
    @abstractmethod
    def profile(r: Array) -> Array:
        """K as a function of r."""

    def diagonal_polynomial(self) -> tuple[float, ...]:
        """1, everywhere."""
        return (1.0,)

    def matrix(self, first: Array, second: Array) -> Array:
        """The profile of the distances."""
        with np.errstate(over="ignore"):
            r = distances(first, second) / self.lengthscale
        return self.profile(np.minimum(r, FARTHEST))


@dataclass(frozen=True)
class RBF(_Stationary):
    """K(l, l') = exp(-r^2 / 2), r = |l - l'| / lengthscale."""

    @staticmethod
    def profile(r: Array) -> Array:
        """exp(-r^2 / 2)."""
        return np.exp(-(r**2) / 2)


@dataclass(frozen=True)
class Matern32(_Stationary):
    """K(l, l') = (1 + s) exp(-s), s = sqrt(3) |l - l'| / lengthscale."""

    @staticmethod
    def profile(r: Array) -> Array:
        """(1 + s) exp(-s), s = sqrt(3) r."""
        s = np.sqrt(3) * r
        return (1 + s) * np.exp(-s)


@dataclass(frozen=True)
class Matern52(_Stationary):
    """K(l, l') = (1 + s + s^2 / 3) exp(-s), s = sqrt(5) |l - l'| / lengthscale."""

    @staticmethod
    def profile(r: Array) -> Array:
        """(1 + s + s^2 / 3) exp(-s), s = sqrt(5) r."""
        s = np.sqrt(5) * r
        return (1 + s + s**2 / 3) * np.exp(-s)


@dataclass(frozen=True)
class _Pair(Kernel):
    """Two kernels put together."""

    first: Kernel
    second: Kernel

    def __post_init__(self) -> None:
        _check.instance("first", self.first, Kernel)
        _check.instance("second", self.second, Kernel)

    def _polynomial(self, combine: Callable[[tuple, tuple], Array]) -> tuple[float, ...] | None:
        """The two diagonals' polynomials combined, where both are known."""
        one, two = self.first.diagonal_polynomial(), self.second.diagonal_polynomial()
        return None if one is None or two is None else tuple(combine(one, two).tolist())


@dataclass(frozen=True)
class Sum(_Pair):
    """K_1 + K_2: the sum of two independent random functions."""

    def diagonal_polynomial(self) -> tuple[float, ...] | None:
        """The sum of the two polynomials."""
        return self._polynomial(np.polynomial.polynomial.polyadd)

    def affine(self) -> tuple[float, float] | None:
        """The sum of the two forms."""
        one, two = self.first.affine(), self.second.affine()
        return None if one is None or two is None else (one[0] + two[0], one[1] + two[1])

    def matrix(self, first: Array, second: Array) -> Array:
        """K_1 + K_2."""
        return self.first.matrix(first, second) + self.second.matrix(first, second)

    def factor(self, points: Array) -> Array:
        """(A_1, A_2) side by side, or one of full size where that is smaller."""
        parts = np.hstack([self.first.factor(points), self.second.factor(points)])
        return parts if parts.shape[1] <= len(points) else super().factor(points)


@dataclass(frozen=True)
class Product(_Pair):
    """K_1 K_2, positive semidefinite by Schur's theorem."""

    def diagonal_polynomial(self) -> tuple[float, ...] | None:
        """The product of the two polynomials."""
        return self._polynomial(np.polynomial.polynomial.polymul)

    def affine(self) -> tuple[float, float] | None:
        """The product of the two forms, where one of them is constant."""
        one, two = self.first.affine(), self.second.affine()
        if one is None or two is None or (one[1] != 0 and two[1] != 0):
            return None
        return (one[0] * two[0], one[0] * two[1] + one[1] * two[0])

    def matrix(self, first: Array, second: Array) -> Array:
        """K_1 K_2."""
        return self.first.matrix(first, second) * self.second.matrix(first, second)

    def factor(self, points: Array) -> Array:
        """Products of each column of A_1 with each of A_2, or one of full size where that is smaller."""
        one, two = self.first.factor(points), self.second.factor(points)
        if one.shape[1] * two.shape[1] > len(points):
            return super().factor(points)
        return (one[:, :, np.newaxis] * two[:, np.newaxis, :]).reshape(len(points), -1)


@dataclass(frozen=True)
class Scale(Kernel):
    """scale K: the random function times sqrt(scale)."""

    scale: float
    kernel: Kernel

    def __post_init__(self) -> None:
        _check.fields(self, scale=_check.nonnegative)
        _check.instance("kernel", self.kernel, Kernel)

    def diagonal_polynomial(self) -> tuple[float, ...] | None:
        """scale times the polynomial."""
        inner = self.kernel.diagonal_polynomial()
        return None if inner is None else tuple(self.scale * c for c in inner)

    def affine(self) -> tuple[float, float] | None:
        """scale times the form."""
        inner = self.kernel.affine()
        return None if inner is None else (self.scale * inner[0], self.scale * inner[1])

    def matrix(self, first: Array, second: Array) -> Array:
        """scale K."""
        return self.scale * self.kernel.matrix(first, second)

    def factor(self, points: Array) -> Array:
        """sqrt(scale) A."""
        return np.sqrt(self.scale) * self.kernel.factor(points)
