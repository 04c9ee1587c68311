"""Structured inference: the bound against dense and exact computations, its ascent, limits, odd data."""

from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats
from scipy.special import gammaln

from cormorant.backends import numpy_reference
from cormorant.backends.cpu import CpuBackend
from cormorant.backends.packing import unpack
from cormorant.estimators.inputs import to_rows
from cormorant.inference.predictive import infer
from cormorant.inference.proportions import SHARE_DRAWS
from cormorant.inference.rows import Rows
from cormorant.inference.schedules import Plan
from cormorant.inference.state import State
from cormorant.inference.structured import COLD, WARM, Effort, Structured
from cormorant.models.cnpf import MODELS, Hyperparameters

from .conftest import BOUNDED, draw_counts
from .oracles import allocations, dense_bound, global_terms, log_evidence_of_one_row

SMALL = {"n_rows": 9, "n_columns": 7, "n_components": 3}


def assert_same_globals(one, other, rtol=1e-8, atol=1e-10):
    for name in ("atom_shape", "atom_rate", "weights", "locations", "alpha", "c"):
        assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=atol, err_msg=name)
    assert one.hyper.a0 == pytest.approx(other.hyper.a0, rel=rtol)


def assert_same_statistics(one, other, rtol=1e-9, names=None):
    for name in names or [f.name for f in fields(one)]:
        expected = np.asarray(getattr(other, name))
        scale = np.abs(expected).max(initial=0.0)
        assert_allclose(getattr(one, name), expected, rtol=rtol, atol=rtol * scale, err_msg=name)


def assert_sane(outcome):
    g = outcome.state.globals
    for name in ("atom_shape", "atom_rate", "weights", "locations"):
        assert np.isfinite(getattr(g, name)).all(), name
    assert np.all(g.weights > 0)
    assert np.all(g.atom_mean >= 0)
    assert np.isfinite([g.alpha, g.c, g.hyper.a0]).all()


