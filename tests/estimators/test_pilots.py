"""Which chains a fit is made of: what is promised by a few, and what is done with that."""

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from cormorant import CNPF, DILN, load, load_nyt
from cormorant.data import Counts, as_counts, split_entries
from cormorant.datasets import simulate
from cormorant.estimators import TruncationWarning, parameters, pilots, sampler
from cormorant.estimators.inputs import to_rows
from cormorant.estimators.pilots import Contender, choose, forecast, predict, worth_trying
from cormorant.evaluation import perplexity
from cormorant.inference import start
from cormorant.inference.fit import Info, Outcome
from cormorant.inference.predictive import Validation, entry_probabilities, log_likelihood, mean_log
from cormorant.inference.rows import RowMemory
from cormorant.inference.state import State
from cormorant.models.cnpf import Hyperparameters

ENTRIES = as_counts(np.array([[1, 2, 0], [0, 1, 3]]))


def chain(*probabilities):
    """A chain that gives the four entries these probabilities."""
    return SimpleNamespace(
        end=SimpleNamespace(interrupted=False), collector=SimpleNamespace(samples=np.array(probabilities))
    )


@pytest.fixture
def validation(monkeypatch):
    """Two splits with the same entries; the probabilities are those that the chain was made with."""
    monkeypatch.setattr(pilots, "SampledPosterior", lambda gibbs, chains: chains[0])
    monkeypatch.setattr(pilots, "entry_probabilities", lambda posterior, seen, test: posterior)
    return SimpleNamespace(splits=[(None, ENTRIES), (None, ENTRIES)])


def loss(p):
    return -(ENTRIES.data @ np.log(p)) / ENTRIES.total


def promise(validation, chains, n):
    return forecast(validation, [predict(validation, None, chains)], {0: n})


def test_the_forecast_of_the_chains_there_are_is_what_they_predict(validation):
    one, two = [0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]
    assert promise(validation, [chain(*one)], 1) == pytest.approx(np.exp(loss(np.array(one))))
    together = np.exp(loss(np.array([0.25, 0.25, 0.25, 0.25])))
    assert promise(validation, [chain(*one), chain(*two)], 2) == pytest.approx(together)


MANY = as_counts(np.ones((40, 50), dtype=int))  # entries enough for the gain of averaging to be known from two chains


@pytest.fixture
def long_validation(validation):
    return SimpleNamespace(splits=[(None, MANY)])


def scattered(rng, mean, spread, number):
    """Chains that err apart: lognormal about the mean of every entry."""
    return [mean * np.exp(spread * rng.normal(size=MANY.nnz) - spread**2 / 2) for _ in range(number)]


@pytest.mark.parametrize("spread", [0.2, 0.4, 0.6])
def test_the_forecast_of_more_chains_follows_what_averaging_gains(long_validation, spread):
    """The mean of eight, forecast from two, is what eight come to, within a tenth of what six more gain.

    Chains of 200 components are some .6 apart on short texts. (The mean of lognormal variables is not quite one.)
    """
    eight = [chain(*p) for p in scattered(np.random.default_rng(0), np.full(MANY.nnz, 0.02), spread, 8)]
    pairs = [np.log(promise(long_validation, eight[i : i + 2], 8)) for i in range(0, 8, 2)]
    there = [np.mean([np.log(promise(long_validation, eight[i : i + m], m)) for i in range(0, 8, m)]) for m in (2, 8)]
    assert np.mean(pairs) == pytest.approx(there[1], abs=0.1 * (there[0] - there[1]))


def test_the_forecast_of_two_sizes_leaves_what_they_differ_by(long_validation):
    """More chains of each remove the scatter within a size, and nothing of what sets the sizes apart."""
    rng = np.random.default_rng(1)
    means = np.where(rng.random(MANY.nnz) < 0.5, 0.03, 0.01)
    eight = [[chain(*p) for p in scattered(rng, mean, 0.5, 8)] for mean in (means, 0.04 - means)]
    few, four = ([predict(long_validation, None, chains[:m]) for chains in eight] for m in (2, 4))
    forecasts, comes = (np.log(forecast(long_validation, known, {0: 4, 1: 4})) for known in (few, four))
    there = np.log(forecast(long_validation, few, {0: 2, 1: 2}))
    assert forecasts == pytest.approx(comes, abs=0.2 * (there - comes))


