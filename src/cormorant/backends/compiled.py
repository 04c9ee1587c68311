"""The decorators behind every compiled function, and the threads that run them.

Compiled functions release the interpreter lock and each call owns the output rows it writes, so threads need no
atomics and the result does not depend on how many there are.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
import threadpoolctl
from numba.extending import intrinsic

logger = logging.getLogger("cormorant")

# Reassociation lets sums use vector registers; NaN and infinity keep their meaning, and come of divisions by zero.
OPTIONS: Any = {
    "nogil": True,
    "fastmath": {"reassoc", "contract", "arcp", "nsz"},
    "error_model": "numpy",
}


def keeping(**options: Any) -> Any:
    """Numba's decorator that keeps what it compiles on disk, for the next process, until a file of the folder changes.

    Numba itself looks at the file of the function alone, and would go on with what was compiled into it from another.
    Where neither the folder of this package nor the user's own can be written to (a container, as a rule) Numba refuses
    to compile at all; then every process compiles for itself.
    """

    njit: Any = numba.njit

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return _stamped(njit(cache=True, **options)(function), function)
        except RuntimeError as error:
            logger.info("%s: it is compiled in every process; let NUMBA_CACHE_DIR be a folder to write to", error)
            return njit(**options)(function)

    return decorate


def _stamped(kept: Any, function: Callable[..., Any]) -> Any:
    """With the whole folder in place of the function's own file in the stamp by which Numba knows old code."""
    file, digest = cache_file(kept), digest_of(Path(function.__code__.co_filename).parent)
    if digest and hasattr(file, "_source_stamp"):
        file._source_stamp = digest
    return kept


def cache_file(kept: Any) -> Any:
    """What Numba keeps of a function on disk; None where it keeps nothing, or another Numba keeps it otherwise."""
    return getattr(getattr(kept, "_cache", None), "_cache_file", None)


@cache
def digest_of(folder: Path) -> str | None:
    """Of all source files in a folder, or of the archive that it lies in; None where there is neither."""
    files = sorted(folder.glob("*.py")) or [place for place in (folder, *folder.parents) if place.is_file()]
    sources = [hashlib.sha256(file.read_bytes()).digest() for file in files]
    return hashlib.sha256(b"".join(sources)).hexdigest() if sources else None


compiled = keeping(**OPTIONS)
# For functions that only compiled ones call: without the wrappers that Python would need, they compile sooner.
inner = keeping(**OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True})
# For the innermost of them, whose loops would not be vectorised if they were called.
inlined = numba.njit(inline="always", **OPTIONS)
# For what LLVM is told directly; such functions are called without their first argument, which is Numba's own.
instruction: Any = intrinsic

LEAST = 4096  # entries, or what takes as long, that a thread is worth being woken for
EACH = 16  # entries that take as long as one row of a matrix of rows x components
PRODUCTS = 1024  # products of numbers within one of matrices, that take as long as an entry

Item = TypeVar("Item")
Result = TypeVar("Result")


class Threads:
    """Runs whole blocks of rows side by side or, where they are few, each compiled function over parts of a block."""

    def __init__(self, n_jobs: int | None = None):
        self.count = resolve_jobs(n_jobs)
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._workers = ThreadPoolExecutor(self.count) if self.count > 1 else None
        self._here = threading.local()
        self._given_up = threading.Event()

    def __reduce__(self):
        """A copy, or a fitted model read back from a pickle, makes threads of its own."""
        return Threads, (self.count,)

    @property
    def _pool(self) -> ThreadPoolExecutor | None:
        """None where there is nobody to share work with: a worker that has a block of its own does not split it."""
        if self._process != os.getpid():  # a fork copies the pool without its threads: who waited for them would hang
            self._begin()
        return None if getattr(self._here, "has_block", False) else self._workers

    def map(self, function: Callable[[Item], Result], items: Iterable[Item], splits: bool = True) -> Iterator[Result]:
        """``function`` of each item, in their order, a few at a time.

        Side by side, if there is an item for every thread, or if what an item takes longest for never ``splits``; then
        what the function calls is not split.
        """
        pool, items = self._pool, iter(items)
        first = list(islice(items, self.count))
        if pool is None or len(first) < (self.count if splits else 2):
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
        """Call ``function(first, last)`` on ranges of rows; ``offsets`` (CSR style) gives the entries before each.

        Handing a range to a thread takes longer than a few rows do: ranges have ``LEAST`` entries or more.
        """
        n_rows = len(offsets) - 1
        n_ranges = min(4 * self.count, n_rows, int(offsets[-1] - offsets[0]) // LEAST)
        if self._pool is None or n_ranges < 2:
            function(0, n_rows)
            return
        targets = np.linspace(offsets[0], offsets[-1], n_ranges + 1)[1:-1]
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

        starts, pool = range(0, a.shape[0], size), self._pool
        is_short = a.size * b.shape[1] < LEAST * PRODUCTS
        for _ in map(work, starts) if pool is None or len(starts) < 2 or is_short else pool.map(work, starts):
            pass
        return out

    def over(self, function: Callable[[int, int], None], n_rows: int, each: int = EACH) -> None:
        """Call ``function(first, last)`` on ranges that cover ``n_rows`` rows, one of which is as ``each`` entries."""
        self.over_rows(function, each * np.arange(n_rows + 1))


class SingleBlasThread:
    """A context in which BLAS leaves the cores to our own threads, and rounds the same whatever their number.

    The setting is the process's, and threads of a service come and go at any time: the first to enter makes it, the
    last to leave undoes it. If each put back what it found, the last would put back what another had made.
    """

    def __init__(self) -> None:
        self.renew()
        self._inside = 0
        self._limits: Any = None
        self._libraries: Any = None

    def renew(self) -> None:
        """After a fork: who held the lock is not there to let go of it."""
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                if self._libraries is None:  # looked for once: that takes as long as some rows
                    self._libraries = threadpoolctl.ThreadpoolController().select(user_api="blas")
                self._limits = self._libraries.limit(limits=1)
                _release_blas()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limits.restore_original_limits()
                _release_blas()


def _release_blas() -> None:
    """From version 3.8 on threadpoolctl has other threads wait until the one that has set a limit lets go of it."""
    controller = getattr(threadpoolctl, "OpenBLASController", None)
    getattr(controller, "clear_controlling_thread", lambda: None)()


_SINGLE = SingleBlasThread()
if hasattr(os, "register_at_fork"):  # where a system forks
    os.register_at_fork(after_in_child=_SINGLE.renew)


def single_blas_thread() -> SingleBlasThread:
    """The one such context of this process."""
    return _SINGLE


def resolve_jobs(n_jobs: int | None) -> int:
    """Number of threads that scikit-learn's ``n_jobs`` means here: None is 1, -1 every core, -2 all but one.

    Of a machine's cores those count that this process may use: a container, or whoever sets the affinity, may leave it
    two of 64.
    """
    if n_jobs is None:
        return 1
    if n_jobs == 0 or not isinstance(n_jobs, int | np.integer):
        raise ValueError(f"n_jobs must be a non-zero whole number or None (-1 uses every core), got {n_jobs!r}.")
    if n_jobs > 0:
        return int(n_jobs)
    from joblib import cpu_count  # here, as it takes a while and not everyone asks

    return max(1, cpu_count() + 1 + int(n_jobs))
