"""How the random function scales a weight: x ~ Gamma(w, 1 / r(F)) with r = exp (CNPF) or softplus.

With x summed out, row u and component k keep the log likelihood

    h(F) = n log r(F) - (w + n) log(1 + A r(F))

whose slope and curvature, averaged over F ~ N(mean, variance), are linear in n and in w + n. An ``Expansion`` holds
those averages; the field step and the statistics need nothing else of a link.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np

from cormorant.backends.select import Backend
from cormorant.models.cnpf import link_function


@dataclass(frozen=True)
class Expansion:
    """Averages over F of the two logarithms in h and of their derivatives; arrays are rows x components."""

    log_scale: np.ndarray  # E log r - E log(1 + A r), so that E log x = psi(w + n) + log_scale
    log_one: np.ndarray  # E log(1 + A r)
    mean_scale: np.ndarray  # E x / (w + n)
    count_slope: np.ndarray | float  # E (log r)'
    count_curvature: np.ndarray | float  # -E (log r)''
    shape_slope: np.ndarray  # E (log(1 + A r))'
    shape_curvature: np.ndarray  # E (log(1 + A r))''

    def take(self, index: np.ndarray) -> Expansion:
        """Some of the rows."""
        values = (getattr(self, f.name) for f in fields(self))
        return Expansion(*(value[index] if isinstance(value, np.ndarray) else value for value in values))

    def put(self, rows: np.ndarray, other: Expansion) -> None:
        """Take over some rows (a mask), in place."""
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray):
                value[rows] = getattr(other, f.name)

    def slope(self, n: np.ndarray, w: np.ndarray) -> np.ndarray:
        """E h'(F)."""
        return n * self.count_slope - (w + n) * self.shape_slope

    def omega(self, n: np.ndarray, w: np.ndarray) -> np.ndarray:
        """-E h''(F), the precision that component k adds along g_k."""
        return n * self.count_curvature + (w + n) * self.shape_curvature


@dataclass(frozen=True)
class Derivatives:
    """h and its derivatives at a known F, rows x components; derivatives may be in single precision."""

    value: np.ndarray  # h
    slope: np.ndarray  # h'
    omega: np.ndarray  # -h'', or zero where it is negative


class Link(Protocol):
    """A link gives its expansion; ``is_bound`` says whether the expansion makes every update monotone."""

    name: str
    is_bound: bool

    def scale(self, field: np.ndarray) -> np.ndarray:
        """r(F), up to a factor shared by a row."""
        ...

    def expand(self, mean: np.ndarray, variance: np.ndarray, log_rate: np.ndarray, backend: Backend) -> Expansion:
        """Average h and its derivatives; ``log_rate`` is log A (per component, or rows x components)."""
        ...

    def at(self, field: np.ndarray, log_rate: np.ndarray, backend: Backend) -> tuple[np.ndarray, np.ndarray]:
        """log(1 + A r) and A r / (1 + A r), where F is known."""
        ...

    def likelihood(
        self,
        field: np.ndarray,
        log_rate: np.ndarray,
        n: np.ndarray,
        w: np.ndarray,
        backend: Backend,
        dtype: type = np.float64,
        bounded: np.ndarray | None = None,
    ) -> Derivatives:
        """h where F is known; rows that are ``bounded`` get curvatures that are above the true ones."""
        ...


class ExponentialLink:
    """r(F) = exp F, with the Jaakkola-Jordan bound on log(1 + exp eta), eta = F + log A: closed form and monotone."""

    name = "exp"
    is_bound = True

    def scale(self, field: np.ndarray) -> np.ndarray:
        """exp F, the largest of a row taken out."""
        return np.exp(field - field.max(axis=-1, keepdims=True))

    def expand(self, mean: np.ndarray, variance: np.ndarray, log_rate: np.ndarray, backend: Backend) -> Expansion:
        """With c^2 = E eta^2: E log(1 + exp eta) <= (E eta + c)/2 + log(1 + exp(-c))."""
        log_one, shape_slope, shape_curvature = backend.logistic_bound(mean, variance, log_rate)
        return Expansion(
            log_scale=mean - log_one,
            log_one=log_one,
            mean_scale=shape_slope * np.exp(-log_rate),
            count_slope=1.0,
            count_curvature=0.0,
            shape_slope=shape_slope,
            shape_curvature=shape_curvature,
        )

    def at(self, field: np.ndarray, log_rate: np.ndarray, backend: Backend) -> tuple[np.ndarray, np.ndarray]:
        """log(1 + exp eta) and sigma(eta)."""
        return backend.logistic(field, log_rate)

    def likelihood(
        self,
        field: np.ndarray,
        log_rate: np.ndarray,
        n: np.ndarray,
        w: np.ndarray,
        backend: Backend,
        dtype: type = np.float64,
        bounded: np.ndarray | None = None,
    ) -> Derivatives:
        """h = n F - (w + n) log(1 + exp eta); the bound's curvature is tanh(eta / 2) / (2 eta)."""
        return Derivatives(*backend.negative_binomial(field, log_rate, n, w, bounded, dtype))


class SoftplusLink:
    """r(F) = log(1 + exp F), by Gauss-Hermite averages; not concave in F, so the field step searches along its line."""

    name = "softplus"
    is_bound = False

    def __init__(self, n_nodes: int = 9):
        nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
        self.nodes, self.weights = nodes, weights / weights.sum()

    def scale(self, field: np.ndarray) -> np.ndarray:
        """log(1 + exp F)."""
        return link_function(self.name, field)

    def expand(self, mean: np.ndarray, variance: np.ndarray, log_rate: np.ndarray, backend: Backend) -> Expansion:
        """Averages over the nodes of log r, log(1 + A r), r / (1 + A r) and the derivatives of the logarithms."""
        averages = backend.softplus_averages(mean, variance, log_rate, self.nodes, self.weights)
        return Expansion(averages[0] - averages[1], *averages[1:])

    def _known(self, field: np.ndarray, log_rate: np.ndarray, backend: Backend) -> Expansion:
        """The expansion where F is known: one node."""
        averages = backend.softplus_averages(field, np.zeros_like(field), log_rate, np.zeros(1), np.ones(1))
        return Expansion(averages[0] - averages[1], *averages[1:])

    def at(self, field: np.ndarray, log_rate: np.ndarray, backend: Backend) -> tuple[np.ndarray, np.ndarray]:
        """log(1 + A r) and A r / (1 + A r)."""
        e = self._known(field, log_rate, backend)
        return e.log_one, e.mean_scale * np.exp(log_rate)

    def likelihood(
        self,
        field: np.ndarray,
        log_rate: np.ndarray,
        n: np.ndarray,
        w: np.ndarray,
        backend: Backend,
        dtype: type = np.float64,
        bounded: np.ndarray | None = None,
    ) -> Derivatives:
        """h = n log r - (w + n) log(1 + A r); its two curvatures have either sign, and their sizes bound their sum."""
        e = self._known(field, log_rate, backend)
        if bounded is not None:
            for curvature in (e.count_curvature, e.shape_curvature):
                assert isinstance(curvature, np.ndarray)  # this link's are
                curvature[bounded] = np.abs(curvature[bounded])
        value, omega = n * e.log_scale - w * e.log_one, np.maximum(e.omega(n, w), 0.0)
        return Derivatives(value, e.slope(n, w).astype(dtype), omega.astype(dtype))


LINKS: dict[str, Link] = {link.name: link for link in (ExponentialLink(), SoftplusLink())}
