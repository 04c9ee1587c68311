"""Compiled steps of latent features: draws of z a row at a time, sums of z z^T by column, and the variational z.

Their twins are the functions of `numpy_features` of the same names.
"""

from __future__ import annotations

import math

import numpy as np

from cormorant.backends import random
from cormorant.backends.compiled import Threads, compiled

PRODUCTS = 32  # products of a row's numbers that take as long as an entry of a sparse one (`Threads.over`)
STRIP = 32  # columns whose products are summed at a time
FOLDS = 4  # halvings of a row of ratios by multiplication, before logarithms are taken
FAR = 1e130  # odds beyond it (or below its inverse) are certainty
LARGEST_LOGIT = (
    40.0  # of an atom of binary data: e^-40 is no chance at all, and the product of 2^FOLDS ratios stays finite
)


@compiled
def _choose(s, log_odds, z, probability, n, k):
    """Draw z_nk; minus the old value."""
    p = 1.0 / (1.0 + math.exp(-log_odds)) if log_odds > -700.0 else 0.0
    probability[n, k] = p
    new = 1.0 if random.uniform(s) < p else 0.0
    change = new - z[n, k]
    z[n, k] = new
    return change


@compiled
def _draw_gaussian(first, last, y, observed, atoms, eta, noise, seed, ids, z, probability):
    n_columns = y.shape[1]
    rest = np.empty(n_columns)
    for n in range(first, last):
        s = random.stream(seed, ids[n])
        for i in range(n_columns):
            rest[i] = y[n, i] - atoms[0, i]
        for k in range(z.shape[1]):
            if z[n, k] > 0.0:
                for i in range(n_columns):
                    rest[i] -= atoms[k + 1, i]
        for k in range(z.shape[1]):
            a = atoms[k + 1]
            along, square = 0.0, 0.0
            for i in range(n_columns):
                seen = a[i] * observed[n, i]
                along += seen * rest[i]
                square += seen * a[i]
            gain = along + (z[n, k] - 0.5) * square
            change = _choose(s, eta[n, k] + gain / noise, z, probability, n, k)
            if change != 0.0:
                for i in range(n_columns):
                    rest[i] -= change * a[i]


@compiled
def _draw_poisson(first, last, y, observed, atoms, eta, noise, seed, ids, z, probability):
    n_columns = y.shape[1]
    rate = np.empty(n_columns)
    positive = np.empty(n_columns, np.int64)
    for n in range(first, last):
        s = random.stream(seed, ids[n])
        count = 0
        for i in range(n_columns):
            if y[n, i] > 0.0:
                positive[count] = i
                count += 1
            rate[i] = atoms[0, i]
        for k in range(z.shape[1]):
            if z[n, k] > 0.0:
                for j in range(count):
                    rate[positive[j]] += atoms[k + 1, positive[j]]
        for k in range(z.shape[1]):
            a = atoms[k + 1]
            gain = 0.0
            for i in range(n_columns):
                gain -= a[i] * observed[n, i]
            for j in range(count):
                i = positive[j]
                without = max(rate[i] - z[n, k] * a[i], atoms[0, i])  # never less than the background, but for rounding
                gain += y[n, i] * math.log1p(a[i] / without)
            change = _choose(s, eta[n, k] + gain, z, probability, n, k)
            if change != 0.0:
                for j in range(count):
                    i = positive[j]
                    rate[i] = max(rate[i] + change * a[i], atoms[0, i])


@compiled
def _log_product(ratios):
    """Log of their product: the far half onto the near one, a few times over, then a logarithm of each; spoils them."""
    length = len(ratios)
    for _ in range(FOLDS):
        half = (length + 1) // 2
        for i in range(length - half):
            ratios[i] *= ratios[half + i]
        length = half
    total = 0.0
    for i in range(length):
        total += math.log(ratios[i])
    return total


@compiled
def _draw_bernoulli(first, last, y, observed, atoms, eta, noise, seed, ids, z, probability):
    """Odds in place of logits: prod_i (1 + o_i) / (1 + o_i e^a_ki) needs no exponential in the inner loop."""
    n_columns, n_features = y.shape[1], z.shape[1]
    grow, shrink = np.exp(atoms), np.exp(-atoms)
    odds, ratios = np.empty(n_columns), np.empty(n_columns)
    for n in range(first, last):
        s = random.stream(seed, ids[n])
        for i in range(n_columns):
            odds[i] = atoms[0, i]
        for k in range(n_features):
            if z[n, k] > 0.0:
                for i in range(n_columns):
                    odds[i] += atoms[k + 1, i]
        for i in range(n_columns):  # an entry that is missing has no odds, and its ratios are one
            odds[i] = math.exp(min(max(odds[i], -299.0), 299.0)) if observed[n, i] else 0.0
        for k in range(n_features):
            a, on = atoms[k + 1], z[n, k] > 0.0
            factor = shrink[k + 1] if on else grow[k + 1]
            gain = 0.0
            for i in range(n_columns):
                gain += y[n, i] * a[i]
            for i in range(n_columns):
                ratios[i] = (1.0 + odds[i]) / (1.0 + odds[i] * factor[i])
            change_of_log = _log_product(ratios)
            gain += -change_of_log if on else change_of_log
            if _choose(s, eta[n, k] + gain, z, probability, n, k) != 0.0:
                for i in range(n_columns):
                    odds[i] = min(max(odds[i] * factor[i], 1.0 / FAR), FAR)