class TestBound:
    @pytest.mark.parametrize("model", BOUNDED)
    @pytest.mark.parametrize("exposure", [False, True])
    @pytest.mark.parametrize("missing", [False, True])
    def test_equals_a_dense_computation(self, make_problem, model, exposure, missing):
        """At the start, and after some epochs with rows that go on where they were."""
        problem = make_problem(model, exposure=exposure, missing=missing, **SMALL)
        scheme, batch = problem.scheme, problem.batch()
        outcome = problem.run(4)
        later = outcome.state.globals
        ended = outcome.memory.get(np.arange(len(problem.y)))
        for g, start, effort in ((problem.globals, None, COLD), (later, ended, WARM)):
            view = scheme.view(g)
            kept, statistics = scheme.local_step(view, batch, start, want_bound=True)
            phi = allocations(scheme.solve(view, batch, start, effort), view, batch)
            assert_allclose(np.einsum("ui,uik->uk", problem.y, phi), kept.n, rtol=1e-10, atol=1e-12)
            assert_allclose(np.einsum("ui,uik->ik", problem.y, phi), statistics.counts, rtol=1e-10, atol=1e-12)
            dense = dense_bound(
                scheme.model,
                g,
                problem.y,
                phi,
                kept.mean,
                unpack(kept.covariance, kept.mean.shape[1]),
                problem.rows.exposure,
                problem.missing,
            )
            assert scheme.bound(g, statistics) == pytest.approx(dense, rel=1e-11)

    @pytest.mark.parametrize("model", BOUNDED)
    @pytest.mark.parametrize(("seed", "exposure"), [(0, False), (1, True), (2, False), (3, True)])
    def test_never_falls(self, make_problem, model, seed, exposure):
        outcome = make_problem(model, seed, exposure=exposure, n_components=5).run(40)
        bounds = np.array([info.bound for info in outcome.history])
        assert len(bounds) == 40
        assert np.all(np.diff(bounds) >= -1e-9 * np.abs(bounds[1:]))
        assert bounds[-1] > bounds[0] + 10

    @pytest.mark.parametrize("model", BOUNDED)
    def test_never_falls_near_its_maximum_with_missing_entries(self, make_problem, model):
        outcome = make_problem(model, 5, exposure=True, missing=True, n_rows=12).run(120)
        bounds = np.array([info.bound for info in outcome.history])
        assert np.all(np.diff(bounds) >= -1e-9 * np.abs(bounds[1:]))

    @pytest.mark.parametrize("model", BOUNDED)
    def test_rounds_of_a_local_step_never_lower_it(self, make_problem, model):
        """More rounds, or more sweeps, from the same place: a higher bound."""
        problem = make_problem(model, 2, exposure=True)
        scheme, batch = problem.scheme, problem.batch()
        view = scheme.view(problem.run(3).state.globals)
        for sweeps in (1, 3):
            values = [
                scheme._row_bound(view, batch, scheme.solve(view, batch, None, Effort(rounds, sweeps)))
                for rounds in range(1, 12)
            ]
            assert np.all(np.diff(values) >= -1e-10 * abs(values[-1]))

    @pytest.mark.parametrize("model", BOUNDED)
    @pytest.mark.parametrize("y", [[2, 1], [0, 0], [4, 0], [1, 3]])
    def test_is_below_the_exact_evidence_of_one_row(self, make_problem, model, y):
        """Two components and columns: every allocation summed over, x, a and f integrated out."""
        hyper = Hyperparameters(0.8, 1.2, 0.3, 0.7)
        problem = make_problem(model, y=[y], n_components=2, n_dims=1, hyper=hyper, learn=())
        scheme, batch = problem.scheme, problem.batch()
        state, memory = problem.start, None
        best = -np.inf
        for _ in range(30):  # the weights stay where they are: the evidence is given them
            g = state.globals
            memory, statistics = scheme.local_step(scheme.view(g), batch, memory, want_bound=True)
            best = scheme.bound(g, statistics)
            new = scheme.global_step(state, statistics, 1.0).globals
            state = State(replace(g, atom_shape=new.atom_shape, atom_rate=new.atom_rate))
        # Leave out what the point masses add: the density of w, alpha, c and l.
        point_masses = scheme.bound(g, statistics) - _rows_and_atoms(scheme, g, statistics)
        exact = log_evidence_of_one_row(scheme.model, g, y)
        gap = exact - (best - point_masses)
        assert gap >= -1e-9
        assert gap < 2.0  # and not far below

    def test_oracle_of_one_component_is_a_mixed_negative_binomial(self, make_problem):
        """Checks the oracle itself: y ~ NegativeBinomial(w, 1 / (1 + A)) with A ~ Gamma(a0, b0)."""
        g = make_problem("hgp", y=[[3]], n_components=1, hyper=Hyperparameters(1.7, 2.0, 1.0, 1.0)).globals

        def weighted(a):
            return stats.nbinom.pmf(3, g.weights[0], 1 / (1 + a)) * stats.gamma.pdf(a, 1.7, scale=0.5)

        exact = np.log(integrate.quad(weighted, 0, np.inf)[0])
        assert log_evidence_of_one_row(MODELS["hgp"], g, [3]) == pytest.approx(exact, abs=1e-6)

    @pytest.mark.parametrize("link", ["exp", "softplus"])
    def test_x_is_summed_out_exactly(self, link):
        """int x^n exp(-A x) Gamma(x | w, 1/r) dx = Gamma(w+n)/Gamma(w) r^n (1 + A r)^-(w+n)."""
        w, n, rate, f = 0.7, 2.3, 1.9, 0.4
        r = np.exp(f) if link == "exp" else np.logaddexp(0, f)
        integral = integrate.quad(lambda x: x**n * np.exp(-rate * x) * stats.gamma.pdf(x, w, scale=r), 0, np.inf)[0]
        closed = gammaln(w + n) - gammaln(w) + n * np.log(r) - (w + n) * np.log1p(rate * r)
        assert np.log(integral) == pytest.approx(closed, rel=1e-8)


def _rows_and_atoms(scheme, g, statistics):
    """The bound less the log densities of the point masses."""
    h = g.hyper
    everything = global_terms(scheme.model, g, h)
    only_points = global_terms(
        scheme.model,
        replace(g, atom_shape=np.full_like(g.atom_shape, h.a0), atom_rate=np.full(g.n_components, h.b0)),
        h,
    )
    return statistics.bound + everything - only_points


