"""Models made by hand for the page: small ones to know every answer, a large one to be slow."""

from types import SimpleNamespace

import numpy as np

HOSTILE = "<script>alert(1)</script>"


def handmade(locations, usage, atoms, **changes):
    """A stand-in for a fitted model."""
    locations, usage = np.asarray(locations, dtype=float), np.asarray(usage, dtype=float)
    unit = locations / np.maximum(np.linalg.norm(locations, axis=1, keepdims=True), 1e-12)
    fields = {
        "model": SimpleNamespace(name="cnpf"),
        "components_": np.asarray(atoms, dtype=float),
        "weights_": 2.0 * usage,
        "usage_": usage,
        "correlation_": unit @ unit.T if locations.shape[1] else np.eye(len(usage)),
        "locations_": locations,
        "n_components_used_": len(usage),
        "column_names_": None,
        "row_names_": None,
        "history_": [],
        "_row_weights": None,
    }
    return SimpleNamespace(**(fields | changes))


def small(**changes):
    """Four components of four columns: 0 and 1 go together, 2 avoids them, 3 holds next to nothing of the counts."""
    fields = {
        "column_names_": np.array(["apple", "bird", HOSTILE, "Ünal"], dtype=object),
        "row_names_": np.array(["first", "second", "<img src=x onerror=alert(2)>"], dtype=object),
        # Row 1 has more of component 0 than row 0, which has nothing else: it is the longer one that stands for it.
        "_row_weights": np.array([[2.0, 0, 0, 0], [8.0, 2, 0, 0], [0, 1.0, 9, 0]]),
        "n_components_used_": 3,
    }
    atoms = [[6.0, 2, 1, 1], [1, 6, 2, 1], [1, 2, 6, 1], [1, 1, 2, 6]]
    locations = [[1, 0], [3, 4], [-1, 0.1], [-1, 0.1]]
    return handmade(locations, [0.5, 0.3, 0.195, 0.005], atoms, **(fields | changes))


def large(n_components=200, n_columns=5000, n_rows=1000):
    """As large as pages get."""
    rng = np.random.default_rng(0)
    return handmade(
        rng.normal(size=(n_components, 6)),
        np.sort(rng.dirichlet(np.full(n_components, 2.0)))[::-1],
        rng.gamma(0.05, size=(n_components, n_columns)) + 1e-9,
        column_names_=np.array([f"column{i}" for i in range(n_columns)], dtype=object),
        row_names_=np.array([f"Row number {i}" for i in range(n_rows)], dtype=object),
        _row_weights=rng.gamma(0.2, size=(n_rows, n_components)),
    )
