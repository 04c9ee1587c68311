"""Covariates: the step of Gamma against its derivatives, bounds that never fall, limits, and plans that agree."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cormorant.backends.cpu import CpuBackend
from cormorant.backends.packing import unpack
from cormorant.inference import regression
from cormorant.inference.gibbs import Gibbs
from cormorant.inference.prior import Prior, prior_of
from cormorant.inference.schedules import Plan
from cormorant.inference.state import State
from cormorant.inference.structured import COLD

from .oracles import gradient_of
from .test_kernels import KERNELS, with_kernel

MODELS = ("cnpf", "softplus-cnpf", "diln")


def given_covariates(problem, theta=None, heavy_tails=False, seed=5):
    """The same problem with rows that have covariates (drawn unless given), and Gamma at zero."""
    theta = np.random.default_rng(seed).normal(size=(problem.rows.n_rows, 2)) if theta is None else theta
    problem.rows = replace(problem.rows, covariates=theta)
    model = replace(problem.scheme.model, has_covariates=True, heavy_tails=heavy_tails)
    problem.scheme = replace(problem.scheme, model=model)
    size = problem.scheme.design(problem.globals).prior.size
    problem.start = State(replace(problem.globals, coefficients=np.zeros((size, theta.shape[1]))))
    return problem


def two_kinds_of_rows(seed=8):
    """Two components, of which each kind of row (a covariate of -1 or 1) has seven times as much of one."""
    rng = np.random.default_rng(seed)
    kind = np.repeat([-1.0, 1.0], 100)
    x = rng.gamma(2.0, size=(200, 2)) * np.exp(np.outer(kind, [1.0, -1.0]))
    return rng.poisson(x @ np.kron(np.eye(2), np.full((1, 6), 2.0))), kind


def prior_of_problem(problem):
    return prior_of(problem.scheme.model, problem.globals.hyper, problem.globals.locations.shape[1])


def sums_of(f, theta, tau):
    return regression.regression_sums(theta, f, tau, CpuBackend())


class TestGamma:
    @pytest.mark.parametrize("heavy", [False, True])
    def test_is_where_the_slope_vanishes(self, heavy):
        """Of sum_u log N(f_u | Gamma theta_u, Lambda_u^-1) + log p(Gamma), differentiated numerically."""
        rng = np.random.default_rng(0)
        f, theta = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
        tau = rng.gamma(2.0, size=20) if heavy else None
        prior = Prior(np.array([1.0, 1.0, 0.4]), df=4.0 if heavy else None, n_heavy=2)

        def log_density(gamma):
            away = f - theta @ gamma.T
            return -0.5 * (prior.scaled(tau) * away**2).sum() + regression.log_prior(gamma, prior, 0.7)

        best = regression.update_coefficients(sums_of(f, theta, tau), prior, 0.7)
        assert_allclose(gradient_of(log_density, best), 0.0, atol=1e-6)

    def test_effects_carry_over_to_other_features(self):
        """Exactly where there are as many features as components; mu_u keeps its own."""
        rng = np.random.default_rng(2)
        features, effects, of_level = rng.normal(size=(4, 6)), rng.normal(size=(4, 2)), rng.normal(size=(1, 2))
        found = regression.with_effects(features, effects, of_level)
        assert_allclose(features @ found[:-1], effects, atol=1e-12)
        assert_array_equal(found[-1:], of_level)

    def test_draws_have_the_mean_and_the_covariance_of_the_regression(self):
        """Both to within five standard errors of 20,000 draws."""
        rng = np.random.default_rng(1)
        f, theta, prior = rng.normal(size=(9, 2)), rng.normal(size=(9, 2)), Prior(np.array([1.0, 0.25]), n_heavy=1)
        sums = sums_of(f, theta, None)
        found = np.array([regression.draw_coefficients(sums, prior, 0.7, rng) for _ in range(20_000)])
        covariance = np.linalg.inv(theta.T @ theta + np.eye(2) / 0.7)
        for p, precision in enumerate(prior.precision):
            expected = covariance / precision
            error = np.sqrt(np.diag(expected) / 20_000)
            mean = covariance @ theta.T @ f[:, p]
            assert (np.abs(found[:, p].mean(axis=0) - mean) < 5 * error).all()
            spread = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / 20_000)
            assert (np.abs(np.cov(found[:, p].T) - expected) < 5 * spread).all()

    def test_a_flat_coordinate_has_none(self):
        rng = np.random.default_rng(2)
        prior, sums = Prior(np.array([1.0, 0.0]), n_heavy=1), sums_of(rng.normal(size=(9, 2)), np.ones((9, 1)), None)
        assert regression.update_coefficients(sums, prior, 1.0)[1] == 0.0
        assert regression.draw_coefficients(sums, prior, 1.0, rng)[1] == 0.0
        assert regression.update_coefficients(sums, prior, 1.0)[0] != 0.0

    def test_is_the_best_of_the_bound_with_everything_else_held(self, make_problem):
        """The statistics lead to the Gamma at which the rows' bound plus its prior has no slope."""
        problem = given_covariates(make_problem("cnpf"))
        scheme, g, batch = problem.scheme, problem.globals, problem.batch()
        solved = scheme.solve(scheme.view(g), batch, None, COLD)
        prior = prior_of_problem(problem)

        def bound(gamma):
            design = scheme.design(g).given(batch.covariates, gamma)
            rows = replace(solved.problem, design=design).objective(solved.field, solved.n).sum()
            return rows + regression.log_prior(gamma, prior, g.hyper.sigma_g2)

        told = regression.told_of_coefficients(solved.problem, solved.field, solved.n, batch.covariates)
        best = regression.update_coefficients(told["regression"], prior, g.hyper.sigma_g2)
        assert np.abs(best).max() > 0.01
        assert_allclose(gradient_of(bound, best), 0.0, atol=1e-5)

    def test_what_all_locations_share_can_go_to_the_level(self):
        rng = np.random.default_rng(3)
        locations, gamma = rng.normal(size=(4, 2)), rng.normal(size=(3, 2))
        common = np.array([0.3, -0.2])
        before = locations @ gamma[:2] + gamma[2]
        after = regression.with_level(gamma, common)
        assert_allclose((locations - common) @ after[:2] + after[2], before)


