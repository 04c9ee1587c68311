"""Perplexity against a slow dense computation; what rows that show nothing are scored from."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cormorant.backends.cpu import CpuBackend
from cormorant.data import as_counts, split_entries
from cormorant.inference import moves, predictive
from cormorant.inference.gibbs import Gibbs
from cormorant.inference.rows import Rows
from cormorant.inference.samples import Collector, Sample
from cormorant.inference.structured import Structured
from cormorant.models import cnpf

MODELS = ("cnpf", "softplus-cnpf", "scaled-hgp", "hgp")


@pytest.fixture
def fitted(make_problem):
    """A problem, and the globals after a few epochs with unequal weights."""

    def fit(model="cnpf", **options):
        problem = make_problem(model, **options)
        g = problem.run(6, watch="nothing").state.globals
        return problem, g

    return fit


@pytest.mark.parametrize("model", MODELS)
def test_probabilities_of_all_columns_sum_to_one(fitted, model):
    problem, g = fitted(model)
    posterior = predictive.PointPosterior(problem.scheme, g)
    p = predictive.column_probabilities(posterior, problem.rows)
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    everywhere = as_counts(np.ones(problem.y.shape, int))
    assert_allclose(predictive.entry_probabilities(posterior, problem.rows, everywhere), p.ravel(), rtol=1e-12)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("allocation", ["digamma", "zero-order"])
def test_rows_that_show_nothing_are_scored_from_the_prior(fitted, model, allocation):
    problem, g = fitted(model, allocation=allocation)
    [(x, atoms)] = predictive.PointPosterior(problem.scheme, g).pairs(problem.rows)
    assert_allclose((x @ atoms.T).sum(axis=1), 1.0, rtol=1e-12)
    empty = problem.y.sum(axis=1) == 0
    assert empty.any()
    assert not empty.all()
    prior = problem.scheme.prior_mean(g)
    assert_allclose(x[empty], np.tile(prior / (prior @ atoms.sum(axis=0)), (empty.sum(), 1)), rtol=1e-12)
    assert not np.allclose(x[~empty][0] / x[~empty][0].sum(), prior / prior.sum(), rtol=0.01)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("exposure", [False, True])
def test_perplexity_equals_a_dense_computation(fitted, model, exposure):
    """Each row alone, its rates over all columns normalised, and the test counts' mean log probability."""
    problem, g = fitted(model, exposure=exposure)
    counts = problem.rows.counts
    in_training = np.arange(problem.y.shape[1]) != 2  # one column is not to be predicted
    validation = predictive.Validation.split(problem.rows, in_training, np.random.default_rng(7))
    assert len(validation.splits) == 2
    atoms = g.atom_shape / g.atom_rate
    means = []
    rng = np.random.default_rng(7)
    for fraction in (0.1, 0.5):
        seen, test = (part.tocsr().toarray() for part in split_entries(counts, fraction, rng))
        assert_array_equal(seen + test, problem.y)
        test[:, 2] = 0
        total = 0.0
        for u in range(len(problem.y)):
            e = None if not exposure else problem.rows.exposure[[u]]
            row = Rows(as_counts(seen[[u]]), e)
            x = problem.scheme.prior_mean(g) if seen[u].sum() == 0 else predictive.infer(problem.scheme, g, row).mean[0]
            rates = x @ atoms.T
            total += test[u] @ np.log(rates / rates.sum())
        means.append(total / test.sum())
    # Rows solved together stop together, within the tolerance of the final effort.
    got = validation.perplexity(predictive.PointPosterior(problem.scheme, g))
    assert got == pytest.approx(np.exp(-np.mean(means)), rel=1e-3)
    posterior = predictive.PointPosterior(problem.scheme, g)
    parts = [predictive.log_likelihood(posterior, seen, test) for seen, test in validation.splits]
    assert got == pytest.approx(np.exp(-np.mean(parts)), rel=1e-12)


def test_equal_atoms_give_the_number_of_columns(make_problem):
    problem = make_problem("hgp")
    g = replace(problem.globals, atom_shape=np.full_like(problem.globals.atom_shape, 2.0))
    everywhere = np.ones(problem.y.shape[1], bool)
    validation = predictive.Validation.split(problem.rows, everywhere, np.random.default_rng(0))
    found = validation.perplexity(predictive.PointPosterior(problem.scheme, g))
    assert found == pytest.approx(problem.y.shape[1], rel=1e-9)


def test_size_of_blocks_does_not_matter(fitted, monkeypatch):
    problem, g = fitted("cnpf", exposure=True, missing=True)
    whole = predictive.infer(problem.scheme, g, problem.rows, want_variance=True)
    monkeypatch.setattr(predictive, "SMALLEST_BLOCK", 4)
    blocks = predictive.infer(problem.scheme, g, problem.rows, want_variance=True)
    # Blocks stop at different rounds, each within one part in a thousand.
    assert_allclose(blocks.mean, whole.mean, rtol=0.02, atol=0.01 * whole.mean.max())


