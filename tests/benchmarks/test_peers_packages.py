"""Every package that is installed fits, folds rows in and predicts; every fit has a process of its own."""

import numpy as np
import pytest
from harness import curves
from harness.child import Stopwatch
from harness.choosing import Runner
from harness.jobs import Job, run
from harness.packages import PEERS, Effort
from harness.scoring import column_mean, entry_probabilities, perplexity
from harness.splits import split

from cormorant.data import as_counts

SMALL = Effort(components=(3,), iterations=200, truncation=4)


@pytest.fixture(scope="module")
def parts():
    """Three kinds of rows, each on ten columns of its own: half of a row tells its kind."""
    rng = np.random.default_rng(3)
    rates = np.where(np.arange(240)[:, None] % 3 == np.arange(30) // 10, 3.0, 0.1)
    return split(as_counts(rng.poisson(rates)), 60)


@pytest.mark.filterwarnings("ignore")  # the packages' own
@pytest.mark.parametrize("peer", PEERS.values(), ids=list(PEERS))
def test_a_package_predicts_rows_that_show_much_and_nothing(parts, peer):
    if peer.missing():
        pytest.skip(f"{peer.package} is {peer.missing()}")
    fitted = peer.fit(parts.train, 1, **peer.settings(SMALL)[0])
    observed, test = parts.pairs["50%"]
    blank = as_counts(np.vstack([observed.tocsr().toarray()[:1], np.zeros((1, observed.n_columns), dtype=int)]))
    total = sum(weights @ atoms / (weights @ atoms.sum(axis=1))[:, None] for weights, atoms in fitted.pairs(blank))
    np.testing.assert_allclose(total / total.sum(axis=1, keepdims=True) @ np.ones(observed.n_columns), 1.0)
    assert np.all(total[1] > 0)
    found = perplexity(entry_probabilities(fitted.pairs(observed), test), test)
    alone = perplexity(column_mean(parts.train)[test.indices], test)
    # Who knows a row's kind reaches about 14 (ten columns, and a tenth of the counts elsewhere); the mean alone 30.
    assert found < 20 < 28 < alone or peer.name == "column mean"


def test_a_fit_is_done_apart_once_and_a_failure_is_told(parts, tmp_path):
    parts.write(tmp_path)
    job = Job(str(tmp_path), "column mean", {}, 1)
    found = run(job, limit=120)
    _, test = parts.pairs["10%"]
    np.testing.assert_allclose(found.probabilities["10%"], column_mean(parts.train)[test.indices], rtol=1e-6)
    assert found.wall >= 0
    assert found.megabytes >= 0
    written = job.file.stat().st_mtime_ns
    assert run(job, limit=120).probabilities.keys() == {"10%", "50%"}
    assert job.file.stat().st_mtime_ns == written
    bad = run(Job(str(tmp_path), "cormorant HGP", {"n_components": -1}, 1), limit=120)
    assert "n_components" in bad.failure
    assert run(Job(str(tmp_path), "column mean", {}, 2), limit=1).failure == "took more than 1 s"  # importing does


def test_only_packages_with_a_choice_are_validated(parts, tmp_path, monkeypatch):
    tried = []
    monkeypatch.setattr(Runner, "score", lambda self, trials, folder: tried.extend(trials) or [])
    runner = Runner(Effort(components=(2, 3)), chains=4, validation_chains=2)
    runner.validate([PEERS["cormorant CNPF"], PEERS["tomotopy LDA"]], tmp_path)
    assert {trial.peer.name for trial in tried} == {"tomotopy LDA"}
    assert {trial.chains for trial in tried} == {2}
    assert len({job.file for trial in tried for job in trial.jobs(tmp_path)}) == 2 * len(tried)
    (only,) = runner.finals([PEERS["cormorant CNPF"]], [])
    assert (only.chains, only.chosen_for) == (3, ("10%", "50%"))  # seeds


def test_the_stopwatch_gives_every_pair_once():
    class Fitted:
        def pairs(self, observed):
            yield from ([1], [2], [3])

    assert list(Stopwatch().pairs(Fitted(), None)) == [[1], [2], [3]]


@pytest.mark.filterwarnings("ignore")  # the packages' own
@pytest.mark.parametrize(("name", "chains", "settings"), curves.budgets(3, 4).values(), ids=list(curves.budgets(3, 4)))
def test_time_curves_start_with_settings_that_the_packages_take(parts, name, chains, settings):
    if PEERS[name].missing():
        pytest.skip(f"{PEERS[name].package} is {PEERS[name].missing()}")
    assert chains == 1 or PEERS[name].is_sampler
    observed, test = parts.pairs["50%"]
    fitted = PEERS[name].fit(parts.train, 1, **settings[0])
    assert np.isfinite(perplexity(entry_probabilities(fitted.pairs(observed), test), test))
