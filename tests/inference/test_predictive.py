"""Perplexity against a slow dense computation; what rows that show nothing are scored from."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cormorant.data import as_counts, split_entries
from cormorant.inference import predictive
from cormorant.inference.rows import Rows

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
    everywhere = as_counts(np.ones(problem.y.shape, int))
    x = predictive.predictive_weights(problem.scheme, g, problem.rows)
    log_p = predictive.log_probabilities(problem.scheme, g, x, everywhere).reshape(problem.y.shape)
    assert_allclose(np.exp(log_p).sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("allocation", ["digamma", "zero-order"])
def test_rows_that_show_nothing_are_scored_from_the_prior(fitted, model, allocation):
    problem, g = fitted(model, allocation=allocation)
    x = predictive.predictive_weights(problem.scheme, g, problem.rows)
    empty = problem.y.sum(axis=1) == 0
    assert empty.any()
    assert not empty.all()
    prior = problem.scheme.prior_mean(g)
    assert_array_equal(x[empty], np.tile(prior, (empty.sum(), 1)))
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
    got = validation.perplexity(problem.scheme, g)
    assert got == pytest.approx(np.exp(-np.mean(means)), rel=1e-3)
    parts = [predictive.log_likelihood(problem.scheme, g, seen, test) for seen, test in validation.splits]
    assert got == pytest.approx(np.exp(-np.mean(parts)), rel=1e-12)


def test_equal_atoms_give_the_number_of_columns(make_problem):
    problem = make_problem("hgp")
    g = replace(problem.globals, atom_shape=np.full_like(problem.globals.atom_shape, 2.0))
    everywhere = np.ones(problem.y.shape[1], bool)
    validation = predictive.Validation.split(problem.rows, everywhere, np.random.default_rng(0))
    assert validation.perplexity(problem.scheme, g) == pytest.approx(problem.y.shape[1], rel=1e-9)


def test_size_of_blocks_does_not_matter(fitted, monkeypatch):
    problem, g = fitted("cnpf", exposure=True, missing=True)
    whole = predictive.infer(problem.scheme, g, problem.rows, want_variance=True)
    monkeypatch.setattr(predictive, "BLOCK", 4)
    blocks = predictive.infer(problem.scheme, g, problem.rows, want_variance=True)
    # Blocks stop at different rounds, each within one part in a thousand.
    assert_allclose(blocks.mean, whole.mean, rtol=0.02, atol=0.01 * whole.mean.max())


def test_nothing_to_predict_is_an_error(make_problem):
    problem = make_problem("hgp")
    empty = as_counts(np.zeros(problem.y.shape, int))
    with pytest.raises(ValueError, match="observe a smaller fraction"):
        predictive.log_likelihood(problem.scheme, problem.globals, problem.rows, empty)


def test_fractions_that_leave_nothing_are_left_out(make_problem):
    problem = make_problem("hgp", y=[[0, 3, 0], [0, 0, 0]])

    def split(in_training, seed):
        rng = np.random.default_rng(seed)
        return predictive.Validation.split(problem.rows, np.array(in_training), rng, (0.5,))

    found = [split([True, True, True], seed) for seed in range(20)]
    assert {validation is None for validation in found} == {True, False}
    assert all(test.nnz == 1 for validation in found if validation for _, test in validation.splits)
    assert all(split([True, False, True], seed) is None for seed in range(20))
