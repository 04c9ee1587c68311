"""The sampler's functions are compiled by another process, which leaves nothing of them to compile here."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from cormorant import CNPF
from cormorant.backends.compiled import digest_of
from cormorant.inference import ahead

CALLED = """
import json
from numba.core import event
from cormorant.inference.ahead import _is_compiled, compile_ahead, sweep

class Compiled(event.Listener):
    names = []
    def on_start(self, found):
        self.names.append(found.data["dispatcher"].py_func.__module__)
    def on_end(self, found):
        pass

before = _is_compiled()
with compile_ahead():
    pass
event.register("numba:compile", Compiled())
sweep()
print(json.dumps([before, _is_compiled(), [name for name in Compiled.names if name.startswith("cormorant")]]))
"""


def test_a_sweep_finds_everything_compiled(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", CALLED], env=environment, capture_output=True, text=True, check=True)
    before, after, compiled_here = json.loads(done.stdout)
    assert (before, after) == (False, True)
    if ahead.resolve_jobs(-1) > 1:
        assert compiled_here == []


SOURCE = """
from cormorant.backends.compiled import compiled

@compiled
def double(x):
    return {}
"""


def test_what_an_older_version_left_behind_does_not_count(tmp_path, monkeypatch):
    """Of our files, or of Numba: the index is there, but all would be compiled again while the user waits."""

    def installed(expression):
        (tmp_path / "kernels.py").write_text(SOURCE.format(expression))
        digest_of.cache_clear()  # as in another process
        spec = importlib.util.spec_from_file_location("kernels", tmp_path / "kernels.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.double

    first = installed("x + x")
    assert not ahead.is_kept(first)
    assert first(2.0) == 4.0
    assert ahead.is_kept(first)
    assert ahead.is_kept(installed("x + x"))  # as another process would find it
    assert not ahead.is_kept(installed("2.0 * x"))
    monkeypatch.setattr(numba, "__version__", "0.0.1")
    assert not ahead.is_kept(installed("x + x"))
    assert list(Path(first.stats.cache_path).glob("*.nbi"))  # it has been there all the time


def test_nothing_is_started_for_nothing(monkeypatch):
    ahead.sweep()  # now it is compiled
    assert ahead.compile_ahead().process is None


@pytest.mark.parametrize("trouble", ["no second core", "no interpreter", "cannot start"])
def test_without_another_process_all_is_compiled_here(monkeypatch, trouble):
    monkeypatch.setattr(ahead, "_is_compiled", lambda: False)
    if trouble == "no second core":
        monkeypatch.setattr(ahead, "resolve_jobs", lambda n_jobs: 1)
    elif trouble == "no interpreter":
        monkeypatch.setattr(sys, "executable", "")
    else:
        monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with ahead.compile_ahead() as started:
        assert started.process is None


def sleeping():
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])


def test_a_process_that_hangs_is_ended(monkeypatch):
    monkeypatch.setattr(ahead, "PATIENCE", 0.01)
    with ahead.Compilation(sleeping()) as started:
        pass
    assert started.process.returncode is not None


def test_no_process_outlives_a_start_that_fails(monkeypatch):
    """Whoever stops a first fit early by an error is not left with a process, or with a warning of it."""
    begun, counts = ahead.Compilation(sleeping()), np.random.default_rng(0).poisson(1.0, (40, 12))
    monkeypatch.setattr("cormorant.estimators.sampler.compile_ahead", lambda: begun)

    def fail(info, state):
        raise ArithmeticError("enough")

    with pytest.raises(ArithmeticError):
        CNPF(3, 2, inference="gibbs", callbacks=[fail], random_state=0).fit(counts)
    assert begun.process.returncode is not None
