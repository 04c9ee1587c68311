"""README and docs keep their word: their Python runs, their commands run, their links lead somewhere.

Blocks under `<!-- slow -->` run in small: few rows, few components, few epochs.
"""

import re
import shlex
from pathlib import Path

import pytest

from cormorant.cli import run
from cormorant.cli.demo import Scale
from cormorant.data import write
from cormorant.datasets import load_nyt

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(<!-- slow -->\n)?```(\w+)\n(.*?)```", flags=re.DOTALL)

SMALL_PYTHON = {
    "load_nyt()": "load_nyt().rows(slice(0, 300))",
    "n_components=50": "n_components=5, max_epochs=3, n_sweeps=4",
    "n_held_out=1000": "n_held_out=50",
    ", 1000, ": ", 50, ",
}
SMALL_FIT = {"--components": "5", "--holdout": "50"}
SHORT_FIT = ["--max-epochs", "3", "--sweeps", "4", "--chains", "1"]


def blocks(page: Path, language: str) -> list[tuple[bool, str]]:
    """(slow, text) of each block of a language."""
    found = BLOCK.findall(page.read_text())
    return [(bool(slow), text) for slow, kind, text in found if kind == language]


def commands(page: Path) -> list[list[str]]:
    """Arguments of every `cormorant` command of a page."""
    lines = (line for _, text in blocks(page, "console") for line in text.splitlines())
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("cormorant ")]


def names(pages):
    return [str(page.relative_to(ROOT)) for page in pages]


with_python = [page for page in PAGES if blocks(page, "python")]
with_commands = [page for page in PAGES if commands(page)]


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """An empty folder to run in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", with_python, ids=names(with_python))
@pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")
@pytest.mark.usefixtures("workplace")
def test_python_runs(page):
    import matplotlib as mpl

    mpl.use("Agg")
    namespace = {}
    for slow, code in blocks(page, "python"):
        if slow:
            for large, small in SMALL_PYTHON.items():
                code = code.replace(large, small)
        exec(compile(code, page.name, "exec"), namespace)


def in_small(arguments: list[str], sample: Path) -> list[str]:
    """The command on a small file, with few components and epochs."""
    verb, *rest = (str(sample) if argument == "nyt" else argument for argument in arguments)
    if verb == "demo":
        return [verb, *rest, *([] if "--quick" in rest else ["--quick"])]
    for option, value in SMALL_FIT.items():
        if option in rest:
            rest[rest.index(option) + 1] = value
    return [verb, *rest, *(SHORT_FIT if verb in ("fit", "compare") else [])]


@pytest.fixture
def files(workplace):
    """What the pages take for granted: a table of visits, and a shop's database."""
    import duckdb

    lines = [f"p{i % 7},code {i % 5},{1 + i % 3}" for i in range(60)]
    (workplace / "visits.csv").write_text("\n".join(["patient,code,times", *lines]))
    with duckdb.connect(workplace / "shop.duckdb") as shop:
        shop.execute("CREATE TABLE sales AS SELECT i % 9 AS customer, i % 4 AS product, 2 AS n FROM range(50) AS t(i)")
    return workplace


@pytest.fixture
def served_once(monkeypatch):
    """A server that is interrupted as soon as it answers."""

    def interrupt(server):
        raise KeyboardInterrupt

    monkeypatch.setattr("cormorant.explore.serve.PageServer.serve_forever", interrupt)


@pytest.mark.parametrize("page", with_commands, ids=names(with_commands))
@pytest.mark.usefixtures("files", "served_once")
def test_commands_run(page, workplace, capfd, monkeypatch):
    monkeypatch.setattr("cormorant.cli.demo.QUICK", Scale(n_components=5, n_dims=2, max_epochs=2, n_sweeps=3))
    sample = workplace / "sample.npz"
    write(load_nyt().rows(slice(0, 300)), sample)
    for arguments in commands(page):
        assert run(in_small(arguments, sample)) == 0, f"cormorant {shlex.join(arguments)}\n{capfd.readouterr().err}"


def test_every_verb_has_its_place_on_the_page_of_the_command_line():
    from cormorant.cli.app import app

    verbs = {command.callback.__name__ for command in app.registered_commands}
    assert {arguments[0] for arguments in commands(ROOT / "docs" / "command-line.md")} == verbs


def test_inline_commands_are_verbs():
    """`cormorant VERB` in running text names a verb that exists; planned ones stand in the changelog only."""
    for page in PAGES:
        for verb in re.findall(r"`cormorant ([a-z]+)", page.read_text()):
            assert run([verb, "--help"]) == 0, f"{page.name}: cormorant {verb}"


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_notation_names_files_that_exist():
    text = (ROOT / "docs" / "notation.md").read_text()
    for file in re.findall(r"`([a-z]+/[a-z_]+\.py)`", text):
        assert (ROOT / "src" / "cormorant" / file).is_file(), file


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert f" {page.name}\n" in navigation, page.name


def test_the_version_is_in_the_changelog():
    import cormorant

    assert f"[{cormorant.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_every_page_of_the_navigation_exists():
    """`mkdocs build --strict` would say so too, but the tests do not build the site."""
    pages = re.findall(r"([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.MULTILINE)
    assert len(pages) > 8
    assert [page for page in pages if not (ROOT / "docs" / page).is_file()] == []
