"""The Gaussian step for f: ascent, its fixed point, and moments of the scale of x."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from cormorant.backends import numpy_reference
from cormorant.backends.packing import add_diagonal, pack_products, unpack
from cormorant.inference.field import Design, FieldProblem
from cormorant.inference.links import LINKS
from cormorant.inference.prior import Prior

from .oracles import average, gauss_grid, gradient_of, pack

N_ROWS, N_COMPONENTS = 7, 5


def draw_problem(backend, link="exp", size=3, per_row=False, seed=0, spread=1.0):
    """A field problem and allocated counts; the first row has none, the second very many."""
    rng = np.random.default_rng(seed)
    loadings = rng.normal(0.0, spread, (N_COMPONENTS, size))
    if size:
        loadings[:, -1] = 1.0
    prior = np.append(np.ones(max(size - 1, 0)), [0.4] * min(size, 1))
    log_rate = rng.normal(0.0, 1.0, (N_ROWS, N_COMPONENTS) if per_row else N_COMPONENTS)
    weights = rng.gamma(1.0, 0.5, N_COMPONENTS) + 0.05
    n = rng.gamma(0.5, 4.0, (N_ROWS, N_COMPONENTS))
    n[0], n[1] = 0.0, 1e6 * rng.random(N_COMPONENTS)
    return FieldProblem(Design.build(loadings, Prior(prior)), LINKS[link], weights, log_rate, backend), n


def draw_field(problem, seed=1, spread=1.0):
    """Some other q(f)."""
    rng = np.random.default_rng(seed)
    size = problem.design.prior.size
    factor = rng.normal(size=(N_ROWS, size, size + 2)) * 0.4
    return problem.at(spread * rng.normal(size=(N_ROWS, size)), pack(factor @ factor.transpose(0, 2, 1)))


def test_unpack_inverts_packing():
    rng = np.random.default_rng(0)
    full = rng.normal(size=(4, 3, 3))
    full += full.transpose(0, 2, 1)
    assert_array_equal(unpack(pack(full), 3), full)
    assert_array_equal(unpack(pack_products(full[0]), 3), np.einsum("up,uq->upq", full[0], full[0]))
    added = add_diagonal(pack(full), np.array([1.0, 2.0, 3.0]), 3)
    assert_array_equal(unpack(added, 3), full + np.diag([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("per_row", [False, True])
def test_moments_of_the_field(backend, per_row):
    problem, _ = draw_problem(backend, per_row=per_row)
    field = draw_field(problem)
    g = problem.design.loadings
    assert_allclose(field.field_mean, field.mean @ g.T, rtol=1e-13)
    assert_allclose(field.field_variance, np.einsum("kp,upq,kq->uk", g, unpack(field.covariance, 3), g), rtol=1e-12)
    second = unpack(field.covariance, 3) + np.einsum("up,uq->upq", field.mean, field.mean)
    assert_allclose(unpack(field.second_moments(problem.backend), 3), second, rtol=1e-13)


def test_prior_has_no_divergence(backend):
    problem, _ = draw_problem(backend)
    assert_allclose(problem.divergence(problem.prior(N_ROWS)), 0.0, atol=1e-14)


def test_divergence_equals_quadrature(backend):
    problem, _ = draw_problem(backend)
    field = draw_field(problem)
    full, spread = unpack(field.covariance, 3), 1.0 / np.sqrt(problem.design.prior.precision)
    for u, divergence in enumerate(problem.divergence(field)):
        f, weight = gauss_grid(field.mean[u], full[u], 3)
        q = stats.multivariate_normal(field.mean[u], full[u]).logpdf(f)
        p = stats.norm(0, spread).logpdf(f).sum(axis=1)
        assert divergence == pytest.approx(weight @ (q - p), rel=1e-10)


@pytest.mark.parametrize("per_row", [False, True])
def test_objective_is_below_the_exact_average(backend, per_row):
    """sum_k E [n F - (w + n) log(1 + A exp F)] - KL, with exact averages, is never below the bound."""
    problem, n = draw_problem(backend, per_row=per_row)
    n[1] = 3.0
    field = draw_field(problem)
    bound = problem.objective(field, n)
    log_rate = np.broadcast_to(problem.log_rate, n.shape)
    for u in range(N_ROWS):
        exact = -problem.divergence(field)[u]
        for k, w in enumerate(problem.weights):
            m, v = field.field_mean[u, k], field.field_variance[u, k]
            log_one = average(lambda f, a=log_rate[u, k]: np.logaddexp(0.0, f + a), m, v)
            exact += n[u, k] * m - (w + n[u, k]) * log_one
        assert bound[u] <= exact + 1e-9
        assert bound[u] >= exact - (n[u] + problem.weights) @ field.field_variance[u] / 8


@pytest.mark.parametrize("link", ["exp", "softplus"])
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("per_row", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_step_never_lowers_the_objective_of_a_row(backend, link, size, per_row, seed):
    problem, n = draw_problem(backend, link, size, per_row, seed)
    for spread in (0.3, 1.0, 4.0):
        field = draw_field(problem, seed + 10, spread)
        value = problem.objective(field, n)
        for _ in range(8):
            field = problem.step(field, n)
            after = problem.objective(field, n)
            # Rounding: the objective is a sum of terms as large as the row's count times log(1 + exp eta).
            slack = 1e-12 * (1.0 + (n * np.abs(field.expansion.log_one)).sum(axis=1))
            assert np.all(after >= value - slack)
            value = after
        assert np.isfinite(value).all()


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("per_row", [False, True])
def test_fixed_point_is_stationary(backend, size, per_row):
    """Numerical gradient in the mean and in (the factor of) the covariance, row by row."""
    problem, n = draw_problem(backend, size=size, per_row=per_row)
    n[1] = 40.0
    field = problem.prior(N_ROWS)
    for _ in range(300):
        field = problem.step(field, n)

    def objective(mean, factor):
        return problem.objective(problem.at(mean, pack(factor @ factor.transpose(0, 2, 1))), n).sum()

    factor = np.linalg.cholesky(unpack(field.covariance, size))
    by_mean = gradient_of(lambda m: objective(m, factor), field.mean)
    by_factor = gradient_of(lambda c: objective(field.mean, c), factor)
    assert np.abs(by_mean).max() < 1e-6
    assert np.abs(by_factor).max() < 1e-6


def test_softplus_fixed_point_is_stationary_in_the_mean(backend):
    """The covariance is minus the inverse averaged curvature, floored; only the mean is stationary."""
    problem, n = draw_problem(backend, "softplus", spread=0.4)
    n[1] = 40.0
    field = problem.prior(N_ROWS)
    for _ in range(300):
        field = problem.step(field, n)
    by_mean = gradient_of(lambda m: problem.objective(problem.at(m, field.covariance), n).sum(), field.mean)
    assert np.abs(by_mean).max() < 1e-3


def test_step_is_the_published_update(backend):
    """S^-1 = Lambda_0 + sum omega g g^T and m = S sum [(n - w)/2 - omega log A] g, from any start."""
    problem, n = draw_problem(backend)
    field = draw_field(problem)
    g, log_rate, w = problem.design.loadings, problem.log_rate, problem.weights
    c = np.sqrt((field.field_mean + log_rate) ** 2 + field.field_variance)
    omega = (w + n) * np.tanh(c / 2) / (2 * c)
    new = problem.step(field, n)
    for u in range(N_ROWS):
        precision = np.diag(problem.design.prior.precision) + (omega[u, :, None] * g).T @ g
        linear = ((n[u] - w) / 2 - omega[u] * log_rate) @ g
        assert_allclose(unpack(new.covariance[u], 3), np.linalg.inv(precision), rtol=1e-8)
        assert_allclose(new.mean[u], np.linalg.solve(precision, linear), rtol=1e-6, atol=1e-8)


def test_nothing_to_do_without_a_field(backend):
    problem, n = draw_problem(backend, size=0)
    field = problem.prior(N_ROWS)
    assert problem.step(field, n) is field
    assert_array_equal(problem.divergence(field), 0.0)
    exact = (n * -np.logaddexp(0, problem.log_rate) - problem.weights * np.logaddexp(0, problem.log_rate)).sum(1)
    assert_allclose(problem.objective(field, n), exact, rtol=1e-12)
    first, second = problem.scale_moments(field)
    assert_allclose(first, np.broadcast_to(1 / (1 + np.exp(problem.log_rate)), first.shape), rtol=1e-12)
    assert_allclose(second, first**2, rtol=1e-12)


def test_backends_take_the_same_steps(backend):
    problem, n = draw_problem(backend)
    plain = replace(problem, backend=numpy_reference)
    ours, theirs = problem.prior(N_ROWS), plain.prior(N_ROWS)
    for _ in range(5):
        ours, theirs = problem.step(ours, n), plain.step(theirs, n)
    assert_allclose(ours.mean, theirs.mean, rtol=1e-8, atol=1e-10)
    assert_allclose(ours.covariance, theirs.covariance, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("link", ["exp", "softplus"])
@pytest.mark.parametrize("per_row", [False, True])
def test_scale_moments_equal_dense_quadrature(backend, link, per_row):
    problem, _ = draw_problem(backend, link, per_row=per_row, spread=0.5)
    field = draw_field(problem)
    first, second = problem.scale_moments(field)
    rate = np.exp(np.broadcast_to(problem.log_rate, first.shape))

    def scale(f, a):
        r = np.exp(f) if link == "exp" else np.logaddexp(0, f)
        return r / (1 + a * r)

    for u in range(N_ROWS):
        for k in range(N_COMPONENTS):
            m, v, a = field.field_mean[u, k], field.field_variance[u, k], rate[u, k]
            # Fifteen nodes: good to a thousandth for standard deviations up to two or so.
            assert first[u, k] == pytest.approx(average(lambda f, a=a: scale(f, a), m, v), rel=2e-3)
            assert second[u, k] == pytest.approx(average(lambda f, a=a: scale(f, a) ** 2, m, v), rel=5e-3)


@pytest.mark.parametrize("link", ["exp", "softplus"])
@pytest.mark.parametrize("level", [-700.0, 700.0])
def test_far_out_fields_stay_finite(backend, link, level):
    problem, n = draw_problem(backend, link)
    field = draw_field(problem)
    field = problem.at(field.mean + np.array([0.0, 0.0, level]), 25.0 * field.covariance)
    for moment in problem.scale_moments(field):
        assert np.isfinite(moment).all()
    assert np.isfinite(problem.objective(field, n)).all()
    assert np.isfinite(problem.step(field, n).mean).all()
