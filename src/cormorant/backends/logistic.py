"""log(1 + exp eta), its bounds and derivatives, and the averages of the softplus link, over rows x components.

The processor's vector registers are used if a loop is plain enough: no call of a library, and so few arrays that the
compiler can tell them apart. So the elementary functions are written out, and a row is gone over several times.
"""

from __future__ import annotations

import math

import numpy as np

from cormorant.backends.compiled import compiled, inner, keeping

# Sums in the order they are written in: reassociated, the reduction of the argument below would cancel.
ordered = keeping(nogil=True, fastmath={"contract", "nsz"})

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # the first has zeros to spare for products with n
LN2 = 0.6931471805599453
ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)


@ordered
def exp_negative(x):
    """exp x for x <= 0 (twin: ``numpy.exp``): 2^n times the series of exp r, |r| <= log(2) / 2; 3e-308 at least."""
    x = max(x, -708.0)
    n = math.floor(x * LOG2_E + 0.5)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    p = 1 / 479001600
    p = p * r + 1 / 39916800
    p = p * r + 1 / 3628800
    p = p * r + 1 / 362880
    p = p * r + 1 / 40320
    p = p * r + 1 / 5040
    p = p * r + 1 / 720
    p = p * r + 1 / 120
    p = p * r + 1 / 24
    p = p * r + 1 / 6
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return p * np.int64((np.int64(n) + 1023) << 52).view(np.float64)


@ordered
def _log_ratio(s):
    """log((1 + s) / (1 - s)) = 2 artanh s by its series, |s| <= .172."""
    z = s * s
    p = 1 / 19
    p = p * z + 1 / 17
    p = p * z + 1 / 15
    p = p * z + 1 / 13
    p = p * z + 1 / 11
    p = p * z + 1 / 9
    p = p * z + 1 / 7
    p = p * z + 1 / 5
    p = p * z + 1 / 3
    p = p * z + 1.0
    return 2.0 * s * p


@ordered
def log_positive(x):
    """log x for x >= 1e-300 (twin: ``numpy.log``): x = 2^e m with m between the roots of 1/2 and 2."""
    bits = np.float64(x).view(np.int64)
    e = (bits - ROOT_HALF) >> 52
    m = np.int64(bits - (e << 52)).view(np.float64)
    return e * LN2_HIGH + (e * LN2_LOW + _log_ratio((m - 1.0) / (m + 1.0)))


@ordered
def log_one_plus(t):
    """log(1 + t) for 0 <= t <= 1 (twin: ``numpy.log1p``): of 1 + t, or of its half."""
    far = t > 0.41421356237309503
    return _log_ratio((t - 1.0) / (t + 3.0) if far else t / (t + 2.0)) + (LN2 if far else 0.0)


@inner
def _half_tanh(c, tail):
    """tanh(c / 2) / (2 c), given tail = exp(-c)."""
    return 0.25 - c * c / 48.0 if c < 1e-4 else (1.0 - tail) / ((1.0 + tail) * 2.0 * c)


@compiled
def logistic_bound(first, last, mean, variance, log_rate, log_one, slope, curvature):
    """Of each row: c^2 = E eta^2, and what follows from it."""
    n_components = mean.shape[1]
    tail = np.empty(n_components)
    for u in range(first, last):
        m, v, rate = mean[u], variance[u], log_rate[u if log_rate.shape[0] > 1 else 0]
        value, by_eta, c = log_one[u], slope[u], curvature[u]
        for k in range(n_components):
            eta = m[k] + rate[k]
            c[k] = math.sqrt(eta * eta + max(v[k], 0.0))
        for k in range(n_components):
            tail[k] = exp_negative(-c[k])
        for k in range(n_components):
            value[k] = 0.5 * (m[k] + rate[k] + c[k]) + log_one_plus(tail[k])
        for k in range(n_components):
            eta, t = m[k] + rate[k], tail[k]
            # 1/2 - curve |eta| without the cancellation, which would leave E x of tiny rates to rounding.
            least = t / (1.0 + t) + _half_tanh(c[k], t) * max(v[k], 0.0) / max(c[k] + abs(eta), 1e-300)
            by_eta[k] = least if eta < 0.0 else 1.0 - least
        for k in range(n_components):
            c[k] = _half_tanh(c[k], tail[k])


