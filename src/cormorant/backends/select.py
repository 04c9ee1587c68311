"""Which backend runs a fit. All share one interface; the loop does not know which it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np
from numba.core import config

from cormorant.backends.compiled import Item, Result
from cormorant.backends.sampling import Sampling


class Backend(Protocol):
    """Arrays in, arrays out: the steps whose cost grows with the data."""

    sampling: Sampling  # the draws of the exact sampler

    def map(self, function: Callable[[Item], Result], items: Iterable[Item], splits: bool = True) -> Iterator[Result]:
        """``function`` of each block of rows, in their order; side by side where there are threads for it.

        Where there are more threads than items, each takes all of them in turn, unless it never ``splits``.
        """
        ...

    @property
    def given_up(self) -> bool:
        """Whether nobody waits for the items of `map` any more: one that takes long had better end."""
        ...

    def product(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Matrix product a @ b."""
        ...

    def pack_products(self, a: np.ndarray) -> np.ndarray:
        """a_u a_u^T of each row, packed."""
        ...

    def allocate(
        self,
        indptr: np.ndarray,
        indices: np.ndarray,
        counts: np.ndarray,
        atoms: np.ndarray,
        weights: np.ndarray,
        log_scale: np.ndarray,
        n: np.ndarray,
        sweeps: int,
        zero_order: bool,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Allocated counts n, propensities theta, and count / normaliser of each entry."""
        ...

    def column_totals(
        self, offsets: np.ndarray, rows: np.ndarray, ratio: np.ndarray, theta: np.ndarray, atoms: np.ndarray
    ) -> np.ndarray:
        """Expected counts, columns x components."""
        ...

    def entry_rates(self, indptr: np.ndarray, indices: np.ndarray, x: np.ndarray, atoms: np.ndarray) -> np.ndarray:
        """sum_k x_uk a_ki at each entry."""
        ...

    def logistic_bound(
        self, mean: np.ndarray, variance: np.ndarray, log_rate: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E log(1 + exp eta), its slope and its curvature."""
        ...

    def logistic(self, mean: np.ndarray, log_rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log(1 + exp eta) and its slope."""
        ...

    def negative_binomial(
        self,
        field: np.ndarray,
        log_rate: np.ndarray,
        n: np.ndarray,
        weights: np.ndarray,
        bounded: np.ndarray | None,
        dtype: type,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """n F - (w + n) log(1 + exp eta); and as ``dtype`` its slope and minus its curvature (or a bound of it)."""
        ...

    def softplus_averages(
        self, mean: np.ndarray, variance: np.ndarray, log_rate: np.ndarray, nodes: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Seven averages of the softplus link and its derivatives, 7 x rows x components."""
        ...

    def gaussian_moments(self, precision: np.ndarray, linear: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means P^-1 b and packed covariances P^-1 of a stack of Gaussians, given P (packed) and b."""
        ...

    def gaussian_log_densities(self, precision: np.ndarray, linear: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Their log densities at a point each, up to a constant."""
        ...


def select_backend(n_jobs: int | None = None) -> Backend:
    """The fastest backend of this machine, with scikit-learn's meaning of ``n_jobs``."""
    settings: Any = config
    if settings.DISABLE_JIT:
        raise ValueError(
            "cormorant runs compiled code, and NUMBA_DISABLE_JIT keeps Numba from compiling: unset it. "
            "(To step through what is computed, see the NumPy twins in cormorant.backends.numpy_reference.)"
        )
    from cormorant.backends.cpu import CpuBackend

    return CpuBackend(n_jobs)
