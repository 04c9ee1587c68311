"""Data to try things on: the embedded sample."""

from cormorant.datasets.nyt import load_nyt

__all__ = ["load_nyt"]
