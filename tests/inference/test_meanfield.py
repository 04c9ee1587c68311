"""The paper's mean-field scheme against its bound, written out term by term with nothing optimised away."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma, expit, gammaln

from cormorant.data import hold_out, split_entries
from cormorant.datasets import load_nyt
from cormorant.inference import meanfield
from cormorant.inference.fit import Settings, run
from cormorant.inference.meanfield import MeanField, from_unconstrained, to_unconstrained, top_gradient
from cormorant.inference.predictive import PointPosterior, infer, log_likelihood
from cormorant.inference.rows import Rows
from cormorant.inference.schedules import Plan, RobbinsMonro
from cormorant.inference.start import start_globals
from cormorant.inference.state import Locals, State
from cormorant.inference.structured import Effort
from cormorant.models.cnpf import MODELS, Hyperparameters, link_function

from .oracles import gradient_of, loadings_and_prior, seen_rates

ALLOCATE = Effort(rounds=0, sweeps=0)  # only the one sweep that every visit begins with
ONE_ROUND = Effort(rounds=1, sweeps=1)
SEVERAL = Effort(rounds=3, sweeps=2)
POISSON = [name for name, model in MODELS.items() if not model.normalised]  # what the paper has mean field for


@pytest.fixture
def make(make_problem, backend):
    """A small problem for the mean-field scheme, at globals that are nobody's optimum."""

    def build(model="cnpf", seed=0, **options):
        problem = make_problem(model, seed, **options)
        g = problem.globals
        rng = np.random.default_rng(seed + 100)
        g = replace(
            g,
            atom_shape=g.atom_shape * rng.gamma(4.0, 0.25, g.atom_shape.shape),
            weights=rng.gamma(2.0, 0.3, g.n_components),
            locations=rng.normal(0, 0.5, g.locations.shape),
            alpha=1.7,
            c=0.6,
        )
        return replace(problem, scheme=MeanField(MODELS[model], backend), start=State(g))

    return build


@dataclass(frozen=True)
class Factors:
    """Every variational parameter of the rows, free of the others."""

    phi: np.ndarray  # rows x columns x components
    shape: np.ndarray
    rate: np.ndarray
    f: np.ndarray


def factors(problem, solution, view):
    share = solution.theta[:, None, :] * view.atoms
    return Factors(share / share.sum(axis=2, keepdims=True), solution.shape, solution.rate, solution.point.f)


def log_point_masses(model, g):
    """log p(s) p(v) p(alpha) p(c) p(l), in the coordinates of the model's story."""
    h, s = g.hyper, g.weights.sum()
    v = (g.weights / np.cumsum(g.weights[::-1])[::-1])[:-1]
    total = stats.gamma.logpdf(s, g.alpha, scale=1 / g.c) + stats.beta.logpdf(v, 1, g.alpha).sum()
    total += stats.gamma.logpdf(g.alpha, h.a_alpha, scale=1 / h.b_alpha)
    total += stats.gamma.logpdf(g.c, h.a_c, scale=1 / h.b_c)
    if model.has_locations:
        total += stats.norm(0, np.sqrt(h.sigma_l2)).logpdf(g.locations).sum()
    return float(total)


def full_bound(problem, g, q):
    """E_q log p - E_q log q, each expectation of the paper's list in turn."""
    model, h, y, w = problem.scheme.model, g.hyper, problem.y, g.weights
    exposure = np.ones(len(y)) if problem.rows.exposure is None else problem.rows.exposure
    a_shape, a_rate = np.broadcast_arrays(g.atom_shape, g.atom_rate)
    log_a, log_x = digamma(a_shape) - np.log(a_rate), digamma(q.shape) - np.log(q.rate)
    mean_x = q.shape / q.rate
    loadings, variances = loadings_and_prior(model, g)
    r = link_function(model.link, q.f @ loadings.T)

    log_a_density = h.a0 * np.log(h.b0) - gammaln(h.a0) + (h.a0 - 1) * log_a - h.b0 * a_shape / a_rate
    log_x_density = -w * np.log(r) - gammaln(w) + (w - 1) * log_x - mean_x / r
    entropy = stats.gamma(a_shape, scale=1 / a_rate).entropy().sum()
    entropy += stats.gamma(q.shape, scale=1 / q.rate).entropy().sum()
    log_phi = np.log(np.where(q.phi > 0, q.phi, 1.0))
    log_rate = log_x[:, None, :] + log_a + np.log(exposure)[:, None, None] - log_phi
    likelihood = (y[:, :, None] * q.phi * log_rate).sum() - gammaln(y + 1.0).sum()
    likelihood -= (mean_x * seen_rates(g, y, problem.rows.exposure, problem.missing)).sum()
    log_f = stats.norm(0, np.sqrt(variances)).logpdf(q.f).sum() if len(variances) else 0.0
    priors = log_a_density.sum() + log_x_density.sum() + log_f + log_point_masses(model, g)
    return priors + likelihood + entropy


