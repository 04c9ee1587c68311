"""The sampler as users meet it: chains, samples, diagnostics, intervals, and what it refuses."""

import signal
import threading
import warnings

import numpy as np
import pytest
from scipy import sparse

from cormorant import CNPF, HGP, load
from cormorant.datasets import simulate
from cormorant.estimators import ESTIMATORS, TruncationWarning, parameters, sampler
from cormorant.estimators.chains import sampled_correlation, with_interval
from cormorant.inference.samples import Sample
from cormorant.inference.state import Globals
from cormorant.models.cnpf import Hyperparameters
from cormorant.models.kernels import Linear


@pytest.fixture(scope="module")
def truth():
    return simulate("cnpf", n_rows=300, n_columns=60, n_components=4, n_dims=3, row_total=80.0, seed=2)


def quietly_fit(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        return model.fit(X)


@pytest.fixture(scope="module", params=sorted(ESTIMATORS))
def fitted(request, truth):
    model = ESTIMATORS[request.param](6, n_sweeps=30, n_samples=5, n_chains=2, random_state=0)
    return quietly_fit(model, truth.counts)


def test_auto_samples_whole_numbers(truth):
    assert quietly_fit(HGP(3, n_sweeps=6, random_state=0), truth.counts).inference_ == "gibbs"
    assert quietly_fit(HGP(3, max_epochs=3, random_state=0), 0.5 * truth.counts.tocsr()).inference_ == "structured"
    for asked in ({"allocation": "digamma"}, {"stopping": "bound"}, {"batch_size": 50}):
        model = quietly_fit(HGP(3, max_epochs=3, random_state=0, **asked), truth.counts)
        assert model.inference_ == "structured", asked


def test_what_a_sampler_leaves(fitted, truth):
    assert fitted.inference_ == "gibbs"
    assert [len(chain) for chain in fitted.samples_] == [5, 5]
    assert "made all 30 sweeps of 2 chains" in fitted.stop_reason_
    assert {"total", "alpha", "a0", "effective_components"} <= set(fitted.diagnostics_)
    assert [{len(values) for values in trace.values()} for trace in fitted.traces_] == [{20}, {20}]  # not the burn-in
    assert all(trace.keys() == fitted.diagnostics_.keys() for trace in fitted.traces_)
    assert all(value["rhat"] > 0.9 and value["ess"] > 0 for value in fitted.diagnostics_.values())
    assert fitted.components_.shape == (6, 60)
    assert np.isclose(fitted.usage_.sum(), 1.0)
    if fitted.locations_.shape[1]:
        low, high = fitted.correlation_interval_
        assert (low <= fitted.correlation_).all()
        assert (fitted.correlation_ <= high).all()
        assert np.array_equal(fitted.correlation_, fitted.correlation_.T)
        for rho in (fitted.correlation_, low, high):
            assert np.allclose(np.diag(rho), 1.0)
    else:
        assert not hasattr(fitted, "correlation_interval_")


def test_predictions_average_over_the_samples(fitted, truth):
    rows = truth.counts.rows(slice(0, 20))
    p = fitted.column_probabilities(rows)
    assert np.allclose(p.sum(axis=1), 1.0)
    assert np.array_equal(fitted.column_probabilities(rows), p)
    assert np.allclose(fitted.column_probabilities(rows[np.array([5])]), p[[5]], rtol=1e-9)
    point = fitted.inverse_transform(fitted.transform(rows))
    assert not np.allclose(p, point / point.sum(axis=1, keepdims=True), rtol=1e-6)
    unigram = truth.counts.column_totals()[truth.counts.column_totals() > 0] / truth.counts.total
    assert fitted.perplexity(truth.counts, 0.5) < np.exp(-unigram @ np.log(unigram))


def test_the_variance_of_levels_is_learned_unless_it_is_given(truth, tmp_path):
    """The truth is .25, and to begin with it is 10."""
    few = {"n_components": 4, "n_dims": 3, "n_chains": 1, "n_sweeps": 120, "random_state": 0}
    learned = quietly_fit(CNPF(**few), truth.counts)
    drawn = [sample.rest.hyper.sigma_m2 for sample in learned.samples_[0]]
    assert len(set(drawn)) == len(drawn)
    assert learned.hyperparameters_["sigma_m2"] == pytest.approx(np.mean(drawn))
    assert 0.1 < np.mean(drawn) < 2.0
    again = load(learned.save(tmp_path / "model"))
    assert again.sigma_m2 is None
    assert [sample.rest.hyper.sigma_m2 for sample in again.samples_[0]] == drawn
    given = quietly_fit(CNPF(**few, sigma_m2=0.7), truth.counts)
    assert {sample.rest.hyper.sigma_m2 for sample in given.samples_[0]} == {0.7}
    solved = quietly_fit(CNPF(4, 3, inference="structured", max_epochs=5, random_state=0), truth.counts)
    assert solved.hyperparameters_["sigma_m2"] == 10.0


@pytest.mark.parametrize(
    "settings", [{"n_components": 5, "n_sweeps": 9, "max_epochs": 5}, {"n_components": 40, "n_sweeps": 6}]
)
def test_the_seed_decides(truth, settings):
    """Whatever the threads: all of a fit, also the choice of its chains (the second has one)."""
    one, two = (
        quietly_fit(CNPF(**settings, n_samples=2, random_state=3, n_jobs=jobs), truth.counts) for jobs in (1, 2)
    )
    assert np.array_equal(one.components_, two.components_)
    assert one.perplexity(truth.counts, 0.5) == two.perplexity(truth.counts, 0.5)


def test_what_it_refuses(truth):
    with pytest.raises(ValueError, match="inference='gibbs' needs whole numbers"):
        HGP(3, inference="gibbs").fit(0.5 * truth.counts.tocsr())
    for name in ("n_chains", "n_sweeps", "n_samples"):
        with pytest.raises(ValueError, match=f"{name} must be a whole number"):
            HGP(3, **{name: 0}).fit(truth.counts)


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (("surplus components", 3), "interrupted after 3 epochs"),
        (("start 1 of 2", 7), "interrupted after 7 epochs"),
        (("fit", 3), "start of chain 2 of 2: interrupted after 3 epochs"),
        (("chain 1 of 2", 2), "chain 1 of 2: interrupted after 2 sweeps"),
        (("chain 2 of 2", 1), "chain 2 of 2: interrupted after 1 sweep;"),
        (("chain 2 of 2", 8), "chain 2 of 2: interrupted after 8 sweeps"),
    ],
)
def test_an_interrupt_keeps_what_there_is(truth, at, said, tmp_path):
    def interrupt(info, state):
        if (info.stage, info.epoch) == at:
            raise KeyboardInterrupt

    model = CNPF(5, n_chains=2, n_sweeps=12, n_samples=4, random_state=0, callbacks=[interrupt])
    quietly_fit(model, truth.counts)
    assert np.isfinite(model.perplexity(truth.counts, 0.5))
    assert model.interrupted_
    assert model.stop_reason_.startswith(said)
    assert model.inference_ == ("gibbs" if model.samples_ else "structured")
    model.save(tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").transform(truth.counts), model.transform(truth.counts))


def test_an_interrupt_between_two_chains_is_said(truth):
    def interrupt(info, state):
        if seen and seen[-1].startswith("chain") and not info.stage.startswith("chain"):
            raise KeyboardInterrupt
        seen.append(info.stage)

    seen: list[str] = []
    model = HGP(5, n_chains=2, n_sweeps=12, n_samples=4, random_state=0, callbacks=[interrupt])
    quietly_fit(model, truth.counts)
    assert len(model.samples_) == 1
    assert model.interrupted_
    assert model.stop_reason_.startswith("start of chain 2 of 2: interrupted after 1 epoch;")


def test_samples_have_no_bound(truth):
    """What the fit before the chain had as its bound is not that of the samples."""
    model = HGP(5, inference="gibbs", allocation="digamma", stopping="bound", n_chains=1, n_sweeps=6, random_state=0)
    assert quietly_fit(model, truth.counts).bound_ is None


def test_history_tells_every_stage_in_order(fitted):
    stages = [entry["stage"] for entry in fitted.history_]
    chains = [stage for stage in dict.fromkeys(stages) if stage.startswith("chain")]
    assert chains == ["chain 1 of 2", "chain 2 of 2"]
    assert stages.count("chain 2 of 2") == 30
    between = stages[stages.index("chain 1 of 2") + 30 : stages.index("chain 2 of 2")]
    assert set(between) == {"fit"}  # what the second chain starts from
    assert fitted.n_epochs_ == len(stages)


@pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")
def test_huge_counts_take_no_longer():
    """Weights grow with the counts, and tables with the weights; this one ran for hours."""
    X = 10**9 * np.random.default_rng(0).poisson(1.0, (20, 12))
    model = CNPF(3, n_sweeps=6, n_chains=1, random_state=0).fit(X)
    assert np.isfinite(model.weights_).all()
    assert np.allclose(model.column_probabilities(X).sum(axis=1), 1.0)


def test_predictions_need_whole_numbers_too(fitted, truth):
    halves = 0.5 * truth.counts.tocsr()
    with pytest.raises(ValueError, match="round X, or fit with inference='structured'"):
        fitted.perplexity(halves)
    assert np.isfinite(fitted.transform(halves)).all()  # solved, not sampled


def test_intervals_of_planted_correlations():
    """Two groups of components that avoid each other: the intervals have the signs."""
    axis = np.array([1.0, 0.0])
    locations = np.outer([1.3, 1.2, -1.2, -1.3], axis)
    found = simulate("cnpf", 800, 120, 4, 2, locations=locations, row_total=150.0, weight=0.5, seed=4)
    model = quietly_fit(CNPF(4, 2, n_sweeps=60, n_samples=20, random_state=0), found.counts)
    cosine = _unit(found.atoms) @ _unit(model.components_).T
    match = cosine.argmax(axis=1)
    assert sorted(match) == [0, 1, 2, 3]
    low, high = model.correlation_interval_[:, match][:, :, match]
    same = np.outer([1, 1, -1, -1], [1, 1, -1, -1]) > 0
    assert (high[same] > 0).all()
    assert (low[~same] < 0).all()


def sample(locations, counts):
    """One draw of three components."""
    rest = Globals(np.zeros((0, 3)), np.ones(3), np.ones(3), np.array(locations, float), 1.0, 1.0, HYPER)
    return Sample(sparse.csr_matrix(counts), rest)


HYPER = Hyperparameters(0.1, 1.0, 1.0, 1.0)
EAST, NORTH, WEST = [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]
OWN = 9 * np.eye(3)  # each component has a column of its own


def test_correlations_are_means_over_the_chains_that_found_both():
    first = [sample([EAST, EAST, EAST], OWN) for _ in range(2)]
    other = [sample([EAST, NORTH, WEST], OWN), sample([EAST, NORTH, WEST], OWN)]
    mean, low, high = sampled_correlation([first, other], Linear())
    assert mean[0, 1] == pytest.approx(0.5)  # 1 and 1, 0 and 0
    assert (low[0, 2], mean[0, 2], high[0, 2]) == pytest.approx((-1, 0, 1))
    astray = [sample([EAST, NORTH, WEST], OWN[:, [0, 2, 2]]) for _ in range(2)]  # has no counterpart of 1
    mean, low, high = sampled_correlation([first, astray], Linear())
    assert (low[0, 1], mean[0, 1], high[0, 1]) == pytest.approx((1, 1, 1))
    assert mean[0, 2] == pytest.approx(0)
    np.testing.assert_allclose(np.diag(mean), 1.0)


@pytest.mark.parametrize("n", [20, 40, 200])
def test_an_interval_holds_the_next_draw_as_often_as_it_says(n):
    draws = np.random.default_rng(n).normal(size=(n + 1, 40_000))
    _, low, high = with_interval(draws[:-1], 0.9)
    held = ((low <= draws[-1]) & (draws[-1] <= high)).mean()
    assert held == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / 40_000))


