"""Progress of one or several fits, worded in one place: bars on a terminal or in a notebook, lines in a log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from cormorant.inference.fit import Callback, Info
    from cormorant.inference.state import State

LINE_EVERY = 20  # epochs, in a log


@contextmanager
def progress_bars(labels: Sequence[str], console: Console | None = None) -> Iterator[dict[str, Callback]]:
    """The callback of each label's fit, which moves its bar, or where bars cannot move writes a line now and then.

    Args:
        labels: One for each fit, in their order.
        console: Where to show it; None takes standard error.
    """
    from rich.console import Console

    console = console or Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield {label: _tell(console, label) for label in labels}
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"), BarColumn(bar_width=16), TextColumn("{task.fields[state]}"),
        TextColumn("{task.fields[rate]}"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console) as bars:
        width = max(map(len, labels), default=0)
        yield {label: _follow(bars, f"{label:{width}}") for label in labels}
        for task in bars.tasks:  # a fit that stopped early is over too
            bars.update(task.id, total=task.completed)


def bars_of(estimator: Any) -> AbstractContextManager[dict[str, Callback]]:
    """The bar of an estimator's own fit, if it is to show one."""
    return progress_bars([estimator.model.name]) if estimator.verbose else nullcontext({})


class Wording:
    """What an epoch has to say; within a stage the last value that was looked at stays."""

    def __init__(self) -> None:
        self._stage, self._watched = "", ""

    def __call__(self, info: Info) -> str:
        """For example "start 1 of 2, 5 of 10 epochs, perplexity 1,502" or "chain 2 of 4, 40 of 90 sweeps"."""
        if info.stage != self._stage:
            self._stage, self._watched = info.stage, ""
        if info.perplexity is not None:
            self._watched = f", perplexity {_short(info.perplexity)}"
        elif info.bound is not None:
            self._watched = f", bound {_short(info.bound)}"
        return _doing(info) + self._watched


def _doing(info: Info) -> str:
    if info.stage.startswith("fit"):  # stages that may stop before their end
        which = "" if info.stage == "fit" else f"{info.stage}, "
        return f"{which}{info.epoch} of at most {info.max_epochs} epochs"
    unit = "sweeps" if info.stage.startswith("chain") else "epochs"
    return f"{info.stage}, {info.epoch} of {info.max_epochs} {unit}"


def _follow(bars: Progress, description: str) -> Callback:
    """A callback whose bar begins with the first epoch."""
    task = bars.add_task(description, start=False, total=None, state="waiting", rate="")
    wording = Wording()
    followed = ""  # a chain to its end: others may run beside it

    def follow(info: Info, state: State) -> None:
        nonlocal followed
        if followed not in ("", info.stage):
            return
        followed = info.stage if info.stage.startswith("chain") and info.epoch < info.max_epochs else ""
        bars.start_task(task)
        rate = f"{info.epoch / info.seconds:.1f}/s" if info.seconds else ""
        bars.update(task, total=info.max_epochs, completed=info.epoch, state=wording(info), rate=rate)

    return follow


def _tell(console: Console, label: str) -> Callback:
    """A callback that writes a line now and then, and one at the end of a stage."""
    wording = Wording()

    def tell(info: Info, state: State) -> None:
        words = wording(info)
        if info.epoch % LINE_EVERY == 0 or info.epoch == info.max_epochs:
            console.print(f"{label}: {words}", soft_wrap=True, highlight=False, markup=False)

    return tell


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