class TestInformation:
    def test_is_that_of_f_summed_out(self):
        """Gaussian rows z_u = f_u + noise: the precision of Gamma with f summed out, term by term."""
        rng = np.random.default_rng(4)
        theta, prior = rng.normal(size=(6, 2)), Prior(np.array([1.0, 0.5]), n_heavy=1)
        noise = np.array([np.diag(rng.gamma(1.0, size=2)) for _ in range(6)])  # precisions of z given f
        s = np.linalg.inv(np.diag(prior.precision) + noise)
        packed = s[:, *np.tril_indices(2)]
        told = regression.information(theta, packed, prior, None, CpuBackend())
        marginal = np.linalg.inv(np.linalg.inv(noise) + np.diag(1.0 / prior.precision))
        expected = sum(np.kron(np.outer(t, t), m) for t, m in zip(theta, marginal, strict=True))
        expected = expected + np.kron(np.eye(2), np.diag(prior.precision)) / 0.7
        found = regression.covariance_of_coefficients(told, prior, 0.7)
        inverse = np.linalg.inv(expected)
        for c in range(2):
            assert_allclose(found[c], inverse[2 * c : 2 * c + 2, 2 * c : 2 * c + 2])
        assert_allclose(unpack(unpack(told, 2)[:, 0, 0], 2), theta.T @ (theta * marginal[:, :1, 0]))

    def test_a_flat_coordinate_has_no_spread(self):
        theta = np.ones((4, 1))
        told = regression.information(
            theta, np.tile([0.5, 0.0, 0.3], (4, 1)), Prior(np.array([1.0, 0.0])), None, CpuBackend()
        )
        found = regression.covariance_of_coefficients(told, Prior(np.array([1.0, 0.0])), 1.0)
        assert_allclose(found, [[[1.0 / (4 * 0.5 + 1.0), 0.0], [0.0, 0.0]]])


class TestBound:
    @pytest.mark.parametrize("heavy", [False, True])
    @pytest.mark.parametrize("model", ["cnpf", "diln"])
    def test_never_falls(self, make_problem, model, heavy):
        """Up to rounding of a sum of some thousands."""
        history = given_covariates(make_problem(model), heavy_tails=heavy).run(40).history
        bounds = np.array([info.bound for info in history])
        assert (np.diff(bounds) > -1e-9 * np.abs(bounds[:-1])).all()
        assert bounds[-1] > bounds[0]

    @pytest.mark.parametrize("name", KERNELS)
    def test_never_falls_under_any_kernel(self, make_problem, name):
        """Covariates and heavy tails act on d, however many features multiply it; the same rounding."""
        problem = given_covariates(with_kernel(make_problem("cnpf"), KERNELS[name]), heavy_tails=True)
        bounds = np.array([info.bound for info in problem.run(30).history])
        assert (np.diff(bounds) > -1e-9 * np.abs(bounds[:-1])).all()
        assert bounds[-1] > bounds[0]

    @pytest.mark.parametrize("model", ["cnpf", "diln"])
    def test_covariates_that_matter_raise_it(self, make_problem, model):
        """What the rows are like, given as a covariate, is worth more than the prior of its coefficients costs."""
        y, kind = two_kinds_of_rows()
        problem = make_problem(model, y=y, n_components=2)
        plain = problem.run(40).history[-1].bound
        assert given_covariates(problem, kind[:, None]).run(40).history[-1].bound > plain + 10.0


