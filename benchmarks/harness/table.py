"""Scores as lines of a CSV file, and the lines as a page."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .choosing import Score
from .packages import OURS, PEERS, Effort, Peer, Setting

FRACTIONS = ("10%", "50%")
FIELDS = (
    "data", "rows", "held out", "part", "model", "setting", "chains", *FRACTIONS, "spread", "behind", "behind error",
    "chosen for", "fit seconds", "wall seconds", "inference seconds", "peak MB", "failure",
)  # fmt: skip
Line = dict[str, str]
FORGOTTEN = {"behind": "", "behind error": ""}


@dataclass(frozen=True)
class Data:
    """A data set as the lines name it: how many rows there are, and how many of them are scored on."""

    name: str
    rows: int
    held_out: int

    def cells(self) -> Line:
        """What a line says of it."""
        return {"data": self.name, "rows": str(self.rows), "held out": str(self.held_out)}


def show_setting(setting: Setting) -> str:
    """k = 50, eta = 0.1."""
    return ", ".join(f"{name} = {value}" for name, value in setting.items())


def line(data: Data, part: str, score: Score) -> Line:
    """A score as it stands in the file: ``part`` is "validation" or "test"."""
    trial, found = score.trial, score.outcome
    cells: dict[str, Any] = {
        **data.cells(),
        "part": part,
        "model": trial.peer.name,
        "setting": show_setting(trial.setting),
        "chains": trial.chains,
        "chosen for": " ".join(trial.chosen_for),
        "failure": found.failure,
    }
    if not found.failure:
        cells |= {fraction: f"{value:.1f}" for fraction, value in score.perplexity.items()}
        cells["spread"] = " ".join(f"{value:.1f}" for value in score.spread.values())
        if len(score.behind) == len(FRACTIONS):
            margins, errors = zip(*(score.behind[fraction] for fraction in FRACTIONS), strict=True)
            cells |= {"behind": " ".join(map(_margin, margins)), "behind error": " ".join(map(_margin, errors))}
        cells |= {"fit seconds": f"{found.seconds:.1f}", "wall seconds": f"{found.wall:.1f}"}
        cells |= {"inference seconds": f"{found.inference:.2f}", "peak MB": f"{found.megabytes:.0f}"}
    return {name: str(cells.get(name, "")) for name in FIELDS}


def _margin(percent: float) -> str:
    return f"{percent:.2f}"


def missing_line(data: Data, model: str, reason: str) -> Line:
    """A package that could not be run."""
    known = data.cells() | {"part": "test", "model": model, "failure": reason}
    return {name: known.get(name, "") for name in FIELDS}


def read(file: Path) -> list[Line]:
    """The lines of an earlier run, if there was one."""
    if not file.is_file():
        return []
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def chosen(lines: Iterable[Line], data: Data, peer: Peer, effort: Effort) -> list[tuple[Setting, tuple[str, ...]]]:
    """Settings of a package that are in the table already, each with the fractions that it was chosen for."""
    known = {show_setting(setting): setting for setting in peer.settings(effort)}
    if len(known) == 1:
        return [(setting, FRACTIONS) for setting in known.values()]
    wanted = data.cells() | {"part": "test", "model": peer.name}
    found = [line for line in lines if wanted.items() <= line.items() and line["chosen for"]]
    unknown = [line["setting"] for line in found if line["setting"] not in known]
    if unknown:
        raise ValueError(f"the table has {peer.name} with {unknown[0]}; what is tried now: {'; '.join(known)}.")
    if not found:
        raise ValueError(
            f"the table has no setting of {peer.name} for {data.name} with {data.rows} rows, {data.held_out} of them "
            "held out; choose one without --as-chosen, or leave it out of --peers."
        )
    return [(known[line["setting"]], tuple(line["chosen for"].split())) for line in found]


def write(file: Path, lines: Iterable[Mapping[str, str]], fields: Sequence[str] = FIELDS) -> None:
    """Replace the file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, fields)
        writer.writeheader()
        writer.writerows(lines)


