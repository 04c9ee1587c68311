"""Options by the table: a verb that takes a whole table of settings names it once::

    @with_options(settings=FIT)
    def fit(counts: CountsArgument, settings: Given) -> None: ...

and gets those that the user gave, under the names of the library's parameters.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

#: Settings that the user gave, under the names of the library's parameters.
Given = dict[str, Any]
Verb = Callable[..., None]


@dataclass(frozen=True)
class Setting:
    """An option that sets a parameter of the library; what is not given is left to the library.

    Attributes:
        parameter: The library's name of it.
        flag: The command line's name of it.
        kind: int, float, str, bool, or a function that reads text.
        help: What it does; ends with the library's default where that is a plain value.
        least: Smallest value, of numbers.
        default: What the command line takes in place of the library's default.
        panel: Heading that it stands under in the help.
    """

    parameter: str
    flag: str
    kind: Callable[[Any], Any]
    help: str
    least: float | None = None
    default: Any = None
    panel: str = ""

    def argument(self) -> inspect.Parameter:
        """The option as typer reads it from a signature."""
        shown = self.kind if self.kind in (int, float, bool) else str
        option = typer.Option(self.flag, help=self.help, rich_help_panel=self.panel, min=self.least)
        annotation = Annotated[shown | None, option]  # pyright: ignore[reportInvalidTypeForm, reportOperatorIssue]
        return inspect.Parameter(self.parameter, KEYWORD, default=self.default, annotation=annotation)


KEYWORD = inspect.Parameter.KEYWORD_ONLY


def panel(heading: str, *lines: tuple[Any, ...]) -> tuple[Setting, ...]:
    """Settings under one heading; a line is a `Setting` without its panel."""
    return tuple(Setting(*line, panel=heading) for line in lines)


def with_options(**tables: tuple[Setting, ...]) -> Callable[[Verb], Verb]:
    """A verb with the options of whole tables in place of the arguments that are named after them."""

    def expand(verb: Verb) -> Verb:
        signature = inspect.signature(verb, eval_str=True)
        own = [argument for name, argument in signature.parameters.items() if name not in tables]
        settings = [setting.argument() for table in tables.values() for setting in table]

        @functools.wraps(verb)
        def expanded(**arguments: Any) -> None:
            given = {name: _given(table, arguments) for name, table in tables.items()}
            verb(**arguments, **given)

        del vars(expanded)["__wrapped__"]  # typer would look at the verb's own annotations
        expanded.__annotations__ = {}
        parameters = [*(argument.replace(kind=KEYWORD) for argument in own), *settings]
        vars(expanded)["__signature__"] = signature.replace(parameters=parameters)
        return expanded

    return expand


def _given(table: tuple[Setting, ...], arguments: dict[str, Any]) -> Given:
    """Take the settings of a table out of the arguments, and keep those that were given."""
    found: Given = {}
    for setting in table:
        value = arguments.pop(setting.parameter)
        if value is not None:
            found[setting.parameter] = setting.kind(value)
    return found
