"""The random function F: Gaussian and Student-t processes with their means, or a function of covariates.

All are Gaussian given a scale: F = m + G / sqrt(tau), G ~ GP(0, K), with tau = 1 for the Gaussian process,
tau ~ Gamma(nu / 2, nu / 2) for the Student-t process, and K = 0 where F is known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from cormorant.measures import _check
from cormorant.measures._check import Array, Seed
from cormorant.measures.kernels import Constant, Kernel
from cormorant.measures.quadrature import gamma_rule


class MeanFunction(ABC):
    """m_u(l), the mean of F for group u."""

    @property
    def groups(self) -> int | None:
        """How many groups have a mean of their own, or None where all share one."""
        return None

    def constant(self, group: int = 0) -> float | None:
        """The value of a mean that does not depend on l, or None."""
        return None

    @abstractmethod
    def __call__(self, locations: Array, group: int = 0) -> Array:
        """m_group(l) at each location."""


@dataclass(frozen=True)
class ConstantMean(MeanFunction):
    """m(l) = value."""

    value: float = 0.0

    def __post_init__(self) -> None:
        _check.fields(self, value=_check.finite)

    def constant(self, group: int = 0) -> float:
        """value."""
        return self.value

    def __call__(self, locations: Array, group: int = 0) -> Array:
        """value, at each location."""
        return np.full(len(locations), self.value)


@dataclass(frozen=True)
class ZeroMean(ConstantMean):
    """m(l) = 0."""

    value: float = field(default=0.0, init=False)


@dataclass(frozen=True, eq=False)
class GroupMeans(MeanFunction):
    """m_u(l) = values[u], the per-patient constants of Poisson factorisation."""

    values: Array

    def __init__(self, values: ArrayLike) -> None:
        object.__setattr__(self, "values", _check.array("values", values, ndim=1))
        if len(self.values) == 0:
            raise ValueError("values: expected a mean for each of one or more groups, got none")

    @property
    def groups(self) -> int:
        """One for each value."""
        return len(self.values)

    def constant(self, group: int = 0) -> float:
        """values[group]."""
        return float(self.values[check_group(group, self)])

    def __call__(self, locations: Array, group: int = 0) -> Array:
        """values[group], at each location."""
        return np.full(len(locations), self.constant(group))


@dataclass(frozen=True)
class CallableMean(MeanFunction):
    """m(l) = function(l) for an array of locations, one a row."""

    function: Callable[[Array], ArrayLike]

    def __post_init__(self) -> None:
        _check.fields(self, function=_check.function)

    def __call__(self, locations: Array, group: int = 0) -> Array:
        """function(locations)."""
        values = _check.column("function", self.function(locations), len(locations))
        return _check.finites("function", values)


class RandomFunction(ABC):
    """The law of F: a mean for each group, a kernel, and a random precision tau."""

    kernel: Kernel  # the covariance of F given tau = 1

    @property
    @abstractmethod
    def groups(self) -> int | None:
        """How many groups differ in law, or None where all are alike."""

    @abstractmethod
    def mean(self, locations: Array, group: int = 0) -> Array:
        """E F_group(l), where it exists, at each location."""

    @abstractmethod
    def constant_mean(self, group: int = 0) -> float | None:
        """The mean where it does not depend on l, or None."""

    def sample_precision(self, rng: np.random.Generator, number: int) -> Array:
        """tau, one for each function."""
        return np.ones(number)

    def precision_nodes(self, order: int) -> tuple[Array, Array]:
        """Nodes and weights for expectations over tau of what grows like tau^(-order / 2)."""
        return np.ones(1), np.ones(1)

    def sample(self, locations: ArrayLike, rng: Seed, groups: int = 1) -> Array:
        """F_u(l_k), groups x locations, a fresh function for each group."""
        points, rng = _check.points("locations", locations), _check.generator(rng)
        groups = _check.count("groups", groups)
        if self.groups not in (None, groups):
            raise ValueError(
                f"groups: expected {self.groups}, one for each mean or covariate, got {groups}; "
                f"draw them together with sample_groups({self.groups}, ...)"
            )
        means = np.stack([self.mean(points, u) for u in range(groups if self.groups else 1)])
        return means + self.sample_deviation(points, rng, groups)

    def sample_deviation(self, points: Array, rng: np.random.Generator, functions: int) -> Array:
        """F - m = A z / sqrt(tau) with A A' = K, functions x points."""
        factor = self.kernel.factor(points)
        z = rng.standard_normal((functions, factor.shape[1]))
        return z @ factor.T / np.sqrt(self.sample_precision(rng, functions))[:, np.newaxis]


