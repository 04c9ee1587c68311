"""Rows by name or number, and what a row is made of: the answers to a served page."""

from __future__ import annotations

import re
from threading import Lock
from typing import Any

import numpy as np

from cormorant.explore.fitted import largest
from cormorant.explore.given_rows import GivenRows, given_rows
from cormorant.explore.labels import short_name
from cormorant.explore.page.values import NAME_LETTERS, column_name, rounded, row_name
from cormorant.explore.row_weights import kept_weights, row_shares

MOST_FOUND = 20
PROFILE_COMPONENTS, PROFILE_COLUMNS = 10, 12
SAMPLE = 5  # rows by which counts are recognised as those of the fit
SAME = 0.01  # relative; weights found twice differ by the precision of the solver


class RowLookup:
    """Rows to look up: those of ``counts``, or those of the fit by the weights that it kept."""

    def __init__(self, model: Any, counts: Any = None, covariates: Any = None):
        self._model, self._weights = model, kept_weights(model)
        self._given = given_rows(model, counts, covariates)
        self._lock = Lock()  # requests come in threads of their own, the model is asked by one at a time
        if self._given is not None:
            self.n_rows, self._names = self._given.counts.n_rows, self._given.counts.row_names
        else:
            self.n_rows = 0 if self._weights is None else len(self._weights)
            self._names = getattr(model, "row_names_", None)
        self._folded = None if self._names is None else [str(name).casefold() for name in self._names]
        self.has_rows_of_fit = self._given is None or self._are_of_fit(self._given)

    def name(self, row: int) -> str:
        """The row's name, or its number where the data have no names."""
        return row_name(self._names, row)

    def find(self, query: str) -> dict[str, Any]:
        """The row of that number, then rows whose name holds the query; at most twenty, and how many there are."""
        wanted = query.strip().casefold()
        is_number = re.fullmatch(r"\d{1,18}", wanted, re.ASCII)
        found = [int(wanted)] if is_number and int(wanted) < self.n_rows else []
        if wanted and self._folded is not None:
            named = (row for row, name in enumerate(self._folded) if wanted in name)
            found += [row for row in named if row not in found[:1]]
        return {"rows": [{"row": row, "name": self.name(row)} for row in found[:MOST_FOUND]], "total": len(found)}

    def profile(self, row: int) -> dict[str, Any]:
        """The row's components by the share of its counts that each explains; its columns where counts are given."""
        with self._lock:
            given = None if self._given is None else self._given.take([row])
            weights = self._kept(row) if given is None else given.weights()[0]
            columns = {} if given is None else self._columns(given)
        shares = row_shares(self._model, weights)
        best = largest(shares, PROFILE_COMPONENTS)
        components = [
            {"component": int(k), "weight": rounded(weights[k]), "share": rounded(shares[k])}
            for k in best
            if shares[k] > 0
        ]
        return {"row": row, "name": self.name(row), "components": components, **columns}

    def _kept(self, row: int) -> np.ndarray:
        """E x of a row of the fit."""
        assert self._weights is not None  # n_rows is zero without them, and no row is asked for
        return self._weights[row]

    def _columns(self, given: GivenRows) -> dict[str, Any]:
        """What the one row shows most, and what it would show next."""
        row, names = given.counts, self._model.column_names_
        order = largest(row.data, PROFILE_COLUMNS)
        shows = [{"name": column_name(names, int(row.indices[e])), "count": row.data[e].item()} for e in order]
        likeliest = given.top_columns(PROFILE_COLUMNS)
        pairs = zip(likeliest["column"], likeliest["probability"], strict=True)
        following = [{"name": short_name(str(name), NAME_LETTERS), "probability": rounded(p)} for name, p in pairs]
        return {"shows": shows, "next": following}

    def _are_of_fit(self, given: GivenRows) -> bool:
        """Whether these are the rows that the model was fitted to: as many, with the same weights."""
        n_rows = given.counts.n_rows
        if self._weights is None or len(self._weights) != n_rows:
            return False
        rows = np.unique(np.linspace(0, n_rows - 1, SAMPLE).astype(np.int64))
        again, kept = given.take(rows).weights(), self._weights[rows]
        return bool(np.allclose(again, kept, rtol=SAME, atol=SAME * np.abs(kept).max()))
