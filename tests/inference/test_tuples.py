"""Other processes than the gamma process for the tuples of the Poisson models: the bound, limits, what they are for."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from cormorant import CNPF
from cormorant.backends.packing import unpack
from cormorant.datasets import simulate
from cormorant.inference import globals as update
from cormorant.inference.draws import draw_order
from cormorant.inference.state import Globals
from cormorant.inference.structured import COLD
from cormorant.inference.tops import TOPS
from cormorant.models import cnpf
from cormorant.models.cnpf import Hyperparameters

from .oracles import allocations, dense_bound, gradient_of

PROCESSES = ("pitman-yor", "dirichlet")


def test_every_process_has_its_top():
    assert tuple(TOPS) == cnpf.PROCESSES


def with_tuples(problem, process, **numbers):
    problem.scheme = replace(problem.scheme, model=replace(problem.scheme.model, top=process))
    g = problem.globals
    problem.start = replace(problem.start, globals=replace(g, hyper=replace(g.hyper, **numbers)))
    return problem


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("model", ["cnpf", "scaled-hgp", "hgp"])
def test_the_bound_equals_a_dense_computation(make_problem, model, process):
    problem = with_tuples(make_problem(model, n_rows=9, n_columns=7, n_components=3), process)
    scheme, batch = problem.scheme, problem.batch()
    g = problem.run(3).state.globals
    view = scheme.view(g)
    kept, statistics = scheme.local_step(view, batch, None, want_bound=True)
    phi = allocations(scheme.solve(view, batch, None, COLD), view, batch)
    covariance = unpack(kept.covariance, kept.mean.shape[1])
    dense = dense_bound(scheme.model, g, problem.y, phi, kept.mean, covariance, None, None)
    assert scheme.bound(g, statistics) == pytest.approx(dense, rel=1e-10)


@pytest.mark.parametrize("process", [*PROCESSES, "beta"])
@pytest.mark.parametrize("model", ["cnpf", "hgp"])
def test_the_bound_never_falls(make_problem, model, process):
    bounds = [info.bound for info in with_tuples(make_problem(model, n_components=5), process).run(30).history]
    assert np.all(np.diff(bounds) >= -1e-9 * np.abs(bounds[1:]))
    assert bounds[-1] > bounds[0] + 10


@pytest.mark.parametrize("discount", [0.0, 0.6])
def test_the_gradient_in_the_sticks(discount):
    rng = np.random.default_rng(0)
    tables, log_one, z = rng.gamma(1.0, 5.0, 6), rng.gamma(2.0, 3.0, 6), rng.normal(size=6)
    negative = update._stick_objective(tables, log_one, 0.7, 1.5, 0.7, discount)
    assert_allclose(negative(z)[1], gradient_of(lambda at: negative(at)[0], z), rtol=1e-6, atol=1e-6)


def test_without_a_discount_it_is_the_gamma_process(make_problem):
    """The weights to the last bit; alpha, which is searched for and not solved for, as near as the search goes."""
    g = make_problem("hgp", n_components=5).globals
    rng = np.random.default_rng(1)
    tables, log_one = rng.gamma(1.0, 5.0, 5), rng.gamma(2.0, 3.0, 5)
    g = replace(g, hyper=replace(g.hyper, discount=0.0))
    gamma, other = (TOPS[name].update(g, tables, log_one) for name in ("gamma", "pitman-yor"))
    assert_array_equal(gamma.weights, other.weights)
    assert_allclose(gamma.alpha, other.alpha, rtol=1e-4)
    draws = [TOPS[name].draw(g, tables, log_one, np.random.default_rng(2)) for name in ("gamma", "pitman-yor")]
    assert_array_equal(draws[0].weights, draws[1].weights)
    assert TOPS["gamma"].log_prior(g) == pytest.approx(TOPS["pitman-yor"].log_prior(g), rel=1e-12)


def test_a_small_discount_is_nearly_the_gamma_process():
    weights = np.array([1.0, 0.5, 0.2, 0.1])
    values = [update.log_prior_weights(weights, 1.3, 0.8, discount=d) for d in (0.0, 1e-6)]
    assert values[0] == pytest.approx(values[1], abs=1e-4)


def test_the_prior_of_the_sticks_is_a_density():
    """Over logit v of one stick it integrates to one; s = 1, whose Gamma(1, 1) has log density -1 there."""
    z = np.linspace(-33, 33, 4_001)
    v = 1 / (1 + np.exp(-z))
    density = [np.exp(update.log_prior_weights(np.array([p, 1 - p]), 1.0, 1.0, discount=0.4) + 1.0) for p in v]
    assert np.trapezoid(density, z) == pytest.approx(1.0, abs=1e-6)


def test_pitman_yor_keeps_more_small_weights():
    """Tables that fall off like a power of the rank: where there is none any more, a heavy tail still leaves weight."""
    tables = np.append(200.0 * np.arange(1.0, 11.0) ** -1.5, np.zeros(20))
    log_one = np.full(30, 20.0)
    rest = {}
    for name in ("gamma", "pitman-yor"):
        g = _some(30)
        for _ in range(200):
            g = TOPS[name].update(g, tables, log_one)
        rest[name] = g.weights[10:].sum() / g.weights.sum()
    assert rest["pitman-yor"] > 2 * rest["gamma"]


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_pitman_yor_keeps_more_small_components(seed):
    """Six components planted, 40 at most, alpha about one in both: a gamma process gives up most of the others.

    It could not as long as a large component stayed far down the sticks: 34 were in use with it, 28 with Pitman-Yor.
    """
    counts = simulate("cnpf", 150, 40, 6, 2, row_total=40.0, weight=0.5, seed=seed).counts
    options = {"validation": 0, "n_chains": 1, "n_sweeps": 400, "a_alpha": 1000.0, "b_alpha": 1000.0}
    in_use = []
    for tuples in ({}, {"tuples": "pitman-yor", "discount": 0.5}):
        model = CNPF(40, 2, inference="gibbs", random_state=0, **options, **tuples).fit(counts)
        in_use.append(np.mean([(sample.globals.held_counts > 0.5).sum() for sample in model.samples_[0]]))
    assert in_use[0] < 18
    assert in_use[1] > in_use[0] + 5


@pytest.mark.parametrize("name", ["gamma", "pitman-yor"])
def test_sticks_come_in_a_size_biased_order(name):
    """Given the weights alone, as often in each order as the density of the sticks in that order says."""
    g, rng = replace(_some(3), weights=np.array([0.5, 1.0, 3.0]), alpha=1.7), np.random.default_rng(0)
    orders = list(itertools.permutations(range(3)))
    density = []
    for order in orders:
        w = g.weights[list(order)] / g.weights.sum()
        left = 1.0 - np.append(0.0, np.cumsum(w)[:-1])
        sigma = 0.5 if name == "pitman-yor" else 0.0
        v, k = (w / left)[:2], np.arange(1, 3)
        density.append(np.prod(stats.beta.pdf(v, 1.0 - sigma, 1.7 + k * sigma) / left[:2]))
    found, order = np.zeros(6), np.arange(3)
    for _ in range(8_000):
        order = draw_order(g.weights, order, TOPS[name].power_of_last(g), rng)
        found[orders.index(tuple(order.tolist()))] += 1
    expected = np.array(density) / np.sum(density)
    error = np.sqrt(expected * (1 - expected) / 8_000)
    assert (np.abs(found / 8_000 - expected) / error).max() < 5.0  # ten proposals a draw: all but independent


def test_weights_that_are_alike_have_no_order():
    order = np.array([2, 0, 1])
    assert draw_order(np.ones(3), order, TOPS["beta"].power_of_last(_some(3)), np.random.default_rng(0)) is order


def _some(n_components):
    shape, locations = np.ones((1, n_components)), np.zeros((n_components, 0))
    hyper = Hyperparameters(0.3, 1.0, 0.2, 1.5, discount=0.5)
    return Globals(shape, np.ones(n_components), np.full(n_components, 0.1), locations, 1.0, 1.0, hyper)
