"""Where counts and fitted models come from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cormorant._words import sized
from cormorant.cli.console import note
from cormorant.cli.records import read_record

if TYPE_CHECKING:
    from cormorant.data import Counts, Matrix

SAMPLE = "nyt"


def load_counts(source: str, **options: Any) -> Counts:
    """The embedded sample for `nyt`, else what the file holds; options are those of `cormorant.read`.

    Fractions that `cormorant prepare --weights` accepted need not be accepted again.
    """
    if source == SAMPLE:
        from cormorant.datasets import load_nyt

        if options:
            raise ValueError(f"{SAMPLE} is the embedded sample, which is not read with options; leave them out.")
        return load_nyt()
    from cormorant.data import read

    if Path(source).is_dir():
        raise IsADirectoryError(f"{source} is a folder; give a file of counts, or {SAMPLE} for the embedded sample.")
    path = Path(source)
    if path.suffix == ".npz" and read_record(path).get("reader", {}).get("weights"):
        options = {"weights": True, **options}
    return read(path, **options)


def load_rows(source: str, likelihood: str | None) -> Counts | Matrix:
    """Rows to fit or to look at: counts or, for models of features, also a matrix (.npy, .csv, .tsv).

    Triples are counts, and zero where there is none; of real numbers, they are a matrix with entries missing there.
    """
    from cormorant.data.readers import MATRIX_SUFFIXES, has_header, read_matrix, read_matrix_of_counts

    path = Path(source)
    if likelihood is None or path.suffix not in MATRIX_SUFFIXES or path.is_dir():
        return load_counts(source)
    if likelihood == "gaussian" or path.suffix == ".npy":
        return read_matrix(path)
    matrix = read_matrix_of_counts(path)
    return load_counts(source, header=has_header(path)) if matrix is None else matrix


def note_on_likelihood(source: str, data: Counts | Matrix, likelihood: str | None, is_given: bool) -> None:
    """Say so where zeros and ones, or counts, are to be fitted as real numbers, and nobody asked for that."""
    import numpy as np

    from cormorant.data import Matrix

    if likelihood != "gaussian" or is_given:
        return
    entries = data.values[~np.isnan(data.values)] if isinstance(data, Matrix) else data.data
    if np.any((entries < 0) | (entries % 1 != 0)):
        return
    what, better = ("zeros and ones", "bernoulli") if entries.max(initial=0) <= 1 else ("counts", "poisson")
    note(f"{source} has {what} alone, which are fitted as real numbers; --likelihood {better} takes them for {what}.")


def load_fit(fit: Path) -> Any:
    """The fitted model in a folder."""
    from cormorant.estimators import load

    return load(fit)


def counts_for(model: Any, source: str) -> Any:
    """Counts, or a matrix of real numbers, whose columns are those of the fit."""
    from cormorant.data import Matrix
    from cormorant.estimators.inputs import check_columns, to_counts

    found = load_rows(source, getattr(model, "likelihood", None))
    if not isinstance(found, Matrix):
        return to_counts(model, found, reset=False)
    check_columns(model, found)
    return found


def describe(counts: Counts | Matrix) -> str:
    """Size in words."""
    return sized(counts)
