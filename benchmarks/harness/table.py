"""Scores as lines of a CSV file, and the lines as a page."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .choosing import Score
from .packages import PEERS, Setting

FRACTIONS = ("10%", "50%")
FIELDS = (
    "data", "rows", "part", "model", "setting", "chains", *FRACTIONS, "spread", "chosen for", "fit seconds",
    "wall seconds", "inference seconds", "peak MB", "failure",
)  # fmt: skip
Line = dict[str, str]


def show_setting(setting: Setting) -> str:
    """k = 50, eta = 0.1."""
    return ", ".join(f"{name} = {value}" for name, value in setting.items())


def line(data: str, rows: int, part: str, score: Score) -> Line:
    """A score as it stands in the file: ``part`` is "validation" or "test"."""
    trial, found = score.trial, score.outcome
    cells: dict[str, Any] = {
        "data": data,
        "rows": rows,
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
        cells |= {"fit seconds": f"{found.seconds:.1f}", "wall seconds": f"{found.wall:.1f}"}
        cells |= {"inference seconds": f"{found.inference:.2f}", "peak MB": f"{found.megabytes:.0f}"}
    return {name: str(cells.get(name, "")) for name in FIELDS}


def missing_line(data: str, rows: int, model: str, reason: str) -> Line:
    """A package that could not be run."""
    known = {"data": data, "rows": str(rows), "part": "test", "model": model, "failure": reason}
    return {name: known.get(name, "") for name in FIELDS}


def read(file: Path) -> list[Line]:
    """The lines of an earlier run, if there was one."""
    if not file.is_file():
        return []
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def write(file: Path, lines: Iterable[Mapping[str, str]], fields: Sequence[str] = FIELDS) -> None:
    """Replace the file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, fields)
        writer.writeheader()
        writer.writerows(lines)


def merge(old: Sequence[Line], new: Sequence[Line]) -> list[Line]:
    """New lines in place of the old ones on the same data, part and model; everything else stays, as does the order."""
    renewed = {_key(line) for line in new}
    order = list(dict.fromkeys(line["data"] for line in [*old, *new]))
    kept = [line for line in old if _key(line) not in renewed]
    return sorted([*kept, *new], key=lambda line: order.index(line["data"]))


def _key(line: Line) -> tuple[str, ...]:
    return tuple(line[name] for name in ("data", "rows", "part", "model"))


def remarks(page: str) -> str:
    """What somebody wrote by hand into an earlier page: the paragraphs between the note and the first table."""
    paragraphs = page.partition("\n## ")[0].strip().split("\n\n")
    return "\n\n".join(paragraphs[2:])


def render(lines: Sequence[Line], note: str, remarks: str = "") -> str:
    """The page: a table for each data set, and how each package finds the weights of a held-out row."""
    tests = [line for line in lines if line["part"] == "test"]
    page = ["# Cormorant beside other packages", "", note, "", *([remarks, ""] if remarks else [])]
    for data, rows in dict.fromkeys((line["data"], line["rows"]) for line in tests):
        page += _section(data, rows, [line for line in tests if (line["data"], line["rows"]) == (data, rows)])
    page += ["## How a held-out row is folded in", ""]
    page += [f"- {name}: {PEERS[name].fold_in}." for name in _in_order(tests)]
    return "\n".join(page) + "\n"


def _section(data: str, rows: str, lines: Sequence[Line]) -> list[str]:
    head = [
        f"## {data}, {int(rows):,} rows",
        "",
        "| model | setting | 10% | 50% | fit, s | inference, s per 1,000 rows | peak MB |",
        "|---|---|---|---|---|---|---|",
    ]
    order = _in_order(lines)
    ran = sorted((line for line in lines if not line["failure"]), key=lambda line: order.index(line["model"]))
    failed = [f"- {line['model']}: {line['failure']}" for line in lines if line["failure"]]
    lowest = {f: min((float(line[f]) for line in ran if f in line["chosen for"]), default=0.0) for f in FRACTIONS}
    return head + [_row(line, lowest) for line in ran] + [""] + (["Not run:", "", *failed, ""] if failed else [])


def _row(line: Line, lowest: Mapping[str, float]) -> str:
    fits = f"mean of {line['chains']} seeds" if line["spread"] else f"{line['chains']} chains"
    chains = f"; {fits}" if line["chains"] != "1" else ""
    figures = " | ".join(_perplexity(line, fraction, lowest[fraction]) for fraction in FRACTIONS)
    cost = f"{float(line['fit seconds']):.0f} | {float(line['inference seconds']):.1f} | {line['peak MB']}"
    return f"| {line['model']} | {line['setting']}{chains} | {figures} | {cost} |"


def _perplexity(line: Line, fraction: str, lowest: float) -> str:
    """In brackets where another setting was chosen for this fraction; bold where it is the lowest of all."""
    value = float(line[fraction])
    if fraction not in line["chosen for"]:
        return f"({value:.0f})"
    return f"**{value:.0f}**" if value == lowest else f"{value:.0f}"


def _in_order(lines: Sequence[Line]) -> list[str]:
    present = {line["model"] for line in lines}
    return [name for name in PEERS if name in present]
