"""Progress of one or several fits: a bar each, moved by a callback, with what is watched, the rate, the time left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from cormorant.inference.fit import Callback, Info
    from cormorant.inference.state import State


@contextmanager
def progress_bars(labels: Sequence[str], console: Console | None = None) -> Iterator[dict[str, Callback]]:
    """The callback of each label's fit, which moves its bar; on standard error unless a console is given."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"), BarColumn(bar_width=16), TextColumn("{task.fields[state]}"),
        TextColumn("{task.fields[rate]}"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console or Console(stderr=True)) as bars:
        width = max(map(len, labels), default=0)
        yield {label: _follow(bars, f"{label:{width}}") for label in labels}
        for task in bars.tasks:  # a fit that stopped early is over too
            bars.update(task.id, total=task.completed)


def _follow(bars: Progress, description: str) -> Callback:
    """A callback whose bar begins with the first epoch."""
    task = bars.add_task(description, start=False, total=None, state="waiting", rate="")
    watched = ""

    def follow(info: Info, state: State) -> None:
        nonlocal watched
        bars.start_task(task)
        if info.perplexity is not None:
            watched = f", perplexity {_short(info.perplexity)}"
        elif info.bound is not None:
            watched = f", bound {_short(info.bound)}"
        doing = f"{info.epoch} of at most {info.max_epochs} epochs"
        if info.stage != "fit":
            doing = f"trying {info.stage}"
        rate = f"{info.epoch / info.seconds:.1f}/s" if info.seconds else ""
        bars.update(task, total=info.max_epochs, completed=info.epoch, state=doing + watched, rate=rate)

    return follow


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
