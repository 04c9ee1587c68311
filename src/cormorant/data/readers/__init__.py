"""Readers of count files, one module for each kind of file, behind `read` and `write`."""

from cormorant.data.readers.npz import write
from cormorant.data.readers.registry import FORMATS, read

__all__ = ["FORMATS", "read", "write"]
