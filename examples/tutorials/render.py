"""Runs the tutorials as notebooks and writes what they say and show as pages of the documentation.

    python examples/tutorials/render.py [--data FOLDER] [NAME ...]

FOLDER holds the data that are not inside the package, a folder each, as the tutorials describe them; those whose data
are missing are left out, and their pages stay. Pages go to docs/tutorials, figures to docs/tutorials/figures.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient
from nbconvert import MarkdownExporter
from nbconvert.preprocessors import TagRemovePreprocessor

SCRIPTS = Path(__file__).parent
PAGES = SCRIPTS.parents[1] / "docs" / "tutorials"
# Name of the script and the page: the folder of its data, None for what is inside the package.
TUTORIALS: dict[str, str | None] = {
    "new_york_times": None,
    "hospital_discharges": "nhds2010_icd9",
    "recommendation": "movielens_latest_small",
    "single_cells": "pbmc_facs",
    "images": "mnist_t10k_binary",
    "measures": None,
    "own_measure": None,
}
HIDDEN = "hidden"
SETUP = """\
import sys
import matplotlib.pyplot as plt
plt.rcParams.update({{"figure.dpi": 90, "savefig.dpi": 90}})
sys.argv = {argv!r}
"""
HEADER = "<!-- Made by `make tutorials` from examples/tutorials/{name}.py: change that, not this. -->\n\n"


def run(name: str, folder: Path | None) -> Any:
    """The executed notebook of a script, which gets the folder as its argument."""
    notebook = jupytext.read(SCRIPTS / f"{name}.py")
    argv = [f"{name}.py", *([] if folder is None else [str(folder.resolve())])]
    setup = nbformat.v4.new_code_cell(SETUP.format(argv=argv), metadata={"tags": [HIDDEN]})
    notebook.cells.insert(0, setup)
    NotebookClient(notebook, timeout=None, kernel_name="python3").execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if is_shown(output)]
    return notebook


def is_shown(output: Any) -> bool:
    """What was printed or drawn: not the value of a last line, nor warnings, which name this machine's folders."""
    return output.output_type == "display_data" or (output.output_type == "stream" and output.name == "stdout")


def write_page(name: str, notebook: Any) -> None:
    """The page, and its figures beside it under names that say whose they are."""
    exporter = MarkdownExporter()
    exporter.register_preprocessor(TagRemovePreprocessor(remove_cell_tags={HIDDEN}), enabled=True)
    text, resources = exporter.from_notebook_node(
        notebook, {"output_files_dir": "figures", "unique_key": name.replace("_", "-")}
    )
    lines = (line.rstrip() for line in text.strip().splitlines())
    (PAGES / "figures").mkdir(parents=True, exist_ok=True)
    for old in (PAGES / "figures").glob(f"{name.replace('_', '-')}_*.png"):
        old.unlink()
    for file, content in resources["outputs"].items():
        (PAGES / file).write_bytes(content)
    page = "\n".join(lines).replace("![png](", f"![A figure of the tutorial {name.replace('_', ' ')}](")
    (PAGES / f"{name}.md").write_text(HEADER.format(name=name) + page + "\n")


def main() -> None:
    """Render the tutorials named, or all."""
    parser = argparse.ArgumentParser(description="Run the tutorials and write their pages.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(TUTORIALS)}; without one, all")
    parser.add_argument("--data", type=Path, help="folder with the data that are not inside the package")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in TUTORIALS]:
        sys.exit(f"there is no tutorial {unknown[0]}; there are {', '.join(TUTORIALS)}")
    for name in given.names or TUTORIALS:
        needed = TUTORIALS[name]
        folder = given.data / needed if given.data and needed else None
        if needed and (folder is None or not folder.is_dir()):
            print(f"{name}: left out, since it needs --data FOLDER with {needed} in it")
            continue
        write_page(name, run(name, folder))
        print(f"wrote {PAGES / name}.md")


if __name__ == "__main__":
    main()