def solved(problem, effort=SEVERAL):
    view, batch = problem.scheme.view(problem.globals), problem.batch()
    solution = problem.scheme.solve(view, batch, None, effort)
    bound = problem.scheme._row_bound(view, batch, solution)
    return solution, factors(problem, solution, view), problem.scheme._sums(view, batch, solution, bound)


@pytest.mark.parametrize("model", POISSON)
@pytest.mark.parametrize("options", [{}, {"exposure": True, "missing": True}], ids=["plain", "exposed"])
def test_bound_is_the_paper_s(make, model, options):
    problem = make(model, **options)
    _, q, sums = solved(problem)
    assert problem.scheme.bound(problem.globals, sums) == pytest.approx(
        full_bound(problem, problem.globals, q), rel=1e-12
    )


@pytest.mark.parametrize("model", POISSON)
def test_gradient_of_sticks_alpha_and_c(make, model):
    problem = make(model, exposure=True)
    g = problem.globals
    _, q, sums = solved(problem)

    def bound(z):
        weights, alpha, c = from_unconstrained(z)
        return full_bound(problem, replace(g, weights=weights, alpha=alpha, c=c), q)

    z = to_unconstrained(g)
    np.testing.assert_allclose(top_gradient(g, sums), gradient_of(bound, z), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("model", ["cnpf", "softplus-cnpf"])
def test_gradient_of_locations(make, model):
    problem = make(model, missing=True)
    g = problem.globals
    _, q, sums = solved(problem)
    numerical = gradient_of(lambda locations: full_bound(problem, replace(g, locations=locations), q), g.locations)
    np.testing.assert_allclose(sums.slope - g.locations / g.hyper.sigma_l2, numerical, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("model", ["cnpf", "softplus-cnpf", "scaled-hgp"])
def test_gradient_of_the_rows_field(make, model):
    problem = make(model, exposure=True, n_rows=6)
    solution, q, _ = solved(problem, ONE_ROUND)
    numerical = gradient_of(lambda f: full_bound(problem, problem.globals, replace(q, f=f)), q.f)
    analytic = solution.problem.gradient(solution.point, solution.mean_x)
    np.testing.assert_allclose(analytic, numerical, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("model", ["cnpf", "softplus-cnpf"])
def test_preconditioner_is_the_negative_hessian(make, model):
    """Exactly so with the exp link; with the softplus link wherever that exceeds the Fisher information."""
    solution, _, _ = solved(make(model), ONE_ROUND)
    p, mean_x, step = solution.problem, solution.mean_x, 1e-5
    field = solution.point.f @ p.design.loadings.T
    unit = replace(p, design=replace(p.design, loadings=np.eye(p.design.loadings.shape[0])))
    up, down = (unit.slope(unit.at(field + shift), mean_x) for shift in (step, -step))
    hessian = -(up - down) / (2 * step)
    fisher = p.weights * (expit(field) / link_function("softplus", field)) ** 2
    expected = hessian if model == "cnpf" else np.maximum(hessian, fisher)
    np.testing.assert_allclose(p.precision(solution.point, mean_x), expected, rtol=1e-6, atol=1e-8)
    if model == "softplus-cnpf":
        assert (hessian > fisher).any()
        assert (hessian < fisher).any()


def test_preconditioner_of_locations_sums_over_rows(make):
    problem = make()
    solution, _, sums = solved(problem)
    d = solution.point.f[:, :2]
    expected = np.einsum("uk,up,uq->kpq", solution.problem.precision(solution.point, solution.mean_x), d, d)
    np.testing.assert_allclose(meanfield.unpack(sums.precision, 2), expected)


@pytest.mark.parametrize("options", [{}, {"exposure": True, "missing": True}], ids=["plain", "exposed"])
def test_atoms_at_full_step_are_stationary(make, options):
    problem = make(n_rows=12, n_columns=6, **options)
    g = problem.globals
    _, q, sums = solved(problem)
    moved = problem.scheme.global_step(problem.start, sums, 1.0).globals
    atoms = {"atom_shape": moved.atom_shape, "atom_rate": moved.atom_rate}
    best = replace(g, **atoms)
    assert full_bound(problem, best, q) > full_bound(problem, g, q)
    for name, value in atoms.items():
        slope = gradient_of(lambda x, name=name: full_bound(problem, replace(best, **{name: x}), q), value)
        np.testing.assert_allclose(slope, 0.0, atol=2e-5)


def test_atoms_follow_the_natural_gradient(make):
    problem = make()
    g = problem.globals
    _, _, sums = solved(problem)
    full = problem.scheme.global_step(problem.start, sums, 1.0).globals
    part = problem.scheme.global_step(problem.start, sums, 0.3).globals
    for name in ("atom_shape", "atom_rate"):
        old, new = getattr(g, name), getattr(full, name)
        np.testing.assert_allclose(getattr(part, name), old + 0.3 * (new - old))


@pytest.mark.parametrize("model", POISSON)
@pytest.mark.parametrize("seed", range(3))
def test_no_coordinate_update_of_a_row_lowers_the_bound(make, model, seed):
    """f, the rate of q(x), phi, the shape of q(x): the bound is written out after each."""
    problem = make(model, seed, exposure=seed == 1, missing=seed == 2)
    g, scheme = problem.globals, problem.scheme
    view, batch = scheme.view(g), problem.batch()
    exposed = np.exp(view.log_rate(batch))
    solution = scheme.solve(view, batch, None, ONE_ROUND)
    q = factors(problem, solution, view)
    bounds = [full_bound(problem, g, q)]
    for _ in range(6):
        point = solution.problem.step(solution.point, solution.mean_x)
        moved = replace(q, f=point.f, rate=np.exp(-point.log_r) + exposed)
        start = Locals(solution.n, point.f, np.empty((batch.n_rows, 0, 0)))
        solution = scheme.solve(view, batch, start, ALLOCATE)
        ended = factors(problem, solution, view)
        halves = [replace(q, f=point.f), moved, replace(moved, phi=ended.phi), ended]
        bounds += [full_bound(problem, g, half) for half in halves]
        q = ended
    assert np.diff(bounds).min() >= -1e-11 * abs(bounds[0])
    assert bounds[-1] > bounds[0]


@pytest.mark.parametrize("seed", range(4))
def test_location_step_raises_the_bound(make, seed):
    problem = make(seed=seed)
    g = problem.globals
    _, q, sums = solved(problem)
    locations = g.locations + problem.scheme._location_step(g, sums)
    assert full_bound(problem, replace(g, locations=locations), q) > full_bound(problem, g, q)


@pytest.mark.parametrize("model", ["cnpf", "softplus-cnpf"])
def test_field_step_survives_a_wild_start(make, model):
    """From far away a Newton step overshoots beyond all numbers; a shorter one raises the bound."""
    problem = make(model, hyper=Hyperparameters(0.3, 1.0, 0.2, 1e4))
    g = replace(problem.globals, weights=np.full(4, 50.0))
    view, batch = problem.scheme.view(g), problem.batch()
    solution = problem.scheme.solve(view, batch, None, ALLOCATE)
    far = solution.problem.at(solution.point.f + np.array([0.0, 0.0, 12.0]))
    mean_x = 1e-3 * solution.mean_x
    near = solution.problem.step(far, mean_x)
    gain = solution.problem.objective(near, mean_x) - solution.problem.objective(far, mean_x)
    assert np.isfinite(near.f).all()
    assert (gain > 0).all()


def test_location_step_stays_in_its_region(make):
    problem = make()
    solution, _, sums = solved(problem)
    wild = replace(sums, slope=1e6 * sums.slope)
    step = problem.scheme.global_step(problem.start, wild, 1.0).globals.locations - problem.globals.locations
    typical = np.sqrt((solution.point.f[:, :2] ** 2).sum(axis=1).mean())
    np.testing.assert_allclose(np.linalg.norm(step, axis=1), meanfield.STEP * meanfield.REACH / typical)


@pytest.mark.parametrize("model", POISSON)
def test_small_global_steps_raise_the_bound(make, model):
    problem = make(model)
    _, q, sums = solved(problem)
    moved = problem.scheme.global_step(problem.start, sums, 1e-3).globals
    assert full_bound(problem, moved, q) > full_bound(problem, problem.globals, q)


def test_rmsprop_averages_the_squares_and_slows_down(make):
    problem = make()
    _, _, sums = solved(problem)
    first = problem.scheme.global_step(problem.start, sums, 1.0)
    gradients = [top_gradient(problem.globals, sums), top_gradient(first.globals, sums)]
    second = problem.scheme.global_step(first, sums, 1.0)
    average = (1 - meanfield.MEMORY) * gradients[0] ** 2 + meanfield.MEMORY * gradients[1] ** 2
    np.testing.assert_allclose(second.memory, average)
    z = [to_unconstrained(state.globals) for state in (problem.start, first, second)]
    np.testing.assert_allclose(z[1] - z[0], meanfield.STEP * np.sign(gradients[0]), rtol=1e-6)
    eta = meanfield.STEP / np.sqrt(2.0)
    np.testing.assert_allclose(z[2] - z[1], eta * gradients[1] / np.sqrt(average), rtol=1e-6)
    slow = problem.scheme.global_step(problem.start, sums, 0.01)
    np.testing.assert_allclose(to_unconstrained(slow.globals) - z[0], 0.01 * np.sign(gradients[0]), rtol=1e-6)


def test_unconstrained_coordinates_go_both_ways(make):
    g = make().globals
    weights, alpha, c = from_unconstrained(to_unconstrained(g))
    np.testing.assert_allclose(weights, g.weights)
    assert (alpha, c) == pytest.approx((g.alpha, g.c))
    extreme = from_unconstrained(np.array([1.0, 1e3, -1e3, 1e3, 0.0, 0.0]))[0]
    assert np.isfinite(to_unconstrained(replace(g, weights=extreme))).all()
    assert (extreme > 0).all()


def test_locations_at_zero_are_the_scaled_hgp(make):
    """l = 0 stays there, with d = 0, and the rest is the uncorrelated model."""
    plain = make("scaled-hgp")
    cnpf = make("cnpf")
    zero = replace(plain.globals, locations=np.zeros_like(cnpf.globals.locations))
    ends = [p.run(4) for p in (plain, replace(cnpf, start=State(zero)))]
    a, b = (end.state.globals for end in ends)
    assert not b.locations.any()
    for name in ("atom_shape", "atom_rate", "weights", "alpha", "c"):
        np.testing.assert_allclose(getattr(b, name), getattr(a, name), rtol=1e-9)
    constant = -0.5 * np.log(2 * np.pi) * cnpf.globals.locations.shape[1] * len(cnpf.y)
    constant -= 0.5 * np.log(2 * np.pi * zero.hyper.sigma_l2) * zero.locations.size
    difference = ends[1].history[-1].bound - ends[0].history[-1].bound
    assert difference == pytest.approx(constant, abs=1e-7)


def test_vanishing_mean_is_the_hgp(make):
    hgp, scaled = make("hgp"), make("scaled-hgp")
    tight = replace(hgp.globals, hyper=replace(hgp.globals.hyper, sigma_m2=1e-14))
    ends = [p.run(4).state.globals for p in (hgp, replace(scaled, start=State(tight)))]
    for name in ("atom_shape", "atom_rate", "weights", "alpha", "c"):
        np.testing.assert_allclose(getattr(ends[1], name), getattr(ends[0], name), rtol=1e-7)


def test_one_full_stochastic_step_is_a_batch_step(make):
    """RobbinsMonro(0, .9) has rho = 1 at its first step; how the rows are cut into blocks does not matter."""
    problem = make()
    n = problem.rows.n_rows
    batch = problem.run(1).state
    stochastic = problem.run(1, Plan(n, n, 7, RobbinsMonro(0.0, 0.9))).state
    for name in ("atom_shape", "atom_rate", "weights", "locations"):
        np.testing.assert_allclose(getattr(stochastic.globals, name), getattr(batch.globals, name), rtol=1e-10)
    np.testing.assert_allclose(stochastic.memory, batch.memory, rtol=1e-8)


@pytest.mark.parametrize("model", POISSON)
def test_batch_fit_raises_the_bound(make, model):
    problem = make(model, n_rows=60, n_columns=20)
    bounds = [info.bound for info in problem.run(40).history]
    gain = bounds[-1] - bounds[0]
    assert gain > 0.05 * abs(bounds[0])
    assert abs(bounds[-1] - bounds[-2]) < 0.02 * gain


@pytest.mark.parametrize("model", ["cnpf", "softplus-cnpf"])
def test_stochastic_fit_raises_the_bound(make, model):
    problem = make(model, n_rows=60, n_columns=20)
    n = problem.rows.n_rows
    end = problem.run(30, Plan(n, 15, 15, RobbinsMonro(5.0, 0.7))).state

    def bound(g):
        view, batch = problem.scheme.view(g), problem.batch()
        return problem.scheme.bound(g, problem.scheme.local_step(view, batch, None, want_bound=True)[1])

    before = bound(problem.globals)
    assert bound(end.globals) > before + 0.05 * abs(before)


def test_column_missing_everywhere_is_no_column(make):
    """Values behind the mask never matter: a masked column leaves the others' fit as if it were not there."""
    rng = np.random.default_rng(3)
    y = rng.poisson(2.0, (20, 8))
    mask = np.zeros(y.shape, bool)
    mask[:, 2] = True
    kept = [i for i in range(8) if i != 2]
    with_mask = make(y=y, missing=mask)
    g = with_mask.globals
    g = replace(g, atom_rate=np.broadcast_to(g.atom_rate, g.atom_shape.shape).copy())
    without = make(y=y[:, kept])
    without = replace(without, start=State(replace(g, atom_shape=g.atom_shape[kept], atom_rate=g.atom_rate[kept])))
    a, b = (p.run(3).state.globals for p in (replace(with_mask, start=State(g)), without))
    np.testing.assert_allclose(a.atom_shape[kept], b.atom_shape, rtol=1e-9)
    np.testing.assert_allclose(a.atom_mean[kept], b.atom_mean, rtol=1e-9)
    np.testing.assert_allclose(a.weights, b.weights, rtol=1e-9)
    np.testing.assert_allclose(a.atom_mean[2], g.hyper.a0 / g.hyper.b0)


def test_exposure_is_a_known_factor_of_the_rates(make):
    """Twice the exposure with half the atoms is the same row."""
    problem = make(exposure=np.full(30, 2.0))
    plain = make()
    halved = replace(plain.globals, atom_rate=2.0 * plain.globals.atom_rate)
    mean = infer(problem.scheme, halved, problem.rows).mean
    np.testing.assert_allclose(mean, infer(plain.scheme, plain.globals, plain.rows).mean, rtol=1e-9)


def test_posterior_is_deterministic_and_gamma(make):
    problem = make()
    first, second = (infer(problem.scheme, problem.globals, problem.rows, want_variance=True) for _ in range(2))
    np.testing.assert_array_equal(first.mean, second.mean)
    solution, _, _ = solved(problem, Effort(30, 3, 1e-3))
    np.testing.assert_array_equal(first.mean, solution.shape / solution.rate)
    np.testing.assert_allclose(first.variance, solution.shape / solution.rate**2)
    half = problem.rows.take(np.arange(15))
    np.testing.assert_allclose(infer(problem.scheme, problem.globals, half).mean, first.mean[:15], rtol=1e-2)


@pytest.mark.parametrize("y", [np.zeros((5, 4), int), np.array([[3, 0, 10**6]]), np.eye(4, dtype=int)])
@pytest.mark.parametrize("model", ["cnpf", "softplus-cnpf"])
@pytest.mark.parametrize("n_components", [1, 6])
def test_odd_matrices_stay_finite(make, y, model, n_components):
    problem = make(model, y=y, n_components=n_components)
    end = problem.run(5)
    g = end.state.globals
    assert np.isfinite([info.bound for info in end.history]).all()
    assert all(np.isfinite(a).all() for a in (g.atom_mean, g.weights, g.locations, problem.scheme.prior_mean(g)))


def test_beats_the_unigram_on_the_sample(backend):
    """400 training rows afford five components; half of the entries of 100 other rows are observed."""
    split = hold_out(load_nyt().rows(slice(500)).columns(slice(500)), 100, 1)
    observed, test = split_entries(split.held_out, 0.5, 2)
    totals = split.train.column_totals()
    hyper = Hyperparameters(0.1, 1.0, 1 / 250, 10.0)
    scheme = MeanField(MODELS["cnpf"], backend)
    g = start_globals(scheme.model, split.train, 5, 5, hyper, np.random.default_rng(0), row_share=0.0)
    share = (totals + 0.5) / (totals + 0.5).sum()
    unigram = np.exp(-(test.data @ np.log(share[test.indices])) / test.total)
    for plan in (Plan(400, 400, 400, None), Plan(400, 100, 100, RobbinsMonro(5.0, 0.7))):
        limits = Settings(30, 0.0, 10**6, "bound")
        end = run(scheme, State(g), Rows(split.train), plan, limits, np.random.default_rng(0))
        perplexity = np.exp(-log_likelihood(PointPosterior(scheme, end.state.globals), Rows(observed), test))
        assert perplexity < 0.95 * unigram
