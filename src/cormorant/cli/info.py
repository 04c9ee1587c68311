"""`cormorant info`: versions, the machine, the models there are."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

from cormorant._version import __version__
from cormorant.cli import options as o
from cormorant.cli.console import print_json, print_table

PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "pandas",
    "duckdb",
    "matplotlib",
    "safetensors",
    "networkx",
    "anndata",
    "arviz",
)


def info(json: o.Json = False) -> None:
    """Versions, the machine and the models: what to put in a bug report.

    Example: cormorant info
    """
    from cormorant.estimators.registry import ALL

    machine = {
        "cormorant": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        **{name: _version(name) for name in PACKAGES},
    }
    models = {name: estimator.model.title for name, estimator in ALL.items()}
    if json:
        print_json({"versions": machine, "models": models})
        return
    print_table("This installation", ["what", "version"], machine.items())
    print_table("Models", ["name", "what it is"], models.items())


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