def test_an_interval_holds_its_mean():
    """One draw in forty, far from all others."""
    draws = [sample([EAST, EAST, EAST], OWN)] * 39 + [sample([EAST, WEST, EAST], OWN)]
    mean, low, high = sampled_correlation([draws], Linear())
    assert mean[0, 1] == pytest.approx(0.95)
    assert low[0, 1] <= mean[0, 1] <= high[0, 1]


def _unit(a):
    return a / np.linalg.norm(a, axis=1, keepdims=True)


@pytest.mark.parametrize("where", ["after the chains", "before the second chain"])
def test_interrupt_between_epochs_keeps_whole_chains(truth, monkeypatch, where):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    model = CNPF(4, 2, n_sweeps=6, n_samples=3, n_chains=2, random_state=0)

    def watch(info, state):
        if info.stage == "chain 1 of 2" and info.epoch == 6 and where == "before the second chain":
            monkeypatch.setattr("cormorant.estimators.factorization.start_globals", stop)
        if info.stage == "chain 2 of 2" and info.epoch == 6 and where == "after the chains":
            monkeypatch.setattr("cormorant.inference.fit.sum_statistics", stop)

    quietly_fit(model.set_params(callbacks=[watch]), truth.counts)
    assert model.interrupted_
    assert len(model.samples_) == (2 if where == "after the chains" else 1)
    assert np.isfinite(model.components_).all()