def merge(old: Sequence[Line], new: Sequence[Line]) -> list[Line]:
    """New lines in place of the old ones on the same data, part and model; everything else stays, as does the order.

    Where our line is renewed, how far others were behind the old one is forgotten.
    """
    renewed = {_key(line) for line in new}
    order = list(dict.fromkeys(line["data"] for line in [*old, *new]))
    kept = [line for line in old if _key(line) not in renewed]
    kept = [line | FORGOTTEN if _key(line | {"model": OURS}) in renewed else line for line in kept]
    return sorted([*kept, *new], key=lambda line: order.index(line["data"]))


def _key(line: Line) -> tuple[str, ...]:
    return tuple(line[name] for name in ("data", "rows", "held out", "part", "model"))


def remarks(page: str) -> str:
    """What somebody wrote by hand into an earlier page: the paragraphs between the note and the first table."""
    paragraphs = page.partition("\n## ")[0].strip().split("\n\n")
    return "\n\n".join(paragraphs[2:])


def render(lines: Sequence[Line], note: str, remarks: str = "") -> str:
    """The page: a table for each data set, and how each package finds the weights of a held-out row."""
    tests = [line for line in lines if line["part"] == "test"]
    page = ["# Cormorant beside other packages", "", note, "", *([remarks, ""] if remarks else [])]
    for data in dict.fromkeys(map(_data, tests)):
        page += _section(data, [line for line in tests if _data(line) == data])
    page += ["## How a held-out row is folded in", ""]
    page += [f"- {name}: {PEERS[name].fold_in}." for name in _in_order(tests)]
    return "\n".join(page) + "\n"


def _data(line: Line) -> Data:
    return Data(line["data"], int(line["rows"]), int(line["held out"]))


def _section(data: Data, lines: Sequence[Line]) -> list[str]:
    head = [
        f"## {data.name}, {data.rows:,} rows, {data.held_out:,} of them held out",
        "",
        "| model | setting | 10% | 50% | CNPF is lower by, % | fit, s | inference, s per 1,000 rows | peak MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    order = _in_order(lines)
    ran = sorted((line for line in lines if not line["failure"]), key=lambda line: order.index(line["model"]))
    failed = [f"- {line['model']}: {line['failure']}" for line in lines if line["failure"]]
    lowest = {f: min((float(line[f]) for line in ran), default=0.0) for f in FRACTIONS}
    return head + [_row(line, lowest) for line in ran] + [""] + (["Not run:", "", *failed, ""] if failed else [])


def _row(line: Line, lowest: Mapping[str, float]) -> str:
    fits = f"mean of {line['chains']} seeds" if line["spread"] else f"{line['chains']} chains"
    chains = f"; {fits}" if line["chains"] != "1" else ""
    figures = " | ".join(_perplexity(line, fraction, lowest[fraction]) for fraction in FRACTIONS)
    cost = f"{float(line['fit seconds']):.0f} | {float(line['inference seconds']):.1f} | {line['peak MB']}"
    return f"| {line['model']} | {line['setting']}{chains} | {figures} | {_behind(line)} | {cost} |"


def _behind(line: Line) -> str:
    """By how much at either fraction, each with its standard error; of a line that was told neither, nothing."""
    pairs = zip(line["behind"].split(), line["behind error"].split(), strict=True)
    return ", ".join(f"{float(margin):.1f} ± {float(error):.1f}" for margin, error in pairs)


def _perplexity(line: Line, fraction: str, lowest: float) -> str:
    """In brackets where another setting was chosen for this fraction; bold where it is the lowest of all."""
    value = float(line[fraction])
    shown = f"{value:.0f}" if value >= 100 else f"{value:.1f}"
    shown = f"**{shown}**" if value == lowest else shown
    return shown if fraction in line["chosen for"] else f"({shown})"


def _in_order(lines: Sequence[Line]) -> list[str]:
    present = {line["model"] for line in lines}
    return [name for name in PEERS if name in present]
