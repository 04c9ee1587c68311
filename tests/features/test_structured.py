"""Structured inference: the bound never falls, every update maximises it, compiled steps agree with their twins."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import expit, logit

from cormorant.backends.compiled import Threads
from cormorant.backends.cpu import CpuBackend
from cormorant.backends.features import draw_features
from cormorant.inference import fit as loop
from cormorant.inference.features.start import rarer
from cormorant.inference.features.state import FeatureGlobals, Table, as_rows, extended
from cormorant.inference.features.structured import FeatureStructured, View
from cormorant.inference.schedules import Plan
from cormorant.inference.state import State
from cormorant.models.features import FEATURE_MODELS, LIKELIHOODS, log_density

N, COLUMNS, T = 60, 7, 4


class Problem:
    def __init__(self, model, likelihood, missing, seed=0):
        rng = np.random.default_rng(seed)
        self.model = FEATURE_MODELS[model]
        dims = 2 if self.model.has_locations else 0
        signal = (rng.random((N, 3)) < 0.4) @ (1.5 * rng.normal(size=(3, COLUMNS))) - 0.3
        y = signal + 0.3 * rng.normal(size=signal.shape)
        if likelihood == "bernoulli":
            y = (rng.random(signal.shape) < expit(signal)).astype(float)
        observed = rng.random(y.shape) < (0.8 if missing else 2.0)
        self.table = Table(y * observed, observed)
        self.scheme = FeatureStructured(self.model, likelihood, CpuBackend())
        self.globals = FeatureGlobals(
            np.column_stack([self.table.values.mean(axis=0), 0.5 * rng.normal(size=(COLUMNS, T))]), np.full(T, -1.0),
            rng.normal(size=(T, dims)), 2.0, 1.5, 0.7, usage=np.zeros(T),
        )  # fmt: skip

    def run(self, epochs):
        settings, plan = loop.Settings(epochs, 0.0, 10_000, "bound"), Plan(N, N, 25, None)
        rng = np.random.default_rng(0)
        return loop.run(self.scheme, State(self.globals), as_rows(self.table), plan, settings, rng)


CASES = list(product(FEATURE_MODELS, ("gaussian", "bernoulli"), (False, True)))


@pytest.mark.parametrize(("model", "likelihood", "missing"), CASES)
def test_the_bound_never_falls(model, likelihood, missing):
    bounds = np.array([info.bound for info in Problem(model, likelihood, missing).run(40).history])
    assert np.diff(bounds).min() > -1e-9 * np.abs(bounds).max()  # rounding
    assert bounds[-1] > bounds[0] + 10.0


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_without_a_field_features_are_an_indian_buffet(likelihood):
    """F = 0: locations at zero stay there, and every other number of the fit is the IBP's, up to rounding."""
    correlated, limit = Problem("beta-features", likelihood, True), Problem("ibp", likelihood, True)
    correlated.globals = replace(limit.globals, locations=np.zeros((T, 2)))
    first, second = (problem.run(20) for problem in (correlated, limit))
    assert not first.state.globals.locations.any()
    for name in ("atoms", "log_odds", "usage"):
        ours, theirs = (getattr(end.state.globals, name) for end in (first, second))
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    # The bounds differ by log p(l = 0), a constant.
    bounds = [np.array([info.bound for info in end.history]) for end in (first, second)]
    np.testing.assert_allclose(bounds[0] - bounds[1], -T * np.log(2.0 * np.pi * 0.7), rtol=1e-6)


HELD = [("beta-features", "gaussian", True), ("gamma-features", "bernoulli", False)]


@pytest.mark.parametrize(("model", "likelihood", "missing"), HELD)
def test_updates_are_stationary_points_of_the_bound(model, likelihood, missing):
    """With the rows held, global steps end where no small change of a global raises the bound: central differences."""
    problem = Problem(model, likelihood, missing)
    end = problem.run(10)
    scheme, g, kept = replace(problem.scheme, sweeps=0), end.state.globals, end.memory.get(np.arange(N))

    def statistics(at):
        return scheme.local_step(View(at), problem.table, kept)[1]

    def bound(at):
        return scheme.bound(at, statistics(at))

    for _ in range(300):
        g = scheme.global_step(State(g), statistics(g), 1.0).globals
    best, step = bound(g), 1e-3
    for name in ("log_odds", "locations", "atoms", "level", "background_scale", "atom_scale"):
        size = step * np.abs(getattr(g, name)).max()
        high, low = (bound(replace(g, **{name: getattr(g, name) + sign * size})) for sign in (1, -1))
        # At a peak both sides fall, and by the same amount up to the third derivative.
        assert max(high, low) <= best + 1e-9 * abs(best), name
        assert abs(high - low) < 0.1 * (2.0 * best - high - low) + 1e-7 * abs(best), name


