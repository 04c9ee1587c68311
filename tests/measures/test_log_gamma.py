"""Logarithms of gamma variables."""

import numpy as np
import pytest
from scipy import stats

from cormorant.measures.log_gamma import draw_log_gamma


@pytest.mark.parametrize("shape", [0.05, 0.7, 3.0])
def test_they_are_those_of_gamma_variables(shape):
    drawn = draw_log_gamma(np.full(2000, shape), np.random.default_rng(0))
    assert stats.kstest(np.exp(drawn), stats.gamma(shape).cdf).pvalue > 1e-3


def test_they_are_finite_where_the_variables_are_not_told_from_zero():
    """x^s is uniform in the limit of small s."""
    drawn = draw_log_gamma(np.full(2000, 1e-8), np.random.default_rng(0))
    assert np.all(np.exp(drawn) == 0)
    assert stats.kstest(np.exp(1e-8 * drawn), "uniform").pvalue > 1e-3


def test_shapes_are_kept():
    drawn = draw_log_gamma(np.array([[1e-3, 1e3], [1.0, 1e4]]), np.random.default_rng(1))
    assert drawn.shape == (2, 2)
    assert drawn[1, 1] == pytest.approx(np.log(1e4), abs=0.05)
