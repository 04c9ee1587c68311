"""Models made by hand, small enough to know every answer, and one that is fitted."""

import warnings

import numpy as np
import pytest

from cormorant.data import Counts, as_counts
from cormorant.estimators import CNPF, TruncationWarning

from .handmade import handmade


@pytest.fixture
def model():
    """0 and 1 point the same way, 2 against them, 3 (which holds next to nothing) with 2 exactly."""
    return handmade([[1, 0], [3, 4], [-1, 0.1], [-1, 0.1]], [0.3, 0.5, 0.19995, 0.00005])


@pytest.fixture
def uncorrelated():
    return handmade(np.zeros((3, 0)), [0.5, 0.3, 0.2])


@pytest.fixture(scope="session")
def counts() -> Counts:
    """150 named rows over 12 named columns, from three components of four columns each."""
    rng = np.random.default_rng(5)
    atoms = np.kron(np.eye(3), np.ones(4)) + 0.02
    y = rng.poisson(rng.gamma(0.4, 5.0, (150, 3)) @ atoms)
    return as_counts(y, row_names=[f"row {u}" for u in range(150)], column_names=[f"c{i}" for i in range(12)])


@pytest.fixture(scope="session")
def fitted(counts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        return CNPF(n_components=4, n_dims=2, inference="structured", max_epochs=15, random_state=0).fit(counts)


@pytest.fixture(scope="session")
def theta(counts):
    """Of the rows: the first covariate is the share of the first component, the second is noise."""
    rng = np.random.default_rng(0)
    y = counts.tocsr().toarray()
    return np.column_stack([y[:, :4].sum(axis=1) / (y.sum(axis=1) + 1.0), rng.normal(size=len(y))])


@pytest.fixture(scope="session")
def with_covariates(counts, theta):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        model = CNPF(n_components=4, n_dims=2, inference="structured", max_epochs=40, random_state=0)
        return model.fit(counts, covariates=theta)


@pytest.fixture(scope="session")
def sampled(counts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        chains = {"n_chains": 2, "n_sweeps": 30, "n_samples": 8}
        return CNPF(n_components=4, n_dims=2, inference="gibbs", random_state=0, **chains).fit(counts)
