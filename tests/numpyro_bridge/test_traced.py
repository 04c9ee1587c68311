"""Formulas of NumPy under JAX: the same numbers, the right slopes, and errors that say what JAX cannot follow."""

import math

import numpy as np
import pytest
from scipy import special

jax = pytest.importorskip("jax", reason="needs the extra numpyro")

import jax.numpy as jnp  # noqa: E402
from measures.helpers import TRANSFORMS  # noqa: E402

from cormorant.measures import RBF, Constant, Linear, Matern32, Matern52  # noqa: E402
from cormorant.measures.traced import NotTraceable, traced  # noqa: E402

from .helpers import LOCATIONS, WEIGHTS, Lomax  # noqa: E402

F = np.array([[0.3, -1.0, 2.0], [0.0, 1.5, -40.0]])
ROUNDING = {"rtol": 1e-11, "atol": 1e-300}


@pytest.mark.parametrize("transform", [*TRANSFORMS, Lomax()], ids=lambda t: type(t).__name__)
@pytest.mark.parametrize("method", ["mean", "variance", "log_density"])
def test_transformations_have_one_formula(transform, method):
    x = (transform.sample(WEIGHTS, F, np.random.default_rng(0)),) if method == "log_density" else ()
    formula = getattr(transform, method)
    under_jax = jax.jit(lambda *arguments: traced(formula, "transform", *arguments))(*x, WEIGHTS, F)
    np.testing.assert_allclose(under_jax, formula(*x, WEIGHTS, F), **ROUNDING)


KERNELS = [Linear(), RBF(0.7), Matern32(), Matern52(1.3), RBF() + 2.0 * Linear() * Matern52() + Constant(0.3)]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernels_have_one_formula_and_a_slope(kernel):
    """Numerical slopes along one direction, where a location meets itself too; step and rounding allow six digits."""

    def total(points):
        return jnp.sum(traced(kernel.matrix, "kernel", points, points) * jnp.arange(9.0).reshape(3, 3))

    np.testing.assert_allclose(traced(kernel.matrix, "kernel", LOCATIONS, LOCATIONS), kernel(LOCATIONS), **ROUNDING)
    along, step = np.arange(6.0).reshape(3, 2), 1e-5
    numerical = (total(LOCATIONS + step * along) - total(LOCATIONS - step * along)) / (2 * step)
    assert float(jnp.sum(jax.grad(total)(LOCATIONS) * along)) == pytest.approx(float(numerical), rel=1e-6)


def test_more_of_numpy_and_code_written_for_jax():
    def mixed(points):
        norms = np.linalg.norm(points, axis=1)
        stacked = np.stack([norms, points[:, 0], np.where(norms > 0.6, points.T[1], -1.0)])
        return np.concatenate([stacked.sum(axis=0), points.reshape(-1)])

    np.testing.assert_allclose(traced(mixed, "f", LOCATIONS), mixed(LOCATIONS), **ROUNDING)
    np.testing.assert_allclose(traced(lambda x: jnp.sin(x) + 1, "f", WEIGHTS), np.sin(WEIGHTS) + 1, **ROUNDING)


UNTRACEABLE = {
    "a plain number": lambda x: math.exp(x[0]),
    "a plain NumPy array": lambda x: np.asarray(x) + 1,
    "decides by a value": lambda x: x if x.sum() > 0 else -x,
    "kv, which JAX lacks": lambda x: special.kv(1.0, x),
    "putmask, which JAX lacks": lambda x: np.putmask(x, x > 0, 1.0),
    "calls exp with where": lambda x: np.exp(x, where=x > 0),
}


@pytest.mark.parametrize("reason", UNTRACEABLE)
def test_what_jax_cannot_follow_is_said(reason):
    with pytest.raises(NotTraceable, match=f"transform: expected formulas .*{reason}"):
        jax.jit(lambda x: traced(UNTRACEABLE[reason], "transform", x))(WEIGHTS)
