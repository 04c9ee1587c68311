"""What the inference of latent features carries: the data as blocks, globals, and sums over rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from cormorant.backends.packing import pack_indices, unpack
from cormorant.inference.field import Design
from cormorant.inference.prior import Prior
from cormorant.models.features import FeaturePriors

BLOCK = 1024  # rows visited at a time: bounds the memory, changes nothing else


@dataclass(frozen=True)
class Table:
    """A dense matrix of which some entries may be missing: zero in ``values``, false in ``observed``."""

    values: np.ndarray
    observed: np.ndarray  # bool

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.values)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.values.shape[1]

    @cached_property
    def is_complete(self) -> bool:
        """Whether nothing is missing."""
        return bool(self.observed.all())

    @cached_property
    def by_entry(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positive counts as CSR: offsets, columns, counts."""
        csr = sparse.csr_matrix(self.values)
        return csr.indptr.astype(np.int64), csr.indices, np.rint(csr.data).astype(np.int64)

    def take(self, index: np.ndarray) -> Table:
        """Some of the rows."""
        return Table(np.ascontiguousarray(self.values[index]), np.ascontiguousarray(self.observed[index]))

    def batch(self, index: np.ndarray, dtype: type) -> Table:
        """A block of rows, as the loop asks for it."""
        part = self.take(index)
        return part if part.values.dtype == dtype else replace(part, values=part.values.astype(dtype))


@dataclass(frozen=True)
class FeatureGlobals:
    """The tuples (a_k, b_k, l_k) and what governs them; the background a_0 is column 0 of ``atoms``.

    ``noise``, ``atom_scale`` and ``background_scale`` are sigma_y^2, sigma_a^2, sigma_0^2; for counts the last two are
    the rates of the gamma priors, and binary data have no noise (it stays at one). ``level`` is m_0, zero for counts.
    """

    atoms: np.ndarray  # columns x (1 + T): as drawn, or the mean of q(a)
    log_odds: np.ndarray  # b_k
    locations: np.ndarray  # T x D
    mass: float
    concentration: float
    sigma_l2: float
    noise: float = 1.0
    atom_scale: float = 1.0
    background_scale: float = 1.0
    level: float = 0.0
    usage: np.ndarray = field(default_factory=lambda: np.zeros(0))  # share of the rows that show each feature
    covariance: np.ndarray | None = None  # of q(a_i): (1 or columns) x packed; None for a draw
    priors: FeaturePriors = field(default_factory=FeaturePriors)
    learns_atom_scale: bool = True

    @property
    def n_components(self) -> int:
        """The truncation T."""
        return len(self.log_odds)

    @property
    def design(self) -> Design:
        """The locations as the field step wants them."""
        return Design.build(self.locations, Prior(np.ones(self.locations.shape[1])))

    @property
    def scales(self) -> np.ndarray:
        """Prior variances of the background and of the atoms of each feature."""
        return np.concatenate([[self.background_scale], np.full(self.n_components, self.atom_scale)])

    @property
    def prior_mean(self) -> np.ndarray:
        """Prior means of the background and of the atoms of each feature."""
        return np.concatenate([[self.level], np.zeros(self.n_components)])

    def reorder(self, order: np.ndarray) -> FeatureGlobals:
        """The same with the features in another order."""
        whole = np.concatenate([[0], order + 1])
        covariance = self.covariance
        return replace(
            self,
            atoms=np.ascontiguousarray(self.atoms[:, whole]),
            log_odds=self.log_odds[order],
            locations=self.locations[order],
            usage=self.usage[order],
            covariance=None if covariance is None else _reorder_packed(covariance, whole),
        )

    def complemented(self, which: np.ndarray) -> FeatureGlobals:
        """The same with some features told by their absence: 1 - z_k, -a_k and a_0 + a_k leave every s as it is."""
        sign = np.where(which, -1.0, 1.0)
        turn = np.diag(np.concatenate([[1.0], sign]))
        turn[0, 1:] = which
        covariance, size = self.covariance, self.n_components + 1
        if covariance is not None:
            p, q = pack_indices(size)
            covariance = np.ascontiguousarray((turn @ unpack(covariance, size) @ turn.T)[:, p, q])
        return replace(
            self,
            atoms=np.ascontiguousarray(self.atoms @ turn.T),
            log_odds=sign * self.log_odds,
            locations=sign[:, None] * self.locations,
            usage=np.where(which, 1.0 - self.usage, self.usage),
            covariance=covariance,
        )

    def log_odds_of(self, d: np.ndarray) -> np.ndarray:
        """eta_nk = b_k + l_k . d_n."""
        return self.log_odds + d @ self.locations.T


def _reorder_packed(packed: np.ndarray, order: np.ndarray) -> np.ndarray:
    p, q = pack_indices(len(order))
    return np.ascontiguousarray(unpack(packed, len(order))[:, order[p], order[q]])


def extended(z: np.ndarray) -> np.ndarray:
    """z~ = (1, z): the background is a feature that every row has."""
    return np.hstack([np.ones((len(z), 1)), z])


def as_rows(table: Table) -> Any:
    """A table where the loop's types say `Rows`: it asks for no more than ``n_rows`` and ``batch``."""
    return table
