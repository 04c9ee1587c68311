"""How a count finds its component among the weights x_uk (a_ik + a): by sums of sixteen, four of these, one, its own.

The second number is for atoms of which only counts are held: a is then a0, and else zero. Rows and columns go by their
numbers, since a row of an array that has a name counts references, which costs as much as a sum. What is compiled into
other files from here is not looked at when Numba decides what to compile again: see `sampling` and `scanning`.
"""

from __future__ import annotations

import numpy as np

from cormorant.backends.compiled import in_order, inlined
from cormorant.backends.prefetch import prefetch

LANES = 16  # components summed together
ZERO = np.float32(0)


def padded(n_components: int) -> int:
    """Components with the zeros that make the sums come in fours."""
    return n_components + -n_components % (4 * LANES)


def pad(a: np.ndarray) -> np.ndarray:
    """In single precision, with columns of zeros, so that the sums come in fours; as it is, if it is so."""
    if a.dtype == np.float32 and a.shape[1] == padded(a.shape[1]):
        return np.ascontiguousarray(a)
    out = np.zeros((len(a), padded(a.shape[1])), np.float32)
    out[:, : a.shape[1]] = a
    return out


@inlined
def fetch(atoms, i):
    """Ask for the atoms of column i: the table of many columns lies outside the processor's caches."""
    for k in range(0, atoms.shape[1], LANES):
        prefetch(atoms, i, k)  # pyright: ignore[reportCallIssue]  (the first argument is Numba's own)


@inlined
def sum_up(x, u, atoms, i, a, sums, j):
    """The sums of sixteen of row u and column i, into row j of ``sums``, and their total."""
    total = ZERO
    for m in range(0, sums.shape[1], 4):
        k0, z0, z1, z2, z3 = LANES * m, ZERO, ZERO, ZERO, ZERO
        for k in range(LANES):
            z0 += x[u, k0 + k] * (atoms[i, k0 + k] + a)
            z1 += x[u, k0 + k + LANES] * (atoms[i, k0 + k + LANES] + a)
            z2 += x[u, k0 + k + 2 * LANES] * (atoms[i, k0 + k + 2 * LANES] + a)
            z3 += x[u, k0 + k + 3 * LANES] * (atoms[i, k0 + k + 3 * LANES] + a)
        sums[j, m], sums[j, m + 1], sums[j, m + 2], sums[j, m + 3] = z0, z1, z2, z3
        total += _in_pairs(z0, z1, z2, z3)
    return total


@inlined
def find(x, u, atoms, i, a, sums, j, target):
    """The component at which the sum of the weights passes the target."""
    sixteen, total, before = 0, ZERO, ZERO
    for m in range(0, sums.shape[1] - 4, 4):
        total += _in_pairs(sums[j, m], sums[j, m + 1], sums[j, m + 2], sums[j, m + 3])
        below = total < target
        sixteen += 4 * below
        before = total if below else before
    part, target = _pick(sums[j, sixteen], sums[j, sixteen + 1], sums[j, sixteen + 2], target - before)
    k = LANES * (sixteen + part)
    fours = (_four(x, u, atoms, i, a, k), _four(x, u, atoms, i, a, k + 4), _four(x, u, atoms, i, a, k + 8))
    part, target = _pick(fours[0], fours[1], fours[2], target)
    k += 4 * part
    ones = (_one(x, u, atoms, i, a, k), _one(x, u, atoms, i, a, k + 1), _one(x, u, atoms, i, a, k + 2))
    part, target = _pick(ones[0], ones[1], ones[2], target)
    return k + part


@inlined
def _one(x, u, atoms, i, a, k):
    return x[u, k] * (atoms[i, k] + a)


@inlined
def _four(x, u, atoms, i, a, k):
    first = _one(x, u, atoms, i, a, k), _one(x, u, atoms, i, a, k + 1)
    last = _one(x, u, atoms, i, a, k + 2), _one(x, u, atoms, i, a, k + 3)
    return _in_pairs(first[0], first[1], last[0], last[1])


@in_order
def _in_pairs(a, b, c, d):
    """Their sum, two and two: one after the other they would wait for each other."""
    return (a + b) + (c + d)


@inlined
def _pick(a, b, c, target):
    """Which of four summands, the last unnamed, the target falls into, and how far.

    Partial sums below it are counted, without a branch: where it ends cannot be foreseen.
    """
    past_a, past_b, past_c = np.float32(a < target), np.float32(a + b < target), np.float32(a + b + c < target)
    return np.int64(past_a + past_b + past_c), target - (past_a * a + past_b * b + past_c * c)