def test_chains_side_by_side_are_the_same_chains(truth):
    one, two = (
        quietly_fit(CNPF(5, 2, n_chains=3, n_sweeps=8, n_samples=2, n_jobs=n_jobs, random_state=0), truth.counts)
        for n_jobs in (1, 2)
    )
    for mine, theirs in zip(one.samples_, two.samples_, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            assert np.array_equal(a.globals.atom_shape, b.globals.atom_shape)
            assert np.array_equal(a.globals.locations, b.globals.locations)
    assert np.array_equal(one.transform(truth.counts), two.transform(truth.counts))
    stages = [entry["stage"] for entry in two.history_]
    assert stages == [entry["stage"] for entry in one.history_]


def test_chains_that_scan_run_side_by_side_where_there_are_more_threads_than_chains(truth):
    """A scan has one thread: with four, two chains one after the other would take twice as long as with two."""
    seen = set()

    def note(info, state):
        if info.stage.startswith("chain"):
            seen.add(threading.current_thread())

    settings = {"n_sweeps": 4, "n_samples": 2, "random_state": 0, "callbacks": [note]}
    alone = quietly_fit(CNPF(5, 2, n_chains=2, **settings), truth.counts)
    assert seen == {threading.current_thread()}
    seen.clear()
    four = quietly_fit(CNPF(5, 2, n_chains=2, n_jobs=4, **settings), truth.counts)
    assert threading.current_thread() not in seen
    assert np.array_equal(alone.components_, four.components_)
    seen.clear()
    many = truth.counts.tocsr() * 100  # whose chains share the counts of an entry out together
    quietly_fit(CNPF(5, 2, n_chains=2, n_jobs=4, **settings), many)
    assert seen == {threading.current_thread()}


def test_an_interrupt_ends_chains_that_run_side_by_side(truth):
    """Ctrl-C reaches the main thread, which only waits; the chains must hear of it."""

    def press(info, state):
        if info.stage == "chain 2 of 2" and info.epoch == 8:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    model = CNPF(5, n_chains=2, n_sweeps=100_000, n_samples=50_000, n_jobs=2, random_state=0, callbacks=[press])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        quietly_fit(model, truth.counts)
    finally:
        signal.signal(signal.SIGINT, before)
    assert model.interrupted_
    assert "interrupted" in model.stop_reason_
    assert np.isfinite(model.perplexity(truth.counts, 0.5))


def test_an_error_of_one_chain_ends_the_others(truth):
    def fail(info, state):
        if info.stage == "chain 2 of 2" and info.epoch == 3:
            raise RuntimeError("no more")

    model = CNPF(5, n_chains=2, n_sweeps=100_000, n_samples=5, n_jobs=2, random_state=0, callbacks=[fail])
    with pytest.raises(RuntimeError, match="no more"):
        quietly_fit(model, truth.counts)


@pytest.mark.parametrize(
    ("n_rows", "has_covariates", "n_chains", "most", "n_sweeps"),
    [
        (100, False, 8, 16, 90),
        (200_000, False, 8, 16, 90),
        (250_000, False, 6, 12, 90),
        (10**6, False, 4, 8, 90),
        (50_000, True, 8, 8, 270),
        (100_000, True, 5, 5, 270),
        (10**6, True, 4, 4, 270),
    ],
)
def test_large_data_get_fewer_chains(monkeypatch, n_rows, has_covariates, n_chains, most, n_sweeps):
    defaults = {
        "FEWEST_CHAINS": 4,
        "USUAL_CHAINS": 8,
        "MOST_TIMES": 2,
        "SWEEPS_FOR_EFFECTS": (3, 12),
        "USUAL_SWEEPS": 90,
    }
    for name, default in defaults.items():
        monkeypatch.setattr(parameters, name, default)  # which other tests have less of
    found = parameters.resolve_chains(None, None, 5, n_rows, 200, has_covariates)
    assert (found.n_chains, found.most_chains, found.n_sweeps) == (n_chains, most, n_sweeps)
    short, long = (parameters.resolve_chains(None, n, 5, 10**6, 200, has_covariates) for n in (10, 60 * n_sweeps))
    assert (short.n_chains, long.n_chains) == (8, 4)  # sweeps that were asked for count as well
    asked = parameters.resolve_chains(3, None, 5, n_rows, 200)
    assert asked.n_chains == asked.most_chains == 3


def test_chains_forget_where_their_rows_ended(monkeypatch, truth):
    """What a chain remembers of its rows is large, and nobody asks for it once the chain has ended."""
    seen = []
    gather = sampler.gather
    monkeypatch.setattr(sampler, "gather", lambda runs, kernel: seen.extend(runs) or gather(runs, kernel))
    quietly_fit(CNPF(3, 2, n_chains=2, n_sweeps=3, max_epochs=2, random_state=0), truth.counts)
    assert [outcome.memory.n_rows for run in seen for outcome in (run.start, run.end)] == [0] * 4
