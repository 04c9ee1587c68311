"""Where counts and fitted models come from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cormorant._words import sized
from cormorant.cli.records import read_record

if TYPE_CHECKING:
    from cormorant.data import Counts

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


def load_fit(fit: Path) -> Any:
    """The fitted model in a folder."""
    from cormorant.estimators import load

    return load(fit)


def counts_for(model: Any, source: str) -> Counts:
    """Counts whose columns are those of the fit."""
    from cormorant.estimators.inputs import to_counts

    return to_counts(model, load_counts(source), reset=False)


def refuse_features(model: Any, what: str) -> None:
    """Say so where something is made for models of counts alone."""
    from cormorant.explore.fitted import has_features

    if has_features(model):
        raise ValueError(
            f"{what} tells of models of counts; which features a row of {model.model.name} shows is said by "
            "cormorant rows and cormorant export --counts."
        )


def describe(counts: Counts) -> str:
    """Size in words."""
    return sized(counts)
