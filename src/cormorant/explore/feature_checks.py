"""Predictive checks of latent features: replicates drawn from the posterior, compared where entries are observed.

    z, a, sigma_y^2 | y          once a replicate: a sample and a draw of the rows given it (or from q)
    y_ni ~ p(y | s_ni)           s_ni = a_0i + sum_k z_nk a_ki

What is looked at depends on the likelihood. Zeros and ones have no dispersion that their mean does not give, and the
share of zeros is what the rows' totals add up to; real numbers have no zeros, and go together by their correlation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from cormorant.backends.compiled import single_blas_thread
from cormorant.explore.compared import LEVELS, PredictiveCheck, compared
from cormorant.explore.fitted import named
from cormorant.inference.features.state import Table, extended
from cormorant.models.features import draw_entries, signal_mean


@dataclass(frozen=True, eq=False)
class TableSummary:
    """What is looked at of one matrix."""

    row_totals: np.ndarray
    column_totals: np.ndarray
    dispersion: np.ndarray  # variance / mean of a column; of real numbers the variance
    pairs: np.ndarray  # share of the rows that show both columns; of real numbers their correlation
    statistics: dict[str, float]


def feature_check(
    model: Any, X: Any, mask: Any, pairs: np.ndarray, n_replicates: int, rng: np.random.Generator
) -> PredictiveCheck:
    """Compare rows of a feature model with replicates; see `checks.predictive_check`."""
    table, likelihood = model._table(X, mask), model.likelihood
    shown = _shown_columns(table, likelihood)
    observed = summarise_table(likelihood, table.values, table.observed, pairs, shown)
    with single_blas_thread():
        drawn = [
            summarise_table(likelihood, y, table.observed, pairs, shown)
            for y in replicates(model, table, n_replicates, rng)
        ]
    columns = {"column": named(model.column_names_, shown)}
    both = {name: named(model.column_names_, pairs[:, i]) for i, name in enumerate(("column", "other"))}
    statistics = pd.DataFrame([summary.statistics for summary in drawn])

    def against(names: dict[str, Any], pick: Any) -> pd.DataFrame:
        return compared(names, pick(observed), np.array([pick(summary) for summary in drawn]))

    return PredictiveCheck(
        statistics=compared(
            {"statistic": list(statistics)}, np.array(list(observed.statistics.values())), statistics.to_numpy()
        ),
        row_totals=against({"quantile": LEVELS}, lambda s: np.quantile(s.row_totals, LEVELS)),
        columns=against(columns, lambda s: s.column_totals[shown]),
        dispersion=None if likelihood == "bernoulli" else against(columns, lambda s: s.dispersion[shown]),
        pairs=against(both, lambda s: s.pairs),
        replicates=statistics,
        likelihood=likelihood,
    )


def replicates(model: Any, table: Table, n: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Matrices like the rows: features and globals from the posterior, then every entry by the likelihood."""
    for z, g in model._posterior.draws(table, n, rng):
        mean = signal_mean(model.likelihood, extended(z) @ g.atoms.T)
        yield draw_entries(model.likelihood, mean, g.noise, rng)


def summarise_table(
    likelihood: str, y: np.ndarray, observed: np.ndarray, pairs: np.ndarray, shown: np.ndarray
) -> TableSummary:
    """What is looked at of the observed entries, in the statistics of the columns ``shown`` alone."""
    y = np.where(observed, y, 0.0)
    rows, columns = y.sum(axis=1), y.sum(axis=0)
    statistics = {
        "row total, mean": rows.mean(),
        "row total, standard deviation": rows.std(),
        "row total, largest": rows.max(),
    }
    if likelihood == "gaussian":
        statistics["row total, smallest"] = rows.min()
    statistics["column total, standard deviation"] = columns[shown].std()
    statistics["column total, largest"] = columns[shown].max()
    dispersion = _dispersion(y, observed, by_mean=likelihood != "gaussian")
    if likelihood == "gaussian":
        statistics["entry, smallest"] = y[observed].min()
        statistics["entry, largest"] = y[observed].max()
        statistics["variance of a column, mean"] = dispersion[shown].mean()
        going_together = _correlations(y, observed, pairs)
        size = np.abs(going_together)
        statistics["correlation of a pair, mean size"] = size.mean() if len(size) else 0.0
        return TableSummary(rows, columns, dispersion, going_together, _plain(statistics))
    if likelihood == "poisson":
        statistics["share of zeros"] = 1.0 - np.count_nonzero(y) / observed.sum()
        statistics["dispersion, median"] = np.median(dispersion[shown])
        statistics["dispersion, mean"] = dispersion[shown].mean()
    together = _meetings(y, observed, pairs)
    statistics["co-occurrence, mean"] = together.mean() if len(together) else 0.0
    return TableSummary(rows, columns, dispersion, together, _plain(statistics))


def _shown_columns(table: Table, likelihood: str) -> np.ndarray:
    """Columns to compare: those with an entry, of counts and binary data with one above zero."""
    has_any = table.observed if likelihood == "gaussian" else table.values > 0
    shown = np.flatnonzero(has_any.any(axis=0))
    if len(shown) == 0:
        raise ValueError("X must show something: all its entries are zero or missing.")
    return shown


def _dispersion(y: np.ndarray, observed: np.ndarray, by_mean: bool) -> np.ndarray:
    """Variance of each column's observed entries, divided by their mean or not."""
    n = np.maximum(observed.sum(axis=0), 1)
    mean = y.sum(axis=0) / n
    variance = (np.where(observed, y - mean, 0.0) ** 2).sum(axis=0) / n
    # A column that a replicate does not show has no dispersion; like a Poisson of rate zero it is given one.
    return np.divide(variance, mean, out=np.ones_like(mean), where=mean > 0) if by_mean else variance


def _meetings(y: np.ndarray, observed: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Of the rows with entries in both columns of a pair, the share that shows both."""
    first, second = pairs.T
    known = (observed[:, first] & observed[:, second]).sum(axis=0)
    return ((y[:, first] > 0) & (y[:, second] > 0)).sum(axis=0) / np.maximum(known, 1)


def _correlations(y: np.ndarray, observed: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Correlation of the two columns of a pair over the rows with entries in both; zero where one does not vary."""
    first, second = pairs.T
    known = observed[:, first] & observed[:, second]
    n = np.maximum(known.sum(axis=0), 1)
    centred = [np.where(known, y[:, i] - np.where(known, y[:, i], 0.0).sum(axis=0) / n, 0.0) for i in (first, second)]
    spread = np.sqrt((centred[0] ** 2).sum(axis=0) * (centred[1] ** 2).sum(axis=0))
    product = (centred[0] * centred[1]).sum(axis=0)
    return np.divide(product, spread, out=np.zeros_like(product), where=spread > 0)


def _plain(statistics: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in statistics.items()}
