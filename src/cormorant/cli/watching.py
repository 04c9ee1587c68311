"""What is said while models are fitted: their progress, and warnings as notes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cormorant.cli.console import err, note
from cormorant.cli.errors import in_options

if TYPE_CHECKING:
    from cormorant.inference.fit import Callback


@contextmanager
def watching(
    labels: Sequence[str], quiet: bool = False, truncation_notes: bool = True
) -> Iterator[dict[str, list[Callback]]]:
    """Callbacks for the fit of each label that show its progress; on the way out, warnings become notes.

    Args:
        labels: One for each fit, in their order.
        quiet: Whether to show no progress.
        truncation_notes: Whether to say so if every component is in use.
    """
    from cormorant.estimators.progress import progress_bars

    with _truncation_as_note(truncation_notes):
        if quiet:
            yield {label: [] for label in labels}
            return
        with progress_bars(labels, err) as callbacks:
            yield {label: [callback] for label, callback in callbacks.items()}


@contextmanager
def _truncation_as_note(wanted: bool) -> Iterator[None]:
    """The library's warning that every component is in use, as a line that names the option."""
    from cormorant.estimators import TruncationWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TruncationWarning)
        yield
    messages = []
    for warning in caught:
        if issubclass(warning.category, TruncationWarning):
            messages.append(in_options(str(warning.message)))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    for message in dict.fromkeys(messages) if wanted else ():  # once, even if several models say it
        note(message)
