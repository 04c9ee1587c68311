"""A stand-in for fitted models, small enough to know every answer."""

from types import SimpleNamespace

import numpy as np


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
        "loadings_": locations,
        "alpha_": 2.0,
        "c_": 1.0,
        "hyperparameters_": {"a0": 0.3, "b0": 1.0, "sigma_l2": 1.0, "sigma_m2": 10.0},
        "model": SimpleNamespace(name="cnpf", link="exp"),
        "n_components_used_": int((usage >= 1e-4).sum()),
        "column_names_": np.array(["apple", "bird", "cat", "$dog$"], dtype=object),
        "history_": [
            {"epoch": 1, "perplexity": None, "bound": -9.0},
            {"epoch": 2, "perplexity": 30.0, "bound": -8.0},
            {"epoch": 3, "perplexity": 20.0, "bound": -7.0},
        ],
    }
    return SimpleNamespace(**(fields | changes))
