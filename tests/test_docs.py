"""README and docs keep their word: their Python runs, their commands run, their links lead somewhere.

What is not run as it stands, and why:

- blocks under `<!-- slow -->` would take minutes; they run in small: few rows, few components, few epochs;
- Python under `<!-- needs: PACKAGE -->` shows another library; it runs where that is installed;
- files that a page takes for granted (visits, ratings, discharges: not ours to ship) are made up, and small;
- `json` is what a command prints, and is parsed; `text` is what Python printed; R is not run. A block of any other
  kind, or of none, is an error;
- the examples in the help of the verbs are commands like those of the pages;
- `make` and `pip` would install things; their targets and extras are looked up instead, and that scripts exist. Any
  other command in a console block is an error;
- pages in docs/tutorials were made by running scripts. Those whose data are in the package run here, marked slow; the
  others need data that may not be shipped.
"""

import importlib.util
import inspect
import json
import re
import shlex
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pytest

from cormorant import CNPF
from cormorant.cli import run
from cormorant.cli.demo import Scale
from cormorant.data import read_matrix, write
from cormorant.datasets import load_nyt, simulate
from cormorant.estimators import IBP, TruncationWarning

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TUTORIALS = ROOT / "examples" / "tutorials"
RENDERED = {ROOT / "docs" / "tutorials" / f"{script.stem}.md" for script in TUTORIALS.glob("*.py")}
BLOCK = re.compile(r"(?:<!-- (slow|needs: \w+) -->\n)?```(\w+)\n(.*?)```", flags=re.DOTALL)
FENCE = re.compile(r"^ *(?:```|~~~)(.*)$", flags=re.MULTILINE)
KINDS = {"python", "console", "json", "text", "r"}
INDENTED = re.compile(r"^    ((?:cormorant|python|make|pip) .*)$", flags=re.MULTILINE)

SMALL_PYTHON = {
    "load_nyt()": "load_nyt().rows(slice(0, 300))",
    "n_components=50": "n_components=5, max_epochs=3, n_sweeps=4",
    "n_held_out=1000": "n_held_out=50",
    ", 1000, ": ", 50, ",
}
SMALL_FIT = {"--components": "5", "--holdout": "50", "--sweeps": "4", "--min-rows": "2", "--min-count": "1"}
SHORT_FIT = {"--max-epochs": "3", "--sweeps": "4", "--chains": "1"}


def blocks(page: Path, language: str) -> list[tuple[str, str]]:
    """(mark, text) of each block of a language; the mark is "", "slow" or "needs: PACKAGE"."""
    found = BLOCK.findall(page.read_text())
    return [(mark, text) for mark, kind, text in found if kind == language]


def console_lines(page: Path) -> list[str]:
    """Every command of a page: those in blocks, and indented ones."""
    lines = [line for _, text in blocks(page, "console") for line in text.splitlines()]
    return [*lines, *INDENTED.findall(BLOCK.sub("", page.read_text()))]


def commands(page: Path) -> list[list[str]]:
    """Arguments of every `cormorant` command of a page."""
    return [shlex.split(line, comments=True)[1:] for line in console_lines(page) if line.startswith("cormorant ")]


def names(pages):
    return [str(page.relative_to(ROOT)) for page in pages]


with_python = [page for page in PAGES if blocks(page, "python") and page not in RENDERED]
with_commands = [page for page in PAGES if commands(page)]
with_packages = [
    pytest.param(mark.removeprefix("needs: "), text, id=f"{page.name}-{mark.removeprefix('needs: ')}")
    for page in PAGES
    for mark, text in blocks(page, "python")
    if mark.startswith("needs")
]


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_every_block_is_looked_at(page):
    """A fence that opens tells its kind, and every one of them is found by `blocks`."""
    openings = FENCE.findall(page.read_text())[::2]
    assert [kind for kind in openings if kind not in KINDS] == []
    assert len(openings) == len(BLOCK.findall(page.read_text()))
    for _, text in blocks(page, "json"):
        json.loads(text)


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
    for mark, code in blocks(page, "python"):
        if mark.startswith("needs"):
            continue
        if mark == "slow":
            for large, small in SMALL_PYTHON.items():
                code = code.replace(large, small)
        exec(compile(code, page.name, "exec"), namespace)


@pytest.mark.parametrize(("package", "code"), with_packages)
@pytest.mark.filterwarnings("ignore")  # of other libraries
@pytest.mark.usefixtures("workplace")
def test_python_beside_other_libraries_runs(package, code):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed, and is no dependency: pip install {package}")
    exec(compile(code, package, "exec"), {})


def in_small(arguments: list[str], sample: Path) -> list[str]:
    """The command on a small file, with few components and epochs."""
    verb, *rest = (str(sample) if argument == "nyt" else argument for argument in arguments)
    if verb == "demo":
        return [verb, *rest, *([] if "--quick" in rest else ["--quick"])]
    for option, value in SMALL_FIT.items():
        if option in rest:
            rest[rest.index(option) + 1] = value
    lacking = ["--max-epochs"] if "thinned" in rest else []  # its starts are of one length
    short = {option: value for option, value in SHORT_FIT.items() if option not in (*rest, *lacking)}
    return [verb, *rest, *(part for pair in short.items() for part in pair if verb in ("fit", "compare"))]


