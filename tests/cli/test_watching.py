"""Bars on a terminal, lines in a log, nothing when quiet."""

import warnings
from types import SimpleNamespace

import pytest

from cormorant.cli.watching import watching
from cormorant.inference.fit import Info


def epochs(callback, n=40, **changes):
    for epoch in range(1, n + 1):
        fields = {
            "epoch": epoch,
            "max_epochs": n,
            "n_components": 6,
            "seconds": 1.0,
            "rho": 1.0,
            "stage": "fit",
        }
        callback(Info(**(fields | changes)), SimpleNamespace())


def test_a_log_gets_a_line_now_and_then(capfd):
    with watching(["cnpf"]) as callbacks:
        epochs(callbacks["cnpf"][0], n=20, perplexity=2000.0, stage="start 1 of 2")
        epochs(callbacks["cnpf"][0], perplexity=1500.0)
        epochs(callbacks["cnpf"][0], n=20, stage="chain 1 of 2")
    assert capfd.readouterr().err.splitlines() == [
        "cnpf: start 1 of 2, 20 of 20 epochs, perplexity 2,000",
        "cnpf: 20 of at most 40 epochs, perplexity 1,500",
        "cnpf: 40 of at most 40 epochs, perplexity 1,500",
        "cnpf: chain 1 of 2, 20 of 20 sweeps",
    ]


@pytest.mark.parametrize(("watched", "shown"), [("perplexity", "perplexity 1,500"), ("bound", "bound -2,000")])
def test_a_terminal_gets_bars(capfd, monkeypatch, watched, shown):
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    with watching(["hgp", "cnpf"]) as callbacks:
        values = {"perplexity": 1500.0} if watched == "perplexity" else {"perplexity": None, "bound": -2000.0}
        epochs(callbacks["hgp"][0], n=20, perplexity=2000.0, stage="start 1 of 2")
        epochs(callbacks["hgp"][0], **values)
    err = capfd.readouterr().err
    assert "hgp" in err
    assert "cnpf" in err
    assert f"40 of at most 40 epochs, {shown}" in err


def test_quiet_has_no_callbacks():
    with watching(["cnpf"], quiet=True) as callbacks:
        assert callbacks == {"cnpf": []}


def test_other_warnings_stay_warnings():
    def warn():
        with watching(["cnpf"], quiet=True):
            warnings.warn("something else", RuntimeWarning, stacklevel=1)

    with pytest.warns(RuntimeWarning, match="something else"):
        warn()
