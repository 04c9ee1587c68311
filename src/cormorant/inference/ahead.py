"""The sampler's functions, compiled by another process while the start of a first fit is under way.

Right after an installation nothing is compiled yet, and one process compiles one function at a time. What the other
one compiles is found where Numba keeps it; if anything goes wrong there, it is compiled here when it is called.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from cormorant.backends import logistic, sampling, scanning, stacks
from cormorant.backends.compiled import cache_file, resolve_jobs
from cormorant.backends.select import select_backend
from cormorant.data.convert import as_counts
from cormorant.inference.gibbs import Gibbs
from cormorant.inference.moves import RowDraws
from cormorant.inference.rows import Rows
from cormorant.inference.start import start_globals
from cormorant.inference.state import Hyperparameters
from cormorant.models.cnpf import MODELS

PATIENCE = 60.0  # seconds to wait for the other process at most
# What a chain calls, one function of each file: some of the files are used without a chain, too.
CALLED: Any = (scanning.scan, sampling._draw_tables, stacks._draw, logistic.negative_binomial)


@dataclass(frozen=True)
class Compilation:
    """What the other process is doing, if there is one; it does not outlive the block that it was started for."""

    process: subprocess.Popen[bytes] | None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: Any) -> None:
        """Wait until it has ended, which it has as a rule; after an error nobody needs it."""
        if self.process is None:
            return
        if error is not None:
            self.process.kill()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def compile_ahead() -> Compilation:
    """Start the other process, if nothing is compiled yet and a second core can do it."""
    if resolve_jobs(-1) < 2 or not sys.executable or _is_compiled():
        return Compilation(None)
    nothing = subprocess.DEVNULL
    try:
        command = [sys.executable, "-c", f"from {__name__} import sweep; sweep()"]
        return Compilation(subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing))
    except OSError:
        return Compilation(None)


def _is_compiled() -> bool:
    """Whether the sampler has ever been called, here or by an earlier process."""
    return all(is_kept(function) for function in CALLED)


def is_kept(function: Any) -> bool:
    """Whether a function need not be compiled: it has been called here, or by a process with the same files and Numba.

    Numba asks its index itself, since the files of an older version stay where they are: to it, an index of another
    Numba or of other source is empty. Where nothing is ever kept, nothing could be compiled ahead.
    """
    file = cache_file(function)
    if function.signatures or function.stats.cache_path is None or file is None:
        return True
    return bool(file._load_index())


def sweep() -> None:
    """Two sweeps of CNPF over a few rows call whatever a chain calls, with arrays of the same types."""
    rng = np.random.default_rng(0)
    rows = Rows(as_counts(rng.poisson(1.0, (8, 5))))
    model, gibbs = MODELS["cnpf"], Gibbs(MODELS["cnpf"], select_backend(1))
    state = gibbs.begin(start_globals(model, rows.counts, 2, 2, Hyperparameters(0.1, 1.0, 0.1, 0.1), rng, 0.5), rng)
    batch = rows.batch(rows.all, gibbs.dtype)
    draws = RowDraws.fresh(rows.n_rows, gibbs.visit(state).design)
    for _ in gibbs.moves:
        draws, total = gibbs.local_step(gibbs.visit(state), batch, draws)
        state = gibbs.global_step(state, total, 1.0)
