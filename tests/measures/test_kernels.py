"""Kernels are positive semidefinite, add and multiply, and know their diagonals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cormorant.measures import RBF, Constant, Kernel, Linear, Matern32, Matern52, Product, Scale, Sum

POSITIVE = st.floats(0.1, 10)
SIMPLE = st.one_of(
    st.just(Linear()),
    st.builds(Constant, st.floats(0, 10)),
    st.builds(RBF, POSITIVE),
    st.builds(Matern32, POSITIVE),
    st.builds(Matern52, POSITIVE),
)
KERNELS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.builds(Sum, inner, inner),
        st.builds(Product, inner, inner),
        st.builds(Scale, st.floats(0, 5), inner),
    ),
    max_leaves=4,
)
POINTS = st.integers(1, 3).flatmap(
    lambda d: st.integers(1, 8).flatmap(lambda n: arrays(float, (n, d), elements=st.floats(-5, 5)))
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(KERNELS, POINTS)
def test_positive_semidefinite(kernel, points):
    matrix = kernel(points)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-12, atol=1e-12)
    # Rounding moves eigenvalues by about 1e-16 of the trace times the size.
    assert np.linalg.eigvalsh(matrix).min() >= -1e-12 * max(np.trace(matrix), 1)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(KERNELS, POINTS)
def test_factor_and_diagonal(kernel, points):
    matrix = kernel(points)
    factor = kernel.factor(points)
    scale = max(np.abs(matrix).max(), 1)
    np.testing.assert_allclose(factor @ factor.T, matrix, atol=1e-10 * scale)
    norms = (points**2).sum(axis=1)
    polynomial = np.polynomial.polynomial.polyval(norms, kernel.diagonal_polynomial())
    np.testing.assert_allclose(np.diag(matrix), polynomial, atol=1e-10 * scale)
    if kernel.affine() is not None:
        level, slope = kernel.affine()
        np.testing.assert_allclose(matrix, level + slope * points @ points.T, atol=1e-10 * scale)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(SIMPLE, SIMPLE, POINTS)
def test_algebra(first, second, points):
    np.testing.assert_allclose((first + second)(points), first(points) + second(points))
    np.testing.assert_allclose((first * second)(points), first(points) * second(points))
    np.testing.assert_allclose((2.5 * first)(points), 2.5 * first(points))
    np.testing.assert_allclose((first * 2.5)(points), 2.5 * first(points))


def test_values_at_distance_one():
    here, there = np.array([[0.0]]), np.array([[1.0]])
    root3, root5 = np.sqrt(3), np.sqrt(5)
    assert RBF()(here, there)[0, 0] == pytest.approx(np.exp(-0.5))
    assert Matern32()(here, there)[0, 0] == pytest.approx((1 + root3) * np.exp(-root3))
    assert Matern52()(here, there)[0, 0] == pytest.approx((1 + root5 + 5 / 3) * np.exp(-root5))
    assert Linear()(2 * there, 3 * there)[0, 0] == 6


def test_affine_forms():
    assert (2.0 * Linear() + Constant(3.0)).affine() == (3.0, 2.0)
    assert (Constant(2.0) * Linear()).affine() == (0.0, 2.0)
    assert (Linear() * Linear()).affine() is None
    assert RBF().affine() is None


@pytest.mark.parametrize("kernel", [RBF(1e-200), Matern32(1e-310), Matern52(1e-310)], ids=repr)
def test_short_lengthscales_and_far_points_are_uncorrelated(kernel):
    np.testing.assert_array_equal(kernel([[0.0], [1.0]]), np.eye(2))
    np.testing.assert_array_equal(kernel([[-1e308], [1e308]]), np.eye(2))


def test_values_that_no_float_holds_are_refused():
    with pytest.raises(ValueError, match=r"first: expected points at which Linear\(\) fits a float64"):
        Linear()([[1e200]])


def test_points_of_different_dimensions_are_refused():
    with pytest.raises(ValueError, match="second: expected points of dimension 2"):
        Linear()(np.zeros((3, 2)), np.zeros((3, 1)))


class Cosine(Kernel):
    def matrix(self, first, second):
        return np.cos(first[:, :1] - second[:, :1].T)


def test_a_kernel_of_ones_own_claims_nothing_it_does_not_declare():
    own = Cosine()
    assert own.diagonal_polynomial() is None
    assert (own + Linear()).diagonal_polynomial() is None
    assert (own * Linear()).affine() is None
    assert (own + Linear()).affine() is None
    assert (2.0 * own).diagonal_polynomial() is None
    assert (2.0 * own).affine() is None
    points = np.random.default_rng(0).normal(size=(6, 1))
    assert own.factor(points).shape == (6, 2)  # cos(x - y) has rank two