@compiled
def _column_products(z, weights, out):
    """out[pair, i] = sum_n weights_ni z~_nj z~_nk with z~ = (1, z), over the pairs that a row has on."""
    size = z.shape[1] + 1
    on = np.empty(size, np.int64)
    for n in range(len(z)):
        count = 1
        on[0] = 0
        for k in range(z.shape[1]):
            if z[n, k] > 0.0:
                on[count] = k + 1
                count += 1
        for p in range(count):
            start = on[p] * (on[p] + 1) // 2
            for q in range(p + 1):
                total = out[start + on[q]]
                for i in range(weights.shape[1]):
                    total[i] += weights[n, i]


@compiled
def _solve_probabilities(first, last, linear, products, eta, rho, sweeps):
    n_features = rho.shape[1]
    for n in range(first, last):
        m = products[n] if len(products) > 1 else products[0]
        for _ in range(sweeps):
            for k in range(n_features):
                at = eta[n, k] + linear[n, k + 1] - m[k + 1, 0] - 0.5 * m[k + 1, k + 1]
                for j in range(n_features):
                    if j != k:
                        at -= rho[n, j] * m[k + 1, j + 1]
                rho[n, k] = 1.0 / (1.0 + math.exp(-min(max(at, -600.0), 600.0)))


DRAWS = {"gaussian": _draw_gaussian, "poisson": _draw_poisson, "bernoulli": _draw_bernoulli}


def draw_features(threads: Threads, likelihood, y, observed, atoms, eta, noise, z, seed, ids=None):
    """z_nk ~ p(z_nk | the row's other features, y_n), feature by feature; also the probabilities drawn with.

    ``atoms``: (1 + T) x columns, the background first; ``eta``: log odds b_k + F_nk before the data; ``z``: where the
    rows were. What a row draws depends on ``seed`` and its id (by default its number) alone.
    """
    z, probability = np.array(z, dtype=np.float64), np.empty(z.shape)
    ids = np.arange(len(z), dtype=np.uint64) if ids is None else ids
    if likelihood == "bernoulli":
        atoms = np.clip(atoms, -LARGEST_LOGIT, LARGEST_LOGIT)
    draw, y, atoms = DRAWS[likelihood], np.ascontiguousarray(y), np.ascontiguousarray(atoms)

    def work(first, last):
        draw(first, last, y, observed, atoms, eta, float(noise), seed, ids, z, probability)

    threads.over(work, len(z), each=1 + z.shape[1] * y.shape[1] // PRODUCTS)
    return z, probability


def column_products(threads: Threads, z, weights):
    """sum_n weights_ni z~_n z~_n^T of every column, packed (twin: ``weights.T @ pack_products(z~)``).

    Threads own strips of columns, so that their number changes nothing; the sums of a strip stay in the cache.
    """
    size, n_columns = z.shape[1] + 1, weights.shape[1]
    out = np.empty((n_columns, size * (size + 1) // 2))

    def work(first, last):
        for begin in range(STRIP * first, min(STRIP * last, n_columns), STRIP):
            end = min(begin + STRIP, n_columns)
            sums = np.zeros((out.shape[1], end - begin))
            _column_products(z, np.ascontiguousarray(weights[:, begin:end]), sums)
            out[begin:end] = sums.T

    threads.over(work, -(-n_columns // STRIP), each=z.size)
    return out


def solve_probabilities(threads: Threads, linear, products, eta, rho, sweeps):
    """logit rho_nk = eta_nk + h_nk - sum_{j != k} r_nj Q_n,jk - Q_n,kk / 2 in turn, r = (1, rho).

    ``linear`` is h and ``products`` is Q, of which one may serve all rows.
    """
    rho, each = rho.copy(), 1 + sweeps * rho.shape[1] ** 2 // PRODUCTS

    def work(first, last):
        _solve_probabilities(first, last, linear, products, eta, rho, sweeps)

    threads.over(work, len(rho), each)
    return rho