def test_chains_that_have_nothing_in_common_promise_no_more_than_they_can(validation):
    one, two = [0.9, 1e-12, 0.9, 1e-12], [1e-12, 0.9, 1e-12, 0.9]
    there = promise(validation, [chain(*one), chain(*two)], 2)
    assert there / 2 < promise(validation, [chain(*one), chain(*two)], 8) < there


def test_fewer_components_are_worth_it_where_their_start_is_ahead():
    starts = [SimpleNamespace(best=best) for best in (100.0, 99.0, 101.0)]
    assert worth_trying(starts) == [0, 1]
    assert worth_trying([SimpleNamespace(best=np.inf)]) == [0]


def contender(best, probability, asked, fit=None):
    def run(numbers, n_chains):
        asked.append((probability, list(numbers)))
        return [chain(*[probability] * 4) for _ in numbers]

    return Contender(SimpleNamespace(best=best), run, fit)


def outcome(best, interrupted=False):
    """Where a structured fit ends."""
    info = Info(1, 1, 3, 0.0, 1.0, "fit", perplexity=best)
    return Outcome(State(None), (info,), "converged", RowMemory(0), interrupted)


@pytest.mark.parametrize("n_chains", [1, 2, 5])
def test_the_contender_that_promises_most_goes_on(validation, n_chains):
    asked = []
    two = [contender(3.0, 0.2, asked), contender(2.9, 0.3, asked)]
    chosen = choose(two, None, validation, n_chains, n_chains)
    few = list(range(min(2, n_chains)))
    assert asked == [(0.2, few), (0.3, few), (0.3, list(range(2, n_chains)))]
    assert (chosen.first, len(chosen.runs), chosen.interrupted) == (two[1].first, n_chains, False)


def test_sizes_that_err_apart_go_on_together(validation):
    """Each is sure of other entries; the larger has the odd chain."""
    asked = []

    def one(best, *probabilities):
        def run(numbers, n_chains):
            asked.append((best, list(numbers)))
            return [chain(*probabilities) for _ in numbers]

        return Contender(SimpleNamespace(best=best), run)

    two = [one(30.0, 0.4, 0.4, 0.4, 0.1), one(29.0, 0.1, 0.1, 0.1, 0.4)]
    chosen = choose(two, None, validation, 7, 7)
    assert asked == [(30.0, [0, 1]), (29.0, [0, 1]), (30.0, [2, 3]), (29.0, [2])]
    assert (chosen.first.best, len(chosen.runs)) == (30.0, 7)


@pytest.mark.parametrize(
    ("start", "end", "chains", "fits"),
    [
        (6.0, 4.0, 3, []),  # far behind the chains, and not followed
        (5.2, 5.1, 3, [0]),
        (5.2, 4.9, 0, [0, 1, 2]),
        (4.0, 3.9, 0, [0, 1, 2]),
    ],
)
def test_chains_that_predict_no_better_than_a_structured_fit_are_done_without(validation, start, end, chains, fits):
    """The perplexity of the chains is 1 / .2. What is kept is as many fits as there would be chains."""
    made = []

    def fit(number):
        made.append(number)
        return outcome(end + number)

    chosen = choose([contender(start, 0.2, [], fit)], None, validation, 3, 3)
    assert (len(chosen.runs), made) == (chains, fits)
    assert chosen.first.best == (start if chains else end)
    assert [other.best for other in chosen.others] == [end + number for number in fits[1:]]
    assert len(choose([contender(start, 0.2, [])], None, validation, 4, 4).runs) == 4  # chains are asked for


def test_the_fits_are_those_of_the_start_that_is_ahead(validation):
    two = [contender(4.0, 0.2, [], lambda number: pytest.fail("behind")), contender(3.9, 0.1, [], lambda n: outcome(n))]
    chosen = choose(two, None, validation, 9, 9)
    assert [chosen.first.best, *(other.best for other in chosen.others)] == list(range(pilots.MOST_FITS))


def interrupted(number):
    return outcome(3.0, interrupted=True)


def interrupted_between_stages(number):
    raise KeyboardInterrupt


