"""The sampler's move for locations that have places: each component is given one by its full conditional."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cormorant.inference.batch import Batch
from cormorant.inference.links import LINKS
from cormorant.inference.moves import Chain, RowDraws, RowMove, Visit
from cormorant.inference.state import Additive, Globals


@dataclass(frozen=True)
class PlaceStatistics(Additive):
    """Sums over rows: the log likelihood of every component at every place, x integrated out."""

    n_rows: float
    log_likelihood: np.ndarray  # components x places


@dataclass(frozen=True)
class ChoosePlaces(RowMove):
    """P(l_k = p) ~ prod_u r(F_u(p))^n_uk (1 + A_k r(F_u(p)))^-(w_k + n_uk), F_u(p) = sigma phi(p) . d_u + mu_u."""

    @property
    def _places(self) -> np.ndarray:
        places = self.model.kernel.places
        assert places is not None  # what this move is for
        return places

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, PlaceStatistics]:
        """Every place in turn, for all components at once."""
        w, n, g = view.globals.weights, start.n, view.globals
        features = self.model.kernel.features(self._places, g.hyper.sigma_l2)
        size = features.shape[1]
        field = self.backend.product(start.f[:, :size], features.T) + start.f[:, size:].sum(axis=1, keepdims=True)
        log_rate = view.log_rate(batch)
        found = np.empty((len(w), len(features)))
        for place in range(len(features)):
            everywhere = np.repeat(field[:, [place]], len(w), axis=1)
            h = LINKS[self.model.link].likelihood(everywhere, log_rate, n, w, self.backend)
            found[:, place] = h.value.sum(axis=0)
        return start, PlaceStatistics(batch.n_rows, found)

    def shared(self, g: Globals, chain: Chain, total: PlaceStatistics) -> tuple[Globals, Chain]:
        """A categorical draw a component, by Gumbel noise; given f, x integrated out, they are independent."""
        noise = chain.rng.gumbel(size=total.log_likelihood.shape)
        return replace(g, locations=self._places[(total.log_likelihood + noise).argmax(axis=1)]), chain
