"""AnnData files (.h5ad) of single-cell counts."""

from __future__ import annotations

from pathlib import Path

from cormorant.data.counts import Counts
from cormorant.data.errors import DataError
from cormorant.data.readers.npz import checked


def read_h5ad(path: Path, vocabulary: list[str] | None, *, layer: str | None = None, weights: bool = False) -> Counts:
    """The matrix X, or a layer, of an AnnData: cells by genes, named by obs and var."""
    try:
        import anndata
    except ImportError as error:
        raise ImportError(f"Reading {path.name} needs the package anndata: pip install 'cormorant[anndata]'") from error
    try:
        adata = anndata.read_h5ad(path)
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise DataError(f"{path}: not an AnnData file, or damaged ({error}).") from error
    return checked(path, adata, None, vocabulary, weights, layer=layer)