@dataclass(frozen=True)
class GaussianProcess(RandomFunction):
    """F ~ GP(m, K)."""

    kernel: Kernel
    mean_function: MeanFunction = field(default_factory=ZeroMean)

    def __post_init__(self) -> None:
        _check.instance("kernel", self.kernel, Kernel)
        _check.instance("mean_function", self.mean_function, MeanFunction, of_functions="CallableMean")

    @property
    def groups(self) -> int | None:
        """Those of the mean function."""
        return self.mean_function.groups

    def mean(self, locations: Array, group: int = 0) -> Array:
        """m_group(l)."""
        return self.mean_function(locations, check_group(group, self))

    def constant_mean(self, group: int = 0) -> float | None:
        """The mean function's value where it is constant."""
        return self.mean_function.constant(check_group(group, self))


@dataclass(frozen=True)
class StudentTProcess(GaussianProcess):
    """F = m + G / sqrt(tau), G ~ GP(0, K), tau ~ Gamma(nu / 2, nu / 2), nu = `degrees`.

    Each F(l) is Student-t with nu degrees of freedom, so exp(F) has no mean.
    """

    degrees: float = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check.fields(self, degrees=_check.positive)

    def sample_precision(self, rng: np.random.Generator, number: int) -> Array:
        """tau ~ Gamma(nu / 2, nu / 2)."""
        tau = rng.gamma(self.degrees / 2, 2 / self.degrees, number)
        return np.maximum(tau, np.finfo(float).tiny)  # a tau that rounds to zero would make F no number at all

    def precision_nodes(self, order: int) -> tuple[Array, Array]:
        """The trapezoid rule of `quadrature.gamma_rule`."""
        return gamma_rule(self.degrees, order)


@dataclass(frozen=True, eq=False)
class CovariateFunction(RandomFunction):
    """F_u(l) = function(theta_u, l), known from the group's covariates: thinned dependent measures.

    `function` takes one covariate (a row of `covariates`) and an array of locations; it may return
    infinities, where a component is surely kept or surely dropped.
    """

    function: Callable[[Array, Array], ArrayLike]
    covariates: Array
    kernel: Kernel = field(default=Constant(0.0), init=False, repr=False)  # nothing about F is random

    def __init__(self, function: Callable[[Array, Array], ArrayLike], covariates: ArrayLike) -> None:
        object.__setattr__(self, "function", _check.function("function", function))
        object.__setattr__(self, "covariates", _check.points("covariates", covariates))
        if len(self.covariates) == 0:
            raise ValueError("covariates: expected a row for each of one or more groups, got none")

    @property
    def groups(self) -> int:
        """One for each covariate."""
        return len(self.covariates)

    def mean(self, locations: Array, group: int = 0) -> Array:
        """function(theta_group, l)."""
        theta = self.covariates[check_group(group, self)]
        return _check.column("function", self.function(theta, locations), len(locations))

    def constant_mean(self, group: int = 0) -> float | None:
        """None: F depends on l."""
        check_group(group, self)
        return None


def check_group(group: int, of: MeanFunction | RandomFunction) -> int:
    """A group's number: from 0 to one below the number of groups, and 0 where all groups share one law."""
    group = _check.count("group", group, least=0)
    if of.groups is None and group > 0:
        raise ValueError(f"group: expected 0, since all groups share one law here, got {group}")
    if of.groups is not None and group >= of.groups:
        raise ValueError(f"group: expected a number below {of.groups}, got {group}")
    return group
