"""Compiled random draws with a stream for each row, so that results do not depend on threads or their order.

A stream is an array of two 64-bit words (xoroshiro128+), made by ``stream(seed, row)``; every draw moves it on. Twins
that draw the same are in `numpy_random`, under the same names.
"""

from __future__ import annotations

import math

import numpy as np

from cormorant.backends.compiled import inner

_ONE = np.uint64(1)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
TERMS = 3  # gammas drawn one by one in a Polya-Gamma variable; the rest of the series is drawn as one variable
MANY = 1e4  # variance of a number of tables from which on it is drawn as a rounded normal variable
FAR = 1e-4  # PG(b, c) is drawn as inverse Gaussian where that is off by less: see `polya_gamma`


@inner
def _splitmix(x):
    x = x + GOLDEN
    z = (x ^ (x >> np.uint64(30))) * MIX_1
    z = (z ^ (z >> np.uint64(27))) * MIX_2
    return x, z ^ (z >> np.uint64(31))


@inner
def stream(seed, row):
    """The stream of one row: two words that depend on every bit of the seed and of the row."""
    out = np.empty(2, np.uint64)
    _, start = _splitmix(np.uint64(row) + _ONE)
    state = np.uint64(seed) ^ start
    state, out[0] = _splitmix(state)
    _, out[1] = _splitmix(state)
    return out


@inner
def _word(s):
    """64 random bits."""
    first, second = s[0], s[1]
    result = first + second
    second ^= first
    s[0] = ((first << np.uint64(24)) | (first >> np.uint64(40))) ^ second ^ (second << np.uint64(16))
    s[1] = (second << np.uint64(37)) | (second >> np.uint64(27))
    return result


@inner
def _unit(word):
    """The upper 53 bits as a number in (0, 1]: never 0, whose logarithm is infinite; all ones are rounded to 1."""
    return (float(word >> np.uint64(11)) + 0.5) * 2.0**-53


@inner
def uniform(s):
    """Uniform on (0, 1]."""
    return _unit(_word(s))


def _layers(n=256, edge=3.6541528853610088, area=0.00492867323399):
    """Edges and heights of n layers of equal area under exp(-x^2 / 2), the lowest with the tail beyond its edge."""
    x = np.zeros(n + 1)
    x[0], x[1] = area * math.exp(0.5 * edge * edge), edge
    for i in range(1, n - 1):
        x[i + 1] = math.sqrt(-2.0 * math.log(area / x[i] + math.exp(-0.5 * x[i] * x[i])))
    return x, np.exp(-0.5 * x * x)


EDGES, HEIGHTS = _layers()


@inner
def normal(s):
    """Standard normal, by Marsaglia and Tsang's ziggurat: a point of a layer, nearly always below the curve."""
    while True:
        word = _word(s)
        i = np.int64((word >> np.uint64(3)) & np.uint64(255))  # bits that the number itself does not use
        x = (2.0 * _unit(word) - 1.0) * EDGES[i]
        if abs(x) < EDGES[i + 1]:
            return x
        if i == 0:
            beyond, y = 1.0, 0.0
            while y + y < beyond * beyond:
                beyond, y = -math.log(uniform(s)) / EDGES[1], -math.log(uniform(s))
            return EDGES[1] + beyond if x > 0.0 else -EDGES[1] - beyond
        if HEIGHTS[i] + uniform(s) * (HEIGHTS[i + 1] - HEIGHTS[i]) < math.exp(-0.5 * x * x):
            return x


@inner
def gamma(s, shape):
    """Gamma(shape, 1); for a shape below one, Gamma(shape + 1) u^(1 / shape)."""
    if shape < 1.0:
        return math.exp(math.log(uniform(s)) / shape) * gamma_above_one(s, shape + 1.0)
    return gamma_above_one(s, shape)


