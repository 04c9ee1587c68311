"""Observed against replicated, as tables: what every predictive check ends with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from cormorant.estimators.chains import interval_of

LEVELS = np.linspace(0, 1, 101)  # of the quantiles of row totals
LEVEL = 0.9  # of the intervals


@dataclass(frozen=True, eq=False)
class PredictiveCheck:
    """Observed against replicated, as data frames with observed, replicated (mean), low, high (90%) and tail."""

    statistics: pd.DataFrame  # a line a statistic
    row_totals: pd.DataFrame  # a line a quantile of the rows' totals
    columns: pd.DataFrame  # a line a column that is shown: its total
    # A line a column that is shown: variance / mean of its counts, the variance of its real numbers; None of zeros and
    # ones, whose variance their mean gives.
    dispersion: pd.DataFrame | None
    pairs: pd.DataFrame  # a line a pair of top columns: share of the rows that show both; of real numbers, correlation
    replicates: pd.DataFrame  # the statistics of every replicate
    likelihood: str = "poisson"  # what entries are taken to be drawn from: "poisson", "bernoulli" or "gaussian"

    def __str__(self) -> str:
        return self.statistics.round(4).to_string(index=False)


def compared(names: dict[str, Any], observed: np.ndarray, replicated: np.ndarray) -> pd.DataFrame:
    """A line a quantity; replicates are rows of ``replicated``."""
    low, high = interval_of(replicated, LEVEL)
    tail = (replicated > observed).mean(axis=0) + (replicated == observed).mean(axis=0) / 2
    compared = {"observed": observed, "replicated": replicated.mean(axis=0), "low": low, "high": high, "tail": tail}
    return pd.DataFrame({**names, **compared})
