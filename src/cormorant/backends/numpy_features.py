"""NumPy twins of `features`: each feature of a row in turn, from the same streams."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from cormorant.backends import numpy_random as random
from cormorant.backends.packing import pack_products


def gain_gaussian(y, signal, a, noise):
    """log N(y | signal + a) - log N(y | signal), summed over the columns."""
    return ((y - signal) * a - 0.5 * a**2).sum() / noise


def gain_poisson(y, rate, a, noise):
    """log Poisson(y | rate + a) - log Poisson(y | rate)."""
    return (y * np.log1p(a / rate) - a).sum()


def gain_bernoulli(y, logit, a, noise):
    """log p(y | logit + a) - log p(y | logit)."""
    return (y * a - np.logaddexp(0.0, logit + a) + np.logaddexp(0.0, logit)).sum()


GAINS = {"gaussian": gain_gaussian, "poisson": gain_poisson, "bernoulli": gain_bernoulli}


def draw_features(likelihood, y, observed, atoms, eta, noise, z, seed, ids):
    """logit p(z_nk = 1) = eta_nk + what the feature adds to the log likelihood of the row's observed entries."""
    z, probability = np.array(z, dtype=np.float64), np.empty(z.shape)
    for n in range(len(z)):
        s, seen = random.stream(seed, ids[n]), np.asarray(observed[n], bool)
        for k in range(z.shape[1]):
            others = atoms[0] + np.delete(z[n], k) @ np.delete(atoms[1:], k, axis=0)
            gain = GAINS[likelihood](y[n, seen], others[seen], atoms[k + 1, seen], noise)
            probability[n, k], z[n, k] = choose(s, eta[n, k] + gain)
    return z, probability


def choose(s, log_odds):
    """The probability of a one, and a draw; odds below e^-700 are none."""
    p = expit(log_odds) if log_odds > -700.0 else 0.0
    return p, float(random.uniform(s) < p)


def column_products(z, weights):
    """sum_n weights_ni z~_n z~_n^T of every column, packed, z~ = (1, z)."""
    return weights.T @ pack_products(np.column_stack([np.ones(len(z)), z]))


def solve_probabilities(linear, products, eta, rho, sweeps):
    """logit rho_nk = eta_nk + h_nk - sum_{j != k} r_nj Q_n,jk - Q_n,kk / 2 in turn, r = (1, rho)."""
    rho, products = rho.copy(), np.broadcast_to(products, (len(rho), *products.shape[1:]))
    for _ in range(sweeps):
        for k in range(rho.shape[1]):
            r = np.column_stack([np.ones(len(rho)), rho])
            r[:, k + 1] = 0.5
            at = eta[:, k] + linear[:, k + 1] - np.einsum("nj,nj->n", r, products[:, k + 1])
            rho[:, k] = expit(np.clip(at, -600.0, 600.0))
    return rho
