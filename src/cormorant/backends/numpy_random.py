"""Plain Python twins of `random`, name by name: the same words of the same streams, and so the same draws to rounding.

A stream is a list of two whole numbers below 2^64; every draw moves it on.
"""

from __future__ import annotations

import math

from cormorant.backends import random
from cormorant.backends.random import FAR, MANY, TERMS

WORDS = 2**64
EDGES, HEIGHTS = random.EDGES.tolist(), random.HEIGHTS.tolist()


def splitmix(x):
    """The next state of Steele, Lea and Flood's generator, and its word."""
    x = (x + 0x9E3779B97F4A7C15) % WORDS
    z = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % WORDS
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORDS
    return x, z ^ (z >> 31)


def stream(seed, row):
    """Two words of the generator that starts at the seed, its bits turned over where the row's own word has ones."""
    state, first = splitmix(int(seed) ^ splitmix(int(row) + 1)[1])
    return [first, splitmix(state)[1]]


def rotated(word, bits):
    """The bits of a word moved to the left, and those that leave it come in on the right."""
    return (word << bits | word >> (64 - bits)) % WORDS


def word(s):
    """64 random bits, by Blackman and Vigna's xoroshiro128+."""
    first, second = s
    mixed = first ^ second
    s[:] = rotated(first, 24) ^ mixed ^ (mixed << 16) % WORDS, rotated(mixed, 37)
    return (first + second) % WORDS


def unit(word):
    """The upper 53 bits as a number in (0, 1]."""
    return ((word >> 11) + 0.5) * 2.0**-53


def uniform(s):
    """Uniform on (0, 1]."""
    return unit(word(s))


def normal(s):
    """Standard normal: the ziggurat's layer from bits 3 to 10 of a word, the place in it from its upper bits."""
    while True:
        bits = word(s)
        i = bits >> 3 & 255
        x = (2.0 * unit(bits) - 1.0) * EDGES[i]
        if abs(x) < EDGES[i + 1]:
            return x
        if i == 0:
            return math.copysign(EDGES[1] + beyond(s), x)
        if HEIGHTS[i] + uniform(s) * (HEIGHTS[i + 1] - HEIGHTS[i]) < math.exp(-0.5 * x * x):
            return x


def beyond(s):
    """How far a normal variable lies beyond the ziggurat's edge, by Marsaglia's two exponential variables."""
    while True:
        x, y = -math.log(uniform(s)) / EDGES[1], -math.log(uniform(s))
        if 2.0 * y >= x * x:
            return x


def power(u, shape):
    """u^(1 / shape), which for a shape of zero is zero."""
    return math.exp(math.log(u) / shape) if shape > 0.0 else 0.0


def gamma(s, shape):
    """Gamma(shape, 1)."""
    return power(uniform(s), shape) * gamma_above_one(s, shape + 1.0) if shape < 1.0 else gamma_above_one(s, shape)


def gamma_above_one(s, shape):
    """Gamma(shape, 1) for a shape of at least one: d (1 + z / sqrt(9 d))^3, accepted by Marsaglia and Tsang's rule."""
    d = shape - 1.0 / 3.0
    while True:
        z = normal(s)
        root = 1.0 + z / math.sqrt(9.0 * d)
        if root > 0.0:
            u, v = uniform(s), root**3
            if u < 1.0 - 0.0331 * z**4 or math.log(u) < 0.5 * z**2 + d * (1.0 - v + math.log(v)):
                return d * v


def binomial(s, n, p):
    """How many of n uniforms are below p: all up to their median or none above it, as the median falls."""
    if n <= 16:
        return sum(uniform(s) < p for _ in range(n))
    middle = (n + 1) // 2
    a = gamma(s, float(middle))
    median = a / (a + gamma(s, float(n + 1 - middle)))
    if median <= p:
        return middle + binomial(s, n - middle, (p - median) / (1.0 - median))
    return binomial(s, middle - 1, p / median)


def tables(s, n, w):
    """Tables of n > 0 customers with concentration w; many of them as a rounded normal variable."""
    rest = w / (w + n)
    variance = w * (rest - 1.0 - math.log(rest)) if w > 0.0 else 0.0
    if n > 4.0 * MANY and variance > MANY:
        mean = 0.5 * (1.0 - rest) - w * math.log(rest)
        return min(max(round(mean + math.sqrt(variance) * normal(s)), 1), int(n))
    few = int(min(n, max(32.0, 32.0 * w)))
    return 1 + sum(uniform(s) * (w + j) < w for j in range(1, few)) + later_tables(s, few, n, w)


def later_tables(s, j, n, w):
    """Tables that open from customer j on, each found by bisection of the chance that none has opened yet."""

    def log_survival(m):
        return math.lgamma(m) - math.lgamma(w + m)

    count = 0
    while j < n:
        bar = math.log(uniform(s)) + log_survival(j)
        if log_survival(n) >= bar:
            break
        low, high = j, n
        while high - low > 1:
            m = (low + high) // 2
            low, high = (m, high) if log_survival(m) >= bar else (low, m)
        count, j = count + 1, high
    return count


def inverse_gaussian(s, mean, spread):
    """With variance spread * mean^2, by Michael, Schucany and Haas: mean / root, or now and then mean * root."""
    y = 0.5 * spread * normal(s) ** 2
    root = 1.0 + y + math.sqrt(y * (2.0 + y))
    return mean / root if uniform(s) * (1.0 + root) <= root else mean * root


def ratio(a, b):
    """a / b as processors have it: infinite for b = 0."""
    return a / b if b != 0.0 else math.inf


def polya_gamma(s, b, c):
    """PG(b, c): inverse Gaussian far out, else the first terms of its series, and the rest by mean and variance."""
    c = abs(c)
    if max(b, 1.0) * math.exp(-c) < FAR:
        return inverse_gaussian(s, b / (2.0 * c), ratio(2.0, b * c))
    mean, variance = 0.25 - c**2 / 48.0, 1.0 / 24.0 - c**2 / 120.0
    if c > 1e-2:
        mean = math.tanh(c / 2) / (2.0 * c)
        variance = (math.sinh(c) - c) / (4.0 * c**3 * math.cosh(c / 2) ** 2)
    scales = [1.0 / (2.0 * math.pi**2 * ((j + 0.5) ** 2 + (c / (2.0 * math.pi)) ** 2)) for j in range(TERMS)]
    total = sum(scale * gamma(s, b) for scale in scales)
    mean, variance = mean - sum(scales), variance - sum(scale**2 for scale in scales)
    return total + inverse_gaussian(s, b * mean, ratio(variance, b * mean**2))
