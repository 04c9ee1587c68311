"""What a row of a model of features shows, would show next and is missing: for the look-up of the page."""

from __future__ import annotations

from typing import Any

import numpy as np

from cormorant.explore.fitted import largest
from cormorant.explore.given_rows import GivenRows
from cormorant.explore.page.values import column_name, rounded


def feature_columns(given: GivenRows, n: int) -> dict[str, Any]:
    """Columns of the one row: n that it shows most, n where most is expected that it does not show, n that are missing.

    A real number is told where it is furthest from the background, which is what a row without features shows.
    """
    model = given.model
    table = model._table(given.counts, None)
    values, observed = table.values[0], table.observed[0]
    expected = np.asarray(model.predict_mean(given.counts))[0]
    guess = "probability" if model.likelihood == "bernoulli" else "expected"
    missing = {"missing": _largest(model, expected, ~observed, guess, n)} if not observed.all() else {}
    if model.likelihood == "gaussian":
        return {"shows": _largest(model, values, observed, "value", n), **missing}
    shown = observed & (values > 0)
    following = _largest(model, expected, observed & ~shown, guess, n)
    return {"shows": _largest(model, values, shown, "count", n), "next": following, **missing}


def _largest(model: Any, numbers: np.ndarray, among: np.ndarray, called: str, n: int) -> list[dict[str, Any]]:
    """Columns with the largest numbers; size is what a bar shows."""
    sizes = np.abs(numbers - model.background_) if model.likelihood == "gaussian" else numbers
    best = largest(np.where(among, sizes, -np.inf), n)[: int(among.sum())]
    return [
        {"name": column_name(model.column_names_, int(i)), called: rounded(numbers[i]), "size": rounded(sizes[i])}
        for i in best
    ]
