"""What fitted models say of rows, and the edges of what they accept."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from cormorant.data import as_counts, split_entries
from cormorant.datasets import simulate
from cormorant.estimators import CNPF, ESTIMATORS, HGP, TruncationWarning
from cormorant.evaluation import perplexity

pytestmark = pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")
MODELS = sorted(ESTIMATORS)


@pytest.fixture(scope="module")
def counts():
    return simulate("cnpf", n_rows=400, n_columns=60, n_components=4, seed=5).counts


@pytest.fixture(scope="module")
def sparse_counts():
    """Wide enough that a column which a row does not show tells little, as in text."""
    return simulate("cnpf", n_rows=500, n_columns=500, n_components=4, row_total=60.0, seed=6).counts


@pytest.fixture(scope="module")
def fitted(counts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        return CNPF(6, 3, inference="structured", max_epochs=20, random_state=0).fit(counts.rows(slice(0, 300)))


def test_probabilities_and_rates_agree(fitted, counts):
    rows = counts.rows(slice(300, 320))
    probability = fitted.column_probabilities(rows)
    rates = fitted.inverse_transform(fitted.transform(rows))
    assert np.allclose(probability.sum(axis=1), 1.0)
    assert np.allclose(probability, rates / rates.sum(axis=1, keepdims=True))


def test_rates_of_sparse_weights_and_of_weights_that_are_not_numbers(fitted, counts):
    x = fitted.transform(counts.rows(slice(300, 310)))
    x[x < x.mean()] = 0.0
    assert np.allclose(fitted.inverse_transform(sparse.csr_matrix(x)), x @ fitted.components_)
    x[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fitted.inverse_transform(x)


def test_known_exposures_reach_every_prediction(fitted, counts):
    rows = counts.rows(slice(300, 360))
    twice = np.full(60, 2.0)
    plain, scaled = fitted.score(rows), fitted.score(rows, exposure=twice)
    assert scaled != plain
    assert np.isclose(np.exp(-scaled), fitted.perplexity(rows, 0.5, exposure=twice))
    top = fitted.top_columns(rows, 1, exposure=twice)
    probability = fitted.column_probabilities(rows, exposure=twice)
    probability[rows.tocsr().nonzero()] = -1.0
    assert np.allclose(top["probability"], probability.max(axis=1))


def test_rates_have_the_size_of_the_data(fitted, counts):
    rows = counts.rows(slice(0, 300))
    rates = fitted.inverse_transform(fitted.transform(rows))
    assert np.isclose(rates.sum(), rows.total, rtol=0.05)


def test_perplexity_is_computed_one_way_only(fitted, counts):
    rows = counts.rows(slice(300, 400))
    seen, test = split_entries(rows, 0.5, 0)
    direct = fitted.perplexity(rows, 0.5)
    assert np.isclose(perplexity(fitted, seen, test), direct)
    assert np.isclose(np.exp(-fitted.score(rows)), direct)
    probability = fitted.column_probabilities(seen).astype(float)
    entries = test.tocsr().tocoo()
    slow = np.exp(-(entries.data * np.log(probability[entries.row, entries.col])).sum() / entries.data.sum())
    assert np.isclose(direct, slow)


def test_more_observed_predicts_better_than_less(sparse_counts):
    rows, train = sparse_counts.rows(slice(400, 500)), sparse_counts.rows(slice(0, 400))
    fitted = CNPF(6, 3, max_epochs=20, random_state=0).fit(train)
    totals = train.column_totals() + 0.5
    unigram = np.exp(-(rows.column_totals() @ np.log(totals / totals.sum())) / rows.total)
    assert fitted.perplexity(rows, 0.5) < fitted.perplexity(rows, 0.1) < unigram


def test_standard_deviations_shrink_as_a_row_shows_more(fitted, counts):
    row = counts.rows(slice(300, 301)).tocsr(copy=True)
    mean, std = fitted.transform(row, return_std=True)
    assert np.all(std > 0)
    more_mean, more_std = fitted.transform(50 * row, return_std=True)
    k = mean[0].argmax()
    assert more_std[0, k] / more_mean[0, k] < std[0, k] / mean[0, k]


def test_top_columns_leave_out_what_was_seen(counts):
    named = counts.named([f"r{u}" for u in range(400)], [f"c{i}" for i in range(60)])
    model = CNPF(6, 3, max_epochs=5, random_state=0).fit(named)
    rows = named.rows(slice(10, 13))
    table = model.top_columns(rows, n=5)
    assert list(table.columns) == ["row", "rank", "column", "probability"]
    assert list(table["row"].unique()) == ["r10", "r11", "r12"]
    dense = rows.tocsr().toarray()
    for u, name in enumerate(["r10", "r11", "r12"]):
        part = table[table["row"] == name]
        assert list(part["rank"]) == [1, 2, 3, 4, 5]
        assert part["probability"].is_monotonic_decreasing
        seen = {f"c{i}" for i in np.flatnonzero(dense[u])}
        assert not seen & set(part["column"])
    anywhere = model.top_columns(rows, n=5, exclude_seen=False)
    best = model.column_probabilities(rows)[0].argmax()
    assert anywhere["column"].iloc[0] == f"c{best}"


def test_a_row_that_has_shown_every_column_gets_none(fitted):
    assert len(fitted.top_columns(np.ones((1, 60)), n=5)) == 0


@pytest.mark.parametrize("n", [0, -1, 2.5, "x"])
def test_a_list_has_a_whole_number_of_columns(fitted, counts, n):
    with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
        fitted.top_columns(counts.rows([0]), n=n)


def test_exposure_scales_the_weights(counts):
    train = counts.rows(slice(0, 300))
    model = HGP(5, max_epochs=5, random_state=0, validation=0).fit(train, exposure=np.ones(300))
    plain = HGP(5, max_epochs=5, random_state=0, validation=0).fit(train)
    assert np.allclose(model.components_, plain.components_)
    row = counts.rows(slice(300, 301)).tocsr(copy=True)
    x1 = model.transform(row)
    x10 = model.transform(10 * row, exposure=np.array([10.0]))
    k = x1[0].argmax()
    assert np.isclose(x10[0, k], x1[0, k], rtol=0.2)


@pytest.mark.parametrize("name", MODELS)
def test_values_at_missing_entries_never_matter(name, counts):
    matrix = counts.rows(slice(0, 120)).tocsr(copy=True).toarray()
    mask = np.random.default_rng(0).random(matrix.shape) < 0.2
    changed = matrix.copy()
    changed[mask] = 1000
    parameters = {"n_components": 4, "max_epochs": 4, "random_state": 0}
    one = ESTIMATORS[name](**parameters).fit(matrix, mask=mask)
    two = ESTIMATORS[name](**parameters).fit(changed, mask=sparse.csr_matrix(mask))
    assert np.array_equal(one.components_, two.components_)
    assert np.array_equal(one.transform(matrix, mask=mask), two.transform(changed, mask=mask))
    assert one.components_rate_.shape == ((4,) if one.model.normalised else (4, 60))  # Dirichlet: sums of the shapes


def test_missing_entries_are_filled_in_better_than_by_zeros(counts):
    matrix = counts.rows(slice(0, 200)).tocsr(copy=True).toarray()
    mask = np.random.default_rng(0).random(matrix.shape) < 0.2
    known = np.where(mask, 0, matrix)
    weak_prior = {"a0": 0.1, "b0": 0.1}  # one that does not shrink two hundred rows
    model = CNPF(6, 3, max_epochs=20, random_state=0, **weak_prior).fit(known, mask=mask)
    filled = model.inverse_transform(model.transform(known, mask=mask))
    assert np.isclose(filled[mask].sum(), matrix[mask].sum(), rtol=0.1)
    as_zeros = CNPF(6, 3, max_epochs=20, random_state=0, **weak_prior).fit(known)
    low = as_zeros.inverse_transform(as_zeros.transform(known))
    assert low[mask].sum() < 0.9 * filled[mask].sum()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "matrix",
    [
        pytest.param(np.array([[3, 0, 1], [0, 0, 0], [0, 0, 2]]), id="zero row and column"),
        pytest.param(np.array([[3, 1, 4]]), id="single row"),
        pytest.param(np.array([[10**6, 0], [3, 10**6]]), id="huge counts"),
        pytest.param(np.array([[2.0, 1.0], [0.0, 5.0]]), id="whole floats"),
        pytest.param(np.array([[0.5, 1.25], [2.75, 0.0]]), id="weights"),
    ],
)
def test_edges_give_finite_models(name, matrix):
    model = ESTIMATORS[name](n_components=3, max_epochs=5, random_state=0)
    model.fit(matrix)
    x, std = model.transform(matrix, return_std=True)
    for array in (model.components_, model.weights_, model.locations_, x, std):
        assert np.all(np.isfinite(array))
    assert np.all(x >= 0)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_there_is_nothing_to_learn_from_zeros(name):
    model = ESTIMATORS[name](n_components=3, random_state=0)
    with pytest.raises(ValueError, match="X must have entries above zero"):
        model.fit(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="all are zero or missing"):
        model.fit(np.eye(3, 4), mask=np.eye(3, 4))


def test_one_component_is_the_column_totals(counts):
    model = HGP(1, max_epochs=30, random_state=0, a0=0.01, b0=0.01, validation=0).fit(counts)
    shares = counts.column_totals() / counts.total
    assert np.allclose(model.components_[0] / model.components_[0].sum(), shares, atol=1e-4)


def test_rows_with_nothing_observed_are_scored_from_the_prior(fitted, counts):
    empty = as_counts(sparse.csr_matrix((1, 60)))
    prior = fitted.column_probabilities(empty)[0]
    expected = fitted._point_posterior.solver.prior_mean(fitted._globals) @ fitted.components_
    assert np.allclose(prior, expected / expected.sum())


def test_stochastic_fit_predicts_like_the_batch_fit(counts):
    train, rest = counts.rows(slice(0, 300)), counts.rows(slice(300, 400))
    common = {"n_components": 6, "n_dims": 3, "random_state": 0, "validation": 0}
    batch = CNPF(max_epochs=30, **common).fit(train)
    stochastic = CNPF(max_epochs=30, batch_size=75, **common).fit(train)
    assert stochastic.perplexity(rest, 0.5) < 1.05 * batch.perplexity(rest, 0.5)


def test_columns_never_seen_in_training_have_small_positive_probability(counts):
    matrix = counts.rows(slice(0, 200)).tocsr(copy=True).toarray()
    matrix[:, 7] = 0
    model = CNPF(4, 3, max_epochs=10, random_state=0).fit(matrix)
    row = np.zeros((1, 60), int)
    row[0, [3, 7]] = 2
    probability = model.column_probabilities(row)[0]
    assert 0 < probability[7] < np.median(probability)
    assert np.isfinite(model.perplexity(row + matrix[:1], 0.5))
