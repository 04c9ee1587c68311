"""Rows by name or number, and what a row is made of: the answers to a served page."""

from __future__ import annotations

import re
from threading import Lock
from typing import Any

import numpy as np

from cormorant.explore.fitted import has_features, largest
from cormorant.explore.given_rows import GivenRows, given_rows
from cormorant.explore.labels import short_name
from cormorant.explore.page.feature_rows import feature_columns
from cormorant.explore.page.values import NAME_LETTERS, column_name, rounded, row_name
from cormorant.explore.row_weights import kept_weights, row_shares

MOST_FOUND = 20
PROFILE_COMPONENTS, PROFILE_COLUMNS = 10, 12
SAMPLE = 20  # rows by which counts are recognised as those of the fit
SAME = 0.01  # relative; weights found twice differ by the precision of the solver
SAME_FEATURES = (
    0.6  # of what those of other rows differ by: measured, .5 at most after 60 sweeps (other rows: .8 to 1.3)
)


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
        self.places = self._places_of_fit()

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
        if has_features(self._model):
            return feature_columns(given, PROFILE_COLUMNS)
        row, names = given.counts, self._model.column_names_
        order = largest(row.data, PROFILE_COLUMNS)
        shows = [{"name": column_name(names, int(row.indices[e])), "count": row.data[e].item()} for e in order]
        likeliest = given.top_columns(PROFILE_COLUMNS)
        pairs = zip(likeliest["column"], likeliest["probability"], strict=True)
        following = [{"name": short_name(str(name), NAME_LETTERS), "probability": rounded(p)} for name, p in pairs]
        return {"shows": shows, "next": following}

    def _places_of_fit(self) -> np.ndarray | None:
        """Where the rows of the fit are among those to look up, or None where they are not.

        They may be all rows in their order, those left when some were held out, or be found by their names: of a fit
        that held rows out, rows without names are called by their numbers.
        """
        if self._weights is None:
            return None
        n_fitted, n_rows = len(self._weights), self.n_rows
        if self._given is None:
            return np.arange(n_fitted)
        held_out = getattr(self._model, "held_out_rows_", np.array([], dtype=np.int64))
        rest = np.setdiff1d(np.arange(n_rows), held_out)
        by_name = _places_by_name(getattr(self._model, "row_names_", None), self._given.counts.numbered().row_names)
        guesses = (places for places in (by_name, rest) if places is not None and len(places) == n_fitted)
        return next((places for places in guesses if self._are_at(places, self._given)), None)

    def _are_at(self, places: np.ndarray, given: GivenRows) -> bool:
        """Whether the rows at these places have the weights that the fit kept, as far as some of them tell."""
        assert self._weights is not None  # `_places_of_fit` looks
        rows = np.unique(np.linspace(0, len(places) - 1, SAMPLE).astype(np.int64))
        again, kept = given.take(places[rows]).weights(), self._weights[rows]
        if has_features(self._model):
            return _are_same_features(again, kept)
        return bool(np.allclose(again, kept, rtol=SAME, atol=SAME * np.abs(kept).max()))


def _are_same_features(again: np.ndarray, kept: np.ndarray) -> bool:
    """Whether rows have features like those kept: a sampler finds probabilities only about twice the same.

    So each row is nearer to its own than rows are to those of others.
    """
    shifts = range(1, len(kept))
    others = [np.abs(again - np.roll(kept, shift, axis=0)).sum() for shift in shifts]
    return bool(np.abs(again - kept).sum() <= SAME_FEATURES * np.mean(others)) if others else True


def _places_by_name(names: np.ndarray | None, among: np.ndarray | None) -> np.ndarray | None:
    """Where each name is, if every one is there once."""
    if names is None or among is None:
        return None
    place = {str(name): i for i, name in enumerate(among)}
    found = [place.get(str(name), -1) for name in names]
    is_clear = len(place) == len(among) and -1 not in found
    return np.array(found, dtype=np.int64) if is_clear else None
