"""The decorators behind every compiled function, and the threads that run them.

Compiled functions release the interpreter lock and each call owns the output rows it writes, so threads need no
atomics and the result does not depend on how many there are.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import chain, islice
from typing import Any, TypeVar

import numba
import numpy as np
from numba.extending import intrinsic
from threadpoolctl import threadpool_limits

# Reassociation lets sums use vector registers; NaN and infinity keep their meaning, and come of divisions by zero.
OPTIONS: Any = {
    "nogil": True,
    "cache": True,
    "fastmath": {"reassoc", "contract", "arcp", "nsz"},
    "error_model": "numpy",
}
compiled = numba.njit(**OPTIONS)
# For functions that only compiled ones call: without the wrappers that Python would need, they compile sooner.
inner = numba.njit(**OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True})
# For the innermost of them, whose loops would not be vectorised if they were called.
inlined = numba.njit(inline="always", **OPTIONS | {"cache": False})
# For what LLVM is told directly; such functions are called without their first argument, which is Numba's own.
instruction: Any = intrinsic

Item = TypeVar("Item")
Result = TypeVar("Result")


class Threads:
    """Runs whole blocks of rows side by side or, where they are few, each compiled function over parts of a block."""

    def __init__(self, n_jobs: int | None = None):
        self.count = resolve_jobs(n_jobs)
        self._workers = ThreadPoolExecutor(self.count) if self.count > 1 else None
        self._here = threading.local()
        self._given_up = threading.Event()

    def __reduce__(self):
        """A copy, or a fitted model read back from a pickle, makes threads of its own."""
        return Threads, (self.count,)

    @property
    def _pool(self) -> ThreadPoolExecutor | None:
        """None where there is nobody to share work with: a worker that has a block of its own does not split it."""
        return None if getattr(self._here, "has_block", False) else self._workers

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """``function`` of each item, in their order, a few at a time.

        Side by side, if there is an item for every thread; then what the function calls is not split.
        """
        pool, items = self._pool, iter(items)
        first = list(islice(items, self.count))
        if pool is None or len(first) < self.count:
            yield from map(function, chain(first, items))
            return

        def work(item: Item) -> Result:
            self._here.has_block = True
            try:
                return function(item)
            finally:
                self._here.has_block = False

        pending: deque[Future[Result]] = deque()
        try:
            for item in chain(first, items):
                pending.append(pool.submit(work, item))
                if len(pending) > self.count:  # one more than threads: none waits, and few results are held
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except BaseException:
            self._given_up.set()
            raise
        finally:  # after an error or an interrupt nothing must go on behind the caller's back
            for future in pending:
                future.cancel()
            wait(pending)
            self._given_up.clear()

    @property
    def given_up(self) -> bool:
        """Whether nobody waits for the items of `map` any more: one that takes long had better end."""
        return self._given_up.is_set()

    def over_rows(self, function: Callable[[int, int], None], offsets: np.ndarray) -> None:
        """Call ``function(first, last)`` on ranges of rows; ``offsets`` (CSR style) gives the work before each."""
        n_rows = len(offsets) - 1
        if self._pool is None or n_rows < 2:  # handing one row to a thread takes longer than the row
            function(0, n_rows)
            return
        targets = np.linspace(offsets[0], offsets[-1], 4 * self.count + 1)[1:-1]
        cuts = np.unique(np.concatenate([[0], np.searchsorted(offsets, targets), [n_rows]]))
        list(self._pool.map(function, cuts[:-1].tolist(), cuts[1:].tolist()))

    def product(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a @ b in blocks of rows that do not depend on the number of threads, and so neither does the rounding.

        Expects a BLAS that uses one thread itself (`single_blas_thread`).
        """
        out = np.empty((a.shape[0], b.shape[1]), np.result_type(a, b))
        size = 128 if a.shape[0] <= 1024 else 512

        def work(first: int) -> None:
            np.matmul(a[first : first + size], b, out=out[first : first + size])

        starts = range(0, a.shape[0], size)
        for _ in map(work, starts) if self._pool is None or len(starts) < 2 else self._pool.map(work, starts):
            pass
        return out

    def over(self, function: Callable[[int, int], None], n_rows: int) -> None:
        """Call ``function(first, last)`` on ranges that cover ``n_rows`` rows of equal work."""
        self.over_rows(function, np.arange(n_rows + 1))


def single_blas_thread() -> threadpool_limits:
    """A context in which BLAS leaves the cores to our own threads, and rounds the same whatever their number."""
    return threadpool_limits(limits=1, user_api="blas")


def resolve_jobs(n_jobs: int | None) -> int:
    """Number of threads that scikit-learn's ``n_jobs`` means here: None is 1, -1 every core, -2 all but one."""
    if n_jobs is None:
        return 1
    if n_jobs == 0 or not isinstance(n_jobs, int | np.integer):
        raise ValueError(f"n_jobs must be a non-zero whole number or None (-1 uses every core), got {n_jobs!r}.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores + 1 + n_jobs) if n_jobs < 0 else int(n_jobs)
