"""Imports point one way, cost little, and every public name is there."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import cormorant

ROOT = Path(cormorant.__file__).parent

# Each layer may import from itself and from those before it; the pieces of one layer stay apart.
LAYERS = (
    ("measures", "data", "backends"),
    ("models",),
    ("inference",),
    ("estimators",),
    ("evaluation", "explore"),
    ("cli",),
)
# The embedded sample is data; the simulators draw from the models and know the measures' correlations.
EXTRA = {"datasets": {"data", "measures", "models"}}
USES_DATASETS = {"cli"}


def allowed(package: str) -> set[str]:
    """Packages that modules of this one may import."""
    if package in EXTRA:
        return {package, *EXTRA[package]}
    level = next(i for i, layer in enumerate(LAYERS) if package in layer)
    below = {name for layer in LAYERS[:level] for name in layer}
    return {package, *below, *({"datasets"} if package in USES_DATASETS else ())}


def imported(file: Path) -> set[str]:
    """Subpackages of cormorant that a file imports anywhere, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute here"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        parts = (name.split(".") for name in names)
        found |= {part[1] for part in parts if part[0] == "cormorant" and len(part) > 1}
    # A public name of the package stands for the subpackage it lives in; its version lives in none.
    homes = {name: cormorant._HOMES[name].split(".")[0] for name in found if name in cormorant._HOMES}
    return {homes.get(name, name) for name in found if (ROOT / homes.get(name, name)).is_dir()}


def test_public_names_stand_for_their_homes(tmp_path):
    file = tmp_path / "module.py"
    file.write_text("from cormorant import CNPF, __version__\nimport cormorant.data\n")
    assert imported(file) == {"estimators", "data"}


def packages() -> list[str]:
    return sorted(path.name for path in ROOT.iterdir() if (path / "__init__.py").is_file())


def test_every_package_has_its_place():
    assert set(packages()) == {name for layer in LAYERS for name in layer} | set(EXTRA)


@pytest.mark.parametrize("package", packages())
def test_imports_point_one_way(package):
    for file in (ROOT / package).rglob("*.py"):
        wrong = imported(file) - allowed(package)
        assert not wrong, f"{file.relative_to(ROOT)} imports {', '.join(sorted(wrong))}"


def test_importing_the_package_is_cheap():
    code = (
        "import sys, time; begin = time.perf_counter(); import cormorant; "
        "seconds = time.perf_counter() - begin; "
        "heavy = {'numba', 'matplotlib', 'duckdb', 'sklearn', 'pandas'} & set(sys.modules); "
        "assert not heavy, heavy; assert seconds < 1, seconds"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_help_loads_nothing_heavy():
    code = (
        "import sys; from cormorant.cli import run; assert run(['fit', '--help']) == 0; "
        "heavy = {'numba', 'matplotlib', 'duckdb', 'sklearn', 'pandas', 'scipy'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def modules() -> list[str]:
    return ["cormorant", *(m.name for m in pkgutil.walk_packages([str(ROOT)], "cormorant."))]


@pytest.mark.parametrize("name", modules())
def test_public_names_resolve(name):
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", ()):
        assert getattr(module, public) is not None


def test_unknown_names_are_errors():
    with pytest.raises(AttributeError, match="no attribute 'LDA'"):
        cormorant.LDA  # noqa: B018
    assert set(dir(cormorant)) >= {"CNPF", "load_nyt"}
