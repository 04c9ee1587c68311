"""Gamma variables by their logarithms: those of a tiny shape are mostly too small for a float64 themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cormorant.measures._check import Array


def draw_log_gamma(shape: ArrayLike, rng: np.random.Generator) -> Array:
    """log x of x ~ Gamma(s, 1), as log y + log(u) / s with y ~ Gamma(s + 1, 1) and u uniform, however small s is.

    So drawn, variables keep their ratios where they would all be zero.
    """
    shape = np.asarray(shape, dtype=np.float64)
    y = rng.standard_gamma(shape + 1.0)
    with np.errstate(over="ignore", divide="ignore"):
        return np.log(y) + np.log1p(-rng.random(shape.shape)) / shape
