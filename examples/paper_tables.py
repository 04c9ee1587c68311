"""The tables of the paper's section 6.2, of our fits, written into docs/paper_tables.md beside the paper's own.

    python examples/paper_tables.py [--nyt FIT] [--discharges FIT]

asks the command line (`cormorant components` and `correlations`, with --json) and replaces what stands between marks
of the page. Without --nyt the New York Times sample is fitted first, as the page says (some minutes); the tables of the
discharges, whose data are not in the package, stay as they are unless a fit is given.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "paper_tables.md"
CORMORANT = Path(sys.executable).with_name("cormorant")
FIT_NYT = ("fit", "nyt", "--components", "100", "--seed", "1")


def ask(*arguments: str | Path) -> dict[str, Any]:
    """The JSON object that a command prints."""
    ran = subprocess.run([CORMORANT, *map(str, arguments), "--json"], check=True, stdout=subprocess.PIPE)
    return json.loads(ran.stdout)


def table(header: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    rows = [header, ("---",) * len(header), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def listed(names: list[str]) -> str:
    """Names in a line, between them what they do not hold; a bar does not end the cell."""
    between = "; " if any(" " in name for name in names) else ", "
    return between.join(names).replace("|", "\\|")


def pairs(fit: Path, sign: str, among: int = 50, number: int = 10) -> str:
    """The strongest pairs of a sign among the most used components: fifty, as in the paper, if so many are in use."""
    found = ask("correlations", fit, "--pairs", str(number), "--among", str(among), "--top", "5")["pairs"]
    lines = [
        (f"{pair['correlation']:+.2f}", listed(pair["top_columns"]), listed(pair["other_columns"]))
        for pair in found
        if pair["sign"] == sign
    ]
    return table(("correlation", "component", "other"), lines)


def components(fit: Path, number: int = 20) -> str:
    """The most used components."""
    found = ask("components", fit, "--top", "5", "--limit", str(number))["components"]
    return table(
        ("share", "component"), [(f"{line['share']:.1%}", listed(line["top_columns"])) for line in found[:number]]
    )


def replace(text: str, name: str, made: str) -> str:
    """The page with what stands between the marks of this name replaced."""
    marks = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", flags=re.DOTALL)
    if not marks.search(text):
        sys.exit(f"{PAGE} has no marks for {name}")
    return marks.sub(lambda found: f"{found[1]}\n{made}\n\n{found[2]}", text)


def main() -> None:
    """Ask for the tables of the fits, and write the page."""
    parser = argparse.ArgumentParser(description="The paper's tables, of our fits.")
    parser.add_argument("--nyt", type=Path, help="a fit of the New York Times sample; without one it is fitted")
    parser.add_argument("--discharges", type=Path, help="a fit of the hospital discharges")
    given = parser.parse_args()
    text = PAGE.read_text()
    with tempfile.TemporaryDirectory() as workshop:
        nyt = given.nyt or Path(workshop) / "nyt-cnpf"
        if given.nyt is None:
            ask(*FIT_NYT, "--out", nyt)
        text = replace(text, "nyt-negative", pairs(nyt, "negative"))
        text = replace(text, "nyt-positive", pairs(nyt, "positive"))
    if given.discharges:
        text = replace(text, "discharges-components", components(given.discharges))
        text = replace(text, "discharges-positive", pairs(given.discharges, "positive", among=20))
        text = replace(text, "discharges-negative", pairs(given.discharges, "negative", among=20, number=5))
    PAGE.write_text(text)
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