class TestRowPosterior:
    def test_one_component_without_a_field_is_exact(self, make_problem):
        """x given its row is Gamma(w + N, 1 + e A)."""
        problem = make_problem("hgp", n_components=1, exposure=True, n_rows=6)
        g = problem.globals
        found = infer(problem.scheme, g, problem.rows, want_variance=True)
        shape = g.weights[0] + problem.y.sum(axis=1)
        rate = 1.0 + problem.rows.exposure * g.atom_mean.sum()
        assert_allclose(found.mean[:, 0], shape / rate, rtol=1e-10)
        assert_allclose(found.variance[:, 0], shape / rate**2, rtol=1e-10)

    def test_disjoint_components_without_a_field_are_exact(self, make_problem):
        """Components that share no column leave nothing to allocate: x_k is Gamma(w_k + N_k, 1 + A_k)."""
        problem = make_problem("hgp", n_components=2, y=[[3, 2, 0, 7], [0, 0, 1, 0], [0, 0, 0, 0]])
        sure = np.array([[50.0, 1e-9], [70.0, 1e-9], [1e-9, 40.0], [1e-9, 90.0]])
        g = replace(problem.globals, atom_shape=sure, atom_rate=np.array([10.0, 20.0]), weights=np.array([0.4, 1.3]))
        found = infer(problem.scheme, g, problem.rows, want_variance=True)
        shape = g.weights + np.stack([problem.y[:, :2].sum(1), problem.y[:, 2:].sum(1)], axis=1)
        assert_allclose(found.mean, shape / (1 + g.atom_total), rtol=1e-7)
        assert_allclose(found.variance, shape / (1 + g.atom_total) ** 2, rtol=1e-7)

    def test_one_component_with_a_scale_is_close_to_quadrature(self, make_problem):
        """K = 1: p(mu | y) on a grid gives E x and Var x; the Gaussian q comes within a few per cent."""
        hyper = Hyperparameters(0.3, 1.0, 0.2, 0.5)
        problem = make_problem("scaled-hgp", n_components=1, y=[[9, 0, 4], [1, 0, 0], [30, 12, 50]], hyper=hyper)
        g = replace(problem.globals, weights=np.array([2.0]))
        found = infer(problem.scheme, g, problem.rows, want_variance=True)
        total = g.atom_mean.sum()
        mu = np.linspace(-8, 8, 8001) * np.sqrt(0.5)
        for u, n in enumerate(problem.y.sum(axis=1)):
            log_p = stats.norm.logpdf(mu, 0, np.sqrt(0.5)) + n * mu - (2.0 + n) * np.logaddexp(0, mu + np.log(total))
            p = np.exp(log_p - log_p.max())
            p /= p.sum()
            scale = 1 / (np.exp(-mu) + total)
            mean = (2.0 + n) * (p @ scale)
            variance = (2.0 + n) * (3.0 + n) * (p @ scale**2) - mean**2
            assert found.mean[u, 0] == pytest.approx(mean, rel=0.05)
            assert found.variance[u, 0] == pytest.approx(variance, rel=0.15)

    @pytest.mark.parametrize("model", ["cnpf", "softplus-cnpf"])
    def test_variance_is_that_of_draws_from_q(self, make_problem, model):
        """f ~ q(f), x given f ~ Gamma(w + n, 1 / r(F) + A); small exposures, where the scale matters most."""
        problem = make_problem(model, n_rows=4, exposure=np.array([0.02, 0.1, 0.5, 2.0]))
        g, batch = replace(problem.globals, weights=np.array([0.5, 1.0, 2.0, 4.0])), problem.batch()
        view = problem.scheme.view(g)
        q, n = problem.scheme.settle(view, batch)
        covariance = unpack(q.covariance, q.mean.shape[1])
        found = problem.scheme.posterior(view, batch, want_variance=True)
        rng, rate = np.random.default_rng(0), np.exp(batch.log_rate_of(g.atom_total, g.atom_mean))
        for u in range(4):
            f = rng.multivariate_normal(q.mean[u], covariance[u], 100_000)
            field = f @ view.design.loadings.T
            r = np.exp(field) if problem.scheme.link.is_bound else np.logaddexp(0, field)
            x = rng.gamma(g.weights + n[u], 1 / (1 / r + rate[u]))
            squares = (x - x.mean(axis=0)) ** 2
            error = squares.std(axis=0) / np.sqrt(len(x))
            # Five standard errors, and half a per cent for the fifteen nodes.
            assert np.all(np.abs(found.variance[u] - squares.mean(axis=0)) <= 5 * error + 0.005 * found.variance[u])

    @pytest.mark.parametrize("model", [*BOUNDED, "softplus-cnpf"])
    def test_moments_are_finite_and_positive(self, make_problem, model):
        problem = make_problem(model, exposure=True)
        found = infer(problem.scheme, problem.globals, problem.rows, want_variance=True)
        for moment in (found.mean, found.variance):
            assert np.isfinite(moment).all()
            assert np.all(moment > 0)

    @pytest.mark.parametrize("model", [*BOUNDED, "softplus-cnpf"])
    def test_prior_mean(self, make_problem, model):
        """E x_k / sum_j A_j x_j: draws of our own of the whole story."""
        problem = make_problem(model)
        g = replace(problem.globals, weights=np.array([0.1, 0.4, 1.0, 2.0]))
        rng, n = np.random.default_rng(5), 40_000
        field = rng.normal(size=(n, g.locations.shape[1])) @ g.locations.T
        if problem.scheme.model.has_mean:
            field += np.sqrt(g.hyper.sigma_m2) * rng.normal(size=(n, 1))
        r = np.exp(field) if problem.scheme.model.link == "exp" else np.logaddexp(0, field)
        x = rng.gamma(g.weights, r)
        shares = x / (x @ g.atom_mean.sum(axis=0))[:, None]
        got = problem.scheme.prior_mean(g)
        assert got @ g.atom_mean.sum(axis=0) == pytest.approx(1.0)
        error = shares.std(axis=0) * np.sqrt(1 / n + 1 / SHARE_DRAWS)
        assert np.all(np.abs(got - shares.mean(axis=0)) < 4 * error)

    def test_long_locations_leave_the_prior_at_the_weights_of_typical_rows(self, make_problem):
        """E exp F of a component with |l|^2 = 60 is 1e13; yet half of the rows hardly show it."""
        problem = make_problem("cnpf")
        long = problem.globals.locations * 0.0
        long[0, 0] = np.sqrt(60.0)
        g = replace(problem.globals, weights=np.ones(4), locations=long)
        assert (problem.scheme.prior_mean(g) * g.atom_mean.sum(axis=0))[0] < 0.6


