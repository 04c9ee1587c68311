"""Has a sampler run long enough? Effective sample size and split R-hat (Gelman et al., Bayesian Data Analysis 3)."""

from __future__ import annotations

import numpy as np


def split_chains(traces: np.ndarray) -> np.ndarray:
    """Chains x draws, each chain cut in two halves, so that a drift within a chain shows as a difference of chains."""
    half = traces.shape[1] // 2
    return np.concatenate([traces[:, :half], traces[:, traces.shape[1] - half :]])


def split_rhat(traces: np.ndarray) -> float:
    """sqrt of the pooled variance over the mean variance within half chains: 1 when they agree."""
    halves = split_chains(np.asarray(traces, dtype=float))
    n = halves.shape[1]
    if n < 2:
        return float("nan")
    within = halves.var(axis=1, ddof=1).mean()
    between = n * halves.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return 1.0 if between == 0.0 else float("inf")
    return float(np.sqrt(((n - 1) / n * within + between / n) / within))


def effective_sample_size(traces: np.ndarray) -> float:
    """Draws over 1 + 2 sum_t rho_t, the sum cut by Geyer's rule: while sums of neighbouring pairs stay positive."""
    halves = split_chains(np.asarray(traces, dtype=float))
    m, n = halves.shape
    if n < 4:
        return float("nan")
    centred = halves - halves.mean(axis=1, keepdims=True)
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, size, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, size, axis=1)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / (n - 1)
    pooled = (n - 1) / n * within + halves.mean(axis=1).var(ddof=1)
    if pooled == 0.0:
        return float(m * n)
    rho = 1.0 - (within - covariance) / pooled
    rho[0] = 1.0
    total, least = 0.0, np.inf
    for t in range(0, n - 1, 2):
        pair = rho[t] + rho[t + 1]
        if pair <= 0.0:
            break
        least = min(least, pair)  # and falling
        total += least
    return float(m * n / max(2.0 * total - 1.0, 1.0 / np.log10(m * n)))
