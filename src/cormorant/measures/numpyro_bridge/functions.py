"""The random function F at the locations, inside a NumPyro model: rows x components."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cormorant.measures._jax import dist, jax, jnp
from cormorant.measures.functions import (
    CovariateFunction,
    GaussianProcess,
    GroupMeans,
    RandomFunction,
    StudentTProcess,
)
from cormorant.measures.kernels import Kernel
from cormorant.measures.numpyro_bridge.sites import note, sample
from cormorant.measures.traced import traced

if TYPE_CHECKING:
    from jax import Array

KNOWN_PRECISIONS = (RandomFunction.sample_precision, StudentTProcess.sample_precision)


def check_function(function: RandomFunction) -> None:
    """A function whose law is known here: Gaussian given a precision of one or of Student's t, or covariates'."""
    known = isinstance(function, GaussianProcess | CovariateFunction)
    if not known or type(function).sample_precision not in KNOWN_PRECISIONS:
        raise TypeError(
            "measure: expected a function that is a GaussianProcess, StudentTProcess or CovariateFunction with its "
            f"own precision, got {type(function).__name__}, whose law NumPyro cannot be told"
        )


def sample_function(function: RandomFunction, locations: Array, rows: int) -> Array:
    """F_u(l_k) = m_u(l_k) + (A z_u)_k / sqrt(tau_u) with A A' = K, site `F`."""
    deviation = _deviation(function.kernel, locations, rows)
    if isinstance(function, StudentTProcess):
        half = function.degrees / 2
        tau = sample("tau", dist.Gamma(half, half), (rows,))
        deviation = deviation / jnp.sqrt(tau)[:, None]
    return note("F", _mean(function, locations) + deviation)


def _mean(function: RandomFunction, locations: Array) -> Array:
    """m_u(l_k), rows x components, or 1 x components where all rows share it."""
    if isinstance(function, CovariateFunction):
        covariates = jnp.asarray(function.covariates)
        return jax.vmap(lambda theta: traced(function.function, "covariates", theta, locations))(covariates)
    if isinstance(function, GaussianProcess) and isinstance(function.mean_function, GroupMeans):
        return jnp.asarray(function.mean_function.values)[:, None]
    if function.groups is None:
        return traced(function.mean, "mean_function", locations)[None, :]
    groups = (partial(function.mean, group=u) for u in range(function.groups))
    return jnp.stack([traced(mean, "mean_function", locations) for mean in groups])


def _deviation(kernel: Kernel, locations: Array, rows: int) -> Array:
    """A z: for K = c_0 + c_1 l.l' as mu_u + l.d_u, the paper's; else A is the Cholesky factor at the locations."""
    affine = kernel.affine()
    if affine is None:
        z = sample("z_F", dist.Normal(), (rows, len(locations)))
        return z @ _cholesky(traced(kernel.matrix, "kernel", locations, locations)).T
    level, slope = affine
    total = jnp.zeros((rows, len(locations)))
    if slope > 0:
        d = sample("d", dist.Normal(), (rows, locations.shape[1]))
        total = total + jnp.sqrt(slope) * d @ locations.T
    if level > 0:
        mu = note("mu", jnp.sqrt(level) * sample("mu_unit", dist.Normal(), (rows,)))
        total = total + mu[:, None]
    return total


def _cholesky(K: Array) -> Array:
    """The Cholesky factor of K + jitter: kernel matrices are singular up to rounding, as where locations meet."""
    jitter = 10 * len(K) * jnp.finfo(K.dtype).eps * jnp.trace(K) / len(K)
    return jnp.linalg.cholesky(K + jitter * jnp.eye(len(K), dtype=K.dtype))