class TestPlans:
    @pytest.mark.parametrize("model", ["cnpf", "softplus-cnpf", "hgp"])
    def test_full_batch_with_whole_steps_equals_batch(self, make_problem, model):
        problem = make_problem(model, 1)
        n = len(problem.y)
        batch = problem.run(6, watch="nothing")
        stochastic = problem.run(6, Plan(n, n, n, lambda n_steps: 1.0), watch="nothing")
        for name in ("atom_shape", "atom_rate", "weights", "locations", "alpha", "c", "hyper"):
            assert_array_equal(
                getattr(batch.state.globals, name), getattr(stochastic.state.globals, name), err_msg=name
            )

    @pytest.mark.parametrize("allocation", ["digamma", "zero-order"])
    def test_size_of_blocks_does_not_matter(self, make_problem, allocation):
        problem = make_problem("cnpf", 1, allocation=allocation, exposure=True, missing=True)
        n = len(problem.y)
        whole = problem.run(5, watch="nothing").state.globals
        # The search for the weights stops by a tolerance of its own, which other roundings reach elsewhere.
        for size in (1, 7):
            blocks = problem.run(5, Plan(n, n, size, None), watch="nothing").state.globals
            assert_same_globals(blocks, whole, rtol=1e-5, atol=1e-6)
        once = problem.run(1, watch="nothing").state
        pieces = problem.run(1, Plan(n, n, 7, None), watch="nothing").state
        # Blocks of other sizes round matrix products otherwise, and in single precision theta then rounds either way.
        rtol = 1e-8 if allocation == "digamma" else 2 * np.finfo(np.float32).eps
        assert_same_statistics(pieces.memory, once.memory, rtol=rtol)

    def test_rows_apart_are_rows_together(self, make_problem):
        """A row's posterior does not depend on the block that it is solved in."""
        problem = make_problem("cnpf", 3, exposure=True, missing=True)
        scheme, view = problem.scheme, problem.scheme.view(problem.globals)
        together = scheme.solve(view, problem.batch(), None, COLD)
        for u in range(len(problem.y)):
            alone = scheme.solve(view, problem.rows.batch(np.array([u]), scheme.dtype), None, COLD)
            assert_allclose(alone.n[0], together.n[u], rtol=1e-9, atol=1e-12)
            assert_allclose(alone.field.mean[0], together.field.mean[u], rtol=1e-8, atol=1e-10)

    def test_statistics_add_scale_and_blend(self, make_problem):
        problem = make_problem("cnpf")
        view = problem.scheme.view(problem.globals)
        halves = [
            problem.scheme.local_step(view, problem.rows.batch(part, np.float64), None, True)[1]
            for part in np.array_split(np.arange(len(problem.y)), 2)
        ]
        _, whole = problem.scheme.local_step(view, problem.batch(), None, True)
        assert_same_statistics(halves[0] + halves[1], whole, rtol=1e-8)
        assert_same_statistics(halves[0].blend(halves[1], 0.25), halves[0] * 0.75 + halves[1] * 0.25)
        assert halves[0].blend(halves[1], 1.0) is halves[1]

    def test_step_sizes_average_the_statistics(self, make_problem):
        problem = make_problem("cnpf")
        scheme, batch = problem.scheme, problem.batch()
        _, first = scheme.local_step(scheme.view(problem.globals), batch, None)
        state = scheme.global_step(problem.start, first, 0.3)
        assert_same_statistics(state.memory, first)  # nothing to average with yet
        _, second = scheme.local_step(scheme.view(state.globals), batch, None)
        state = scheme.global_step(state, second, 0.3)
        assert_same_statistics(state.memory, first * 0.7 + second * 0.3)
        assert state.n_steps == 2


