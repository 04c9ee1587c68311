"""The comparison of models and the ranking metrics."""

import numpy as np
import pytest
from sklearn.decomposition import LatentDirichletAllocation

from cormorant.data import as_counts, hold_out, split_entries
from cormorant.datasets import simulate
from cormorant.estimators import CNPF, HGP
from cormorant.evaluation import Comparison, compare, perplexity, ranking_metrics
from cormorant.evaluation.ranking import rank

pytestmark = pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")


@pytest.fixture(scope="module")
def counts():
    return simulate("cnpf", n_rows=300, n_columns=200, n_components=4, row_total=50.0, seed=2).counts


@pytest.fixture(scope="module")
def fitted(counts):
    return CNPF(5, 3, max_epochs=15, random_state=0).fit(counts.rows(slice(0, 200)))


def test_compare_scores_every_model_on_one_split(counts):
    found = compare(
        counts, ["hgp", "cnpf"], n_held_out=60, seed=4, n_components=4, n_dims=2, max_epochs=5, random_state=0
    )
    assert [r["model"] for r in found.records] == ["hgp", "cnpf"]
    rng = np.random.default_rng(4)
    split = hold_out(counts, 60, rng)
    model = HGP(4, max_epochs=5, random_state=0).fit(split.train)
    ten = perplexity(model, *split_entries(split.held_out, 0.1, rng))
    fifty = perplexity(model, *split_entries(split.held_out, 0.5, 5))
    assert found.records[0]["perplexity"] == {"0.1": ten, "0.5": fifty}
    table = found.table()
    assert list(table.columns) == ["perplexity 10%", "perplexity 50%", "seconds", "components used"]
    assert "cnpf" in str(found)


def test_compare_takes_estimators_by_label_and_leaves_them_alone(counts):
    given = HGP(2, max_epochs=2, random_state=0)
    found = compare(counts, {"tiny": given}, n_held_out=50, observed=[0.5])
    assert found.records[0]["model"] == "tiny"
    assert not hasattr(given, "components_")
    pair = split_entries(hold_out(counts, 50, np.random.default_rng(1)).held_out, 0.5, _after_rows(counts, 1))
    assert found.records[0]["perplexity"]["0.5"] == perplexity(found.models["tiny"], *pair)


def _after_rows(counts, seed):
    """The generator that has drawn the held-out rows."""
    rng = np.random.default_rng(seed)
    rng.permutation(counts.n_rows)
    return rng


def test_compare_calls_the_callbacks_it_was_given(counts):
    """Not copies of them: clone copies the object behind a method."""

    class Watcher:
        epochs = 0

        def __call__(self, info, state):
            self.epochs += 1

    watcher = Watcher()
    model = HGP(2, inference="structured", max_epochs=3, validation=0, callbacks=[watcher])
    compare(counts, {"a": model}, n_held_out=50, observed=[0.5])
    assert watcher.epochs == 3


def test_compare_fits_all_four_by_default(counts):
    found = compare(counts, n_held_out=60, n_components=3, max_epochs=2, n_dims=2)
    assert list(found.models) == ["hgp", "scaled-hgp", "cnpf", "softplus-cnpf"]
    assert len(found.table()) == 4


def test_compare_seeds_the_fits(counts):
    def components(**seeds):
        found = compare(counts, ["hgp"], n_held_out=60, n_components=3, max_epochs=2, **seeds)
        return found.models["hgp"].components_

    assert np.array_equal(components(), components())
    assert np.array_equal(components(seed=1, random_state=7), components(seed=1, random_state=7))
    assert not np.array_equal(components(random_state=7), components(random_state=8))
    given = {"a": HGP(3, max_epochs=2, random_state=3)}
    own = compare(counts, given, n_held_out=60).models["a"]
    assert own.random_state == 3
    assert compare(counts, given, n_held_out=60, random_state=7).models["a"].random_state == 7