@inner
def gamma_above_one(s, shape):
    """Gamma(shape, 1) for a shape of at least one, by Marsaglia and Tsang."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        z = normal(s)
        v = 1.0 + c * z
        if v <= 0.0:
            continue
        v = v * v * v
        u = uniform(s)
        if u < 1.0 - 0.0331 * z * z * z * z or math.log(u) < 0.5 * z * z + d * (1.0 - v + math.log(v)):
            return d * v


@inner
def binomial(s, n, p):
    """Binomial(n, p): halve n by the median of n uniforms (a beta variable) until the rest can be counted."""
    total = 0
    while n > 16:
        middle = (n + 1) // 2
        a = gamma(s, float(middle))
        b = a / (a + gamma(s, float(n + 1 - middle)))
        if b <= p:
            total += middle
            n -= middle
            p = (p - b) / (1.0 - b)
        else:
            n = middle - 1
            p = p / b
    for _ in range(n):
        if uniform(s) < p:
            total += 1
    return total


@inner
def tables(s, n, w):
    """Tables that n > 0 customers of a Chinese restaurant with concentration w sit at: sum_j<n Bernoulli(w / (w + j)).

    While tables are likely, customers are seated one by one. After that the next new table is found in one step: none
    opens before customer m with probability Gamma(m) Gamma(w + j) / (Gamma(j) Gamma(w + m)). Huge counts with huge w
    would take millions of steps. Their number is normal: the distribution function of a sum of Bernoulli variables
    is off by less than 0.07 / sqrt(variance) (mean and variance by Euler and Maclaurin).
    """
    if n > 4.0 * MANY:
        rest = w / (w + n)
        variance = w * (rest - 1.0 - math.log(rest))
        if variance > MANY:
            mean = 0.5 * (1.0 - rest) - w * math.log(rest)
            return min(max(round(mean + math.sqrt(variance) * normal(s)), 1), int(n))
    count = 1  # the first customer's
    few = int(min(n, max(32.0, 32.0 * w)))
    for j in range(1, few):
        if uniform(s) * (w + j) < w:
            count += 1
    j = few
    while j < n:
        bar = math.log(uniform(s)) + math.lgamma(j) - math.lgamma(w + j)
        if math.lgamma(n) - math.lgamma(w + n) >= bar:
            break
        low, high = j, n  # the first m at which the survival falls below the bar lies in (low, high]
        while high - low > 1:
            m = (low + high) // 2
            if math.lgamma(m) - math.lgamma(w + m) >= bar:
                low = m
            else:
                high = m
        count += 1
        j = high
    return count


@inner
def _inverse_gaussian(s, mean, spread):
    """With this mean and variance spread * mean^2; an infinite spread leaves nothing of it but zero."""
    z = normal(s)
    y = 0.5 * spread * z * z
    root = 1.0 + y + math.sqrt(y * (2.0 + y))  # of the chi-square relation; the other is its inverse
    return mean / root if uniform(s) * (1.0 + root) <= root else mean * root


@inner
def polya_gamma(s, b, c):
    """PG(b, c) = sum_j Gamma(b) / (2 pi^2 ((j - 1/2)^2 + (c / 2 pi)^2)), j = 1, 2, ...; zero for b = 0.

    cosh(z) is e^z / 2 for large z, which makes PG(b, c) inverse Gaussian for large c: the logarithm of its Laplace
    transform is off by b e^-c at most, and its mean by 2 e^-c of itself, which counts where b is small. Otherwise the
    first terms are drawn one by one and the rest of the series as one inverse Gaussian with its mean and variance,
    which are the whole's less the first terms'. (An inverse Gaussian shares the rest's behaviour near zero, and its
    third cumulant is closer than a gamma's.)
    """
    c = abs(c)
    if max(b, 1.0) * math.exp(-c) < FAR:
        return _inverse_gaussian(s, b / (2.0 * c), 2.0 / (b * c))
    if c > 1e-2:
        t = math.tanh(0.5 * c)
        mean = t / (2.0 * c)
        variance = (2.0 * t - c * (1.0 - t * t)) / (4.0 * c * c * c)
    else:
        mean, variance = 0.25 - c * c / 48.0, 1.0 / 24.0 - c * c / 120.0
    far = c * c / (4.0 * math.pi * math.pi)
    total = 0.0
    for j in range(TERMS):
        scale = 1.0 / (2.0 * math.pi * math.pi * ((j + 0.5) * (j + 0.5) + far))
        total += scale * gamma(s, b)
        mean -= scale
        variance -= scale * scale
    return total + _inverse_gaussian(s, b * mean, variance / (b * mean * mean))
