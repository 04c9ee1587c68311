"""Progress of a fit: silent unless asked for, on standard error, with what is watched; bars or lines."""

import io

import pytest
from rich.console import Console

from cormorant.datasets import simulate
from cormorant.estimators import HGP
from cormorant.estimators.progress import Wording, progress_bars
from cormorant.inference.fit import Info

pytestmark = pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")


@pytest.fixture(scope="module")
def counts():
    return simulate("hgp", n_rows=60, n_columns=20, n_components=3, seed=1).counts


def info(epoch, **values):
    return Info(epoch, 40, 3, 2.0 * epoch, 1.0, **{"stage": "fit", **values})


def shown(calls):
    """What a terminal shows at the end of these calls, (label, info) each."""
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=150, color_system=None)
    with progress_bars(["hgp", "cnpf"], console) as bars:
        for label, each in calls:
            bars[label](each, None)
    return text.getvalue()


def test_silent_unless_asked(counts, capfd):
    HGP(3, max_epochs=2, random_state=0).fit(counts)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("validation", "watched"), [(10, "perplexity"), (0, "bound")])
def test_verbose_says_what_is_watched_on_standard_error(counts, capfd, validation, watched):
    parameters = {"max_epochs": 12, "tol": 0.0, "random_state": 0, "allocation": "digamma"}
    HGP(3, validation=validation, verbose=True, **parameters).fit(counts)
    out, err = capfd.readouterr()
    assert out == ""
    assert f"hgp: 12 of at most 12 epochs, {watched} " in err


def test_the_last_known_value_stays():
    assert "6 of at most 40 epochs, perplexity 1,234 0.5/s" in shown(
        [("hgp", info(5, perplexity=1234.4)), ("hgp", info(6))]
    )


def test_further_fits_say_which_they_are():
    wording = Wording()
    assert wording(info(5, stage="start of fit 2", perplexity=9.0)) == "start of fit 2, 5 of 40 epochs, perplexity 9"
    assert wording(info(11, stage="fit 2")) == "fit 2, 11 of at most 40 epochs"


def test_a_fit_that_has_not_begun_waits():
    hgp, cnpf = shown([("hgp", info(5, bound=-10.0))]).splitlines()[-3:-1]
    assert "hgp  ━" in hgp
    assert "5 of at most 40 epochs, bound -10 " in hgp
    assert "waiting" in cnpf


def test_other_stages_say_which_they_are():
    assert "start 1 of 2, 3 of 40 epochs, bound -10 " in shown([("cnpf", info(3, stage="start 1 of 2", bound=-10.0))])
    assert "chain 2 of 2, 3 of 40 sweeps 0.5/s" in shown([("cnpf", info(3, stage="chain 2 of 2"))])


def test_a_value_does_not_outlive_its_stage():
    """Chains look at nothing: the perplexity of the fit that they start from is not theirs."""
    wording = Wording()
    assert wording(info(5, perplexity=1234.4)) == "5 of at most 40 epochs, perplexity 1,234"
    assert wording(info(1, stage="chain 1 of 2")) == "chain 1 of 2, 1 of 40 sweeps"


def test_a_log_gets_a_line_now_and_then_and_at_the_end():
    text = io.StringIO()
    with progress_bars(["[b]hgp"], Console(file=text, width=20)) as tellers:
        for epoch in (19, 20, 21, 40):
            tellers["[b]hgp"](info(epoch, bound=-10.0), None)
    assert text.getvalue().splitlines() == [
        "[b]hgp: 20 of at most 40 epochs, bound -10",
        "[b]hgp: 40 of at most 40 epochs, bound -10",
    ]


def test_a_fit_that_stops_early_has_no_time_left():
    assert "0:00:00" in shown([("hgp", info(7, bound=-10.0))]).splitlines()[-3]