class TestBackends:
    @pytest.mark.parametrize("model", ["cnpf", "softplus-cnpf", "hgp"])
    def test_plain_numpy_gives_the_same_fit(self, make_problem, model):
        problem = make_problem(model, 1, exposure=True, missing=True, n_rows=12)
        plain = replace(problem, scheme=replace(problem.scheme, backend=numpy_reference))
        ours = problem.scheme.local_step(problem.scheme.view(problem.globals), problem.batch(), None, True)
        theirs = plain.scheme.local_step(plain.scheme.view(plain.globals), plain.batch(), None, True)
        assert_same_statistics(ours[1], theirs[1], rtol=1e-8)
        assert_same_globals(problem.run(3).state.globals, plain.run(3).state.globals, rtol=1e-5, atol=1e-6)

    @pytest.mark.parametrize("allocation", ["digamma", "zero-order"])
    def test_threads_do_not_change_a_bit(self, make_problem, allocation):
        problem = make_problem("cnpf", 1, allocation=allocation, n_rows=70)
        alone = problem.run(3, watch="nothing").state.globals
        for n_jobs in (2, 3):
            scheme = replace(problem.scheme, backend=CpuBackend(n_jobs))
            several = replace(problem, scheme=scheme).run(3, watch="nothing").state.globals
            for name in ("atom_shape", "atom_rate", "weights", "locations", "alpha", "c"):
                assert_array_equal(getattr(alone, name), getattr(several, name), err_msg=name)

    def test_single_precision_is_close_to_double(self, make_problem, monkeypatch):
        problem = make_problem("cnpf", 1, allocation="zero-order")
        single = problem.run(10, watch="nothing").state.globals
        monkeypatch.setattr(Structured, "dtype", np.float64)
        double = problem.run(10, watch="nothing").state.globals
        assert_allclose(single.atom_mean, double.atom_mean, rtol=0.02, atol=1e-3 * double.atom_mean.max())
        assert_allclose(single.weights, double.weights, rtol=0.02, atol=1e-3 * double.weights.max())


