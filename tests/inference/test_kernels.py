"""Kernels: features and their derivatives, what a step makes of locations, and where they are placed at first."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cormorant.backends.cpu import CpuBackend
from cormorant.backends.packing import unpack
from cormorant.inference import locations
from cormorant.inference.gibbs import Gibbs
from cormorant.inference.globals import update_locations
from cormorant.inference.locations import Surrogate
from cormorant.inference.samples import Sample, summarise
from cormorant.inference.state import State
from cormorant.measures import RBF, Matern32, Matern52
from cormorant.models.kernels import Brownian, Fourier, Groups, Linear, draw_frequencies

from .oracles import gradient_of, slope_of


def fourier(n_frequencies=6, n_dims=2, nu=None, length_scale=1.0):
    rng = np.random.default_rng(0)
    return Fourier(draw_frequencies(n_frequencies, n_dims, length_scale, nu, rng), length_scale)


KERNELS = {"rbf": fourier(), "matern": fourier(nu=1.5), "brownian": Brownian(6), "groups": Groups(3)}
SMOOTH = {"linear": Linear(), "rbf": KERNELS["rbf"], "matern": KERNELS["matern"]}


def with_kernel(problem, kernel, learns=True):
    """The same problem under another kernel, its variance learned."""
    g = problem.globals
    rng = np.random.default_rng(5)
    g = replace(g, locations=kernel.start(g.n_components, 2, 1.0, rng), hyper=replace(g.hyper, sigma_l2=1.0))
    model = replace(problem.scheme.model, kernel=kernel)
    learn = problem.scheme.learn | ({"sigma_l2"} if learns else set())
    problem.scheme, problem.start = replace(problem.scheme, model=model, learn=learn), State(g)
    return problem


class TestFeatures:
    @pytest.mark.parametrize(("nu", "exact"), [(None, RBF(0.8)), (1.5, Matern32(0.8)), (2.5, Matern52(0.8))])
    def test_fourier_features_meet_the_kernel(self, nu, exact):
        """4096 cosines, each of variance below one: no further off than independent draws would be (4 s.e.)."""
        points = np.random.default_rng(1).normal(size=(8, 2))
        phi = fourier(4096, nu=nu, length_scale=0.8).features(points, 2.0)
        assert_allclose(phi @ phi.T, 2.0 * exact(points), atol=2.0 * 4 / np.sqrt(4096))

    def test_the_variance_is_the_same_everywhere(self):
        phi = KERNELS["rbf"].features(np.random.default_rng(2).normal(size=(5, 2)), 1.7)
        assert_allclose((phi**2).sum(axis=1), 1.7)

    def test_brownian_features_are_those_of_a_walk(self):
        kernel, tau = Brownian(7), Brownian(7).places
        phi = kernel.features(tau, 1.5)
        assert_allclose(phi @ phi.T, 1.5 * np.minimum(tau, tau.T), rtol=1e-12)
        assert_array_equal(kernel.features(np.zeros((1, 1)), 1.0), 0.0)  # a component that is not in use

    def test_groups_share_all_or_nothing(self):
        phi = Groups(3).features(np.eye(3)[[0, 2, 0]], 4.0)
        assert_allclose(phi @ phi.T, [[4, 0, 4], [0, 4, 0], [4, 0, 4]])

    @pytest.mark.parametrize("name", SMOOTH)
    def test_jacobian(self, name):
        kernel, at = SMOOTH[name], np.random.default_rng(3).normal(size=(4, 2))
        found = kernel.jacobian(at, 1.3)
        for d in range(2):
            step = np.eye(2)[d]
            expected = slope_of(lambda t: kernel.features(at + t * step, 1.3), 0.0)  # noqa: B023
            assert_allclose(found[:, :, d], expected, atol=1e-9)

    @pytest.mark.parametrize("name", ["brownian", "groups"])
    def test_places_have_no_derivative(self, name):
        with pytest.raises(TypeError, match="not continuous"):
            KERNELS[name].jacobian(np.zeros((1, 1)), 1.0)


def some_surrogate(n_features, seed=0, n_components=5):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n_components, n_features, n_features))
    return Surrogate(root @ root.transpose(0, 2, 1), 3.0 * rng.normal(size=(n_components, n_features)))


class TestUpdates:
    def test_all_places_at_once(self):
        surrogate, places = some_surrogate(4), np.random.default_rng(1).normal(size=(5, 4))
        assert_allclose(np.diag(surrogate.at_all(places)), surrogate.at(places))

    def test_the_linear_kernel_is_solved_as_before(self):
        surrogate = some_surrogate(3)
        found = locations.update(Linear(), surrogate, np.zeros((5, 3)), 0.2)
        assert_array_equal(found, update_locations(surrogate.precision, surrogate.linear, 0.2))

    @pytest.mark.parametrize("name", KERNELS)
    @pytest.mark.parametrize("seed", range(3))
    def test_no_component_is_worse_off(self, name, seed):
        kernel = KERNELS[name]
        start = kernel.start(5, 2, 1.0, np.random.default_rng(seed))
        surrogate = some_surrogate(kernel.features(start, 1.0).shape[1], seed)

        def value(at):
            return surrogate.at(kernel.features(at, 1.0)) + locations.log_prior(kernel, at, 1.0)

        found = locations.update(kernel, surrogate, start, 1.0)
        assert np.all(value(found) >= value(start))
        again = locations.update(kernel, surrogate, found, 1.0)
        if kernel.places is None:  # at a maximum, or as near as ten steps come
            slope = gradient_of(lambda at: value(at).sum(), again)
            assert np.abs(slope).max() < 0.1 * np.abs(gradient_of(lambda at: value(at).sum(), start)).max()
        else:
            assert_array_equal(again, found)
            every = surrogate.at_all(kernel.features(kernel.places, 1.0))
            assert_allclose(surrogate.at(kernel.features(found, 1.0)), every.max(axis=1))

    def test_the_variance_is_at_its_best(self):
        surrogate, kernel = some_surrogate(12), KERNELS["rbf"]
        at = locations.update(kernel, surrogate, np.zeros((5, 2)), 1.0)
        variance = 1.0
        for _ in range(20):  # a step at most doubles sigma
            variance = locations.update_variance(surrogate, kernel.features(at, variance), variance)
        best = slope_of(lambda v: surrogate.at(kernel.features(at, v)).sum(), variance)
        assert best == pytest.approx(0.0, abs=1e-6)

    @pytest.mark.parametrize("name", SMOOTH)
    def test_pulled_back_slope(self, name):
        """Of the quadratic function whose slope and curvature in the features are known."""
        kernel, at = SMOOTH[name], np.random.default_rng(4).normal(size=(5, 2))
        phi = kernel.features(at, 1.3)
        surrogate = some_surrogate(phi.shape[1])
        slope = surrogate.linear - np.einsum("kpq,kq->kp", surrogate.precision, phi)
        p, q = np.tril_indices(phi.shape[1])
        found, precision = locations.pull_back(kernel, at, 1.3, slope, surrogate.precision[:, p, q])

        def value(point):
            return (surrogate.at(kernel.features(point, 1.3)) + locations.log_prior(kernel, point, 1.3)).sum()

        assert_allclose(found, gradient_of(value, at), rtol=1e-6, atol=1e-6)
        assert np.all(np.linalg.eigvalsh(unpack(precision, 2)) > 0)


class TestPlacing:
    def test_groups_are_told_apart(self):
        z = np.array([0, 1, 0, 2, 1])
        kernel = Groups(4)
        phi = kernel.features(kernel.place(np.eye(3)[z] @ np.eye(3)[z].T), 1.0)
        assert_array_equal(phi @ phi.T, z[:, None] == z)

    def test_never_more_groups_than_there_are(self):
        assert Groups(2).place(np.eye(5)).shape == (5, 2)
        assert_array_equal(Groups(2).place(np.ones((1, 1))), [[1.0, 0.0]])

    def test_points_of_the_plane_come_back(self):
        """Near ones as far apart as they were; the floor on the correlations moves those that are far."""
        points = np.random.default_rng(6).normal(size=(7, 2))
        covariance = RBF(2.0)(points)
        found = fourier(length_scale=2.0).place(3.0 * covariance)
        assert_allclose(RBF(2.0)(found), covariance, atol=0.05)

    def test_a_walk_is_put_in_order(self):
        tau = np.random.default_rng(7).permutation(np.linspace(0.1, 1.0, 9))
        covariance = np.minimum(tau[:, None], tau)
        covariance -= (
            covariance.mean(axis=0) + covariance.mean(axis=1)[:, None] - covariance.mean()
        )  # as mu_u leaves it
        found = Brownian(50).place(covariance)[:, 0]
        assert abs(np.corrcoef(found.argsort().argsort(), tau.argsort().argsort())[0, 1]) == pytest.approx(1.0)

    def test_linear_locations_have_the_covariance(self):
        covariance = np.cov(np.random.default_rng(8).normal(size=(4, 9)))
        found = Linear().place(covariance)
        assert_allclose(found @ found.T, covariance, atol=1e-12)


class TestInference:
    @pytest.mark.parametrize("name", KERNELS)
    @pytest.mark.parametrize("model", ["cnpf", "diln"])
    def test_the_bound_never_falls(self, make_problem, name, model):
        problem = with_kernel(make_problem(model, n_components=5), KERNELS[name])
        bounds = [info.bound for info in problem.run(30).history]
        assert np.all(np.diff(bounds) >= -1e-9 * np.abs(bounds[1:]))
        assert bounds[-1] > bounds[0] + 10

    @pytest.mark.parametrize("name", KERNELS)
    @pytest.mark.parametrize("model", ["cnpf", "softplus-cnpf", "diln"])
    def test_every_kernel_is_solved_and_sampled(self, make_problem, name, model):
        problem = with_kernel(make_problem(model, allocation="zero-order"), KERNELS[name])
        solved = problem.run(6, watch="nothing").state.globals
        problem.scheme = Gibbs(problem.scheme.model, CpuBackend())
        problem.start = problem.scheme.begin(solved, np.random.default_rng(7))
        sampled = problem.run(6, watch="nothing").state.globals
        assert solved.hyper.sigma_l2 != 1.0  # learned
        assert sampled.hyper.sigma_l2 == solved.hyper.sigma_l2  # and kept
        assert not np.array_equal(sampled.atom_shape, solved.atom_shape)
        for g in (solved, sampled):
            assert g.locations.shape == problem.globals.locations.shape
            assert np.isfinite(g.locations).all()
            if KERNELS[name].places is not None:
                assert all((row == KERNELS[name].places).all(axis=1).any() for row in g.locations)

    def test_a_summary_of_groups_is_one_of_the_samples(self, make_problem):
        g = with_kernel(make_problem(), KERNELS["groups"]).globals
        every = [replace(g, locations=np.eye(3)[list(z)]) for z in ((0, 0, 1, 2), (1, 1, 0, 2), (0, 1, 1, 2))]
        found = summarise([Sample.of(one) for one in every], KERNELS["groups"])
        assert_array_equal(found.locations @ found.locations.T, every[0].locations @ every[0].locations.T)
