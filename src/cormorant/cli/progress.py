"""Progress of one or several fits, drawn on standard error so that standard output stays for results."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cormorant.cli.console import err, note, say
from cormorant.cli.errors import in_options

if TYPE_CHECKING:
    from rich.progress import Progress

    from cormorant.inference.fit import Callback, Info
    from cormorant.inference.state import State

LINE_EVERY = 20  # epochs


@contextmanager
def fitting(
    labels: Sequence[str], quiet: bool = False, truncation_notes: bool = True
) -> Iterator[dict[str, list[Callback]]]:
    """Callbacks for the fit of each label that move its bar; on the way out, warnings become notes.

    Args:
        labels: One for each fit, in their order.
        quiet: Whether to show no progress.
        truncation_notes: Whether to say so if every component is in use.
    """
    with _truncation_as_note(truncation_notes):
        if quiet or not err.is_terminal:
            yield {label: [] if quiet else [_tell(label)] for label in labels}
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        name, state = TextColumn("{task.description}"), TextColumn("{task.fields[state]}")
        with Progress(name, BarColumn(bar_width=16), state, TimeRemainingColumn(), console=err) as bars:
            yield {label: [_follow(bars, label)] for label in labels}


def _tell(label: str) -> Callback:
    """A callback for logs, where bars cannot move: a line now and then."""

    def tell(info: Info, state: State) -> None:
        if info.stage == "fit" and info.epoch % LINE_EVERY == 0:
            watched = "" if info.perplexity is None else f", validation perplexity {info.perplexity:,.0f}"
            say(f"{label}: epoch {info.epoch} of at most {info.max_epochs}{watched}")

    return tell


def _follow(bars: Progress, label: str) -> Callback:
    """A callback that begins its bar with the first epoch."""
    width = len("softplus-cnpf")
    task = bars.add_task(f"{label:{width}}", start=False, total=None, state="waiting")
    watched = ""

    def follow(info: Info, state: State) -> None:
        nonlocal watched
        bars.start_task(task)
        if info.perplexity is not None:
            watched = f", perplexity {info.perplexity:,.0f}"
        elif info.bound is not None:
            watched = f", bound {info.bound:,.0f}"
        doing = f"{info.epoch} of at most {info.max_epochs} epochs"
        if info.stage != "fit":
            doing = f"trying {info.stage}"
        bars.update(task, total=info.max_epochs, completed=info.epoch, state=doing + watched)

    return follow


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
