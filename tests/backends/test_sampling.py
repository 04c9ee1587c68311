"""Compiled draws against the distributions they are named after. All seeds are fixed, so a pass is a pass for good."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import special, stats

from cormorant.backends import numpy_random, random
from cormorant.backends.compiled import Threads
from cormorant.backends.sampling import ONE_BY_ONE, Sampling

N = 100_000
sampling = Sampling(Threads(1))
LEAST_P = 1e-3  # one test in a thousand fails a correct sampler at a seed chosen at random


def z_score(draws, mean):
    """Distance of the sample mean from the truth, in its own standard errors."""
    return abs(draws.mean(axis=0) - mean) / (draws.std(axis=0) / np.sqrt(len(draws)))


def test_uniforms():
    draws = sampling.uniforms(N, 3)
    assert stats.kstest(draws, "uniform").pvalue > LEAST_P
    # Streams of neighbouring rows, and of neighbouring seeds, have nothing to do with each other.
    for other in (draws[1:], sampling.uniforms(N, 4)[:-1]):
        assert abs(np.corrcoef(draws[:-1], other)[0, 1]) < 4 / np.sqrt(N)


@pytest.mark.parametrize("shape", [0.003, 0.2, 1.0, 7.5, 1e5])
def test_gammas(shape):
    draws = sampling.gammas(np.full((N, 1), shape), 5)[:, 0]
    draws = draws[draws > 1e-300]  # a tiny shape has mass below the smallest number
    low = stats.gamma.cdf(1e-300, shape)
    assert stats.kstest((stats.gamma.cdf(draws, shape) - low) / (1 - low), "uniform").pvalue > LEAST_P


@pytest.mark.parametrize(("n", "w"), [(1, 0.3), (10, 0.3), (31, 2.0), (100, 0.05), (500, 3.0)])
def test_tables(n, w):
    """sum_j Bernoulli(w / (w + j)): the distribution by convolution."""
    truth = np.ones(1)
    for j in range(n):
        p = w / (w + j)
        truth = np.convolve(truth, [1 - p, p])
    draws = sampling.tables(np.full((N, 1), n), np.array([w]), 7)[:, 0]
    seen = np.bincount(draws, minlength=len(truth))
    common = truth * N > 10
    rare = np.append(truth[common], max(truth[~common].sum(), 1e-300)) * N
    assert stats.chisquare(np.append(seen[common], seen[~common].sum()), rare * (N / rare.sum())).pvalue > LEAST_P


@pytest.mark.parametrize(("n", "w"), [(100_000, 40_000.0), (10**9, 2e6), (10**11, 1e5)])
def test_tables_of_huge_counts_take_no_longer(n, w):
    """Mean and variance of the sum, and the shape of a normal variable, to which it is close."""
    mean = w * (special.digamma(w + n) - special.digamma(w))
    variance = mean - w**2 * (special.polygamma(1, w) - special.polygamma(1, w + n))
    draws = sampling.tables(np.full((N, 1), n), np.array([w]), 7)[:, 0]
    # The convergence of a sum of Bernoulli variables: the KS distance is below 0.07 / sqrt(variance) < 0.0007,
    # and rounding adds 0.2 / sqrt(variance): both less than the 0.005 that N draws can tell.
    assert stats.kstest((draws - mean) / np.sqrt(variance), "norm").pvalue > LEAST_P


def test_tables_with_many_likely_ones():
    """Where each customer is likely to open a table, they are seated one by one: exact mean."""
    n, w = 30_000, 5_000.0
    draws = sampling.tables(np.full((2_000, 1), n), np.array([w]), 7)[:, 0]
    assert z_score(draws, w * (special.digamma(w + n) - special.digamma(w))) < 4


@pytest.mark.parametrize("b", [9e-5, 0.005, 0.05, 0.3, 1.0, 4.7, 60.0, 1e4])
@pytest.mark.parametrize("c", [0.0, 0.001, 0.02, 1.5, -3.5, 6.0, 8.5, 12.0, 40.0])
def test_polya_gammas(b, c):
    """Mean, variance and Laplace transform E exp(-t omega) = (cosh(c/2) / cosh(sqrt((c^2/2 + t)/2)))^b.

    Their errors are those of N draws with the fourth cumulant 6 b sum_j scale_j^4 of the series, and not those seen:
    draws of small shapes are nearly always zero.
    """
    draws = sampling.polya_gammas(np.zeros((N, 1)), np.array([b]), np.full((N, 1), c), 9)[:, 0]
    scale = 1 / (2 * np.pi**2 * ((np.arange(1000) + 0.5) ** 2 + (c / (2 * np.pi)) ** 2))
    mean = b / 4 if c == 0 else b * np.tanh(c / 2) / (2 * c)
    variance, fourth = b * (scale**2).sum(), 6 * b * (scale**4).sum()
    assert abs(draws.mean() - mean) < 4 * np.sqrt(variance / N)
    assert abs(((draws - mean) ** 2).mean() - variance) < 4 * np.sqrt((fourth + 2 * variance**2) / N)
    for t in np.array([0.5, 5.0, 50.0]) / max(b, 1.0):
        once, twice = (np.exp(b * (_log_cosh(c / 2) - _log_cosh(np.sqrt((c * c / 2 + t) / 2)))) for t in (t, 2 * t))
        # Rounding, where the draws are so concentrated that their spread is nothing.
        assert abs(np.exp(-t * draws).mean() - once) < 4 * np.sqrt(max(twice - once**2, 0.0) / N) + 1e-12


@pytest.mark.parametrize("b", np.geomspace(1e-12, 1e4, 9))
def test_polya_gamma_means_that_no_draw_would_show(monkeypatch, b):
    """Of the twin, with every variable of its sum at its mean: of tiny shapes only one draw in 1 / b is not zero."""
    monkeypatch.setattr(numpy_random, "gamma", lambda s, shape: shape)
    monkeypatch.setattr(numpy_random, "inverse_gaussian", lambda s, mean, spread: mean)
    for c in (1e-6, 0.001, 0.0101, 0.5, -3.5, 8.5, 9.3, 40.0):
        # Drawn as one inverse Gaussian variable, from 9.2 on, it is off by 2 e^-c.
        assert numpy_random.polya_gamma([1, 2], b, c) == pytest.approx(b * np.tanh(c / 2) / (2 * c), rel=2 * random.FAR)
    assert numpy_random.polya_gamma([1, 2], b, 0.0) == pytest.approx(b / 4)


def test_a_polya_gamma_variable_of_no_shape_is_zero():
    for b in (0.0, 5e-324, 1e-200):
        draws = sampling.polya_gammas(np.zeros((100, 4)), np.full(4, b), np.tile([0.0, 1e-3, 2.0, 40.0], (100, 1)), 9)
        assert (draws == 0.0).all()


def _log_cosh(z):
    z = abs(z)
    return z + np.log1p(np.exp(-2 * z)) - np.log(2)


def test_normals_to_their_tails():
    """The body by its distribution function; the layers' edges and the tail by how many fall beyond."""
    n = 2_000_000
    one = np.ones((n // 100, 1))
    z = np.concatenate([Sampling(Threads(2)).gaussians(one, 0.0 * one, seed)[:, 0] for seed in range(100)])
    assert stats.kstest(z, "norm").pvalue > 1e-3
    for edge in (*random.EDGES[1:-1:50], 3.5, 3.8, 4.2):
        for tail in (z > edge, z < -edge):
            expected = n * stats.norm.sf(edge)
            assert abs(tail.sum() - expected) < 4.5 * np.sqrt(expected)  # 18 counts, one chance in 8,000 together


def test_gaussians():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    precision, linear = root @ root.T + np.eye(4), rng.normal(size=4)
    draws = sampling.gaussians(np.tile(precision[np.tril_indices(4)], (N, 1)), np.tile(linear, (N, 1)), 11)
    mean, covariance = np.linalg.solve(precision, linear), np.linalg.inv(precision)
    assert (z_score(draws, mean) < 4).all()
    apart = draws - mean
    products = (apart[:, :, None] * apart[:, None, :]).reshape(N, 16)
    assert (z_score(products, covariance.ravel()) < 4).all()


@pytest.mark.parametrize("y", [1, 5, ONE_BY_ONE + 1, 1_000_000])
@pytest.mark.parametrize("n_components", [3, 40, 70, 200])
def test_counts_are_multinomial(y, n_components):
    """Means and variances of the shares of one entry, for the search count by count and for the binomials."""
    rng = np.random.default_rng(1)
    rows = 20_000 if y <= ONE_BY_ONE else 5_000
    x, a = rng.gamma(0.5, size=n_components), rng.gamma(0.5, size=n_components)
    p = (x * a / (x * a).sum()).astype(np.float32).astype(float)
    indptr, indices = np.arange(rows + 1), np.zeros(rows, np.int32)
    tile = np.tile(x.astype(np.float32), (rows, 1))
    n, c = sampling.counts(indptr, indices, np.full(rows, y), tile, a.astype(np.float32)[None], 13)
    assert_array_equal(n.sum(axis=1), y)
    assert_array_equal(n.sum(axis=0), c[0])
    big = p * rows * y > 20
    error = np.sqrt(y * p * (1 - p) / rows)
    # Single precision moves the shares by a millionth or so, which a million counts a row can see.
    assert (abs(n.mean(axis=0) - y * p)[big] < 4.5 * error[big] + 1e-6 * y).all()
    assert (abs(n.var(axis=0)[big] / (y * p * (1 - p))[big] - 1) < 0.1 + 4.5 / np.sqrt(rows * y * p[big])).all()


def test_a_share_of_zero_gets_nothing():
    x = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], np.float32)
    n, _ = sampling.counts(
        np.array([0, 1, 2]), np.zeros(2, np.int32), np.array([50, 5000]), x, np.ones((1, 3), np.float32), 1
    )
    assert_array_equal(n, [[0, 50, 0], [0, 0, 5000]])