def test_nothing_to_predict_is_an_error(make_problem):
    problem = make_problem("hgp")
    empty = as_counts(np.zeros(problem.y.shape, int))
    with pytest.raises(ValueError, match="observe a smaller fraction"):
        predictive.log_likelihood(predictive.PointPosterior(problem.scheme, problem.globals), problem.rows, empty)


def test_fractions_that_leave_nothing_are_left_out(make_problem):
    problem = make_problem("hgp", y=[[0, 3, 0], [0, 0, 0]])

    def split(in_training, seed):
        rng = np.random.default_rng(seed)
        return predictive.Validation.split(problem.rows, np.array(in_training), rng, (0.5,))

    found = [split([True, True, True], seed) for seed in range(20)]
    assert {validation is None for validation in found} == {True, False}
    assert all(test.nnz == 1 for validation in found if validation for _, test in validation.splits)
    assert all(split([True, False, True], seed) is None for seed in range(20))


class TestSampledPosterior:
    @pytest.fixture(params=MODELS)
    def sampled(self, request, make_problem):
        """A tiny chain's samples, as two chains."""
        problem = make_problem(request.param)
        gibbs = Gibbs(cnpf.MODELS[request.param], problem.scheme.backend)
        problem.scheme, problem.start = gibbs, gibbs.begin(problem.globals, np.random.default_rng(1))
        collector = Collector(n_sweeps=12, n_samples=4)
        problem.run(12, watch="nothing", callbacks=[collector])
        assert len(collector.samples) == 4
        return problem, predictive.SampledPosterior(gibbs, [collector.samples[:2], collector.samples[2:]])

    def test_probabilities_sum_to_one(self, sampled):
        problem, posterior = sampled
        assert_allclose(predictive.column_probabilities(posterior, problem.rows).sum(axis=1), 1.0, rtol=1e-12)

    def test_a_row_gets_the_same_answer_wherever_it_stands(self, sampled):
        problem, posterior = sampled
        p = predictive.column_probabilities(posterior, problem.rows)
        some = np.array([7, 2, 7, 3])
        assert_allclose(predictive.column_probabilities(posterior, problem.rows.take(some)), p[some], rtol=1e-9)

    def test_components_that_a_chain_was_filled_up_with_change_nothing(self, sampled):
        problem, posterior = sampled
        model = posterior.gibbs.model
        filled = [[sample.with_unused(model, 20) for sample in chain] for chain in posterior.chains]
        p, q = (
            predictive.column_probabilities(replace(posterior, chains=c), problem.rows)
            for c in (posterior.chains, filled)
        )
        assert_array_equal(p, q)

    def test_rows_that_show_nothing_are_scored_from_the_prior(self, sampled):
        problem, posterior = sampled
        [empty] = np.flatnonzero(problem.y.sum(axis=1) == 0)[:1]
        expected = 0.0
        for chain in posterior.chains:
            for sample in chain:
                rates = posterior.gibbs.solver.prior_mean(sample.globals) @ sample.globals.atom_mean.T
                expected = expected + rates / rates.sum() / 4
        found = predictive.column_probabilities(posterior, problem.rows)[empty]
        assert_allclose(found, expected, rtol=1e-9)

    @pytest.mark.parametrize("learned", [True, False])
    def test_a_learned_variance_of_levels_does_not_hold_rows_that_may_be_shown_in_part(self, make_problem, learned):
        problem = make_problem("cnpf")
        gibbs = Gibbs(cnpf.MODELS["cnpf"], problem.scheme.backend, learns_sigma_m2=learned)
        found = []
        for sigma_m2 in (0.01, 5.0):
            g = replace(problem.globals, hyper=replace(problem.globals.hyper, sigma_m2=sigma_m2))
            posterior = predictive.SampledPosterior(gibbs, [[Sample.of(g)]])
            shown = problem.rows.take(np.flatnonzero(problem.y.sum(axis=1)))
            found.append(predictive.column_probabilities(posterior, shown))
        assert np.array_equal(*found) == learned

    def test_rows_that_all_show_something_do_not_ask_for_the_prior(self, sampled, monkeypatch):
        """It is an average over thousands of draws for every sample, and most of what a single row would take."""
        problem, posterior = sampled
        shows = problem.rows.take(np.flatnonzero(problem.y.sum(axis=1) > 0)[:1])
        p = predictive.column_probabilities(posterior, shows)
        monkeypatch.setattr(Structured, "prior_mean", None)
        assert_array_equal(predictive.column_probabilities(posterior, shows), p)

    def test_what_rows_do_not_change_is_made_once_and_without_the_atoms(self, sampled, monkeypatch):
        """Services look up one row a call; and of many columns the atoms of all samples would be gigabytes."""
        problem, posterior = sampled
        empty = np.flatnonzero(problem.y.sum(axis=1) == 0)[:1]
        rows = problem.rows.take(np.concatenate([empty, [1, 2]]))
        p = predictive.column_probabilities(posterior, rows)
        monkeypatch.setattr(Structured, "design", None)
        monkeypatch.setattr(Structured, "prior_mean", None)
        monkeypatch.setattr("cormorant.inference.prepared.in_use", None)
        again = posterior.on(CpuBackend(2))  # other threads do not make it anew
        assert_array_equal(predictive.column_probabilities(again, rows), p)
        for prepared in (sample for chain in posterior._prepared(None) for sample in chain):
            arrays = [*vars(prepared.globals).values(), *vars(prepared.design).values(), prepared.scale]
            assert not any(len(a) >= len(problem.y.T) for a in arrays if isinstance(a, np.ndarray) and a.ndim == 2)
            assert any(prepared.sample.counts.data is sample.counts.data for c in posterior.chains for sample in c)

    def test_other_samples_are_prepared_anew(self, sampled):
        problem, posterior = sampled
        p = predictive.column_probabilities(posterior, problem.rows)
        first = replace(posterior, chains=posterior.chains[:1])
        fresh = predictive.SampledPosterior(posterior.gibbs, posterior.chains[:1])
        q = predictive.column_probabilities(first, problem.rows)
        assert_array_equal(q, predictive.column_probabilities(fresh, problem.rows))
        assert not np.array_equal(p, q)

    def test_columns_that_no_row_shows_are_not_worked_on(self, sampled, monkeypatch):
        problem, posterior = sampled
        row = problem.rows.take(np.flatnonzero(problem.y.sum(axis=1) > 0)[:1])
        seen = []
        top_one = moves.top_one
        monkeypatch.setattr(moves, "top_one", lambda a: seen.append(len(a)) or top_one(a))
        predictive.column_probabilities(posterior, row)
        assert set(seen) == {row.counts.nnz}

    def test_long_chains_agree_with_the_exact_posterior_mean(self, make_problem):
        """HGP with one component a count can belong to: x ~ Gamma(w + n, 1 + A), so p is known in closed form."""
        problem = make_problem("hgp", y=[[3, 0, 2, 0]], n_components=2)
        # Components with columns of their own: every count's component is known.
        shape = np.array([[5.0, 1e-9], [3.0, 1e-9], [1e-9, 4.0], [1e-9, 2.0]])
        hyper = replace(problem.globals.hyper, a0=1e-9)
        g = replace(problem.globals, atom_shape=shape, atom_rate=np.ones(2), hyper=hyper)
        gibbs = Gibbs(cnpf.MODELS["hgp"], problem.scheme.backend)
        posterior = predictive.SampledPosterior(gibbs, [[Sample.of(g)]], sweeps=50)
        w, n, total = g.weights, np.array([3.0, 2.0]), np.array([8.0, 6.0])
        x = (w + n) / (1.0 + total)
        expected = shape @ x / (x @ total)
        assert_allclose(predictive.column_probabilities(posterior, problem.rows)[0], expected, rtol=1e-6)


