"""Random functions and their means; base and location distributions."""

import numpy as np
import pytest
from scipy import special, stats

from cormorant.measures import (
    RBF,
    CallableAtoms,
    CallableLocations,
    CallableMean,
    Constant,
    ConstantMean,
    CovariateFunction,
    DirichletAtoms,
    GammaAtoms,
    GaussianAtoms,
    GaussianLocations,
    GaussianProcess,
    GroupMeans,
    Linear,
    StudentTProcess,
    ZeroMean,
)

from .helpers import in_covariance, in_distribution, in_independence, in_mean

LOCATIONS = np.array([[1.0, 0.0], [0.5, 0.5], [-1.0, 0.2], [0.0, 0.0]])


@pytest.mark.parametrize("kernel", [Linear(), RBF(), Linear() + Constant(0.5), Linear() * RBF()], ids=repr)
def test_gaussian_process_draws_have_the_kernel_as_covariance(kernel):
    function = GaussianProcess(kernel, CallableMean(lambda locations: locations[:, 0]))
    draws = function.sample(LOCATIONS, 0, groups=20_000)
    assert in_mean(draws[:, :3], LOCATIONS[:3, 0])
    assert in_covariance(draws, kernel(LOCATIONS))


def test_the_linear_kernel_is_an_inner_product():
    draws = GaussianProcess(Linear()).sample(LOCATIONS, 1, groups=5)
    slopes = np.linalg.lstsq(LOCATIONS, draws.T, rcond=None)[0]
    np.testing.assert_allclose(LOCATIONS @ slopes, draws.T, atol=1e-12)  # rounding: all numbers are of order one


def test_student_t_process_has_student_marginals_and_a_shared_scale():
    function = StudentTProcess(RBF(0.1), ConstantMean(1.0), degrees=5.0)
    draws = function.sample(LOCATIONS, 2, groups=4000) - 1
    assert in_distribution(draws[:, 0], stats.t(5).cdf)
    assert in_independence(draws[:, 0], draws[:, 2])
    # Far apart they are uncorrelated, but tau is shared: log F^2 = log Z^2 - log tau, and the variances of the two
    # terms are trigamma(1/2) and trigamma(nu / 2). A sample correlation has standard error 1 / sqrt(n).
    shared, own = special.polygamma(1, 2.5), special.polygamma(1, 0.5)
    correlation = np.corrcoef(np.log(draws[:, [0, 2]] ** 2).T)[0, 1]
    assert abs(correlation - shared / (shared + own)) < 4 / np.sqrt(len(draws))


def test_student_t_precisions():
    """tau ~ Gamma(nu / 2, nu / 2) has mean 1 and variance 2 / nu."""
    tau = StudentTProcess(RBF(), degrees=5.0).sample_precision(np.random.default_rng(3), 20_000)
    assert in_mean(tau, 1.0)
    assert in_mean((tau - 1) ** 2, 0.4)


def test_means():
    assert np.all(ZeroMean()(LOCATIONS) == 0)
    assert np.all(ConstantMean(2.0)(LOCATIONS) == 2)
    draws = GaussianProcess(Constant(0.0), GroupMeans([1.0, -1.0])).sample(LOCATIONS, 0, groups=2)
    np.testing.assert_array_equal(draws, [[1] * 4, [-1] * 4])


def test_group_means_ask_for_as_many_groups():
    function = GaussianProcess(Linear(), GroupMeans([1.0, -1.0]))
    with pytest.raises(ValueError, match="groups: expected 2, one for each mean or covariate, got 3"):
        function.sample(LOCATIONS, 0, groups=3)
    with pytest.raises(ValueError, match="group: expected a number below 2, got 2"):
        function.mean(LOCATIONS, 2)


def test_a_function_of_covariates_is_known():
    function = CovariateFunction(lambda theta, locations: locations @ theta, [[1.0, 0.0], [0.0, 2.0]])
    draws = function.sample(LOCATIONS, 0, groups=2)
    np.testing.assert_allclose(draws, np.array([[1.0, 0.0], [0.0, 2.0]]) @ LOCATIONS.T)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda theta, x: np.zeros(2), r"function: expected it to return 4 numbers, one a row, got shape \(2,\)"),
        (lambda theta, x: np.full(len(x), np.nan), "function: expected numbers, got NaN"),
    ],
)
def test_a_function_of_covariates_must_give_one_number_a_location(wrong, message):
    with pytest.raises(ValueError, match=message):
        CovariateFunction(wrong, [[1.0]]).sample(LOCATIONS, 0)


class TestAtoms:
    def test_gamma_vectors(self):
        atoms = GammaAtoms(3, shape=2.0, rate=4.0).sample(0, 4000)
        assert atoms.shape == (4000, 3)
        assert in_mean(atoms, 0.5)
        assert in_mean((atoms - 0.5) ** 2, 0.125)

    def test_dirichlet(self):
        atoms = DirichletAtoms([1.0, 2.0, 3.0]).sample(1, 4000)
        np.testing.assert_allclose(atoms.sum(axis=1), 1, rtol=1e-14)  # rounding of a sum of three
        assert in_mean(atoms, np.array([1, 2, 3]) / 6)

    def test_gaussian(self):
        atoms = GaussianAtoms([1.0, -1.0], 4.0).sample(2, 4000)
        assert in_mean(atoms, np.array([1.0, -1.0]))
        assert in_mean((atoms - [1.0, -1.0]) ** 2, 4.0)

    def test_any_callable(self):
        assert CallableAtoms(lambda rng, n: rng.random(n)).sample(3, 5).shape == (5, 1)
        with pytest.raises(ValueError, match="function: expected it to return 5 rows"):
            CallableAtoms(lambda rng, n: rng.random(2)).sample(3, 5)

    def test_no_atoms(self):
        assert GammaAtoms(3).sample(0, 0).shape == (0, 3)


class TestLocations:
    def test_gaussian(self):
        locations = GaussianLocations(2, 0.25).sample(0, 4000)
        assert in_mean(locations, 0.0)
        assert in_mean(locations**2, 0.25)

    def test_any_callable(self):
        assert CallableLocations(lambda rng, n: rng.random((n, 2)), 2).sample(0, 3).shape == (3, 2)
        with pytest.raises(ValueError, match="function: expected 2 columns, got 1"):
            CallableLocations(lambda rng, n: rng.random((n, 1)), 2).sample(0, 3)