@compiled
def logistic(first, last, mean, log_rate, log_one, slope):
    """Of each row: log(1 + exp eta) and sigma(eta)."""
    n_components = mean.shape[1]
    tail = np.empty(n_components)
    for u in range(first, last):
        m, rate = mean[u], log_rate[u if log_rate.shape[0] > 1 else 0]
        value, by_eta = log_one[u], slope[u]
        for k in range(n_components):
            tail[k] = exp_negative(-abs(m[k] + rate[k]))
        for k in range(n_components):
            value[k] = max(m[k] + rate[k], 0.0) + log_one_plus(tail[k])
        for k in range(n_components):
            by_eta[k] = (tail[k] if m[k] + rate[k] < 0.0 else 1.0) / (1.0 + tail[k])


@compiled
def negative_binomial(first, last, field, log_rate, n, weights, bounded, value, slope, omega):
    """Of each row: h = n F - (w + n) log(1 + exp eta), h', and -h'' or a bound of it; eta = F + log_rate."""
    n_components = field.shape[1]
    tail, size = np.empty(n_components), np.empty(n_components)
    for u in range(first, last):
        f, rate, y = field[u], log_rate[u if log_rate.shape[0] > 1 else 0], n[u]
        h, by_field, curve = value[u], slope[u], omega[u]
        for k in range(n_components):
            size[k] = weights[k] + y[k]
        for k in range(n_components):
            tail[k] = exp_negative(-abs(f[k] + rate[k]))
        for k in range(n_components):
            h[k] = y[k] * f[k] - size[k] * (max(f[k] + rate[k], 0.0) + log_one_plus(tail[k]))
        for k in range(n_components):
            by_field[k] = y[k] - size[k] * ((tail[k] if f[k] + rate[k] < 0.0 else 1.0) / (1.0 + tail[k]))
        if len(bounded) > 0 and bounded[u]:
            for k in range(n_components):
                curve[k] = size[k] * _half_tanh(abs(f[k] + rate[k]), tail[k])
        else:
            for k in range(n_components):
                curve[k] = size[k] * tail[k] / ((1.0 + tail[k]) * (1.0 + tail[k]))


@compiled
def softplus_averages(first, last, mean, variance, log_rate, nodes, weights, out):
    """Sums over the nodes of seven functions of F = mean + node sqrt(variance), node by node."""
    n_components = mean.shape[1]
    room = np.empty((6, n_components))
    rate, spread, curve, sigma, r, inverse = room[0], room[1], room[2], room[3], room[4], room[5]
    for u in range(first, last):
        m, v, log_a = mean[u], variance[u], log_rate[u if log_rate.shape[0] > 1 else 0]
        for k in range(n_components):
            rate[k] = math.exp(log_a[k])
            spread[k] = math.sqrt(max(v[k], 0.0))
            for i in range(7):
                out[i, u, k] = 0.0
        for j in range(len(nodes)):
            _softplus(m, spread, nodes[j], curve, sigma, r)
            for k in range(n_components):
                inverse[k] = 1.0 / (1.0 + rate[k] * r[k])
            _add_node(weights[j], rate, curve, sigma, r, inverse, out[:, u])


@inner
def _softplus(mean, spread, node, curve, sigma, r):
    """r = log(1 + exp F), r' = sigma and r''."""
    n_components = len(mean)
    for k in range(n_components):
        curve[k] = exp_negative(-abs(mean[k] + node * spread[k]))
    for k in range(n_components):
        r[k] = max(max(mean[k] + node * spread[k], 0.0) + log_one_plus(curve[k]), 1e-300)
    for k in range(n_components):
        sigma[k] = (curve[k] if mean[k] + node * spread[k] < 0.0 else 1.0) / (1.0 + curve[k])
    for k in range(n_components):
        curve[k] = curve[k] / ((1.0 + curve[k]) * (1.0 + curve[k]))


@inner
def _add_node(weight, rate, curve, sigma, r, inverse, out):
    """With inverse = 1 / (1 + A r): the seven functions at one node; r is left as 1 / r."""
    n_components = len(r)
    out0, out1, out2, out3, out4, out5, out6 = out[0], out[1], out[2], out[3], out[4], out[5], out[6]
    for k in range(n_components):
        out0[k] += weight * log_positive(r[k])
    for k in range(n_components):
        out1[k] -= weight * log_positive(inverse[k])
    for k in range(n_components):
        out2[k] += weight * r[k] * inverse[k]
    for k in range(n_components):
        r[k] = 1.0 / r[k]
    for k in range(n_components):
        out3[k] += weight * sigma[k] * r[k]
    for k in range(n_components):
        out4[k] += weight * (sigma[k] * sigma[k] * r[k] - curve[k]) * r[k]
    for k in range(n_components):
        out5[k] += weight * rate[k] * sigma[k] * inverse[k]
    for k in range(n_components):
        slope = rate[k] * sigma[k] * inverse[k]
        out6[k] += weight * (rate[k] * curve[k] * inverse[k] - slope * slope)