@pytest.fixture
def files(workplace):
    """What the pages take for granted: tables of visits, ratings, discharges and soil, fits, a shop's database."""
    import duckdb

    tables = {
        "visits.csv": ("patient,code,times", "p{0},code {1},{2}"),
        "ratings.csv": ("userId,movieId,rating", "{0},{1},{2}.5"),
        "discharges.csv": ("discharge,code", "{0},{1}"),
    }
    for name, (header, line) in tables.items():
        lines = [line.format(i % 7, i % 5, 1 + i % 3) for i in range(60)]
        (workplace / name).write_text("\n".join([header, *lines]))
    (workplace / "nhds").mkdir()
    write(load_nyt().rows(slice(0, 300)), workplace / "nhds" / "counts.npz")
    (workplace / "nhds" / "descriptions.txt").write_text("\n".join(load_nyt().column_names))
    drawn = simulate("cnpf", n_rows=60, n_columns=20, n_components=2, n_covariates=1, seed=0)
    stays = CNPF(3, 2, inference="structured", max_epochs=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        stays.fit(drawn.counts, covariates=drawn.covariates).save(workplace / "stays-cnpf")
        measured = [f"plot {u},{u % 3},{u % 5 - 2 if u % 4 else ''},{0.5 * u}" for u in range(24)]
        (workplace / "soil.csv").write_text("\n".join(["plot,pH,C,N", *measured]))
        soil = IBP(3, n_starts=1, n_sweeps=2, n_samples=1, random_state=0)
        soil.fit(read_matrix(workplace / "soil.csv")).save(workplace / "soil")
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
        if "--out" in arguments and Path(arguments[arguments.index("--out") + 1]).exists():
            arguments = [*arguments, "--force"]  # a page may make what another takes for granted
        assert run(in_small(arguments, sample)) == 0, f"cormorant {shlex.join(arguments)}\n{capfd.readouterr().err}"


def examples() -> list[list[str]]:
    """Arguments of the commands in the help of the verbs, `fit` first: it makes what others look at."""
    from cormorant.cli.app import app

    helps = [inspect.getdoc(command.callback) or "" for command in app.registered_commands]
    lines = [line for text in helps for line in re.findall(r"^Example: cormorant (.*)$", text, flags=re.MULTILINE)]
    return sorted(map(shlex.split, lines), key=lambda arguments: arguments[0] != "fit")


@pytest.mark.usefixtures("files", "served_once")
def test_examples_of_the_help_run(workplace, capfd, monkeypatch):
    monkeypatch.setattr("cormorant.cli.demo.QUICK", Scale(n_components=5, n_dims=2, max_epochs=2, n_sweeps=3))
    sample = workplace / "sample.npz"
    write(load_nyt().rows(slice(0, 300)), sample)
    assert len({arguments[0] for arguments in examples()}) == 14
    for arguments in examples():
        assert run(in_small(arguments, sample)) == 0, f"cormorant {shlex.join(arguments)}\n{capfd.readouterr().err}"


def extras() -> set[str]:
    return set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])


def known(line: str) -> bool:
    """Whether a command is one that is run here, or names what exists."""
    program, *arguments = shlex.split(line, comments=True) or [""]
    if program == "make":
        # Makefile only, without running it: -n says what would be done, and fails where there is no such target.
        return subprocess.run(["make", "-n", *arguments], cwd=ROOT, capture_output=True).returncode == 0
    if program == "pip":
        wanted = re.findall(r"(?:cormorant|\.)\[([\w,]+)\]", line)
        return arguments[0] == "install" and {name for part in wanted for name in part.split(",")} <= extras()
    if program == "python":
        return (ROOT / arguments[0]).is_file()
    return program in ("cormorant", "")


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_every_command_is_known(page):
    """Those of `cormorant` run above; targets of make, extras of pip and scripts exist."""
    assert [line for line in console_lines(page) if not known(line)] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["new_york_times", "measures"])
def test_tutorials_run(name, workplace, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    ran = subprocess.run(
        [sys.executable, "-W", "error", TUTORIALS / f"{name}.py"], cwd=workplace, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr


def test_every_tutorial_has_its_page():
    """render.py lists them all; each has a page, and its code is that of the script."""
    listed = re.findall(r'^    "(\w+)": (?:None|"\w+"),$', (TUTORIALS / "render.py").read_text(), flags=re.MULTILINE)
    assert sorted(listed) == sorted(script.stem for script in TUTORIALS.glob("*.py") if script.stem != "render")
    for name in listed:
        script = (TUTORIALS / f"{name}.py").read_text()
        cells = re.findall(r"^# %%\n(.*?)(?=^# %%|\Z)", script, flags=re.MULTILINE | re.DOTALL)
        shown = [text for _, text in blocks(ROOT / "docs" / "tutorials" / f"{name}.md", "python")]
        assert [text.strip() for text in shown] == [cell.strip() for cell in cells], f"{name}: run make tutorials"


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
    for file in re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", text):
        assert (ROOT / "src" / "cormorant" / file).is_file(), file


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        assert f" {page.relative_to(ROOT / 'docs')}\n" in navigation, page.name


def test_the_version_is_in_the_changelog():
    import cormorant

    assert f"[{cormorant.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_every_page_of_the_navigation_exists():
    """`mkdocs build --strict` would say so too, but the tests do not build the site."""
    pages = re.findall(r"([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.MULTILINE)
    assert len(pages) > 8
    assert [page for page in pages if not (ROOT / "docs" / page).is_file()] == []