def test_a_feature_and_its_absence_say_the_same():
    """E s, E s^2 and the log odds of z stay; what most rows show is told by the others where a chain begins."""
    problem = Problem("beta-features", "bernoulli", True)
    end = problem.run(10)
    g, kept = replace(end.state.globals, usage=np.array([0.2, 0.9, 0.4, 0.6])), end.memory.get(np.arange(N))
    told = rarer(replace(end, state=replace(end.state, globals=g)))
    other, rows = told.state.globals, told.memory.get(np.arange(N))
    turned = np.array([False, True, False, True])
    np.testing.assert_allclose(other.usage, [0.2, 0.1, 0.4, 0.4])
    np.testing.assert_allclose(rows.rho, np.where(turned, 1.0 - kept.rho, kept.rho))
    for ours, theirs in zip(
        problem.scheme.signal(View(other), rows.rho), problem.scheme.signal(View(g), kept.rho), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    sign = np.where(turned, -1.0, 1.0)
    np.testing.assert_allclose(other.log_odds_of(rows.mean), sign * g.log_odds_of(kept.mean))


def test_z_step_is_the_enumerated_optimum():
    """One feature: rho is the exact posterior of z, since nothing is left to factorise."""
    rng = np.random.default_rng(3)
    g = FeatureGlobals(rng.normal(size=(COLUMNS, 2)), np.array([0.3]), np.zeros((1, 0)), 1.0, 1.0, 1.0, noise=0.8)
    table = Table(rng.normal(size=(5, COLUMNS)), np.ones((5, COLUMNS), dtype=bool))
    found = FeatureStructured(FEATURE_MODELS["ibp"], "gaussian", CpuBackend()).solve_rows(View(g), table, None)
    on, off = (log_density("gaussian", table.values, g.atoms @ [1.0, z], 0.8).sum(axis=1) for z in (1.0, 0.0))
    np.testing.assert_allclose(found.rho[:, 0], expit(0.3 + on - off), rtol=1e-10)


@pytest.mark.parametrize("model", FEATURE_MODELS)
def test_prior_slopes_are_the_derivatives(model):
    spec, b, step = FEATURE_MODELS[model], np.array([-3.0, -0.5, 1.2]), 1e-5
    slope, curve = spec.prior_slopes(b, 2.0, 1.5)
    high, low = (spec.log_prior(b + sign * step, 2.0, 1.5) for sign in (1, -1))
    np.testing.assert_allclose(slope, (high - low) / (2 * step), rtol=1e-7)
    numeric = (spec.prior_slopes(b + step, 2.0, 1.5)[0] - spec.prior_slopes(b - step, 2.0, 1.5)[0]) / (2 * step)
    np.testing.assert_allclose(curve, -numeric, rtol=1e-7)


@pytest.mark.parametrize("model", FEATURE_MODELS)
def test_prior_of_the_log_odds_is_a_density(model):
    """It integrates to one, and w = weights(b) comes back from log_odds."""
    spec, b = FEATURE_MODELS[model], np.linspace(-80.0, 30.0, 40_001)
    one = np.array([spec.log_prior(np.full(1, at), 2.0, 1.5)[0] for at in b[::20]])
    assert np.trapezoid(np.exp(one), b[::20]) == pytest.approx(1.0, abs=1e-3)  # the grid's own error
    w = spec.weights(np.array([-4.0, 0.2, 1.5]))
    np.testing.assert_allclose(spec.log_odds(w), [-4.0, 0.2, 1.5], rtol=1e-10)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_drawn_probabilities_are_the_conditionals(likelihood):
    """Twin of the compiled draw: log odds eta + log p(y | z_k = 1) - log p(y | z_k = 0), feature by feature."""
    rng = np.random.default_rng(4)
    atoms, eta = rng.normal(size=(T + 1, COLUMNS)), rng.normal(size=(N, T))
    y = rng.normal(size=(N, COLUMNS))
    if likelihood != "gaussian":
        y = rng.poisson(1.0, size=(N, COLUMNS)).astype(float)
        y = np.minimum(y, 1.0) if likelihood == "bernoulli" else y
    atoms = np.abs(atoms) if likelihood == "poisson" else atoms
    observed = rng.random((N, COLUMNS)) < 0.8
    z, p = draw_features(Threads(1), likelihood, y * observed, observed, atoms, eta, 0.7, np.zeros((N, T)), 11)
    assert set(np.unique(z)) == {0.0, 1.0}
    at = np.zeros((N, T))  # where the scan was when it came to feature k
    for k in range(T):
        on, off = at.copy(), at.copy()
        on[:, k], off[:, k] = 1.0, 0.0
        gain = [(log_density(likelihood, y, extended(v) @ atoms, 0.7) * observed).sum(axis=1) for v in (on, off)]
        np.testing.assert_allclose(logit(p[:, k]), eta[:, k] + gain[0] - gain[1], rtol=1e-6, atol=1e-6)
        at[:, k] = z[:, k]
