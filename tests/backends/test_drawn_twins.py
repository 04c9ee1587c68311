"""Compiled draws against their twins in plain Python, draw by draw: both go through the words of the same streams."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cormorant.backends import features, numpy_features, numpy_sampling
from cormorant.backends.compiled import Threads
from cormorant.backends.sampling import ONE_BY_ONE, Sampling
from cormorant.backends.scanning import CountTable

sampling = Sampling(Threads(1))
SEED = 2**63 - 12345
IDS = np.random.default_rng(0).integers(0, 2**64, 400, dtype=np.uint64)
ROUNDING = 1e-13  # of a logarithm, a power and some products


def rows_of(values, n_rows=40):
    """Every row has each of the values once."""
    return np.tile(np.asarray(values, float), (n_rows, 1))


def test_uniforms():
    assert_array_equal(sampling.uniforms(400, SEED, IDS), numpy_sampling.uniforms(400, SEED, IDS))
    assert_array_equal(sampling.uniforms(3, 0), numpy_sampling.uniforms(3, 0, [0, 1, 2]))


def test_normals_of_every_layer_and_of_the_tail():
    """Twenty thousand reach every branch of the ziggurat: one in four thousand lies beyond its edge."""
    one = np.ones((20_000, 1))
    ids = np.arange(len(one), dtype=np.uint64)
    found, twin = sampling.gaussians(one, 0.0 * one, SEED), numpy_sampling.proposals(one, 0.0 * one, SEED, ids)[0]
    assert_allclose(found, twin, rtol=ROUNDING, atol=1e-15)  # near zero a difference of two numbers near one
    assert (abs(twin) > 3.66).any()


def test_gammas():
    shape = rows_of([0.0, 1e-300, 1e-12, 0.003, 0.2, 0.999, 1.0, 1.5, 7.5, 1e5, 1e12])
    found = sampling.gammas(shape, SEED, IDS)
    assert_allclose(found, numpy_sampling.gammas(shape, SEED, IDS), rtol=1e-12)  # a power with an exponent of hundreds
    assert (found > 0.0).all()


def test_tables():
    n = rows_of([0, 1, 2, 31, 33, 500, 40_001, 1e6, 1e9, 0, 7])
    w = np.array([0.3, 0.3, 0.0, 2.0, 0.05, 3.0, 0.0, 0.7, 2e6, 0.0, 1e9])
    found = sampling.tables(n, w, SEED, IDS)
    assert_array_equal(found, numpy_sampling.tables(n, w, SEED, IDS))
    assert_array_equal(found[:, [0, 1, 2, 6, 9, 10]], rows_of([0, 1, 1, 1, 0, 7]))


def test_polya_gammas():
    b, c = np.meshgrid([0.0, 1e-320, 1e-160, 1e-12, 1e-4, 0.3, 1.0, 4.7, 1e4], [0.0, 1e-3, 0.011, 1.5, -3.5, 9.0, 40.0])
    n, w, eta = np.zeros((40, b.size)), b.ravel(), rows_of(c.ravel())
    found = sampling.polya_gammas(n, w, eta, SEED, IDS)
    # The variance of the rest is what is left of the whole's, which is itself a difference where eta is small.
    assert_allclose(found, numpy_sampling.polya_gammas(n, w, eta, SEED, IDS), rtol=1e-8)
    assert (found[:, w == 0.0] == 0.0).all()


@pytest.mark.parametrize("n_components", [1, 3, 16, 50])
@pytest.mark.parametrize("zeros", [0.0, 0.5])
def test_counts(n_components, zeros):
    """Counts one by one and by binomials, shares over forty orders of magnitude, and shares of zero."""
    rng = np.random.default_rng(n_components)
    lengths = rng.integers(0, 20, 12)
    indptr, indices = np.concatenate([[0], np.cumsum(lengths)]), rng.integers(0, 9, lengths.sum()).astype(np.int32)
    y = rng.choice([1, 2, ONE_BY_ONE, ONE_BY_ONE + 1, 5000, 10**12], len(indices))
    x, a = np.exp(rng.normal(0, 8, (12, n_components))), np.exp(rng.normal(0, 8, (9, n_components)))
    x[rng.random(x.shape) < zeros] = 0.0
    for dtype in (np.float32, np.float64):
        n, c = sampling.counts(indptr, indices, y, x.astype(dtype), a.astype(dtype), SEED, IDS)
        twin = numpy_sampling.counts(indptr, indices, y, x.astype(dtype), a.astype(dtype), SEED, IDS)
        assert_array_equal(n, twin[0])
        assert_array_equal(c, twin[1])
        assert_array_equal(n.sum(axis=1), [y[first:last].sum() for first, last in pairwise(indptr)])
        assert n[(x == 0.0) & x.any(axis=1, keepdims=True)].sum() == 0


@pytest.mark.parametrize("kind", ["learning", "given atoms", "fresh", "fresh and learning"])
@pytest.mark.parametrize("n_components", [1, 5, 16, 40])
def test_scan(kind, n_components):
    rng = np.random.default_rng(n_components)
    lengths, n_columns, a0 = rng.integers(0, 6, 30), 7, rng.gamma(0.1, size=7)
    indptr, indices = np.concatenate([[0], np.cumsum(lengths)]), rng.integers(0, n_columns, lengths.sum())
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 8, len(indices)))])
    w, factor = rng.gamma(0.5, size=n_components), np.exp(rng.normal(0, 6, (30, n_components)))
    w[1:3] = factor[:5, 2:] = 0.0  # what has no weight, or no factor, is kept just visible
    z = rng.integers(0, n_components, offsets[-1]).astype(np.uint16)
    atoms = None if kind == "learning" else rng.gamma(0.3, size=(n_columns, n_components))
    n, c = np.zeros((30, n_components)), np.zeros((n_columns, n_components))
    entries = np.repeat(np.arange(len(indices)), np.diff(offsets))
    np.add.at(n, (np.repeat(np.arange(30), lengths)[entries], z), 1)
    np.add.at(c, (indices[entries], z), 1)

    def run(function):
        own, table = n.copy(), CountTable.of(c) if "learning" in kind else None
        given = None if "fresh" in kind else z.copy()
        number = a0 if atoms is None else 0.0
        arguments = {"table": table, "seed": SEED, "atoms": atoms, "a0": number, "ids": IDS}
        found = function(indptr, indices.astype(np.int32), offsets, given, own, factor, w, **arguments)
        return found, own, *(() if table is None else (table.counts, table.totals))

    for array, twin in zip(run(sampling.scan), run(numpy_sampling.scan), strict=True):
        assert_array_equal(array, twin)


def test_proposals():
    """In both precisions: the factor is found in the one that the matrix comes in."""
    rng = np.random.default_rng(4)
    for size in (1, 7):
        factor = rng.normal(size=(70, size, 2 * size + 3))
        precision = (factor @ factor.transpose(0, 2, 1))[:, *np.tril_indices(size)]
        linear = rng.normal(size=(70, size))
        for dtype, tolerance in ((np.float64, 1e-11), (np.float32, 1e-4)):
            found = sampling.proposals(precision.astype(dtype), linear, SEED, IDS)
            for array, twin in zip(found, numpy_sampling.proposals(precision, linear, SEED, IDS), strict=True):
                assert_allclose(array, twin, rtol=tolerance, atol=tolerance)


def test_content_ids():
    indptr, indices = np.array([0, 2, 2, 5]), np.array([1, 4, 2, 1, 2**31 - 1], np.int32)
    for y in (np.array([3, 1, 2, 3, 2**40]), np.array([3, 1, 2, 3, 7], np.int32)):
        assert_array_equal(sampling.content_ids(indptr, indices, y), numpy_sampling.content_ids(indptr, indices, y))


@pytest.mark.parametrize("likelihood", features.DRAWS)
@pytest.mark.parametrize(("n_features", "n_columns"), [(1, 1), (4, 7), (6, 40)])
def test_features(likelihood, n_features, n_columns):
    rng = np.random.default_rng(n_features)
    z, eta = (rng.random((60, n_features)) < 0.4).astype(float), rng.normal(size=(60, n_features))
    eta[0], eta[1] = -800.0, 800.0
    atoms, observed = rng.normal(size=(1 + n_features, n_columns)), rng.random((60, n_columns)) < 0.8
    observed[2] = False
    y = (
        rng.normal(size=(60, n_columns))
        if likelihood == "gaussian"
        else rng.poisson(1.0, (60, n_columns)).astype(float)
    )
    y = np.minimum(y, 1.0) if likelihood == "bernoulli" else y
    y, atoms = y * observed, np.abs(atoms) if likelihood == "poisson" else atoms
    found = features.draw_features(Threads(1), likelihood, y, observed, atoms, eta, 0.7, z, SEED, IDS)
    twin = numpy_features.draw_features(likelihood, y, observed, atoms, eta, 0.7, z, SEED, IDS)
    assert_array_equal(found[0], twin[0])
    assert_allclose(found[1], twin[1], rtol=1e-11)
    assert_array_equal(found[0][:2], [[0.0] * n_features, [1.0] * n_features])


def test_sums_of_features_by_column():
    rng = np.random.default_rng(5)
    for n_features, n_columns in ((1, 1), (4, features.STRIP + 3)):
        z = (rng.random((60, n_features)) < 0.4).astype(float)
        for dtype in (np.float32, np.float64):
            weights = rng.random((60, n_columns)).astype(dtype)
            found = features.column_products(Threads(2), z, weights)
            assert_allclose(found, numpy_features.column_products(z, weights.astype(float)), rtol=1e-12)


@pytest.mark.parametrize("shared", [True, False])
def test_solved_probabilities(shared):
    rng = np.random.default_rng(6)
    linear, eta, rho = rng.normal(size=(60, 5)), rng.normal(size=(60, 4)), rng.random((60, 4))
    eta[0], eta[1] = -1e4, 1e4
    factor = rng.normal(size=(1 if shared else 60, 5, 5))
    arguments = linear, factor @ factor.transpose(0, 2, 1), eta, rho, 3
    found = features.solve_probabilities(Threads(2), *arguments)
    assert_allclose(found, numpy_features.solve_probabilities(*arguments), rtol=1e-11)
