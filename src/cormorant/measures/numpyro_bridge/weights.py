"""Weights of a truncated process under JAX, with the law of the process's own `sample(number=T)`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from cormorant.measures._jax import dist, jax, jnp
from cormorant.measures.levy import LARGEST, SMALLEST, LevyProcess
from cormorant.measures.numpyro_bridge.gammas import smallest
from cormorant.measures.numpyro_bridge.sites import sample
from cormorant.measures.sticks import StickProcess
from cormorant.measures.weights import WeightProcess

if TYPE_CHECKING:
    from jax import Array

STEP = 1 / 128  # of the table in log arrival: cubics follow w to nine digits or so
EARLIEST = -36.0  # log of an arrival that no draw comes before: one in 10^16
LAST_LOGIT = 18.0  # a weight nearer to one has too few digits for its logit


class PlacedWeights(NamedTuple):
    """Weights w with their positions: log w on the half line, logit w on the unit interval."""

    values: Array
    positions: Array


Sampler = Callable[[], PlacedWeights]


def weight_sampler(process: WeightProcess, number: int) -> Sampler:
    """What samples the first `number` weights inside a NumPyro model."""
    if isinstance(process, StickProcess):
        return lambda: _sample_sticks(process, number)
    if isinstance(process, LevyProcess):
        return _levy_sampler(process, number)
    raise TypeError(
        f"measure: expected weights of a LevyProcess or a StickProcess, got {type(process).__name__}; "
        "give to_numpyro weights=, a function of the number that samples them"
    )


def _sample_sticks(process: StickProcess, number: int) -> PlacedWeights:
    """w_k = v_k prod_{j<k} (1 - v_j), v_k ~ Beta(1 - sigma, theta + k sigma)."""
    shapes = process.stick_shapes(1, number)
    return place(break_sticks(sample("v", dist.Beta(*map(jnp.asarray, shapes)))), upper=1.0)


def break_sticks(v: Array) -> Array:
    """v_k prod_{j<k} (1 - v_j)."""
    rest = jnp.cumprod(1 - v)
    return v * jnp.concatenate([jnp.ones(1), rest[:-1]])


def place(w: Array, upper: float) -> PlacedWeights:
    """Weights kept from zero, with their positions, which are kept from an upper end of one.

    Weights that a user gives are theirs: those of a Dirichlet process times a beta may lie above its end.
    """
    w = jnp.maximum(w, smallest())
    if upper > 1:
        return PlacedWeights(w, jnp.log(w))
    inside = jnp.minimum(w, 1 - jnp.finfo(w.dtype).epsneg)
    return PlacedWeights(w, jnp.log(inside) - jnp.log1p(-inside))


def _levy_sampler(process: LevyProcess, number: int) -> Sampler:
    """w_j = N^-1(Gamma_j), Gamma_j the arrivals of a unit-rate Poisson process (Ferguson and Klass)."""
    if math.isinf(process.mass):
        raise ValueError("measure: expected a process of finite mass to sample weights, got inf")
    inverse = inverse_tail(process, number)

    def sample_levy() -> PlacedWeights:
        arrivals = jnp.cumsum(sample("gaps", dist.Exponential(), (number,)))
        s = inverse(arrivals)
        w = jnp.exp(s) if process.upper > 1 else jax.nn.sigmoid(s)
        return place(w, process.upper)._replace(positions=s)

    return sample_levy


def inverse_tail(process: LevyProcess, number: int) -> Callable[[Array], Array]:
    """The position s of the weight with N(w) = arrival, differentiable: Hermite cubics through a table.

    The table is even in g = log arrival; its slopes ds/dg = -N(w) / (nu(w) dw/ds) are exact. Before it s goes on
    straight in g, as it does where N is a power of w or of 1 - w; past it, where the arrivals of `number` weights do
    not come, in the arrival.
    """
    g, s, slope = _table(process, number)
    first, last, steps = g[0], g[-1], len(g) - 1

    def position(arrivals: Array) -> Array:
        at = jnp.log(arrivals)
        inside = jnp.clip(at, first, last)
        cell = jnp.clip(jnp.floor((inside - first) / STEP), 0, steps - 1).astype(int)
        t = (inside - first) / STEP - cell
        left, right = jnp.asarray(s)[cell], jnp.asarray(s)[cell + 1]
        rise, fall = STEP * jnp.asarray(slope)[cell], STEP * jnp.asarray(slope)[cell + 1]
        value = (1 + 2 * t) * (1 - t) ** 2 * left + t**2 * (3 - 2 * t) * right
        value = value + t * (1 - t) ** 2 * rise - t**2 * (1 - t) * fall
        before = slope[0] * jnp.minimum(at - first, 0.0)
        beyond = slope[-1] * math.exp(-last) * jnp.maximum(arrivals - math.exp(last), 0.0)
        return value + before + beyond

    return position


def _table(process: LevyProcess, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Even steps in g = log arrival, positions s there, and slopes ds/dg."""
    unit = process.upper == 1
    largest, most = special.expit(LAST_LOGIT) if unit else LARGEST, number + 20 * math.sqrt(number) + 60
    with np.errstate(divide="ignore"):
        first = max(EARLIEST, float(np.log(process.tail(largest))) + STEP)
        last = min(math.log(most), float(np.log(process.tail(SMALLEST))) - STEP)
    g = first + STEP * np.arange(math.ceil((last - first) / STEP) + 1)
    g = g[g <= last]
    w = process.inverse_tail(np.exp(g))
    s, stretch = (special.logit(w), w * (1 - w)) if unit else (np.log(w), w)
    return g, s, -np.exp(g) / (process.intensity(w) * stretch)