@pytest.mark.parametrize("fit", [interrupted, interrupted_between_stages])
def test_an_interrupt_of_the_structured_fit_keeps_the_chains(validation, fit):
    chosen = choose([contender(4.0, 0.2, [], fit)], None, validation, 4, 4)
    assert (len(chosen.runs), chosen.interrupted) == (2, True)


@pytest.mark.parametrize("fit", [interrupted, interrupted_between_stages])
def test_an_interrupt_of_a_further_fit_keeps_those_before(validation, fit):
    only = contender(4.0, 0.2, [], lambda number: outcome(3.0) if number < 2 else fit(number))
    chosen = choose([only], None, validation, 4, 4)
    assert (chosen.runs, len(chosen.others), chosen.interrupted) == ([], 1, True)
    assert chosen.first.reason == "interrupted in fit 3 of 4; kept: 2 fits"


def test_without_rows_kept_aside_there_is_no_choice():
    asked = []
    two = [contender(3.0, 0.2, asked), contender(2.9, 0.3, asked)]
    assert len(choose(two, None, None, 3, 3).runs) == 3
    assert asked == [(0.2, [0, 1, 2])]


def test_an_interrupt_of_the_others_keeps_the_first(validation):
    def interrupted(numbers, n_chains):
        return [SimpleNamespace(end=None, collector=None)]

    two = [contender(3.0, 0.2, []), Contender(SimpleNamespace(best=2.0), interrupted)]
    chosen = choose(two, None, validation, 4, 4)
    assert (len(chosen.runs), chosen.first.best, chosen.interrupted) == (2, 3.0, True)


@pytest.mark.parametrize(("apart", "n_chains"), [(0.05, 4), (0.15, 8)])
def test_chains_that_are_far_apart_are_more(validation, apart, n_chains):
    """Where eight of them promise 1.5% less than four; all are told how many there will be."""
    asked = []

    def run(numbers, of):
        asked.append((list(numbers), of))
        return [chain(*np.roll([0.2 + apart, 0.2 - apart], number).tolist() * 2) for number in numbers]

    chosen = choose([Contender(SimpleNamespace(best=9.0), run)], None, validation, 4, 8)
    assert len(chosen.runs) == n_chains
    assert asked == [([0, 1], 4), (list(range(2, n_chains)), n_chains)]


def test_a0_of_a_start_is_small_where_data_are_thin():
    hyper = Hyperparameters(0.1, 1.0, 1.0, 1.0)
    thin, thick = as_counts(np.eye(40, dtype=int)), as_counts(np.full((40, 40), 5))
    assert start.start_a0(hyper, thin, 10).a0 == pytest.approx(0.3 * 40 / 400)
    assert start.start_a0(hyper, thick, 10).a0 == 0.1


def overdispersed(rng, n=400, columns=60):
    """Two kinds of rows, and noise of every entry's own: what chains take for components is gone in the next row."""
    kinds = rng.dirichlet(np.full(columns, 0.3), size=2)
    rates = 400 * kinds[rng.integers(0, 2, n)] * rng.gamma(0.5, 2.0, size=(n, columns))
    return as_counts(rng.poisson(rates))


@pytest.fixture(scope="module")
def noisy() -> Counts:
    return overdispersed(np.random.default_rng(0))


@pytest.fixture(scope="module")
def by_default(noisy):
    return CNPF(40, 3, random_state=0).fit(noisy)


def test_auto_takes_the_better_of_the_two(noisy, by_default):
    """A structured fit where chains do worse, unless chains are asked for."""
    assert by_default.inference_ == "structured"
    assert by_default.samples_ == []
    assert CNPF(40, 3, random_state=0, inference="gibbs", n_chains=2, n_sweeps=6).fit(noisy).inference_ == "gibbs"
    assert CNPF(40, 3, random_state=0, n_chains=2, n_sweeps=6).fit(noisy).inference_ == "gibbs"


def looks(model):
    """Perplexities of the rows kept aside in the course of the first fit."""
    return [entry["perplexity"] for entry in model.history_ if entry["stage"] == "fit" and entry["perplexity"]]


