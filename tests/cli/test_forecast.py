"""About how long and how much, from two trials."""

import numpy as np
import pandas as pd
import pytest

from cormorant import CNPF
from cormorant.cli import forecast as module
from cormorant.cli.forecast import LARGEST_BLOCK, Forecast, Trial, extrapolate, forecast, run_trial
from cormorant.estimators import parameters

SIZES = 10, 110


@pytest.fixture(autouse=True)
def nothing_held(monkeypatch):
    monkeypatch.setattr(module, "_held_already", lambda: 0.0)


def trials(sweep=(0.0, 0.0)):
    """A pass takes 1 + 0.02 rows seconds, the first 3 + 0.04 rows, the rest 0.5; 100 + 10 rows bytes are kept."""
    return [
        Trial(first=3 + 0.04 * n, later=1 + 0.02 * n, sweep=s, rest=0.5, kept=100 + 10 * n, working=5 * n)
        for n, s in zip(SIZES, sweep, strict=True)
    ]


def test_passes_over_all_rows():
    found = extrapolate(CNPF(max_epochs=50, validation=0), 1000, 3, SIZES, trials())
    assert found.seconds == pytest.approx(43 + 50 * 21 + 0.5)
    assert found.bytes == pytest.approx(10100 + 5000)


def test_sweeps_of_two_kinds_take_turns():
    assert module._one_more([1.0, 2.0, 5.0, 6.0, 9.0], 2) == pytest.approx(2.0)
    assert module._one_more([1.0, 2.5, 3.0]) == pytest.approx(0.5)


def test_work_needs_room_for_a_block_of_rows():
    found = extrapolate(CNPF(validation=0), 1_000_000, 1, SIZES, trials())
    assert found.bytes == pytest.approx(100 + 10_000_000 + 5 * LARGEST_BLOCK)


@pytest.mark.parametrize(("n_jobs", "at_once"), [(None, 1), (2, 2), (5, 3)])
def test_chains_side_by_side_hold_their_rows_each(n_jobs, at_once):
    model = CNPF(n_chains=3, n_sweeps=30, validation=0, n_jobs=n_jobs)
    found = extrapolate(model, 1000, 1, SIZES, trials(sweep=(2.0, 3.0)))
    assert found.bytes == pytest.approx(at_once * (10100 + 5000))


def test_starts_are_tried_where_rows_are_kept_aside():
    found = extrapolate(CNPF(max_epochs=50), 1000, 3, SIZES, trials())
    assert found.seconds == pytest.approx(43 + (50 + 2 * 10) * 21 + 0.5)


def test_every_batch_has_its_step():
    found = extrapolate(CNPF(max_epochs=50, validation=0, batch_size=100), 1000, 1, SIZES, trials())
    assert found.seconds == pytest.approx((10 * 3 + 40) + 50 * (10 * 1 + 20) + 0.5)


def test_a_sampler_sweeps():
    model = CNPF(n_chains=2, n_sweeps=30, max_epochs=5, validation=0)
    found = extrapolate(model, 1000, 1, SIZES, trials(sweep=(2.0, 3.0)))
    sweep = 2.0 + 0.01 * 990
    assert found.seconds == pytest.approx(43 + (5 + 3) * 21 + 2 * 30 * sweep + 0.5)  # the second starts shorter


@pytest.mark.parametrize(("sweep", "passes", "sweeps"), [(0.1, 4 * 50 + 3, 2 * 60), (30.0, 50 + 9 * 3, 10 * 60)])
def test_all_chains_or_several_structured_fits(monkeypatch, sweep, passes, sweeps):
    """Whichever takes longer: two chains and four structured fits, or one of those and as many chains as may be."""
    monkeypatch.setattr(parameters, "USUAL_CHAINS", 5)
    monkeypatch.setattr(parameters, "MOST_TIMES", 2)
    found = extrapolate(CNPF(20, max_epochs=50), 1000, 1, SIZES, trials(sweep=(sweep, sweep)))
    assert found.seconds == pytest.approx(43 + passes * 21 + sweeps * sweep + 0.5)


def test_noise_does_not_make_anything_negative():
    falling = [Trial(2.0, 2.0, 0.0, 2.0, 200.0, 9.0), Trial(1.0, 1.0, 0.0, 1.0, 100.0, 8.0)]
    found = extrapolate(CNPF(max_epochs=2, validation=0), 1000, 1, SIZES, falling)
    assert found.seconds == pytest.approx(2.0 + 2 * 2.0 + 2.0)


@pytest.mark.parametrize("inference", ["structured", "gibbs", "mean-field"])
def test_trials(counts, inference):
    model = CNPF(n_components=4, n_dims=2, inference=inference, random_state=1, stopping="validation")
    before = model.get_params()
    trial = run_trial(model, counts.rows(slice(0, 40)))
    assert trial.first > 0
    assert trial.later > 0
    assert trial.rest > 0
    assert trial.kept > 0
    assert trial.working > 0
    assert (trial.sweep > 0) == (inference == "gibbs")
    assert model.get_params() == before


@pytest.mark.parametrize("n_rows", [2, 9, 300])
def test_of_few_rows(counts, n_rows):
    assert forecast(CNPF(n_components=4, n_dims=2, random_state=1), counts.rows(slice(0, n_rows))).seconds > 0


def test_covariates_that_few_rows_have(counts):
    """In the rows of a trial they are one number, which a fit of all rows would refuse."""
    rare = pd.DataFrame(np.eye(counts.n_rows, 8), columns=list("abcdefgh"))
    assert forecast(CNPF(n_components=4, n_dims=2, random_state=1), counts, rare).seconds > 0


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.1, "10 seconds"), (42, "40 seconds"), (100, "2 minutes"), (9000, "2.5 hours")]
)
def test_words(seconds, said):
    assert str(Forecast(seconds, 2.34e9)) == f"about {said} at most and 2.3 GB of memory"


def test_chains_with_fewer_components_are_tried_first():
    """Two of them, with a quarter of the components, and their start: a quarter of the work."""
    settings = {"n_chains": 4, "n_sweeps": 30, "max_epochs": 5}
    few, many = (extrapolate(CNPF(n, **settings), 1000, 1, SIZES, trials(sweep=(2.0, 3.0))).seconds for n in (30, 40))
    assert many == few  # without a race there is no choice
    few, many = (extrapolate(CNPF(n, **settings), 1000, 2, SIZES, trials(sweep=(2.0, 3.0))).seconds for n in (30, 40))
    assert many - few == pytest.approx(4 * 21 + 15 * (2.0 + 0.01 * 990))