class TestLimits:
    @pytest.mark.parametrize("model", MODELS)
    def test_zero_covariates_are_none(self, make_problem, model):
        plain = make_problem(model).run(10).state.globals
        zero = given_covariates(problem := make_problem(model), np.zeros((problem.rows.n_rows, 2)))
        found = zero.run(10).state.globals
        assert_array_equal(found.coefficients, 0.0)
        for name in ("atom_shape", "weights", "locations"):
            assert_allclose(getattr(found, name), getattr(plain, name), rtol=1e-7, atol=1e-10)

    def test_zero_covariates_are_none_to_the_sampler(self, make_problem):
        """Its chain takes other draws then: the first pass that differs is the one of Gamma."""
        problem = make_problem("cnpf")
        g, batch = problem.globals, problem.batch()
        theta = np.zeros((problem.rows.n_rows, 2))
        ends = []
        for covariates in (None, theta):
            model = replace(problem.scheme.model, has_covariates=covariates is not None)
            scheme = Gibbs(model, CpuBackend())
            state = scheme.begin(replace(g, coefficients=np.ones((3, 2))), np.random.default_rng(6))
            rows, part = None, replace(batch, covariates=covariates)
            for _ in range(5):  # counts, two of the scale, weights, field
                rows, total = scheme.local_step(scheme.visit(state), part, rows)
                state = scheme.global_step(state, total, 1.0)
            ends.append(rows.f)
        assert_array_equal(*ends)

    @pytest.mark.parametrize("model", ["cnpf", "diln"])
    def test_many_degrees_of_freedom_are_gaussian(self, make_problem, model):
        problem = make_problem(model)
        plain = problem.run(10)
        h = replace(problem.globals.hyper, df=1e9)
        problem.start = State(replace(problem.globals, hyper=h))
        problem.scheme = replace(problem.scheme, model=replace(problem.scheme.model, heavy_tails=True))
        found = problem.run(10)
        assert_allclose(found.history[-1].bound, plain.history[-1].bound, rtol=1e-7)
        assert_allclose(found.state.globals.locations, plain.state.globals.locations, rtol=1e-5, atol=1e-7)


class TestPlans:
    @pytest.mark.parametrize("model", MODELS)
    def test_full_batch_with_whole_steps_equals_batch(self, make_problem, model):
        n = make_problem(model).rows.n_rows
        whole = Plan(n, n, n, lambda step: 1.0)
        by_batch, by_steps = (
            given_covariates(make_problem(model)).run(6, plan).state.globals for plan in (None, whole)
        )
        assert_array_equal(by_batch.coefficients, by_steps.coefficients)
        assert_array_equal(by_batch.locations, by_steps.locations)

    def test_minibatches_find_the_same_effects(self, make_problem):
        """A planted difference of two; steps of a half keep a noise of about the error of a quarter of the rows."""
        y, kind = two_kinds_of_rows()
        effects = []
        for plan in (None, Plan(200, 50, 50, lambda step: 0.5)):
            problem = given_covariates(make_problem("cnpf", y=y, n_components=2), kind[:, None])
            g = problem.run(60, plan, watch="nothing").state.globals
            effect = g.locations @ g.coefficients[:2, 0]
            order = np.argsort(g.atom_mean[0])
            effects.append(effect[order[1]] - effect[order[0]])
        assert_allclose(effects, 2.0, atol=0.4)

    @pytest.mark.parametrize("sampled", [False, True])
    def test_threads_do_not_change_a_bit(self, make_problem, sampled):
        ends = []
        for n_jobs in (1, 2):
            problem = given_covariates(make_problem("cnpf", n_rows=60), heavy_tails=True)
            problem.scheme = replace(problem.scheme, backend=CpuBackend(n_jobs))
            if sampled:
                problem.scheme = Gibbs(problem.scheme.model, CpuBackend(n_jobs))
                problem.start = problem.scheme.begin(problem.globals, np.random.default_rng(6))
            ends.append(problem.run(5, watch="nothing").state.globals)
        for name in ("coefficients", "locations", "weights"):
            assert_array_equal(getattr(ends[0], name), getattr(ends[1], name))


class TestEmptyRows:
    @pytest.mark.parametrize("model", MODELS)
    def test_prior_mean_follows_the_covariates(self, make_problem, model):
        """Of rows that differ in the covariate alone the shares differ as their fields do."""
        problem = given_covariates(make_problem(model))
        size = problem.globals.locations.shape[1]
        gamma = np.zeros((size + 1, 2))
        gamma[:size, 0] = 3.0 * problem.globals.locations[0] / np.linalg.norm(problem.globals.locations[0]) ** 2
        g = replace(problem.globals, coefficients=gamma)
        at = np.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
        found = problem.scheme.prior_mean(g, at)
        share = found * g.atom_total
        assert found.shape == (4, g.n_components)
        assert share[0, 0] < share[1, 0] < share[2, 0]
        assert_array_equal(found[1], found[3])
        assert_allclose(share.sum(axis=1), 1.0)

    def test_without_covariates_it_is_one_row(self, make_problem):
        problem = make_problem("cnpf")
        assert problem.scheme.prior_mean(problem.globals).shape == (4,)
