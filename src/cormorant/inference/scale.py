"""The scale of a component, A_k = sum_i a_ki, moved with x integrated out.

Given x a scale moves by one part in the root of its counts, and x given the scale no further: between them they would
take thousands of sweeps. With x integrated out, the profile a_ki / A_k as it is and C_k the component's counts,

    log p(log A_k | rest) = (I a0 + C_k) log A_k - b0 A_k - sum_u (w_k + n_uk) log(1 + A_k r(F_uk)) + const,

which is concave; a Newton step and a Metropolis decision take a pass each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cormorant.inference.batch import Batch
from cormorant.inference.moves import Chain, Proposal, RowDraws, RowMove, Visit
from cormorant.inference.state import Additive, Globals


@dataclass(frozen=True)
class ScaleStatistics(Additive):
    """Sums over rows at one scale: sum_u (w + n) log(1 + A r), and its first two derivatives in log A."""

    n_rows: float
    loss: np.ndarray
    slope: np.ndarray
    curvature: np.ndarray


@dataclass(frozen=True)
class ProposeScale(RowMove):
    """A proposal around a Newton step of each log A_k."""

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, ScaleStatistics]:
        """The loss at the present scales."""
        return start, self._loss(view, batch, start)

    def _loss(self, view: Visit, batch: Batch, start: RowDraws) -> ScaleStatistics:
        log_one, share = self._at(view, batch, start.f)
        size = view.globals.weights + start.n
        loss, slope = (np.einsum("uk,uk->k", size, part) for part in (log_one, share))
        return ScaleStatistics(batch.n_rows, loss, slope, slope - np.einsum("uk,uk,uk->k", size, share, share))

    def shared(self, g: Globals, chain: Chain, total: ScaleStatistics) -> tuple[Globals, Chain]:
        """z' ~ N(z + slope / curvature, 1 / curvature) for z = log A."""
        z = np.log(chain.atoms.sum(axis=0))
        mean, spread, target = _newton(g, total, z)
        proposed = mean + spread * chain.rng.normal(size=len(z))
        forward = _log_normal(proposed, mean, spread)
        return g, replace(chain, proposal=Proposal(proposed, forward, target))


@dataclass(frozen=True)
class DecideScale(ProposeScale):
    """Accept or reject each proposed scale."""

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, ScaleStatistics]:
        """The loss at the proposed scales."""
        assert view.proposal is not None  # the pass before made it
        factor = np.exp(view.proposal.values) / view.atoms.sum(axis=0)
        return start, self._loss(replace(view, atoms=view.atoms * factor), batch, start)

    def shared(self, g: Globals, chain: Chain, total: ScaleStatistics) -> tuple[Globals, Chain]:
        """Metropolis and Hastings, component by component; a whole profile is scaled."""
        proposal, z = chain.proposal, np.log(chain.atoms.sum(axis=0))
        assert proposal is not None  # the pass before made it
        mean, spread, target = _newton(g, total, proposal.values)
        ratio = target - proposal.log_target + _log_normal(z, mean, spread) - proposal.log_forward
        accept = np.log(1.0 - chain.rng.random(len(z))) < ratio
        factor = np.where(accept, np.exp(proposal.values - z), 1.0)
        # E a given the counts is scaled along, so that a sample's parts belong together.
        return replace(g, atom_rate=g.atom_rate / factor), replace(chain, atoms=chain.atoms * factor, proposal=None)


def _newton(g: Globals, total: ScaleStatistics, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and spread of a proposal from z = log A, and the log density there."""
    h = g.hyper
    power, rate = g.atom_shape.sum(axis=0), h.b0 * np.exp(z)  # sum_i (a0 + c_ki)
    curvature = np.maximum(rate + total.curvature, 1.0)  # far below its mode the density is all but straight
    mean = z + np.clip((power - rate - total.slope) / curvature, -1.0, 1.0)
    return mean, 1.0 / np.sqrt(curvature), power * z - rate - total.loss


def _log_normal(at: np.ndarray, mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    return -0.5 * ((at - mean) / spread) ** 2 - np.log(spread)
