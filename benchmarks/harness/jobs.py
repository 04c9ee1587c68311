"""Fits, each in a process of its own, so that its memory can be told; what is done is kept and not done again."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

BENCHMARKS = Path(__file__).resolve().parents[1]
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


@dataclass(frozen=True)
class Job:
    """One fit of one package at one setting, on the split in a folder."""

    split: str
    peer: str
    setting: dict[str, Any]
    seed: int

    @property
    def file(self) -> Path:
        """Where its outcome is kept."""
        digest = hashlib.sha256(json.dumps([self.setting, self.seed], sort_keys=True).encode()).hexdigest()
        return Path(self.split) / "fits" / self.peer.replace(" ", "-") / f"{digest[:16]}.npz"


@dataclass(frozen=True)
class Outcome:
    """What a fit gave, or why it gave nothing.

    Attributes:
        probabilities: Of the test entries, by the fraction observed.
        seconds: Of one processor, for the fit; other work on the machine does not stretch them.
        wall: Seconds on the clock, for the fit.
        inference: Processor seconds per 1,000 held-out rows, mean over the fractions.
        megabytes: Peak memory of the fit, above what the process held with the data loaded.
        failure: Why there is nothing, if so.
    """

    probabilities: dict[str, np.ndarray]
    seconds: float = 0.0
    wall: float = 0.0
    inference: float = 0.0
    megabytes: float = 0.0
    failure: str = ""

    def write(self, file: Path) -> None:
        """All or nothing, so that an interrupted write is not taken for an outcome."""
        figures = {name: value for name, value in asdict(self).items() if name != "probabilities"}
        small = {fraction: p.astype(np.float32) for fraction, p in self.probabilities.items()}
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(".part.npz")
        arrays: dict[str, Any] = {"figures": np.array(json.dumps(figures)), **small}
        np.savez(unfinished, **arrays)
        unfinished.replace(file)

    @classmethod
    def read(cls, file: Path) -> Outcome:
        """What `write` wrote."""
        with np.load(file) as stored:
            kept = {name: stored[name].astype(np.float64) for name in stored.files if name != "figures"}
            return cls(kept, **json.loads(str(stored["figures"])))


def run_all(jobs: Sequence[Job], n_jobs: int, limit: int) -> list[Outcome]:
    """Run what has not been run, ``n_jobs`` processes at a time, each for at most ``limit`` processor seconds."""
    with ThreadPoolExecutor(n_jobs) as pool:
        return list(pool.map(lambda job: run(job, limit), jobs))


def run(job: Job, limit: int) -> Outcome:
    """The outcome of one job; a failure is an outcome, too."""
    if not job.file.is_file():
        failure = _fit_apart(job, limit)
        if failure:
            Outcome({}, failure=failure).write(job.file)
        found = Outcome.read(job.file)
        print(f"{job.peer} {job.setting} seed {job.seed}: {found.failure or f'{found.seconds:.1f} s'}", flush=True)
    return Outcome.read(job.file)


def _fit_apart(job: Job, limit: int) -> str:
    """Fit in a new process, which writes the outcome; why it could not, or nothing."""
    command = [sys.executable, "-m", "harness.child", json.dumps(asdict(job)), str(limit)]
    path = os.pathsep.join(filter(None, [str(BENCHMARKS), os.environ.get("PYTHONPATH")]))
    environment = os.environ | ONE_THREAD | {"PYTHONPATH": path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    if done.returncode == -signal.SIGXCPU:
        return f"took more than {limit} s"
    said = done.stderr.strip().splitlines()
    return said[-1] if said else f"ended with status {done.returncode}"
