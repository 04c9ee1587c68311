"""The comparison of models and the ranking metrics."""

import numpy as np
import pytest

from cormorant.data import as_counts, hold_out, split_entries
from cormorant.datasets import simulate
from cormorant.estimators import CNPF, HGP
from cormorant.evaluation import compare, perplexity, ranking_metrics

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


def test_compare_takes_estimators_by_label(counts):
    found = compare(counts, {"tiny": HGP(2, max_epochs=2, random_state=0)}, n_held_out=50, observed=[0.5])
    assert found.records[0]["model"] == "tiny"


def test_compare_refuses_what_it_does_not_know(counts):
    with pytest.raises(ValueError, match="model must be one of cnpf"):
        compare(counts, ["lda"], n_held_out=50)
    with pytest.raises(TypeError, match="n_topics"):
        compare(counts, ["hgp"], n_held_out=50, n_topics=3)


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
        recalls.append(hits.sum() / min(n, len(wanted)))
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
    with pytest.raises(ValueError, match="n must be between 1 and the 200 columns"):
        ranking_metrics(fitted, seen, test, 0)
    narrow = seen.columns(slice(0, 50))
    with pytest.raises(ValueError, match="the model has 200 columns"):
        perplexity(fitted, narrow, narrow)
    nothing = as_counts(np.zeros((30, 200), int))
    with pytest.raises(ValueError, match="nothing to"):
        ranking_metrics(fitted, seen, nothing)
    with pytest.raises(ValueError, match="nothing to predict"):
        perplexity(fitted, seen, nothing)