class TestLimits:
    @pytest.mark.parametrize("allocation", ["digamma", "zero-order"])
    def test_cnpf_without_locations_is_the_scaled_hgp(self, make_problem, allocation):
        correlated = make_problem("cnpf", 1, allocation=allocation, exposure=True)
        scaled = make_problem("scaled-hgp", 1, allocation=allocation, exposure=True)
        zero = replace(correlated.globals, locations=np.zeros_like(correlated.globals.locations))
        same = replace(zero, locations=np.zeros((zero.n_components, 0)))
        kept, statistics = correlated.scheme.local_step(correlated.scheme.view(zero), correlated.batch(), None, True)
        expected, other = scaled.scheme.local_step(scaled.scheme.view(same), scaled.batch(), None, True)
        assert_allclose(kept.n, expected.n, rtol=1e-6, atol=1e-9)
        assert_allclose(kept.mean[:, -1:], expected.mean, rtol=1e-6, atol=1e-9)
        assert_allclose(kept.mean[:, :-1], 0.0, atol=1e-12)
        # d is left at its prior.
        prior = np.broadcast_to(np.eye(2), (len(kept.mean), 2, 2))
        assert_allclose(unpack(kept.covariance, 3)[:, :-1, :-1], prior, atol=1e-6)
        shared = ("n_rows", "counts", "tables", "log_one", "exposure", "share", "bound")
        assert_same_statistics(statistics, other, rtol=1e-6, names=shared)
        one = correlated.scheme.global_step(State(zero), statistics, 1.0).globals
        two = scaled.scheme.global_step(State(same), other, 1.0).globals
        assert_allclose(one.locations, 0.0, atol=1e-12)  # a saddle: there they stay
        assert_same_globals(replace(one, locations=two.locations), two, rtol=1e-5, atol=1e-7)

    @pytest.mark.parametrize("allocation", ["digamma", "zero-order"])
    def test_scale_without_spread_is_the_hgp(self, make_problem, allocation):
        hyper = Hyperparameters(0.3, 1.0, 0.2, 1e-12)
        scaled = make_problem("scaled-hgp", 1, allocation=allocation, hyper=hyper)
        plain = make_problem("hgp", 1, allocation=allocation, hyper=hyper)
        kept, statistics = scaled.scheme.local_step(scaled.scheme.view(scaled.globals), scaled.batch(), None, True)
        expected, other = plain.scheme.local_step(plain.scheme.view(plain.globals), plain.batch(), None, True)
        assert_allclose(kept.n, expected.n, rtol=1e-5, atol=1e-6)
        shared = ("counts", "tables", "log_one", "exposure", "share", "bound")
        assert_same_statistics(statistics, other, rtol=1e-5, names=shared)
        one, two = scaled.run(10, watch="nothing"), plain.run(10, watch="nothing")
        assert_same_globals(one.state.globals, two.state.globals, rtol=1e-3, atol=1e-4)

    def test_both_limits_of_cnpf_together(self, make_problem):
        hyper = Hyperparameters(0.3, 1.0, 1e-14, 1e-12)
        correlated, plain = (make_problem(model, 1, hyper=hyper) for model in ("cnpf", "hgp"))
        g = replace(correlated.globals, locations=np.zeros_like(correlated.globals.locations))
        _, one = correlated.scheme.local_step(correlated.scheme.view(g), correlated.batch(), None, True)
        _, two = plain.scheme.local_step(plain.scheme.view(plain.globals), plain.batch(), None, True)
        assert_same_statistics(one, two, rtol=1e-6, names=("counts", "tables", "log_one", "exposure", "share"))


