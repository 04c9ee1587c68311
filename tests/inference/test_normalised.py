"""The normalised models: the freed normaliser, Dirichlet atoms, the tops, and the limits DILN has."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, sparse, stats
from scipy.special import digamma, gammaln

from cormorant.backends.cpu import CpuBackend
from cormorant.backends.packing import unpack
from cormorant.data import Counts
from cormorant.inference import dirichlet, draws
from cormorant.inference import globals as update
from cormorant.inference.gibbs import Gibbs
from cormorant.inference.predictive import PointPosterior, SampledPosterior, column_probabilities, infer
from cormorant.inference.proportions import proportions
from cormorant.inference.rows import Rows
from cormorant.inference.samples import Sample
from cormorant.inference.state import Globals, State
from cormorant.inference.structured import COLD, WARM
from cormorant.inference.tops import TOPS
from cormorant.models.cnpf import MODELS, Hyperparameters

from .conftest import NORMALISED
from .oracles import (
    allocations,
    dense_bound,
    global_terms,
    gradient_of,
    log_evidence_of_one_normalised_row,
    slope_of,
)

SMALL = {"n_rows": 9, "n_columns": 7, "n_components": 3}
KINDS = [("hdp", "dirichlet"), *(("diln", top) for top in ("dirichlet", "gamma", "beta", "pitman-yor"))]


def with_top(problem, top):
    problem.scheme = replace(problem.scheme, model=replace(problem.scheme.model, top=top))
    return problem


def test_the_normaliser_is_freed():
    """1 / S^N = int exp(N mu - S exp(mu)) dmu / Gamma(N)."""
    for total, n in ((0.3, 1), (2.5, 4)):
        integral = integrate.quad(lambda mu: np.exp(n * mu - total * np.exp(mu)), -60, 12)[0]  # noqa: B023
        assert integral / np.exp(gammaln(n)) == pytest.approx(total**-n, rel=1e-7)


class TestBound:
    @pytest.mark.parametrize(("model", "top"), KINDS)
    @pytest.mark.parametrize("missing", [False, True])
    def test_equals_a_dense_computation(self, make_problem, model, top, missing):
        """At the start, and after some epochs with rows that go on where they were."""
        problem = with_top(make_problem(model, missing=missing, **SMALL), top)
        scheme, batch = problem.scheme, problem.batch()
        outcome = problem.run(4)
        ended = outcome.memory.get(np.arange(len(problem.y)))
        for g, start, effort in ((problem.globals, None, COLD), (outcome.state.globals, ended, WARM)):
            view = scheme.view(g)
            kept, statistics = scheme.local_step(view, batch, start, want_bound=True)
            phi = allocations(scheme.solve(view, batch, start, effort), view, batch)
            covariance = unpack(kept.covariance, kept.mean.shape[1])
            dense = dense_bound(scheme.model, g, problem.y, phi, kept.mean, covariance, None, problem.missing)
            assert scheme.bound(g, statistics) == pytest.approx(dense, rel=1e-10)

    @pytest.mark.parametrize(("model", "top"), KINDS)
    @pytest.mark.parametrize(("seed", "missing"), [(0, False), (1, False), (2, True)])
    def test_never_falls(self, make_problem, model, top, seed, missing):
        outcome = with_top(make_problem(model, seed, missing=missing, n_components=5), top).run(40)
        bounds = np.array([info.bound for info in outcome.history])
        assert len(bounds) == 40
        assert np.all(np.diff(bounds) >= -1e-9 * np.abs(bounds[1:]))
        assert bounds[-1] > bounds[0] + 10

    @pytest.mark.parametrize("model", NORMALISED)
    @pytest.mark.parametrize("y", [[2, 1], [4, 0], [1, 3]])
    def test_is_below_the_exact_evidence_of_one_row(self, make_problem, model, y):
        """Two components and columns: every allocation summed over, x, a and d integrated out."""
        hyper = Hyperparameters(0.8, 1.0, 0.3, 1.0)
        problem = make_problem(model, y=[y], n_components=2, n_dims=1, hyper=hyper, learn=())
        scheme, batch = problem.scheme, problem.batch()
        g, memory, statistics = problem.globals, None, None
        for _ in range(30):  # the weights stay where they are: the evidence is given them
            if statistics is not None:
                new = scheme.global_step(State(g), statistics, 1.0).globals
                g = replace(g, atom_shape=new.atom_shape, atom_rate=new.atom_rate)
            memory, statistics = scheme.local_step(scheme.view(g), batch, memory, want_bound=True)
        prior_atoms = replace(g, atom_shape=np.full_like(g.atom_shape, hyper.a0))
        points = global_terms(scheme.model, prior_atoms, hyper)  # no divergence of q(a): the point masses alone
        gap = log_evidence_of_one_normalised_row(g, y) - (scheme.bound(g, statistics) - points)
        assert gap >= -1e-9
        assert gap < 2.0  # and not far below

    def test_oracle_without_locations_is_a_dirichlet_multinomial(self, make_problem):
        """Checks the oracle itself, and with it the freed normaliser: one column, where the atoms say nothing."""
        g = make_problem("hdp", y=[[3]], n_components=2).globals
        assert log_evidence_of_one_normalised_row(g, [3]) == pytest.approx(0.0, abs=1e-6)
        two = make_problem("hdp", y=[[3, 2]], n_components=1).globals
        exact = stats.dirichlet_multinomial([two.hyper.a0] * 2, 5).logpmf([3, 2])
        assert log_evidence_of_one_normalised_row(two, [3, 2]) == pytest.approx(exact, abs=1e-6)


class TestLimits:
    def test_diln_without_locations_is_hdp(self, make_problem):
        """The same rows, the same statistics, the same bound but for the prior of the locations."""
        for allocation in ("digamma", "zero-order"):
            hdp = make_problem("hdp", 3, allocation=allocation)
            diln = make_problem("diln", 3, allocation=allocation)
            none = replace(hdp.globals, locations=np.zeros((hdp.globals.n_components, 2)))
            kept, found = diln.scheme.local_step(diln.scheme.view(none), diln.batch(), None, want_bound=True)
            other, expected = hdp.scheme.local_step(hdp.scheme.view(hdp.globals), hdp.batch(), None, want_bound=True)
            rtol = 1e-10 if allocation == "digamma" else 1e-5  # single precision
            assert_allclose(kept.n, other.n, rtol=rtol, atol=rtol)
            assert_allclose(kept.mean[:, -1], other.mean[:, -1], rtol=rtol, atol=rtol)
            assert_allclose(kept.mean[:, :2], 0.0, atol=1e-12)
            for name in ("counts", "tables", "log_one", "exposure", "share", "bound"):
                assert_allclose(getattr(found, name), getattr(expected, name), rtol=rtol, atol=rtol, err_msg=name)
            assert_allclose(
                infer(diln.scheme, none, diln.rows).mean, infer(hdp.scheme, hdp.globals, hdp.rows).mean, rtol=1e-4
            )

    def test_locations_stay_at_zero_where_they_are_a_saddle(self, make_problem):
        """From no locations a fit of DILN is a fit of HDP."""
        hdp, diln = make_problem("hdp", 1), make_problem("diln", 1)
        diln.start = State(replace(hdp.globals, locations=np.zeros((4, 2))))
        found, expected = diln.run(10).state.globals, hdp.run(10).state.globals
        assert_allclose(found.locations, 0.0, atol=1e-12)
        for name in ("atom_shape", "weights", "beta", "alpha"):
            assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-6, err_msg=name)

    def test_what_all_locations_share_cancels(self):
        """pi is the same when every F of a row is shifted: mu_u cancels."""
        rng = np.random.default_rng(0)
        field = rng.normal(size=(5, 3))
        x = rng.gamma(0.7, size=(5, 3))
        one, other = x * np.exp(field), x * np.exp(field + rng.normal(size=(5, 1)))
        assert_allclose(one / one.sum(1, keepdims=True), other / other.sum(1, keepdims=True))

    def test_hdp_of_rows_in_one_component_is_exact(self, make_problem):
        """Disjoint components leave nothing to allocate: pi ~ Dirichlet(beta w + n), and mu_u does not matter."""
        problem = make_problem("hdp", n_components=2, y=[[3, 2, 0, 7], [0, 0, 1, 0]])
        shape = np.array([[50.0, 1e-9], [70.0, 1e-9], [1e-9, 40.0], [1e-9, 90.0]])
        g = replace(problem.globals, atom_shape=shape, atom_rate=shape.sum(axis=0), weights=np.array([0.4, 1.3]))
        found = infer(problem.scheme, g, problem.rows, want_variance=True)
        exact = [stats.dirichlet(g.weights + n) for n in ([5, 7], [0, 1])]
        assert_allclose(found.mean, [d.mean() for d in exact], rtol=1e-6)
        assert_allclose(found.variance, [d.var() for d in exact], rtol=1e-6)


class TestRows:
    def test_moments_are_those_of_draws_from_q(self, make_problem):
        """f ~ q(f), x given f ~ Gamma(w + n, exp(-F) + A), pi = x / sum x; to first order in f."""
        problem = make_problem("diln", n_rows=6)
        g = replace(problem.globals, weights=np.array([0.5, 1.0, 2.0, 4.0]))
        view, batch = problem.scheme.view(g), problem.batch()
        q, n = problem.scheme.settle(view, batch)
        mean, variance = proportions(problem.scheme._problem(view, batch), q, g.weights + n)
        rng, covariance = np.random.default_rng(0), unpack(q.covariance, q.mean.shape[1])
        for u in range(batch.n_rows):
            field = rng.multivariate_normal(q.mean[u], covariance[u], 40_000) @ view.design.loadings.T
            x = rng.gamma(g.weights + n[u], size=field.shape) / (np.exp(-field) + 1.0)
            pi = x / x.sum(axis=1, keepdims=True)
            assert_allclose(mean[u], pi.mean(axis=0), rtol=0.1, atol=0.01)
            assert_allclose(np.sqrt(variance[u]), pi.std(axis=0), rtol=0.15, atol=0.01)

    @pytest.mark.parametrize("model", NORMALISED)
    def test_rows_without_counts_keep_the_prior(self, make_problem, model):
        problem = make_problem(model, n_rows=8)
        g = problem.globals
        rows = Rows(Counts.from_csr(sparse.csr_matrix((3, 12))))
        found = infer(problem.scheme, g, rows, want_variance=True)
        assert_allclose(found.mean.sum(axis=1), 1.0)
        assert_allclose(found.mean, np.tile(problem.scheme.prior_mean(g), (3, 1)))
        assert np.all(found.variance > 0)
        if model == "hdp":  # pi ~ Dirichlet(beta w)
            prior = stats.dirichlet(g.weights)
            assert_allclose(found.mean[0], prior.mean())
            assert_allclose(found.variance[0], prior.var())
        with pytest.raises(ValueError, match="must have entries above zero"):
            rows.with_counts()

    @pytest.mark.parametrize("model", NORMALISED)
    def test_predictions_of_rows_do_not_depend_on_empty_neighbours(self, make_problem, model):
        problem = make_problem(model, allocation="zero-order")
        g = problem.run(5, watch="nothing").state.globals
        matrix = problem.rows.counts.tocsr()
        padded = sparse.vstack([matrix[:3], sparse.csr_matrix((2, matrix.shape[1])), matrix[3:5]]).tocsr()
        counts = Counts.from_csr(padded)
        whole = replace(g, atom_shape=np.rint(g.atom_shape - g.prior_shape) + g.prior_shape)
        sampled = SampledPosterior(Gibbs(problem.scheme.model, CpuBackend()), [[Sample.of(whole)]])
        for posterior in (PointPosterior(problem.scheme, g), sampled):
            found = column_probabilities(posterior, Rows(counts))
            alone = column_probabilities(posterior, problem.rows.take(np.arange(5)))
            assert_allclose(found.sum(axis=1), 1.0)
            assert_allclose(found[[0, 1, 2, 5, 6]], alone, rtol=1e-6)
            assert_allclose(found[3], found[4])


class TestDirichletAtoms:
    def setup_method(self):
        rng = np.random.default_rng(1)
        self.shape = rng.gamma(0.8, 3.0, (6, 4)) + 0.05
        self.target = 0.3 + rng.gamma(0.5, 4.0, (6, 4))
        self.lacking = rng.gamma(1.0, 5.0, (6, 4))

    def objective(self, shape):
        """E sum_i [(target_i - 1) log a_i + m_i a_i] plus the entropy of Dirichlet(shape), component by component."""
        return sum(
            ((t - 1) * (digamma(s) - digamma(s.sum()))).sum() + (m * s).sum() / s.sum() + stats.dirichlet(s).entropy()
            for t, m, s in zip(self.target.T, self.lacking.T, shape.T, strict=True)
        )

    def test_shapes_climb_to_their_mode(self):
        shape, values = self.shape, [self.objective(self.shape)]
        for _ in range(300):
            shape = dirichlet.update_shape(self.target, self.lacking, shape)
            values.append(self.objective(shape))
        assert np.all(np.diff(values) >= -1e-10 * np.abs(values[1:]))
        assert_allclose(gradient_of(self.objective, shape), 0.0, atol=1e-4)

    def test_nothing_missing_is_one_step(self):
        found = dirichlet.update_shape(self.target, np.zeros_like(self.target), self.shape)
        assert_allclose(found, self.target, rtol=1e-10)

    def test_a0_is_a_mode(self):
        found = dirichlet.update_a0(self.shape, 0.3)
        assert slope_of(lambda a0: dirichlet.log_prior_and_entropy(self.shape, a0), found) == pytest.approx(0, abs=1e-4)
        assert dirichlet.update_a0(self.shape[:1], 0.7) == 0.7  # one column: every a0 is as good

    def test_collapsed_a0_is_a_mode(self):
        """Of the Dirichlet-multinomial likelihood, where expected counts are zero or large, so that they are sure."""
        counts = 20.0 * np.random.default_rng(2).multinomial(60, stats.dirichlet([0.4] * 6).rvs(8, random_state=3)).T
        a0 = 0.5
        for _ in range(500):
            tables = update.expected_tables(counts, np.asarray(a0), collapsed=True).sum()
            a0 = dirichlet.update_a0_collapsed(tables, counts.sum(axis=0), 6, a0)

        def log_likelihood(value):
            per_atom = gammaln(6 * value) - gammaln(6 * value + 1200)
            return 8 * per_atom + (gammaln(value + counts) - gammaln(value)).sum()

        # Half the step of the grid, and a vague prior worth a thousandth of a table.
        assert a0 == pytest.approx(max(np.linspace(0.05, 2, 4001), key=log_likelihood), abs=5e-4)

    def test_draws_of_a0_follow_the_posterior(self):
        """a and the tables summed out: on a grid, against the chain of tables and a0."""
        counts, rng, a0, found = np.array([[7, 0], [0, 3], [1, 1]]), np.random.default_rng(4), 0.5, []
        sampling = CpuBackend().sampling
        for _ in range(12_000):
            tables = sampling.tables(counts, np.full(2, a0), int(rng.integers(1 << 62))).sum()
            a0 = dirichlet.draw_a0(tables, counts.sum(axis=0), 3, a0, rng)
            found.append(a0)
        grid = np.linspace(1e-4, 12, 40_000)
        shape, rate = draws.A0_PRIOR
        log_p = stats.gamma.logpdf(grid, shape, scale=1 / rate)
        log_p += sum(gammaln(3 * grid) - gammaln(3 * grid + c.sum()) for c in counts.T)
        log_p += sum(gammaln(grid + c) - gammaln(grid) for c in counts.ravel())
        cdf = np.cumsum(np.exp(log_p - log_p.max()))
        cdf /= cdf[-1]
        assert stats.kstest(found[::6], lambda x: np.interp(x, grid, cdf)).pvalue > 1e-3


def some_globals(top, rng):
    weights = rng.gamma(1.0, size=4) + 0.05
    beta = {"dirichlet": float(weights.sum()), "beta": float(weights.sum()) + 0.3}.get(top, 1.0)
    hyper = Hyperparameters(0.3, 1.0, 0.2, 1.5, 2.0, 0.7, 1.5, 0.6, 3.0, 0.8)
    return Globals(np.ones((3, 4)), np.full(4, 3.0), weights, np.zeros((4, 0)), 1.3, 0.9, hyper, beta)


@pytest.mark.parametrize("top", TOPS)
class TestTops:
    def test_updates_climb_to_a_mode(self, top):
        """Of sum_k (tables log w - log_one w) + log prior, over the weights and all that governs them."""
        rng = np.random.default_rng(5)
        g, tables, log_one = some_globals(top, rng), rng.gamma(2.0, 3.0, 4), rng.gamma(2.0, 3.0, 4)

        def objective(g):
            return float((tables * np.log(g.weights) - log_one * g.weights).sum()) + TOPS[top].log_prior(g)

        values = [objective(g)]
        for _ in range(200):
            g = TOPS[top].update(g, tables, log_one)
            values.append(objective(g))
        assert np.all(np.diff(values) >= -1e-9 * np.abs(values[1:]))
        names = {"dirichlet": (), "gamma": ("c",), "pitman-yor": ("c",), "beta": ("beta",)}[top]

        def moved(step):
            """exp(step) times alpha, c or beta, and the weights: scaled, or in a direction that keeps their sum."""
            z = np.log(g.weights) if top != "beta" else np.log(g.weights / g.beta) - np.log1p(-g.weights / g.beta)
            changed = {name: getattr(g, name) * np.exp(s) for name, s in zip(("alpha", *names), step, strict=False)}
            new = replace(g, **changed)
            z = z + step[-4:]
            if top == "beta":
                return objective(replace(new, weights=new.beta / (1 + np.exp(-z))))
            weights = np.exp(z)
            return objective(replace(new, weights=weights, beta=float(weights.sum()) if top == "dirichlet" else 1.0))

        slopes = gradient_of(moved, np.zeros(5 + len(names)), step=1e-4)
        if top == "beta":
            assert_allclose(slopes, 0.0, atol=2e-3)
        else:  # the mode is in (log s, logit v): see that nothing near it in those coordinates is better
            assert_allclose(slopes[: 1 + len(names)], 0.0, atol=2e-3)
            total, sticks = update.sticks_of(g.weights)
            for k in range(3):
                for step in (-1e-3, 1e-3):
                    logit = np.log(sticks[k] / (1 - sticks[k])) + step
                    other = sticks.copy()
                    other[k] = 1 / (1 + np.exp(-logit))
                    near = replace(g, weights=update.weights_of(total, other))
                    assert objective(near) <= objective(g) + 1e-9

    def test_draws_without_data_are_the_prior(self, top):
        rng = np.random.default_rng(6)
        g, found, nothing = some_globals(top, rng), [], np.zeros(4)
        h = g.hyper
        for _ in range(16_000):
            g = TOPS[top].draw(g, nothing, nothing, rng)
            found.append([g.alpha, g.beta, g.c, *g.weights[:2] / g.beta, g.weights.sum()])
        alpha, beta, c, first, second, total = np.array(found)[100::20].T
        assert stats.kstest(alpha, stats.gamma(h.a_alpha, scale=1 / h.b_alpha).cdf).pvalue > 1e-3
        if top in ("gamma", "pitman-yor"):
            assert np.all(beta == 1.0)
            assert stats.kstest(c, stats.gamma(h.a_c, scale=1 / h.b_c).cdf).pvalue > 1e-3
        else:
            assert stats.kstest(beta, stats.gamma(h.a_beta, scale=1 / h.b_beta).cdf).pvalue > 1e-3
        if top == "dirichlet":
            assert stats.kstest(stats.beta.cdf(first, 1.0, alpha), "uniform").pvalue > 1e-3
            assert stats.kstest(stats.beta.cdf(second / (1 - first), 1.0, alpha), "uniform").pvalue > 1e-3
        if top == "pitman-yor":
            v = first / total, second / (total - first)
            for k in (1, 2):
                beta_k = stats.beta(1.0 - h.discount, alpha + k * h.discount)
                assert stats.kstest(beta_k.cdf(v[k - 1]), "uniform").pvalue > 1e-3
        if top == "beta":
            for w in (first, second):
                assert stats.kstest(stats.beta.cdf(w, alpha / 4, alpha), "uniform").pvalue > 1e-3

    def test_every_top_is_sampled_and_solved(self, make_problem, top):
        """Whole fits of planted counts: finite, positive, and the weights as the top has them."""
        problem = with_top(make_problem("diln", allocation="zero-order"), top)
        solved = problem.run(8, watch="nothing").state.globals
        problem.scheme = Gibbs(problem.scheme.model, CpuBackend())
        problem.start = problem.scheme.begin(solved, np.random.default_rng(7))
        sampled = problem.run(8, watch="nothing").state.globals
        for g in (solved, sampled):
            w = g.weights / g.beta
            assert np.isfinite(w).all()
            assert (w > 0).all()
            assert_allclose(g.atom_mean.sum(axis=0), 1.0)
            if top == "dirichlet":
                assert w.sum() == pytest.approx(1.0)
            if top == "beta":
                assert np.all(w < 1.0)
            if top == "gamma":
                assert g.beta == 1.0


def test_registry_says_what_differs():
    for name, model in MODELS.items():
        assert model.normalised == (name in NORMALISED)
        assert model.top == ("dirichlet" if model.normalised else "gamma")
        assert not (model.normalised and model.has_mean)  # it would cancel
