"""Readers of count files, one module for each kind of file, behind `read` and `write`."""

from cormorant.data.readers.matrices import (
    MATRIX_SUFFIXES,
    has_header,
    read_matrix,
    read_matrix_of_counts,
    write_matrix,
)
from cormorant.data.readers.npz import write
from cormorant.data.readers.query import read_query
from cormorant.data.readers.registry import FORMATS, read

__all__ = [
    "FORMATS",
    "MATRIX_SUFFIXES",
    "has_header",
    "read",
    "read_matrix",
    "read_matrix_of_counts",
    "read_query",
    "write",
    "write_matrix",
]