class TestWhatWasLookedAt:
    @pytest.mark.parametrize("model", ["cnpf", "softplus-cnpf"])
    def test_counts_at_missing_entries_do_not_matter(self, make_problem, model):
        problem = make_problem(model, 2)
        rng = np.random.default_rng(3)
        mask = rng.random(problem.y.shape) < 0.2
        mask[4] = True  # a row that was not looked at at all
        other = np.where(mask, rng.poisson(20.0, mask.shape), problem.y)
        results = []
        for y in (problem.y, other):
            rows = to_rows(make_problem(model, y=y).rows.counts, None, mask)
            results.append(replace(problem, rows=rows).run(5, watch="nothing"))
        assert_same_globals(results[0].state.globals, results[1].state.globals, rtol=1e-12)
        assert_sane(results[0])

    def test_missing_is_not_zero(self, make_problem):
        problem = make_problem("hgp", 2, missing=True)
        zeros = replace(problem, rows=Rows(problem.rows.counts))
        missing, zero = (p.run(5, watch="nothing").state.globals for p in (problem, zeros))
        assert missing.atom_mean.sum(axis=0) @ missing.weights > 1.05 * (zero.atom_mean.sum(axis=0) @ zero.weights)

    @pytest.mark.parametrize("model", ["cnpf", "softplus-cnpf"])
    def test_a_mask_of_nothing_is_no_mask(self, make_problem, model):
        problem = make_problem(model, 2, missing=np.zeros((30, 12), bool))
        plain = replace(problem, rows=Rows(problem.rows.counts), missing=None)
        scheme = problem.scheme
        view = scheme.view(problem.globals)
        _, one = scheme.local_step(view, problem.batch(), None, True)
        _, two = scheme.local_step(view, plain.batch(), None, True)
        per_column = np.broadcast_to(two.exposure, one.exposure.shape)
        assert_same_statistics(one, replace(two, exposure=per_column), rtol=1e-10)

    @pytest.mark.parametrize("model", ["cnpf", "softplus-cnpf"])
    def test_exposure_of_ones_is_no_exposure(self, make_problem, model):
        problem = make_problem(model, 2, exposure=np.ones(30))
        plain = replace(problem, rows=Rows(problem.rows.counts))
        assert_same_globals(problem.run(5).state.globals, plain.run(5).state.globals, rtol=1e-12)

    def test_exposure_and_rate_enter_as_a_product(self, make_problem):
        """Twice the exposure and half the atoms: the same rows."""
        problem = make_problem("cnpf", 2, exposure=np.full(30, 2.0))
        plain = replace(problem, rows=Rows(problem.rows.counts))
        g = problem.globals
        one = infer(problem.scheme, replace(g, atom_rate=2.0 * g.atom_rate), problem.rows)
        two = infer(plain.scheme, g, plain.rows)
        assert_allclose(one.mean, two.mean, rtol=1e-8)

    def test_doubling_the_exposure_halves_x_where_the_data_decide(self, make_problem):
        """HGP, K = 1: E x = (w + N) / (1 + e A), halved but for the prior's one."""
        problem = make_problem("hgp", n_components=1, exposure=np.full(30, 50.0))
        double = replace(problem, rows=Rows(problem.rows.counts, np.full(30, 100.0)))
        one, two = (infer(p.scheme, problem.globals, p.rows).mean for p in (problem, double))
        total = problem.globals.atom_total[0]
        assert_allclose(one / two, np.full((30, 1), (1 + 100 * total) / (1 + 50 * total)))
        assert_allclose(one, 2 * two, rtol=1e-3)


