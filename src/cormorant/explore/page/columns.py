"""Columns of the components: the most frequent, the most distinctive, and where a column belongs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from cormorant.explore.fitted import FittedModel, largest
from cormorant.explore.page.values import column_name, rounded
from cormorant.explore.scores import column_scores, overall_probabilities, probabilities

INDEX_BYTES = 2_000_000  # the search knows as many of the most frequent columns as fit
ENTRY_BYTES = 40  # room for the numbers beside a name

Entry = list[Any]  # [column, share of the component's counts, share of the column's counts]


class Vocabulary:
    """Shares of the counts, shown components x columns.

    ``within`` is p(i | k), ``held`` the share of column i that component k holds, u_k p(i | k) / p(i), where u_k is
    the share of all counts that k holds.
    """

    def __init__(self, model: FittedModel, shown: np.ndarray):
        self._names = model.column_names_
        self.overall = overall_probabilities(model)
        self.within = probabilities(model)[shown]
        held = model.usage_[shown, None] / model.usage_.sum()
        self.held = held * self.within / np.maximum(self.overall, np.finfo(float).tiny)
        self.distinctive = column_scores(model, "divergence")[shown]

    def lists(self, i: int, n: int) -> tuple[list[Entry], list[Entry]]:
        """The n most frequent and the n most distinctive columns of the i-th shown component."""
        p, held = self.within[i], self.held[i]

        def entries(scores: np.ndarray) -> list[Entry]:
            return [[int(c), rounded(p[c]), rounded(held[c])] for c in largest(scores, n) if p[c] > 0]

        return entries(p), entries(self.distinctive[i])

    def search_index(self, listed: np.ndarray) -> dict[str, list[Any]]:
        """Names of the listed columns and the most frequent others, with the component that holds most of each.

        That is its place among those shown, p(i | k) and the share held.
        """
        chosen = self._searchable(listed)
        homes = self.held[:, chosen].argmax(axis=0)
        numbers = rounded(self.within[homes, chosen]), rounded(self.held[homes, chosen])
        return {
            "ids": chosen.tolist(),
            "names": [column_name(self._names, i) for i in chosen],
            "homes": [list(home) for home in zip(homes.tolist(), *numbers, strict=True)],
        }

    def _searchable(self, listed: np.ndarray) -> np.ndarray:
        """The listed columns, then the most frequent ones, as many as have room."""
        order = np.argsort(-self.overall, kind="stable")
        order = np.concatenate([listed, order[~np.isin(order, listed)]])
        sizes = [len(json.dumps(column_name(self._names, i))) + ENTRY_BYTES for i in order]
        room = int(np.searchsorted(np.cumsum(sizes), INDEX_BYTES, side="right"))
        return np.sort(order[: max(room, len(listed))])
