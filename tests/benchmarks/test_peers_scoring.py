"""One score for every package: against numbers worked out by hand, and against our own perplexity."""

import numpy as np
import pytest
from harness.choosing import Runner, Score, Trial, behind, best, pooled, repeated
from harness.jobs import Outcome
from harness.packages import PEERS, Effort
from harness.packages.ours import CNPF, HGP
from harness.scoring import column_mean, entry_probabilities, fall_back, perplexity
from harness.splits import Split, load, split
from scipy import sparse

from cormorant.data import as_counts
from cormorant.datasets import simulate
from cormorant.evaluation import perplexity as our_perplexity

ATOMS = np.array([[4.0, 0.0, 4.0], [1.0, 1.0, 0.0]])  # components x columns
TEST = as_counts([[2, 1, 0], [0, 0, 3]])


@pytest.fixture(scope="module")
def parts():
    counts = simulate("hgp", n_rows=150, n_columns=40, n_components=3, row_total=30.0, seed=1).counts
    return split(counts, 40)


def test_probabilities_are_normalised_over_all_columns_and_averaged_over_pairs():
    """Row 0: x = (1, 4) gives rates (8, 4, 4), of 16; x = (0, 1) gives (1, 1, 0), of 2. Row 1: (4, 0, 4), of 8."""
    one = entry_probabilities([(np.array([[1.0, 4.0], [1.0, 0.0]]), ATOMS)], TEST)
    np.testing.assert_allclose(one, [1 / 2, 1 / 4, 1 / 2])
    pairs = [(np.array([[1.0, 4.0], [1.0, 0.0]]), ATOMS), (np.array([[0.0, 1.0], [5.0, 0.0]]), ATOMS)]
    np.testing.assert_allclose(entry_probabilities(pairs, TEST), [1 / 2, 3 / 8, 1 / 2])


def test_perplexity_by_hand():
    """Counts 2, 1, 3 with probabilities 1/2, 1/4, 1/2: exp(-(5 log 1/2 + log 1/4) / 6) = 2^(7/6)."""
    assert perplexity(np.array([1 / 2, 1 / 4, 1 / 2]), TEST) == pytest.approx(2 ** (7 / 6))
    assert perplexity(np.array([1 / 2, 0.0, 1 / 2]), TEST) == np.inf


def test_rows_that_show_nothing_fall_back_on_the_column_mean():
    observed, mean = as_counts([[0, 0, 2], [0, 0, 0]]), np.array([0.2, 0.3, 0.5])
    weights, atoms = fall_back(np.array([[1.0, 4.0], [1.0, 1.0]]), ATOMS, observed, mean)
    np.testing.assert_allclose(weights @ atoms, [[8 / 16, 4 / 16, 4 / 16], mean])


def test_pseudo_counts_mix_the_column_mean_in():
    """With m = 6 and two counts shown the mean has the share 6/8; a row without weights has nothing else."""
    observed, mean = as_counts([[0, 0, 2], [1, 0, 0]]), np.array([0.2, 0.3, 0.5])
    weights, atoms = fall_back(np.array([[1.0, 4.0], [0.0, 0.0]]), ATOMS, observed, mean, pseudo_counts=6.0)
    expected = 0.25 * np.array([8, 4, 4]) / 16 + 0.75 * mean
    np.testing.assert_allclose(weights @ atoms, [expected, mean])


@pytest.mark.parametrize("peer", [CNPF(), HGP()])
@pytest.mark.parametrize("inference", ["gibbs", "structured"])
def test_the_score_is_our_own_perplexity(parts, peer, inference):
    fitted = peer.fit(parts.train, 1, n_components=4, inference=inference, max_epochs=3, n_sweeps=3)
    for observed, test in parts.pairs.values():
        found = perplexity(entry_probabilities(fitted.pairs(observed), test), test)
        assert found == pytest.approx(our_perplexity(fitted.model, observed, test), rel=1e-10)


def test_the_split_is_the_one_of_all_our_figures(parts):
    counts = simulate("hgp", n_rows=150, n_columns=40, n_components=3, row_total=30.0, seed=1).counts.tocsr()
    rng = np.random.default_rng(1)
    order = rng.permutation(150)
    held, train = counts[order[:40]], counts[order[40:]]
    ten, fifty = rng.random(held.nnz) < 0.1, np.random.default_rng(2).random(held.nnz) < 0.5
    in_training = (np.ravel(train.sum(axis=0)) > 0)[held.indices]
    assert not in_training.all()  # else nothing here tells whether unseen columns are dropped
    assert parts.pairs["10%"][0].total == held.data[ten & in_training].sum()
    assert parts.pairs["50%"][1].total == held.data[~fifty & in_training].sum()
    assert np.all(parts.train.column_totals() > 0)


def test_a_split_is_read_back_as_written(parts, tmp_path):
    parts.write(tmp_path)
    again = Split.read(tmp_path)
    assert list(again.pairs) == ["10%", "50%"]
    assert (again.train.tocsr() != parts.train.tocsr()).nnz == 0
    assert (again.pairs["50%"][1].tocsr() != parts.pairs["50%"][1].tocsr()).nnz == 0
    np.testing.assert_allclose(column_mean(again.train).sum(), 1.0)


