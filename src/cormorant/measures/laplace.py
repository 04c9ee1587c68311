"""The Laplace functional of proposition 1, E exp(-r M g) = E_F exp(-nu~(1 - exp(-r g(a) x))).

(The paper's statement drops the sign of r once; its proof has it.) Given F, the integral over x and w is
`Transformation.laplace_exponent`, in closed form for the gammas, the identity and thinning. What is left is
an average over atoms and locations inside the exponential, and one over F outside; their errors are
reported (the rule over weights, where there is one, is good to ten digits).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cormorant.measures import _check
from cormorant.measures._check import Array, Seed
from cormorant.measures.correlated import CorrelatedRandomMeasure
from cormorant.measures.functions import check_group
from cormorant.measures.levy import LevyProcess
from cormorant.measures.locations import GaussianLocations
from cormorant.measures.quadrature import gauss_hermite

AtomFunction = float | Callable[[Array], ArrayLike]
FINE, COARSE = 64, 32  # Gauss-Hermite nodes: the answer, and the one it is compared with
BATCHES = 16


@dataclass(frozen=True)
class LaplaceEstimate:
    """A value, its Monte Carlo standard error, and the estimated error of the averages inside exp."""

    value: float
    standard_error: float
    quadrature_error: float

    @property
    def error(self) -> float:
        """The two errors added."""
        return self.standard_error + self.quadrature_error

    def __str__(self) -> str:
        sampling, rule = self.standard_error, self.quadrature_error
        return f"{self.value:.6g} (standard error {sampling:.1g}, quadrature error {rule:.1g})"


def laplace_functional(
    measure: CorrelatedRandomMeasure,
    r: float,
    g: AtomFunction = 1.0,
    *,
    rng: Seed,
    functions: int = 4096,
    points: int = 256,
    group: int = 0,
) -> LaplaceEstimate:
    """E exp(-r M g), for Poisson tuples and a nonnegative g: a function of atoms (rows) or a constant.

    F is drawn `functions` times (rounded up to a multiple of 16), in 16 batches; each batch averages over `points`
    fresh atoms and locations, or over Gauss-Hermite nodes where F is affine in Gaussian locations. The spread of the
    batches gives the standard error of all that is drawn.
    """
    rng = _check.generator(rng)
    task = _Task(
        measure=measure,
        process=_poisson_process(measure),
        r=_check.nonnegative("r", r),
        g=g if callable(g) else _check.nonnegative("g", g),
        size=math.ceil(_check.count("functions", functions) / BATCHES),
        points=_check.count("points", points, least=2),
        group=check_group(group, measure.function),
    )
    inner = _affine_inner if _is_affine(measure) else _sampled_inner
    values, errors = np.transpose([_batch(inner(task, rng)) for _ in range(BATCHES)])
    standard_error = values.std(ddof=1) / np.sqrt(BATCHES)
    return LaplaceEstimate(float(values.mean()), float(standard_error), float(errors.mean()))


@dataclass(frozen=True, eq=False)
class _Task:
    """What a batch is asked for: `size` functions of a group, averages over `points` atoms and locations."""

    measure: CorrelatedRandomMeasure
    process: LevyProcess
    r: float
    g: AtomFunction
    size: int
    points: int
    group: int

    def levels(self, atoms: Array) -> Array:
        """r g(a) at each atom."""
        if not callable(self.g):
            return np.full(len(atoms), self.r * self.g)
        values = _check.finites("g", _check.column("g", self.g(atoms), len(atoms)))
        if (values < 0).any():
            raise ValueError(f"g: expected a nonnegative function, got {values.min()}")
        return self.r * values

    def fixed_factor(self, values: Array) -> Array:
        """prod_k E[exp(-r g(a_k) x_k) | F] over the fixed components, given F at their locations."""
        fixed = self.measure.fixed
        if fixed is None:
            return np.ones(self.size)
        levels = self.levels(fixed.atoms)
        return np.prod(1 - self.measure.transform.laplace_complement(levels, fixed.weights, values), axis=1)


@dataclass(frozen=True, eq=False)
class _Inner:
    """Exponents psi given each F, functions x sampled points, by the fine and by the coarse rule.

    `fixed` is the factor E[exp(-r M_fixed g) | F] of the fixed components, one for each F.
    """

    psi: Array
    coarse: Array
    fixed: Array


def _batch(inner: _Inner) -> tuple[float, float]:
    """Mean of exp(-Phi(F)) over the batch, Phi the average of psi over its points, and its inner error.

    With n sampled points E exp(-Phi_hat) exceeds exp(-Phi) by a factor of about exp(Var(psi) / (2 n)). That is
    taken off, and counted as an error for what a normal Phi_hat is not.
    """
    points = inner.psi.shape[1]
    excess = inner.psi.var(axis=1, ddof=1) / (2 * points) if points > 1 else np.zeros(len(inner.psi))
    terms = inner.fixed * np.exp(-inner.psi.mean(axis=1))
    rule = np.abs(terms - inner.fixed * np.exp(-inner.coarse.mean(axis=1)))
    return float(np.mean(terms * np.exp(-excess))), float(np.mean(-terms * np.expm1(-excess) + rule))


def _affine_inner(task: _Task, rng: np.random.Generator) -> _Inner:
    """F(l) = m + mu + l.d: given (mu, d) and l ~ N(0, s I), F(l) ~ N(m + mu, s |d|^2), by Gauss-Hermite."""
    measure = task.measure
    centre, slope = _draw_affine(task, rng)
    atoms = measure.base.sample(rng, task.points) if callable(task.g) else np.zeros((1, 1))
    # g often takes few values (an indicator takes two), and psi depends on the atom through g alone.
    levels, which = np.unique(task.levels(atoms), return_inverse=True)
    variance = measure.locations.variance if isinstance(measure.locations, GaussianLocations) else 0.0
    spread = np.sqrt(variance) * np.linalg.norm(slope, axis=1)
    psi = []
    for nodes in (FINE, COARSE):
        z, p = gauss_hermite(nodes)
        values = centre[:, np.newaxis, np.newaxis] + np.multiply.outer(spread, z)[:, np.newaxis, :]
        psi.append(measure.transform.laplace_exponent(task.process, levels[:, np.newaxis], values) @ p)
    at_fixed = slope @ measure.fixed.locations.T if measure.fixed is not None else np.zeros((task.size, 0))
    return _Inner(psi[0][:, which], psi[1][:, which], task.fixed_factor(centre[:, np.newaxis] + at_fixed))


def _draw_affine(task: _Task, rng: np.random.Generator) -> tuple[Array, Array]:
    """m + mu, (size,), and d, (size, D), of F(l) = m + mu + l.d; zeros where F is not read."""
    function, shape = task.measure.function, (task.size, task.measure.locations.dimension)
    affine = function.kernel.affine()
    if affine is None or not task.measure.transform.reads_function:
        return np.zeros(task.size), np.zeros(shape)
    scale = 1 / np.sqrt(function.sample_precision(rng, task.size))
    level = np.sqrt(affine[0]) * scale * rng.standard_normal(task.size)
    slope = np.sqrt(affine[1]) * scale[:, np.newaxis] * rng.standard_normal(shape)
    return (function.constant_mean(task.group) or 0.0) + level, slope


def _sampled_inner(task: _Task, rng: np.random.Generator) -> _Inner:
    """Any F: read at sampled locations, paired with sampled atoms, and at the fixed components' own."""
    measure, points = task.measure, task.points
    locations = measure.locations.sample(rng, points)
    if measure.fixed is not None:
        locations = np.vstack([locations, measure.fixed.locations])
    deviation = measure.function.sample_deviation(locations, rng, task.size)
    values = measure.function.mean(locations, task.group) + deviation
    levels = task.levels(measure.base.sample(rng, points))
    psi = measure.transform.laplace_exponent(task.process, levels, values[:, :points])
    return _Inner(psi, psi, task.fixed_factor(values[:, points:]))


def _is_affine(measure: CorrelatedRandomMeasure) -> bool:
    """Whether F(l) given F is Gaussian over locations, or not read at all."""
    affine, constant = measure.function.kernel.affine(), measure.function.constant_mean()
    gaussian = isinstance(measure.locations, GaussianLocations)
    return not measure.transform.reads_function or (gaussian and affine is not None and constant is not None)


def _poisson_process(measure: CorrelatedRandomMeasure) -> LevyProcess:
    _check.instance("measure", measure, CorrelatedRandomMeasure)
    if not isinstance(measure.process, LevyProcess):
        name = type(measure.process).__name__
        raise TypeError(f"measure: expected Poisson tuples (a LevyProcess), got {name}; average draws instead")
    if measure.normalized:
        raise ValueError("measure: expected an unnormalised one, got normalized=True; average draws instead")
    if math.isinf(measure.process.mass):
        raise ValueError("measure: expected a finite base measure, got a process of mass inf")
    return measure.process
