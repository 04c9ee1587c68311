"""Models made by hand, small enough to know every answer."""

from types import SimpleNamespace

import numpy as np
import pytest


def handmade(locations, usage, **changes):
    """A stand-in for a fitted model with four columns; component k is largest in column k."""
    locations = np.asarray(locations, dtype=float)
    n = len(locations)
    unit = locations / np.maximum(np.linalg.norm(locations, axis=1, keepdims=True), 1e-12)
    usage = np.asarray(usage, dtype=float)
    fields = {
        "components_": 0.1 * np.arange(4, 0, -1) + np.eye(n, 4),
        "weights_": np.linspace(1.0, 0.1, n),
        "usage_": usage,
        "correlation_": unit @ unit.T if locations.shape[1] else np.eye(n),
        "locations_": locations,
        "n_components_used_": int((usage >= 1e-4).sum()),
        "column_names_": np.array(["apple", "bird", "cat", "$dog$"], dtype=object),
        "history_": [
            {"epoch": 1, "perplexity": None, "bound": -9.0},
            {"epoch": 2, "perplexity": 30.0, "bound": -8.0},
            {"epoch": 3, "perplexity": 20.0, "bound": -7.0},
        ],
    }
    return SimpleNamespace(**(fields | changes))


@pytest.fixture
def model():
    """0 and 1 point the same way, 2 against them, 3 (which holds next to nothing) with 2 exactly."""
    return handmade([[1, 0], [3, 4], [-1, 0.1], [-1, 0.1]], [0.3, 0.5, 0.19995, 0.00005])


@pytest.fixture
def uncorrelated():
    return handmade(np.zeros((3, 0)), [0.5, 0.3, 0.2])
