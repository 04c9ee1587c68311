"""Monte Carlo comparisons shared by the tests of measures."""

from __future__ import annotations

import numpy as np

ROUNDING = 1e-12  # what a sample without spread may be off by


def in_mean(sample, expected, standard_errors=4.0):
    """Whether the sample mean lies within so many standard errors (4: one false alarm in 16,000)."""
    sample = np.asarray(sample, dtype=float)
    error = sample.std(axis=0, ddof=1) / np.sqrt(len(sample))
    return bool(np.all(np.abs(sample.mean(axis=0) - expected) <= standard_errors * error + ROUNDING))


def in_covariance(sample, expected, standard_errors=5.0):
    """The same for a covariance matrix, entry by entry; 5 because a matrix makes many comparisons."""
    centred = sample - sample.mean(axis=0)
    products = centred[:, :, np.newaxis] * centred[:, np.newaxis, :]
    error = products.std(axis=0) / np.sqrt(len(sample))
    gap = np.abs(products.mean(axis=0) - expected)
    return bool(np.all(gap <= standard_errors * error + ROUNDING))
