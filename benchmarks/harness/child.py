"""The process that does one fit: `python -m harness.child '{"split": ..., "peer": ..., ...}' 7200`, seconds allowed."""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cormorant.data import Counts

from .jobs import Job, Outcome
from .packages import PEERS
from .scoring import Fitted, Pair, entry_probabilities
from .splits import Split


def peak_megabytes() -> float:
    """The most memory this process has held.

    Linux starts `ru_maxrss` of a new program at what the program that started it held; VmHWM is its own.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # macOS counts bytes


def fit(job: Job) -> Outcome:
    """Load, fit, predict; only the fit and the prediction are timed."""
    peer, split = PEERS[job.peer], Split.read(Path(job.split))
    peer.warm_up()
    before = peak_megabytes()
    begin, clock = time.process_time(), time.perf_counter()
    model = peer.fit(split.train, job.seed, **job.setting)
    seconds, wall = time.process_time() - begin, time.perf_counter() - clock
    megabytes = peak_megabytes() - before
    probabilities, inference = predict(model, split)
    return Outcome(probabilities, seconds, wall, inference, megabytes)


def predict(model: Fitted, split: Split) -> tuple[dict[str, np.ndarray], float]:
    """Probabilities of the test entries, and processor seconds per 1,000 rows (of the package, not of the score)."""
    watch = Stopwatch()
    found = {f: entry_probabilities(watch.pairs(model, seen), test) for f, (seen, test) in split.pairs.items()}
    wrong = sum(int(np.sum(~(p >= 0))) for p in found.values())
    if wrong:
        raise ValueError(f"{wrong} of the predicted probabilities are not numbers")
    return found, watch.seconds * 1000 / sum(seen.n_rows for seen, _ in split.pairs.values())


@dataclass
class Stopwatch:
    """Processor seconds that a package takes for the weights of rows, all pairs at once or one by one."""

    seconds: float = 0.0

    def pairs(self, model: Fitted, observed: Counts) -> Iterator[Pair]:
        pairs = None
        while True:
            begin = time.process_time()
            pairs = pairs or iter(model.pairs(observed))
            pair = next(pairs, None)
            self.seconds += time.process_time() - begin
            if pair is None:
                return
            yield pair


if __name__ == "__main__":
    allowed = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_CPU, (allowed, allowed + 5))  # the system ends it by SIGXCPU
    warnings.simplefilter("ignore")  # the packages' own deprecations
    job = Job(**json.loads(sys.argv[1]))
    fit(job).write(job.file)