class TestOddData:
    ALL = (*BOUNDED, "softplus-cnpf")

    @pytest.mark.parametrize("model", ALL)
    @pytest.mark.parametrize("allocation", ["digamma", "zero-order"])
    @pytest.mark.parametrize(
        "y",
        [
            pytest.param(np.zeros((4, 3), int), id="no counts"),
            pytest.param(np.array([[3, 0, 2]]), id="one row"),
            pytest.param(np.array([[1], [0], [7]]), id="one column"),
            pytest.param(np.array([[1_000_000, 0, 3], [0, 1_000_000, 1], [2, 0, 0]]), id="huge counts"),
            pytest.param(np.array([[0.5, 0.0, 2.25], [1e-3, 3.0, 0.0]]), id="real weights"),
        ],
    )
    def test_fits(self, make_problem, model, allocation, y):
        problem = make_problem(model, y=y, allocation=allocation, n_components=3)
        outcome = problem.run(8)
        assert_sane(outcome)
        found = infer(problem.scheme, outcome.state.globals, problem.rows, want_variance=True)
        assert np.isfinite(found.mean).all()
        assert np.isfinite(found.variance).all()
        assert np.all(found.mean >= 0)

    @pytest.mark.parametrize("model", ALL)
    @pytest.mark.parametrize("allocation", ["digamma", "zero-order"])
    def test_one_component(self, make_problem, model, allocation):
        problem = make_problem(model, n_components=1, allocation=allocation)
        outcome = problem.run(30)
        assert_sane(outcome)
        # One component can only learn the column totals.
        atoms = outcome.state.globals.atom_mean[:, 0]
        totals = problem.y.sum(axis=0)
        assert np.corrcoef(atoms, totals)[0, 1] > 0.999

    @pytest.mark.parametrize("model", ALL)
    def test_a_column_never_seen_has_atoms_near_zero(self, make_problem, model):
        outcome = make_problem(model).run(20)
        means = outcome.state.globals.atom_mean @ outcome.state.globals.weights
        assert means[5] > 0
        assert means[5] < 0.1 * np.delete(means, 5).max()

    @pytest.mark.parametrize("model", BOUNDED)
    def test_huge_counts_are_reproduced(self, make_problem, model):
        """With 1e6 counts in a cell the fitted rate is that count, whatever the prior."""
        y = np.array([[1_000_000, 200_000], [300_000, 1_000_000], [500_000, 500_000]])
        problem = make_problem(model, y=y, n_components=2, n_dims=1)
        g = problem.run(60).state.globals
        rates = infer(problem.scheme, g, problem.rows).mean @ g.atom_mean.T
        assert_allclose(rates, y, rtol=0.02)

    def test_final_effort_stops_early(self, make_problem):
        problem = make_problem("cnpf", allocation="zero-order")
        view = problem.scheme.view(problem.run(20, watch="nothing").state.globals)
        _, short = problem.scheme.settle(view, problem.batch())
        long = problem.scheme.solve(view, problem.batch(), None, Effort(300, 3))
        assert np.all(np.abs(short - long.n).sum(axis=1) <= 0.05 * (1 + problem.y.sum(axis=1)))

    @pytest.mark.parametrize("model", ["cnpf", "softplus-cnpf", "hgp", "diln"])
    def test_rows_that_rest_are_left_alone(self, make_problem, model):
        """Each row is as after its first round, or as after the second; which of the two, its own counts decide."""
        problem = make_problem(model, n_rows=40, missing=model == "cnpf")
        scheme, batch, view = problem.scheme, problem.batch(), problem.scheme.view(problem.run(3).state.globals)
        start = scheme.local_step(view, batch, None)[0]
        one, two = (scheme.solve(view, batch, start, Effort(rounds, 2)) for rounds in (1, 2))
        move = np.abs(one.n - start.n).sum(axis=1) / np.maximum(batch.row_totals, 1e-300)
        tol = float(np.median(move))
        found = scheme.solve(view, batch, start, Effort(2, 2, tol))
        moves = move > tol
        assert moves.any()
        assert not moves.all()
        for get in (lambda s: s.n, lambda s: s.theta, lambda s: s.field.mean, lambda s: s.field.expansion.log_scale):
            assert_allclose(get(found), np.where(moves[:, None], get(two), get(one)), rtol=1e-5)
        by_entry = np.repeat(moves, np.diff(batch.indptr))
        assert_allclose(found.ratio, np.where(by_entry, two.ratio, one.ratio), rtol=1e-5)

    def test_an_empty_row_moves_no_other_row(self, make_problem):
        y = draw_counts(np.random.default_rng(0))
        problem = make_problem("cnpf", y=y)
        longer = make_problem("cnpf", y=np.vstack([y, np.zeros((1, y.shape[1]), int)]))
        g = problem.globals
        one, two = infer(problem.scheme, g, problem.rows).mean, infer(longer.scheme, g, longer.rows).mean
        assert_allclose(two[:-1], one, rtol=1e-10)
