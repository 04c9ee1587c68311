"""Plain NumPy twins of the compiled steps: short, slow, and what the compiled ones are tested against."""

from __future__ import annotations

import builtins
import math

import numpy as np
from scipy.special import digamma, expit, log_expit

from cormorant.backends.packing import pack_indices, pack_products, unpack  # noqa: F401 (pack_products: a step itself)

map = builtins.map  # of blocks of rows, one after another


def product(a, b):
    """a @ b."""
    return a @ b


def allocate(indptr, indices, counts, atoms, weights, log_scale, n, sweeps, zero_order):
    """phi_uik proportional to exp(E log x_uk) atoms_ik;  n_uk = sum_i y_ui phi_uik; repeated ``sweeps`` times.

    Returns n, theta (exp(E log x) with each row's largest at one) and y / normaliser of each entry.
    """
    n, atoms = np.array(n, dtype=atoms.dtype), atoms[:, : n.shape[1]]
    floor = math.sqrt(np.finfo(atoms.dtype).tiny)
    theta, ratio = np.empty_like(n), np.empty(len(indices), atoms.dtype)
    for u in range(len(n)):
        row = slice(indptr[u], indptr[u + 1])
        for _ in range(sweeps):
            theta[u] = propensities(weights + n[u], log_scale[u], zero_order, floor)
            ratio[row], total = share_row(atoms[indices[row]], counts[row], theta[u])
            n[u] = theta[u] * total
    return n, theta, ratio


def propensities(shape, log_scale, zero_order, floor):
    """theta_k = exp(E log x_k), or (E x_k) to zeroth order, with the largest taken out."""
    log_theta = (np.log(shape) if zero_order else digamma(shape)) + log_scale
    return np.maximum(np.exp(log_theta - log_theta.max()), floor)


def share_row(atoms, counts, theta):
    """y_j / sum_k theta_k a_jk of each of a row's entries, and sum_j of that times a_jk."""
    ratio = counts / (atoms @ theta)
    return ratio, ratio @ atoms


def column_totals(offsets, rows, ratio, theta, atoms):
    """Expected counts c_ik = sum_u y_ui phi_uik, the entries sorted by column; in double precision."""
    out = np.empty((len(atoms), theta.shape[1]))
    for i in range(len(atoms)):
        entries = slice(offsets[i], offsets[i + 1])
        out[i] = (ratio[entries].astype(np.float64) @ theta[rows[entries]]) * atoms[i, : theta.shape[1]]
    return out


def entry_rates(indptr, indices, x, atoms):
    """sum_k x_uk a_ki at each entry (u, i)."""
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return np.einsum("jk,jk->j", x[rows], atoms[indices])


def logistic_bound(mean, variance, log_rate):
    """With eta = F + log rate and c^2 = E eta^2: (E eta + c)/2 + log(1 + exp(-c)), its slope and its curvature in F."""
    eta = mean + log_rate
    c = np.sqrt(eta**2 + np.maximum(variance, 0.0))
    curvature = half_tanh(c)
    # 1/2 + curvature eta, written without cancellation for eta far below zero.
    spread = np.maximum(variance, 0.0) / np.maximum(c + abs(eta), 1e-300)
    least = np.exp(-c) / (1 + np.exp(-c)) + curvature * spread
    return (eta + c) / 2 + np.log1p(np.exp(-c)), np.where(eta < 0, least, 1 - least), curvature


def half_tanh(c):
    """tanh(c / 2) / (2 c), which is 1/4 at zero."""
    return np.where(c < 1e-5, 0.25, np.tanh(c / 2) / np.maximum(2 * c, 1e-300))


def logistic(mean, log_rate):
    """With eta = F + log rate: log(1 + exp eta) and sigma(eta)."""
    eta = mean + log_rate
    return np.logaddexp(0.0, eta), expit(eta)


def negative_binomial(field, log_rate, n, weights, bounded, dtype):
    """h(F) = n F - (w + n) log(1 + exp eta), and as ``dtype`` h' and -h''.

    In rows that are bounded sigma' gives way to tanh(eta / 2) / (2 eta), the curvature of Jaakkola and Jordan's bound.
    """
    log_one, slope = logistic(field, log_rate)
    curvature = slope * expit(-field - log_rate)
    if bounded is not None:
        curvature[bounded] = logistic_bound(field, np.zeros_like(field), log_rate)[2][bounded]
    size = weights + n
    return n * field - size * log_one, (n - size * slope).astype(dtype), (size * curvature).astype(dtype)


def softplus_averages(mean, variance, log_rate, nodes, weights):
    """With F = mean + node sqrt(variance), r = log(1 + exp F) and A = exp(log_rate): weighted sums over the nodes of

    log r, log(1 + A r), r / (1 + A r), (log r)', -(log r)'', (log(1 + A r))' and (log(1 + A r))''.
    """
    spread, rate = np.sqrt(np.maximum(variance, 0.0), dtype=np.float64), np.exp(log_rate)
    averages = np.zeros((7, *mean.shape))
    for node, weight in zip(nodes, weights, strict=True):
        averages += weight * softplus_terms(rate, *softplus(mean + node * spread))
    return averages


def softplus(field):
    """r'' = sigma (1 - sigma), r' = sigma and r = log(1 + exp F), which is never zero."""
    curve = np.exp(log_expit(field) + log_expit(-field))
    return curve, expit(field), np.maximum(np.logaddexp(0.0, field), 1e-300)


def softplus_terms(rate, curve, sigma, r):
    """The seven functions of `softplus_averages` at one F."""
    inverse = 1.0 / (1.0 + rate * r)
    log_slope, one_slope = sigma / r, rate * sigma * inverse
    log_curve, one_curve = log_slope**2 - curve / r, rate * curve * inverse - one_slope**2
    return np.stack([np.log(r), -np.log(inverse), r * inverse, log_slope, log_curve, one_slope, one_curve])


def gaussian_moments(precision, linear):
    """P^-1 b, and P^-1 packed, of each."""
    covariance = np.linalg.inv(unpack(precision, linear.shape[1]))
    p, q = pack_indices(linear.shape[1])
    return np.einsum("upq,uq->up", covariance, linear), covariance[:, p, q]


def gaussian_log_densities(precision, linear, at):
    """log N(at | P^-1 b, P^-1), up to the constant of the dimension."""
    full = unpack(precision, linear.shape[1])
    apart = at - np.linalg.solve(full, linear[..., None])[..., 0]
    return 0.5 * (np.linalg.slogdet(full)[1] - np.einsum("up,upq,uq->u", apart, full, apart))
