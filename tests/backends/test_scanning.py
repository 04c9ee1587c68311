"""The scan over counts, one by one: against exact enumeration, and a twin in NumPy that draws the same numbers."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats
from scipy.special import gammaln

from cormorant.backends.compiled import Threads
from cormorant.backends.sampling import Sampling
from cormorant.backends.scanning import CountTable
from cormorant.backends.vectors import LANES

sampling = Sampling(Threads(1))
# Two rows: two counts and one count in the first, one in the second. A count is (row, column).
INDPTR, INDICES, OFFSETS = np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), np.array([0, 2, 3, 4])
EACH = [(0, 0), (0, 0), (0, 1), (1, 1)]
W, A0 = np.array([0.4, 0.9]), np.array([0.3, 1.1])  # of each component, and of each column
FACTOR = np.array([[0.3, 0.7], [0.6, 0.2]])
ATOMS = np.array([[0.2, 0.5], [0.7, 0.1]], np.float32)


def tallies(z):
    n, c = np.zeros((2, 2)), np.zeros((2, 2))
    for (u, i), k in zip(EACH, z, strict=True):
        n[u, k] += 1
        c[i, k] += 1
    return n, c


def log_joint(z, atoms=None):
    """Of all counts' components, x summed out, and the atoms' profiles unless the atoms are given."""
    n, c = tallies(z)
    rows = gammaln(W + n).sum() + (n * np.log(FACTOR)).sum()
    if atoms is not None:
        return rows + (c * np.log(atoms)).sum()
    return rows + gammaln(A0[:, None] + c).sum() - gammaln(A0.sum() + c.sum(axis=0)).sum()


@pytest.mark.parametrize("atoms", [None, ATOMS])
def test_scans_have_the_exact_distribution(atoms):
    """Sixteen states, every fifth of 60,000 scans: the frequencies are those of the enumeration."""
    states = list(itertools.product((0, 1), repeat=4))
    p = np.exp([log_joint(z, atoms) for z in states])
    z = np.array([0, 1, 1, 0], np.uint16)
    n, c = tallies(z)
    table = CountTable.of(c) if atoms is None else None
    seen = dict.fromkeys(states, 0)
    for seed in range(60_000):
        sampling.scan(INDPTR, INDICES, OFFSETS, z, n, FACTOR, W, table, seed, atoms, A0 if atoms is None else 0.0)
        if seed % 5 == 0:
            seen[tuple(z.tolist())] += 1
    assert stats.chisquare(list(seen.values()), 12_000 * p / p.sum()).pvalue > 1e-3
    now, of_columns = tallies(z)
    assert_array_equal(n, now)
    if table is not None:
        assert_array_equal(table.counts, of_columns)
        assert_array_equal(table.totals, of_columns.sum(axis=0))


@pytest.mark.parametrize("n_components", [3, 16, 70, 130, 200])
def test_the_search_finds_what_numpy_finds(n_components):
    """Rows of one count each, so that a row's first random number is that of its count."""
    rng = np.random.default_rng(0)
    components = np.arange(n_components)
    order = np.lexsort((components // LANES, components % LANES))  # the search goes lane by lane
    n_rows, n_columns, a0 = 3_000, 7, rng.gamma(0.1, size=7)
    indptr, indices = np.arange(n_rows + 1), rng.integers(0, n_columns, n_rows).astype(np.int32)
    w, factor = rng.gamma(0.5, size=n_components), rng.gamma(0.5, size=(n_rows, n_components))
    z = rng.integers(0, n_components, n_rows).astype(np.uint16)
    n, c = np.zeros((n_rows, n_components)), np.zeros((n_columns, n_components))
    n[np.arange(n_rows), z] = 1
    np.add.at(c, (indices, z), 1)
    table, first, u = CountTable.of(c), z.copy(), sampling.uniforms(n_rows, 5)
    sampling.scan(indptr, indices, np.arange(n_rows + 1), z, n, factor, w, table, 5, None, a0)
    close = 0
    for row, i in enumerate(indices):  # after the compiled scan where single precision decides otherwise
        c[i, first[row]] -= 1
        p = w * factor[row] * (c[i] + a0[i]) / (c.sum(axis=0) + a0.sum())
        edges = np.cumsum(p[order]) / p.sum()
        if z[row] != order[np.searchsorted(edges, u[row])]:
            assert np.abs(edges - u[row]).min() < 1e-5
            close += 1
        c[i, z[row]] += 1
    assert close < 10
    assert_array_equal(table.counts, c)
    assert_array_equal(n.argmax(axis=1), z)


def test_fresh_counts_are_placed_by_the_atoms_and_what_the_row_comes_with():
    rows = 20_000
    n = np.tile([1.5, 0.0], (rows, 1))
    table = CountTable.empty(2, 2)
    indptr, indices, factor = np.arange(rows + 1), np.ones(rows, np.int32), np.tile(FACTOR[0], (rows, 1))
    z = sampling.scan(indptr, indices, 2 * indptr, None, n, factor, W, table, 3, ATOMS)
    p = (W + np.array([1.5, 0.0])) * FACTOR[0] * ATOMS[1]
    found = (z == 0).mean()
    assert abs(found - p[0] / p.sum()) < 4 * np.sqrt(found * (1 - found) / (2 * rows))
    assert_array_equal(n.sum(axis=0), np.bincount(z))
    assert_array_equal(table.counts, [[0, 0], np.bincount(z)])


def test_threads_change_nothing_for_new_rows():
    rng = np.random.default_rng(1)
    indptr, indices = np.arange(0, 4001, 2), rng.integers(0, 5, 4000).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 4, 4000))])
    factor, w, atoms = rng.random((2000, 9)), rng.gamma(1.0, size=9), rng.random((5, 9))
    found = []
    for threads in (1, 3):
        s, n = Sampling(Threads(threads)), np.zeros((2000, 9))
        z = s.scan(indptr, indices, offsets, None, n, factor, w, None, 1, atoms)
        found.append((s.scan(indptr, indices, offsets, z, n, factor, w, None, 2, atoms), n))
    assert_array_equal(found[0][0], found[1][0])
    assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("a0", [1e-9, 1e-20])
def test_a_tiny_a0_is_not_rounded_away_beside_the_count_that_leaves(a0):
    """One count alone, that all components want alike once it is out: 1 - 1 + a0, and not 1 + a0 - 1.

    Of the table, which is in single precision; and of its totals, which would then be divided by as zero.
    """
    z, n, table = np.zeros(1, np.uint16), np.array([[1.0, 0.0]]), CountTable.of(np.array([[1.0, 0.0]]))
    found = []
    for seed in range(2_000):
        sampling.scan(np.array([0, 1]), np.zeros(1, np.int32), np.array([0, 1]), z, n, np.ones((1, 2)), np.ones(2),
                      table, seed, None, a0)  # fmt: skip
        found.append(int(z[0]))
    stays = np.mean(np.diff(found) == 0)
    assert abs(stays - 0.5) < 4 * 0.5 / np.sqrt(len(found))


def test_nothing_vanishes_in_single_precision():
    """Factors thirty orders of magnitude apart: the counts go where they should, and nothing overflows."""
    factor = np.array([[1e-40, 1e-10], [1e-30, 1e-60]])
    z, n = np.array([0, 0, 0, 1], np.uint16), tallies([0, 0, 0, 1])[0]
    sampling.scan(INDPTR, INDICES, OFFSETS, z, n, factor, W, None, 1, ATOMS)
    assert_array_equal(z, [1, 1, 1, 0])