def test_what_is_kept_is_the_best_that_was_seen(by_default, monkeypatch):
    """Of noise every epoch learns something that is not so; of newspapers more is learned, and a0 with it."""
    first, *later = looks(by_default)
    assert first < min(later)
    assert by_default.hyperparameters_["a0"] == 0.1  # where the starts of chains hold it
    monkeypatch.setattr(pilots, "forecast", lambda validation, predicted, shares: np.inf)
    monkeypatch.setattr(pilots, "MOST_FITS", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        model = CNPF(10, 3, random_state=0).fit(load_nyt().rows(np.arange(500)))
    first, *later = looks(model)
    assert min(later) < first
    assert model.hyperparameters_["a0"] > 0.2


def test_all_fits_that_are_kept_have_the_allocation_of_new_rows_that_was_chosen(noisy, by_default, monkeypatch):
    assert by_default.row_allocation_ == "zero-order"
    right = Validation.perplexity

    def rigged(self, posterior):
        allocations = {fit.solver.allocation for fit in getattr(posterior, "fits", [])}
        return 0.0 if allocations == {"digamma"} else right(self, posterior)

    monkeypatch.setattr(Validation, "perplexity", rigged)
    model = CNPF(40, 3, max_epochs=5, random_state=0).fit(noisy)
    assert (model.inference_, model.row_allocation_) == ("structured", "digamma")
    assert [fit.solver.allocation for fit in model._posterior.fits] == ["digamma", "digamma"]


def test_an_interrupt_while_that_is_chosen_is_told_and_keeps_all_fits(noisy, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("cormorant.estimators.fitted.with_best_rows", interrupt)
    model = CNPF(40, 3, max_epochs=5, random_state=0).fit(noisy)
    assert (model.inference_, model.row_allocation_, model.interrupted_) == ("structured", "zero-order", True)
    assert model.stop_reason_.startswith("interrupted while the allocation of new rows was chosen")
    assert len(model._posterior.fits) == 2


def test_the_fits_that_are_kept_are_averaged(noisy, by_default, tmp_path):
    """Each is a fit of its own, to its end; the mean of what they predict is the model's, and is saved."""
    seen, test = split_entries(overdispersed(np.random.default_rng(1)), 0.3, 0)
    rows = to_rows(seen, None, None)
    fits = by_default._posterior.fits
    single = [entry_probabilities(fit, rows, test) for fit in fits]
    mean = entry_probabilities(by_default._posterior, rows, test)
    assert len(fits) == 2  # as many as the tests have chains
    assert mean == pytest.approx(np.mean(single, axis=0))
    assert np.log(perplexity(by_default, seen, test)) == pytest.approx(-mean_log(mean, test))
    assert np.abs(np.log(single[0] / single[1])).mean() > 0.01  # they differ
    assert np.array_equal(fits[0].globals.atom_mean.T, by_default.components_)
    assert {entry["stage"] for entry in by_default.history_} == {"fit", "start of fit 2", "fit 2"}
    assert by_default.stop_reason_.endswith("predictions are the mean of 2 fits")
    by_default.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(entry_probabilities(again._posterior, rows, test), mean)
    again.partial_fit(noisy)  # a step on the one whose components are shown; the others know nothing of it
    assert not hasattr(again._posterior, "fits")


def test_a_fit_that_goes_on_from_another_is_one(noisy):
    """Further ones would begin, and end, where it does."""
    model = CNPF(40, 3, random_state=0, warm_start=True, max_epochs=10).fit(noisy)
    assert len(model._posterior.fits) == 2
    assert not hasattr(model.fit(noisy)._posterior, "fits")
    assert model.inference_ == "structured"


@pytest.mark.parametrize(
    ("settings", "covariates", "may_do_without"),
    [
        ({}, None, True),
        ({"inference": "gibbs"}, None, False),
        ({"n_samples": 3}, None, False),
        ({"n_sweeps": 60}, None, False),
        ({}, np.arange(400.0)[:, None], False),  # their effects want samples
    ],
)
def test_when_chains_are_asked_for(noisy, monkeypatch, settings, covariates, may_do_without):
    asked = []

    def look(contenders, gibbs, validation, n_chains, most_chains):
        asked.append(contenders[0].fit is not None)
        return pilots.Choice(contenders[0].first)

    monkeypatch.setattr(sampler, "choose", look)
    CNPF(40, 3, random_state=0, **settings).fit(noisy, covariates=covariates)
    assert asked == [may_do_without]


def test_chains_of_two_sizes_make_one_model(monkeypatch, tmp_path):
    """Components that a smaller chain lacks are there and hold nothing."""
    truth = simulate("cnpf", n_rows=300, n_columns=60, n_components=6, n_dims=2, row_total=80.0, seed=0)
    monkeypatch.setattr(sampler, "worth_trying", lambda firsts: [0, 1])
    monkeypatch.setattr(pilots, "forecast", lambda validation, predicted, shares: 1.0 / len(shares))
    model = CNPF(40, 3, n_chains=3, n_sweeps=9, n_samples=2, random_state=0).fit(truth.counts)
    used = [[int((sample.counts.sum(axis=0) > 0).sum()) for sample in chain] for chain in model.samples_]
    assert [len(chain) for chain in used] == [2, 2, 2]
    assert max(used[-1]) <= 10 < min(used[0])
    assert all(sample.n_components == 40 for chain in model.samples_ for sample in chain)
    stages = {entry["stage"] for entry in model.history_}
    assert {"chain 1 of 3", "chain 2 of 3", "chain 1 of 3 with 10 components"} <= stages
    assert np.isfinite(model.correlation_).all()
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.perplexity(truth.counts, 0.5) == pytest.approx(model.perplexity(truth.counts, 0.5))


def with_odd_word(counts, kept_aside):
    """One more column, of which ten are in rows to fit and three in each row kept aside."""
    n_rows = counts.n_rows
    odd = np.zeros((n_rows, 1), dtype=int)
    odd[kept_aside], odd[np.setdiff1d(np.arange(n_rows), kept_aside)[:10]] = 3, 1
    return np.hstack([counts.tocsr().toarray(), odd])


def odd_words(model):
    """How many each chain was fitted to."""
    return [chain[-1].counts[-1].sum() for chain in model.samples_]


@pytest.mark.parametrize("model", [CNPF, DILN])
@pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")
def test_chains_that_follow_the_choice_see_the_rows_that_it_was_made_by(monkeypatch, model):
    """Two thirds of an odd word are in rows kept aside: the chains that chose do not know it, the others do."""
    counts = simulate("cnpf", n_rows=300, n_columns=60, n_components=6, n_dims=2, row_total=80.0, seed=0).counts
    first = model(40, 3, n_chains=4, n_sweeps=6, n_samples=1, random_state=0)
    kept_aside = first.fit(counts).validation_rows_
    monkeypatch.setattr(sampler, "worth_trying", lambda firsts: [0, 1])
    monkeypatch.setattr(pilots, "forecast", lambda validation, predicted, shares: 0.0 if shares == {1: 4} else 1.0)
    second = clone(first).fit(with_odd_word(counts, kept_aside))
    assert np.array_equal(second.validation_rows_, kept_aside)
    assert odd_words(second) == [10, 10, 10 + 3 * len(kept_aside), 10 + 3 * len(kept_aside)]
    watched = [e for e in second.history_ if e["perplexity"] is not None and e["epoch"] == parameters.START_EPOCHS]
    assert len(watched) == 1  # the start of chain 2; of rows that it is fitted to a perplexity would say nothing
    # Components, and what a further fit or `partial_fit` goes on from, are those of the first chain.
    assert second.n_rows_seen_ == second._state.memory.n_rows == 300 - len(kept_aside)
    assert second._state.memory.counts[-1].sum() == pytest.approx(10)


@pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")
def test_so_do_chains_that_were_asked_for(tmp_path):
    """Where there is nothing to choose, too; beside a mask, exposure, covariates, and rows that show nothing."""
    counts = simulate("cnpf", n_rows=300, n_columns=60, n_components=6, n_dims=2, row_total=80.0, seed=0).counts
    rng = np.random.default_rng(0)
    model = CNPF(8, 3, n_chains=3, n_sweeps=6, n_samples=1, random_state=0)
    kept_aside = model.fit(counts, covariates=rng.normal(size=(300, 1))).validation_rows_
    y, missing = with_odd_word(counts, kept_aside), rng.random((300, 61)) < 0.1
    y[kept_aside[0], :], missing[:, -1] = 0, False
    given = {"covariates": rng.normal(size=(300, 1)), "mask": missing, "exposure": rng.uniform(0.5, 2.0, 300)}
    model = clone(model).fit(y, **given)
    assert odd_words(model) == [10, 10, 10 + 3 * (len(kept_aside) - 1)]
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.n_rows_seen_ == 300 - len(kept_aside)
    found = [m.perplexity(y, 0.5, covariates=given["covariates"]) for m in (model, again)]
    assert np.isfinite(found[0])
    assert found[1] == pytest.approx(found[0])


@pytest.mark.parametrize("last", [{0: 5}, {0: 10}])
def test_an_interrupt_while_the_choice_is_made_keeps_the_first_chains(validation, monkeypatch, last):
    def stop(validation, predicted, shares):
        if shares == last:
            raise KeyboardInterrupt
        return float(len(shares) + min(shares))

    monkeypatch.setattr(pilots, "forecast", stop)
    asked = []
    chosen = choose([contender(3.0, 0.2, asked), contender(2.9, 0.3, asked)], None, validation, 5, 10)
    assert (chosen.interrupted, len(chosen.runs), len(asked)) == (True, 2, 2)


def test_components_that_hold_nothing_predict_nothing():
    truth = simulate("cnpf", n_rows=300, n_columns=60, n_components=6, n_dims=2, row_total=80.0, seed=0)
    small = CNPF(10, 3, n_chains=2, n_sweeps=30, n_samples=10, random_state=0).fit(truth.counts)
    chains = [[sample.with_unused(small.model, 40) for sample in chain] for chain in small.samples_]
    seen, test = split_entries(truth.counts, 0.5, 0)
    narrow, wide = (
        log_likelihood(posterior, to_rows(seen, None, None), test)
        for posterior in (small._posterior, replace(small._posterior, chains=chains))
    )
    assert wide == pytest.approx(narrow, abs=0.003)  # the rows' chains draw other random numbers


@pytest.mark.parametrize(
    ("at", "chains", "said"),
    [
        (("chain 1 of 3 with 10 components", 2), 2, "interrupted while chains were chosen; kept: 2 chains"),
        (("chain 3 of 3", 2), 3, "chain 3 of 3: interrupted after 2 sweeps"),
    ],
)
def test_an_interrupt_is_told(monkeypatch, at, chains, said):
    def interrupt(info, state):
        if (info.stage, info.epoch) == at:
            raise KeyboardInterrupt

    truth = simulate("cnpf", n_rows=300, n_columns=60, n_components=6, n_dims=2, row_total=80.0, seed=0)
    monkeypatch.setattr(sampler, "worth_trying", lambda firsts: [0, 1])
    monkeypatch.setattr(pilots, "forecast", lambda validation, predicted, shares: float(len(shares)))
    settings = {"n_chains": 3, "n_sweeps": 6, "n_samples": 2, "random_state": 0, "n_jobs": 1}
    model = CNPF(40, 3, **settings, callbacks=[interrupt]).fit(truth.counts)
    assert model.interrupted_
    assert model.stop_reason_.startswith(said)
    assert len(model.samples_) >= chains - 1


def test_an_interrupt_between_chains_is_not_lost(validation):
    """A chain that never began leaves nothing behind, and yet the fit was interrupted."""

    def run(numbers, n_chains):
        return [chain(0.2, 0.2, 0.2, 0.2) for n in numbers if n < 2]

    far_behind = Contender(SimpleNamespace(best=9.0), run, lambda number: pytest.fail("far behind"))
    chosen = choose([far_behind], None, validation, 4, 4)
    assert (len(chosen.runs), chosen.interrupted) == (2, True)


def test_an_interrupt_before_anything_is_known_of_covariates():
    def interrupt(info, state):
        raise KeyboardInterrupt

    truth = simulate("cnpf", n_rows=300, n_columns=60, n_components=6, n_dims=2, row_total=80.0, seed=0)
    model = CNPF(20, 3, random_state=0, callbacks=[interrupt])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        model.fit(truth.counts, covariates=np.arange(300.0)[:, None])
    assert model.interrupted_
    assert not hasattr(model, "covariate_effects_")
