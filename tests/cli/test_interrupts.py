"""Ctrl-C, as a terminal sends it."""

import signal
import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-c", "from cormorant.cli import main; main()"]
NOTHING = "error: interrupted; nothing was written. Run the command again."


@pytest.fixture
def interrupt(workplace):
    """Start a command, interrupt it after a line of standard error that holds ``sign``; exit code and what is said."""

    def call(*arguments, sign):
        command = [*COMMAND, *map(str, arguments)]
        handler = signal.default_int_handler  # a shell in the background has its children ignore the signal
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, **streams, preexec_fn=lambda: signal.signal(signal.SIGINT, handler)) as running:
            assert running.stderr
            assert any(sign in line for line in running.stderr), "the command ended before"
            running.send_signal(signal.SIGINT)
            code = running.wait()
            return code, running.stderr.read().splitlines()

    return call


def test_while_the_command_starts(cormorant, monkeypatch):
    """Its imports take a moment: that is when one sees a slip."""

    class Interrupted:
        def find_spec(self, name, *_):
            if name == "cormorant.cli.command":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "cormorant.cli.command", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    ran = cormorant("info")
    assert (ran.code, ran.out, ran.err) == (1, "", f"{NOTHING}\n")


def test_before_a_fit(interrupt, counts_file, workplace):
    code, said = interrupt("fit", counts_file, "--out", "fit", sign="rows held out")
    assert (code, said[-1]) == (1, NOTHING)  # a line that was being printed may come once more before it
    assert list(workplace.iterdir()) == []


def test_a_fit(interrupt, counts_file, workplace):
    options = ["--components", 6, "--dims", 2, "--chains", 1, "--sweeps", 1_000_000, "--out", "fit"]
    code, said = interrupt("fit", counts_file, *options, sign="chain 1 of 1")
    assert code == 1
    assert said[-1].startswith("error: chain 1 of 1: interrupted after ")
    assert said[-1].endswith("in fit.")
    assert (workplace / "fit" / "model.json").is_file()


def test_a_comparison(interrupt, counts_file):
    options = ["--models", "hgp", "--holdout", 50, "--components", 6, "--sweeps", 1_000_000, "--chains", 1]
    code, said = interrupt("compare", counts_file, *options, sign="chain 1 of 1")
    assert (code, said[-1]) == (1, NOTHING)


def test_the_demo(interrupt, workplace):
    code, said = interrupt("demo", sign="Fitting")
    assert (code, said[-1]) == (1, NOTHING)
    assert list(workplace.iterdir()) == []


def test_a_served_page(interrupt, fit_folder):
    assert interrupt("explore", fit_folder, "--serve", sign="Open http://127.0.0.1") == (0, [])