def test_an_interrupt_ends_the_comparison_with_what_is_finished(counts, caplog):
    def interrupt(info, state):
        raise KeyboardInterrupt

    models = {"first": HGP(2, max_epochs=2), "second": HGP(2, callbacks=[interrupt]), "third": HGP(2)}
    found = compare(counts, models, n_held_out=60)
    assert list(found.models) == ["first"]
    assert [r["model"] for r in found.records] == list(found.table().index) == ["first"]
    assert "only first of first, second, third" in caplog.text
    with pytest.raises(KeyboardInterrupt):
        compare(counts, {"second": models["second"]}, n_held_out=60)


def test_a_parameter_may_be_for_some_of_the_models(counts):
    """DILN has another process on top, for which a discount does nothing; where it does for none, it is refused."""
    short = {"n_held_out": 20, "observed": [0.5], "n_components": 4, "max_epochs": 2, "inference": "structured"}
    found = compare(counts, ["cnpf", "diln"], tuples="pitman-yor", discount=0.3, **short)
    assert [found.models[name].discount for name in ("cnpf", "diln")] == [0.3, 0.5]
    with pytest.raises(ValueError, match=r"discount=0\.3 does nothing with tuples='gamma'"):
        compare(counts, ["cnpf", "diln"], discount=0.3, **short)


def test_compare_refuses_what_it_does_not_know(counts):
    with pytest.raises(ValueError, match="model must be one of cnpf"):
        compare(counts, ["lda"], n_held_out=50)
    with pytest.raises(TypeError, match="n_topics"):
        compare(counts, ["hgp"], n_held_out=50, n_topics=3)
    with pytest.raises(ValueError, match="set n_components in the estimators"):
        compare(counts, {"a": HGP(2)}, n_held_out=50, n_components=3)
    with pytest.raises(ValueError, match="models must name at least one of cnpf"):
        compare(counts, [], n_held_out=50)
    with pytest.raises(ValueError, match="models must be names, or a dict of estimators"):
        compare(counts, HGP(2), n_held_out=50)
    for observed in (0.5, []):
        with pytest.raises(ValueError, match="observed must be a list of fractions"):
            compare(counts, ["hgp"], n_held_out=50, observed=observed)
    for observed in ([0.1, 0.5, 0.1], [0.1, 0.1 + 1e-12]):  # the table would call them alike
        with pytest.raises(ValueError, match=r"observed must be different fractions.*got \[0\.1, "):
            compare(counts, ["hgp"], n_held_out=50, observed=observed)
    for seed in (None, -1, 1.5, True, np.random.default_rng(1)):
        with pytest.raises(ValueError, match=r"seed must be a whole number of at least 0, .*; got"):
            compare(counts, ["hgp"], n_held_out=50, seed=seed)
    for model in (LatentDirichletAllocation(), HGP):
        with pytest.raises(ValueError, match=r"cormorant's estimators \(CNPF, .*\); 'mine' is .* Score"):
            compare(counts, {"mine": model}, n_held_out=50)


def test_the_table_tells_shares_that_are_close_apart():
    scores = {"0.1": 3.0, "0.105": 2.0, "0.29": 1.0}
    found = Comparison(({"model": "a", "perplexity": scores, "seconds": 1.0, "components_used": 2},), 5, seed=1)
    assert found.table().filter(like="perplexity").loc["a"].to_dict() == {
        "perplexity 10%": 3.0,
        "perplexity 10.5%": 2.0,
        "perplexity 29%": 1.0,
    }


