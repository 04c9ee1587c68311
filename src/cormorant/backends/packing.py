"""Symmetric matrices as backends want them, packed: the entries (p, q), q <= p, row by row, along the last axis."""

from __future__ import annotations

import numpy as np


def pack_indices(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the packed entries."""
    return np.tril_indices(size)


def diagonal_places(size: int) -> np.ndarray:
    """Where the diagonal is among the packed entries."""
    p = np.arange(size)
    return p * (p + 3) // 2


def pack_products(a: np.ndarray) -> np.ndarray:
    """a_u a_u^T, for each row of ``a``."""
    size = a.shape[1]
    out = np.empty((len(a), size * (size + 1) // 2), a.dtype)
    for p in range(size):
        first = p * (p + 1) // 2
        np.multiply(a[:, : p + 1], a[:, p : p + 1], out=out[:, first : first + p + 1])
    return out


def unpack(packed: np.ndarray, size: int) -> np.ndarray:
    """The whole matrices."""
    full = np.empty((*packed.shape[:-1], size, size))
    p, q = pack_indices(size)
    full[..., p, q] = full[..., q, p] = packed
    return full


def add_diagonal(packed: np.ndarray, diagonal: np.ndarray | float, size: int) -> np.ndarray:
    """With something added to the diagonals, in place."""
    packed[:, diagonal_places(size)] += diagonal
    return packed