@pytest.mark.parametrize("better", ["digamma", "zero-order"])
def test_new_rows_have_the_allocation_that_predicts_best(fitted, better, monkeypatch):
    problem, g = fitted("cnpf", allocation="zero-order")
    validation = predictive.Validation.split(problem.rows, np.ones(problem.y.shape[1], bool), np.random.default_rng(7))
    with monkeypatch.context() as rigged:
        rigged.setattr(predictive.Validation, "perplexity", lambda _, p: float(p.fits[0].solver.allocation != better))
        chosen = predictive.with_best_rows(problem.scheme, [g], validation)
    assert (chosen.allocation, chosen.solver.allocation) == ("zero-order", better)
    fresh = replace(problem.scheme, allocation=better)
    found = [predictive.infer(solver, g, problem.rows).mean for solver in (chosen.solver, fresh)]
    assert_array_equal(*found)
    asked = replace(problem.scheme, allocation="digamma")
    assert predictive.with_best_rows(asked, [g], validation) is asked
    assert predictive.with_best_rows(problem.scheme, [g], None) is problem.scheme


def test_the_allocation_is_that_of_the_mean_of_the_fits(make_problem):
    """What the mean of several fits predicts best by may be another than what each of them does."""
    problem = make_problem("cnpf", allocation="zero-order")
    fits = [problem.run(epochs, watch="nothing").state.globals for epochs in (2, 6)]
    validation = predictive.Validation.split(problem.rows, np.ones(problem.y.shape[1], bool), np.random.default_rng(7))

    def of_mean(allocation):
        posteriors = [predictive.PointPosterior(replace(problem.scheme, allocation=allocation), g) for g in fits]
        logs = []
        for seen, test in validation.splits:
            p = np.mean([predictive.entry_probabilities(posterior, seen, test) for posterior in posteriors], axis=0)
            logs.append(test.data @ np.log(p) / test.total)
        return np.exp(-np.mean(logs))

    both = {allocation: of_mean(allocation) for allocation in ("zero-order", "digamma")}
    assert both["zero-order"] != pytest.approx(both["digamma"], rel=1e-4)
    chosen = predictive.with_best_rows(problem.scheme, fits, validation)
    assert chosen.solver.allocation == min(both, key=both.get)