def test_recall_and_ndcg_of_a_list_worked_out_by_hand():
    """Two rows, six columns, lists of three.

    Row 0 has shown column 0; its list is 1, 2, 3 (column 0 would have been first). It wants 1, 3, 4, 5: hits at ranks
    1 and 3 of four wanted. DCG = 1/log2(2) + 1/log2(4) = 1.5; ideal (three of four fit) 1 + 1/log2(3) + 1/2.
    Row 1 has shown nothing; its list is 5, 4, 3. It wants 4: a hit at rank 2 of one. DCG = 1/log2(3); ideal 1.
    Row 2 wants what it has shown and nothing else: it has nothing to find.
    """
    scores = np.array([[9.0, 8, 7, 6, 5, 4], [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]])
    seen = as_counts([[2, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]])
    test = as_counts([[0, 1, 0, 5, 1, 1], [0, 0, 0, 0, 3, 0], [0, 0, 2, 0, 0, 0]])
    recall, ndcg = rank(scores, seen, test, 3)
    assert recall == pytest.approx([2 / 4, 1 / 1])
    assert ndcg == pytest.approx([1.5 / (1.5 + 1 / np.log2(3)), 1 / np.log2(3)])


def test_ranking_metrics_by_hand(fitted, counts):
    """recall and NDCG of each row from the whole sorted list, one row at a time."""
    seen, test = split_entries(counts.rows(slice(200, 230)), 0.5, 0)
    n = 10
    found = ranking_metrics(fitted, seen, test, n)
    probability = fitted.column_probabilities(seen)
    dense_seen, dense_test = seen.tocsr().toarray(), test.tocsr().toarray()
    recalls, gains = [], []
    for u in range(30):
        wanted = set(np.flatnonzero(dense_test[u]))
        if not wanted:
            continue
        order = [i for i in np.argsort(-probability[u], kind="stable") if dense_seen[u, i] == 0][:n]
        hits = np.array([i in wanted for i in order])
        recalls.append(hits.sum() / len(wanted))
        discount = 1 / np.log2(np.arange(2, n + 2))
        gains.append((hits * discount).sum() / discount[: min(n, len(wanted))].sum())
    assert found == pytest.approx({f"recall@{n}": np.mean(recalls), f"ndcg@{n}": np.mean(gains)})
    shuffled = np.random.default_rng(0).permutation(200)
    worse = ranking_metrics(fitted, seen, as_counts(dense_test[:, shuffled] * (dense_seen == 0)), n)
    assert worse[f"ndcg@{n}"] < found[f"ndcg@{n}"]


def test_wrong_arguments(fitted, counts):
    seen, test = split_entries(counts.rows(slice(200, 230)), 0.5, 0)
    for metric in (perplexity, ranking_metrics):
        with pytest.raises(ValueError, match="one shape"):
            metric(fitted, seen, test.rows(slice(0, 3)))
    with pytest.raises(ValueError, match="n must be a whole number between 1 and the 200 columns, got 0"):
        ranking_metrics(fitted, seen, test, 0)
    narrow = seen.columns(slice(0, 50))
    with pytest.raises(ValueError, match="X has 50 features, but CNPF is expecting 200"):
        perplexity(fitted, narrow, narrow)
    named = seen.named(column_names=[f"c{i}" for i in range(200)])
    model = HGP(2, max_epochs=1).fit(named)
    with pytest.raises(ValueError, match="another order"):
        ranking_metrics(model, named.columns(np.arange(200)[::-1]), named)
    nothing = as_counts(np.zeros((30, 200), int))
    with pytest.raises(ValueError, match="nothing to"):
        ranking_metrics(fitted, seen, nothing)
    with pytest.raises(ValueError, match="nothing to predict"):
        perplexity(fitted, seen, nothing)


def test_models_of_a_comparison_know_their_rows():
    """Their rows come in another order: without names of their own they are called by their numbers in X."""
    counts = simulate("hgp", n_rows=80, n_columns=15, n_components=3, seed=3).counts
    assert counts.row_names is None
    (model,) = compare(
        counts, ["hgp"], n_held_out=20, n_components=3, inference="structured", max_epochs=3
    ).models.values()
    shown = [int(name) for name in model.row_names_]
    expected = model.transform(counts.rows(shown))
    np.testing.assert_allclose(model._row_weights, expected, rtol=0.05, atol=0.05 * expected.max())
