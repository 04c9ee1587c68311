"""What the tests of NumPyro models share; importing it asks for the extra and for double precision.

Most of the tests' time is XLA's, which compiles every shape anew: they share shapes where they can.
"""

import jax
import numpy as np
import numpyro
from numpyro import handlers

from cormorant.measures import GammaAtoms, Transformation

numpyro.enable_x64()

ATOMS = GammaAtoms(4, 2.0, 1.0)
EYE = np.eye(3, 4)
WEIGHTS = np.array([0.3, 0.8, 0.55])
LOCATIONS = np.array([[0.5, 0.2], [-0.4, 0.6], [0.1, -0.7]])
GIVEN = {
    "weights": lambda number: WEIGHTS[:number],
    "atoms": lambda number: EYE[:number],
    "locations": lambda number: LOCATIONS[:number],
}
"""Tuples that are known, in place of random ones."""


def prior(model, seed=0, compiled=True, **arguments):
    """One draw of every site: compiled as one function, or op by op, which shares what was compiled for a shape."""

    def draw(key):
        trace = handlers.trace(handlers.seed(model, key)).get_trace(**arguments)
        return {name: site["value"] for name, site in trace.items()}

    drawn = (jax.jit(draw) if compiled else draw)(jax.random.key(seed))
    return {name: np.asarray(value) for name, value in drawn.items()}


class Lomax(Transformation):
    """x ~ Lomax(3, 2 w exp(F)), whose mean is w exp(F): a transformation that only knows NumPy."""

    exponential_link = True

    def sample(self, w, F, rng):
        return 2 * self.mean(w, F) * rng.pareto(3.0, np.broadcast_shapes(w.shape, F.shape))

    def mean(self, w, F):
        return w * np.exp(F)

    def variance(self, w, F):
        return 3 * self.mean(w, F) ** 2

    def log_density(self, x, w, F):
        scale = 2 * self.mean(w, F)
        return np.log(3.0) - np.log(scale) - 4 * np.log1p(x / scale)
