"""From files and arrays to `Counts`, and from `Counts` to splits."""

from cormorant.data.convert import as_counts
from cormorant.data.counts import Counts
from cormorant.data.errors import DataError
from cormorant.data.matrix import Matrix, as_matrix
from cormorant.data.readers import read, read_matrix, read_query, write
from cormorant.data.splits import HeldOut, hold_out, hold_out_rows, split_entries

__all__ = [
    "Counts",
    "DataError",
    "HeldOut",
    "Matrix",
    "as_counts",
    "as_matrix",
    "hold_out",
    "hold_out_rows",
    "read",
    "read_matrix",
    "read_query",
    "split_entries",
    "write",
]
