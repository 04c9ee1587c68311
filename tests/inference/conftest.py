"""Small data and schemes shared by the tests of inference."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import sparse

from cormorant.backends.compiled import single_blas_thread
from cormorant.backends.cpu import CpuBackend
from cormorant.data import as_counts
from cormorant.inference.fit import Settings, run
from cormorant.inference.rows import Rows
from cormorant.inference.schedules import Plan
from cormorant.inference.state import Globals, State
from cormorant.inference.structured import Structured
from cormorant.models.cnpf import MODELS, Hyperparameters

BOUNDED = ("cnpf", "scaled-hgp", "hgp")
NORMALISED = ("diln", "hdp")


@pytest.fixture(scope="session", autouse=True)
def _one_blas_thread():
    """As in a fit: small products gain nothing from more, and wait for each other on a busy machine."""
    with single_blas_thread():
        yield


@pytest.fixture(scope="session")
def backend():
    return CpuBackend()


@dataclass
class Problem:
    """A scheme, somewhere to start, and rows, with short names for what tests do to them."""

    scheme: Structured
    start: State
    rows: Rows
    y: np.ndarray
    missing: np.ndarray | None

    @property
    def globals(self):
        return self.start.globals

    def batch(self):
        return self.rows.batch(np.arange(self.rows.n_rows), self.scheme.dtype)

    def run(self, epochs, plan=None, watch="bound", seed=0, **options):
        n = self.rows.n_rows
        plan = Plan(n, n, n, None) if plan is None else plan
        limits = Settings(
            epochs,
            options.pop("tol", 0.0),
            options.pop("patience", 10**6),
            watch,
            options.pop("check_every", 1),
        )
        return run(self.scheme, self.start, self.rows, plan, limits, np.random.default_rng(seed), **options)


def draw_counts(rng, n_rows=30, n_columns=12, n_components=4):
    """Counts with planted components; row 3 and column 5 are empty."""
    x = rng.gamma(0.5, 1.0, (n_rows, n_components))
    a = rng.gamma(0.3, 3.0, (n_columns, n_components))
    y = rng.poisson(x @ a.T)
    y[3 % n_rows] = 0
    y[:, 5 % n_columns] = 0
    return y


def draw_globals(rng, column_totals, n_components, n_dims, hyper):
    """Atoms around the column means, equal weights: a plain place to start, whatever a fit begins with."""
    share = (column_totals + 0.5) / (column_totals + 0.5).sum()
    rate = max(float(column_totals.sum()), 1.0) / (20.0 * n_components)
    noise = rng.gamma(100.0, 0.01, (len(share), n_components))
    return Globals(
        atom_shape=20.0 * rate * share[:, None] * noise,
        atom_rate=np.full(n_components, rate),
        weights=np.full(n_components, 1.0 / n_components),
        locations=np.sqrt(hyper.sigma_l2) * rng.normal(size=(n_components, n_dims)),
        alpha=1.0,
        c=1.0,
        hyper=hyper,
    )


@pytest.fixture
def make_problem(backend):
    """Build a ``Problem``; counts are drawn unless given."""

    def make(
        model="cnpf",
        seed=0,
        y=None,
        n_components=4,
        n_dims=2,
        exposure=False,
        missing=False,
        allocation="digamma",
        learn=("a0",),
        hyper=None,
        **size,
    ):
        rng = np.random.default_rng(seed)
        y = draw_counts(rng, **size) if y is None else np.asarray(y)
        mask = rng.random(y.shape) < 0.15 if missing is True else (missing if missing is not False else None)
        if mask is not None:
            y = np.where(mask, 0, y)
        if MODELS[model].normalised:  # from a row without counts it learns nothing
            shown = y.sum(axis=1) > 0
            y, mask = y[shown], None if mask is None else mask[shown]
        if exposure is True:
            exposure = rng.gamma(5.0, 0.2, len(y))
        exposure = None if exposure is False else exposure
        hyper = Hyperparameters(0.3, 1.0, 0.2, 1.5) if hyper is None else hyper
        counts = as_counts(sparse.csr_matrix(y))
        rows = Rows(counts, exposure, None if mask is None else sparse.csr_matrix(mask.astype(float)))
        kind = MODELS[model]
        g = draw_globals(rng, y.sum(axis=0), n_components, n_dims if kind.has_locations else 0, hyper)
        if kind.normalised:
            g = replace(g, atom_rate=g.atom_shape.sum(axis=0))
        scheme = Structured(kind, backend, allocation, frozenset(learn))
        return Problem(scheme, State(g), rows, y, None if mask is None else mask.astype(float))

    return make