def test_short_rows_are_left_out_before_rows_are_sampled(tmp_path):
    matrix = sparse.csr_array(np.tril(np.ones((6, 6), dtype=int)))  # row i has i + 1 entries
    sparse.save_npz(tmp_path / "counts.npz", matrix)
    assert np.diff(load(tmp_path, min_entries=3).indptr).tolist() == [3, 4, 5, 6]
    drawn = 3 + np.sort(np.random.default_rng(0).permutation(4)[:2])
    assert np.diff(load(tmp_path, max_rows=2, min_entries=3).indptr).tolist() == drawn.tolist()


CHAINS = [Outcome({"10%": np.array([p])}, 3.0, 4.0, 1.0, mb) for p, mb in ((0.5, 20.0), (0.1, 30.0))]


def test_chains_average_probabilities_not_perplexities():
    """p = .5 and .1 average to .3; their perplexities, 2 and 10, would to 6."""
    trial, tests = Trial(HGP(), {}, 2), {"10%": as_counts([[1]])}
    found = pooled(trial, CHAINS, tests)
    assert found.perplexity["10%"] == pytest.approx(1 / 0.3)
    cost = found.outcome
    assert (cost.seconds, cost.wall, cost.inference, cost.megabytes) == (6.0, 8.0, 2.0, 30.0)
    assert pooled(trial, [*CHAINS, Outcome({}, failure="no memory")], tests).outcome.failure == "no memory"


def test_seeds_average_perplexities_not_probabilities():
    trial, tests = Trial(HGP(), {}, 2), {"10%": as_counts([[1]])}
    found = repeated(trial, CHAINS, tests)
    assert found.perplexity["10%"] == pytest.approx(6.0)
    assert found.spread["10%"] == pytest.approx(8.0)
    cost = found.outcome
    assert (cost.seconds, cost.wall, cost.inference, cost.megabytes) == (3.0, 4.0, 1.0, 30.0)
    assert repeated(trial, [*CHAINS, Outcome({}, failure="no memory")], tests).outcome.failure == "no memory"


def test_how_far_behind_with_its_standard_error():
    """Rows of 1, 1, 2 counts; p is twice theirs, half, four times: log 2 is gained once, lost once, gained 4 times."""
    tests = {"10%": as_counts([[1, 0], [0, 1], [0, 2]])}
    theirs = pooled(Trial(HGP(), {}, 1), [Outcome({"10%": np.array([0.2, 0.2, 0.2])})], tests)
    ours = [Outcome({"10%": np.array(p)}) for p in ([0.4, 0.1, 0.8], [0.4, 0.1, 0.8])]
    margin, error = behind(theirs, repeated(Trial(HGP(), {}, 2), ours, tests), tests).behind["10%"]
    assert margin == pytest.approx(100 * (1 - 0.5))  # four times log 2 in four counts
    log2 = np.log(2.0)
    left = np.array([log2 - log2, -log2 - log2, 4 * log2 - 2 * log2])  # gains less the mean gain of so many counts
    assert error == pytest.approx(100 * 0.5 * np.sqrt(np.sum(left**2)) / 4)


def test_a_model_that_rules_a_count_out_has_no_margin():
    tests = {"10%": as_counts([[1]])}
    theirs = pooled(Trial(HGP(), {}, 1), [Outcome({"10%": np.array([0.0])})], tests)
    assert theirs.perplexity["10%"] == np.inf
    assert behind(theirs, pooled(Trial(HGP(), {}, 2), CHAINS, tests), tests).behind == {}


def test_others_are_seen_beside_ours_where_its_fits_are_kept(parts, tmp_path):
    parts.write(tmp_path)
    runner, ours, other = Runner(Effort(truncation=4), seeds=2), PEERS["cormorant CNPF"], PEERS["column mean"]
    [theirs] = runner.score(runner.finals([other], []), tmp_path)
    assert runner.beside(ours, [theirs], tmp_path) == [theirs]  # nothing is fitted for it
    [trial] = runner.finals([ours], [])
    for job in trial.jobs(tmp_path):  # ours predicts everything twice as well
        twice = {f: 2 * column_mean(parts.train)[pair[1].indices] for f, pair in parts.pairs.items()}
        Outcome(twice).write(job.file)
    [told] = runner.beside(ours, [theirs], tmp_path)
    assert told.behind == {f: (pytest.approx(50, abs=1e-4), pytest.approx(0, abs=1e-4)) for f in ("10%", "50%")}


def test_the_best_setting_is_chosen_for_each_fraction():
    def score(k, **perplexities):
        return Score(Trial(HGP(), {"k": k}, 1), Outcome({}), {"10%": perplexities["ten"], "50%": perplexities["fifty"]})

    few, some, many = score(20, ten=9.0, fifty=7.0), score(50, ten=11.0, fifty=8.0), score(100, ten=12.0, fifty=6.0)
    failed = Score(Trial(HGP(), {"k": 200}, 1), Outcome({}, failure="too slow"))
    assert best([failed, few, some, many]) == [(few, ("10%",)), (many, ("50%",))]
    assert best([few, some]) == [(few, ("10%", "50%"))]
    assert best([failed]) == []