def shares_of(share, y, rows):
    """An entry of y counts in each of the rows, shared out."""
    tile = np.tile(np.asarray(share, np.float32), (rows, 1))
    atoms, indptr = np.ones((1, tile.shape[1]), np.float32), np.arange(rows + 1)
    return sampling.counts(indptr, np.zeros(rows, np.int32), np.full(rows, y), tile, atoms, 17)[0]


@pytest.mark.parametrize("y", [ONE_BY_ONE + 1, 1_000_000])
def test_many_counts_give_nothing_to_a_share_of_zero(y):
    """Nor does what rounding leaves behind the last share, which is not the last component's."""
    rng, rows = np.random.default_rng(3), 300
    for n_components in (3, 17, 50):
        share = rng.gamma(0.5, size=n_components)
        share[rng.permutation(n_components)[: n_components // 2]] = share[-1] = 0.0
        n = shares_of(share, y, rows)
        assert n[:, share == 0.0].sum() == 0
        assert_array_equal(n.sum(axis=1), y)
    assert_array_equal(shares_of([0.0, 0.0, 0.0], y, 1), [[y, 0, 0]])  # where nothing has a share, as one by one


def test_small_shares_behind_a_large_one_are_not_lost_in_its_rounding():
    """Of a sum of one, single precision cannot take a share away so exactly that 4e-8 of it are left."""
    share, y, rows = np.array([0.3, 0.7, 3e-8, 0.0, 1e-8, 0.0]), 10**9, 2_000
    n = shares_of(share, y, rows)
    expected = y * share / share.sum()
    small = [2, 3, 4, 5]
    assert (abs(n.mean(axis=0) - expected)[small] <= 4 * np.sqrt(expected[small] / rows)).all()


@pytest.mark.parametrize("n_components", [17, 20, 50])
def test_rounding_gives_nothing_to_a_share_of_zero(n_components):
    """Half of the shares are zero, the vectors' last among them: five in ten million targets are rounded to such."""
    rng, rows = np.random.default_rng(n_components), 20_000
    share = rng.gamma(0.5, size=n_components)
    share[rng.permutation(n_components)[: n_components // 2]] = share[-1] = 0.0
    indptr, indices = np.arange(0, 8 * rows + 1, 8), np.zeros(8 * rows, np.int32)
    tile = np.tile(share.astype(np.float32), (rows, 1))
    for seed in range(4):
        counts = np.full(8 * rows, 60)
        n, _ = sampling.counts(indptr, indices, counts, tile, np.ones((1, n_components), np.float32), seed)
        assert n[:, share == 0.0].sum() == 0
        assert n.sum() == 60 * 8 * rows


def test_threads_change_nothing():
    rng = np.random.default_rng(2)
    n, w, eta = rng.poisson(1.0, (3000, 5)), rng.gamma(1.0, size=5), rng.normal(size=(3000, 5))
    indptr = np.arange(0, 6001, 2)
    indices, y = rng.integers(0, 7, 6000).astype(np.int32), rng.integers(1, 100, 6000)
    x, a = rng.random((3000, 5)).astype(np.float32), rng.random((7, 5)).astype(np.float32)
    found = []
    for threads in (1, 3):
        s = Sampling(Threads(threads))
        found.append(
            [
                *s.counts(indptr, indices, y, x, a, 1),
                s.gammas(w + n, 2),
                s.tables(n, w, 3),
                s.polya_gammas(n, w, eta, 4),
            ]
        )
    for one, several in zip(*found, strict=True):
        assert_array_equal(one, several)


def test_ids_decide_what_is_drawn():
    """Rows that look the same draw the same, wherever they stand."""
    indptr, indices, y = np.array([0, 2, 3, 5]), np.array([1, 4, 2, 1, 4], np.int32), np.array([3, 1, 2, 3, 1])
    ids = sampling.content_ids(indptr, indices, y)
    assert ids[0] == ids[2] != ids[1]
    draws = sampling.gammas(np.ones((3, 4)), 1, ids)
    assert_array_equal(draws[0], draws[2])
    assert (draws[0] != draws[1]).all()
