"""A progress bar as a callback of the fit: what is watched, the rate, the time left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cormorant.inference.fit import Callback, Info
    from cormorant.inference.state import State


@contextmanager
def progress(verbose: bool, max_epochs: int) -> Iterator[list[Callback]]:
    """Yield the callback that moves a bar, or none if silent."""
    if not verbose:
        yield []
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("epochs"),
        TextColumn("{task.fields[rate]}"), TimeRemainingColumn(), TextColumn("{task.fields[watched]}"),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("fit", total=max_epochs, watched="", rate="")
        seen: dict[str, float] = {}

        def show(info: Info, state: State) -> None:
            if info.perplexity is not None:
                seen["perplexity"] = info.perplexity
            if info.bound is not None:
                seen["bound"] = info.bound
            watched = "  ".join(f"{name} {value:,.1f}" for name, value in seen.items())
            rate = f"{info.epoch / info.seconds:.2f}/s"
            bar.update(task, description=info.stage, completed=info.epoch, watched=watched, rate=rate)

        yield [show]
