"""The scale of a component, A_k = sum_i a_ki, moved with x integrated out; and the weights, drawn in the same pass.

Given x a scale moves by one part in the root of its counts, and x given the scale no further: between them they would
take thousands of sweeps. With x integrated out, the profile a_ki / A_k as it is and C_k the component's counts,

    log p(log A_k | rest) = (I a0 + C_k) log A_k - b0 A_k - sum_u (w_k + n_uk) log(1 + A_k r(F_uk)) + const,

which is concave: a Newton step from where it is, and a Metropolis decision. Where next to nothing is known of A_k the
density has a long tail to the left, and the proposal is the gamma variable that A_k would be with the slope held.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cormorant.inference import draws
from cormorant.inference.batch import Batch
from cormorant.inference.moves import TINY, Chain, Proposal, RowDraws, RowMove, Visit
from cormorant.inference.state import Additive, Globals
from cormorant.inference.tops import TOPS

VAGUE = 10.0  # I a0 + C below which log A is far from a normal variable


@dataclass(frozen=True)
class ScaleStatistics(Additive):
    """Sums over rows at one scale: sum_u (w + n) log(1 + A r), and its first two derivatives in log A."""

    n_rows: float
    loss: np.ndarray
    slope: np.ndarray
    curvature: np.ndarray
    log_one: np.ndarray  # sum_u log(1 + A_k r(F_uk))


def scale_statistics(size: np.ndarray, log_one: np.ndarray, share: np.ndarray) -> ScaleStatistics:
    """Given w + n, log(1 + A r) and A r / (1 + A r) of every row and component."""
    loss, slope = (np.einsum("uk,uk->k", size, part) for part in (log_one, share))
    curvature = slope - np.einsum("uk,uk,uk->k", size, share, share)
    return ScaleStatistics(len(size), loss, slope, curvature, log_one.sum(axis=0))


@dataclass(frozen=True)
class ScaleProposal(Proposal):
    """With what the weights need of the present scales, if they stay."""

    log_one: np.ndarray


@dataclass(frozen=True)
class Step:
    """Where a proposal from z = log A goes, component by component, and the log density at z."""

    power: np.ndarray  # I a0 + C
    log_target: np.ndarray
    mean: np.ndarray  # normal around a Newton step
    spread: np.ndarray
    rate: np.ndarray  # or A' ~ Gamma(power, rate)

    @classmethod
    def at(cls, g: Globals, total: ScaleStatistics, z: np.ndarray) -> Step:
        """With the sums over rows at z."""
        power, prior = g.atom_shape.sum(axis=0), g.hyper.b0 * np.exp(z)
        curvature = np.maximum(prior + total.curvature, 1.0)  # far below its mode the density is all but straight
        mean = z + np.clip((power - prior - total.slope) / curvature, -1.0, 1.0)
        rate = g.hyper.b0 + total.slope * np.exp(-z)
        return cls(power, power * z - prior - total.loss, mean, 1.0 / np.sqrt(curvature), rate)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """z'."""
        normal = self.mean + self.spread * rng.normal(size=len(self.mean))
        # Gamma(power) = Gamma(power + 1) u^(1 / power), whose logarithm is finite however small the power.
        gamma = np.log(rng.gamma(self.power + 1.0) / self.rate) - rng.exponential(size=len(self.mean)) / self.power
        return np.maximum(np.where(self.power < VAGUE, gamma, normal), np.log(TINY))

    def log_density(self, to: np.ndarray) -> np.ndarray:
        """Of the proposal, in z'."""
        normal = -0.5 * ((to - self.mean) / self.spread) ** 2 - np.log(self.spread)
        gamma = self.power * (to + np.log(self.rate)) - self.rate * np.exp(to)
        return np.where(self.power < VAGUE, gamma, normal)


def propose(g: Globals, chain: Chain, total: ScaleStatistics) -> Chain:
    """The scales that the next pass decides on."""
    step = Step.at(g, total, np.log(chain.scale))
    proposed = step.draw(chain.rng)
    return replace(chain, proposal=ScaleProposal(proposed, step.log_density(proposed), step.log_target, total.log_one))


@dataclass(frozen=True)
class ProposeScale(RowMove):
    """A proposal around a Newton step of each log A_k, where the pass of the counts could not make it."""

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, ScaleStatistics]:
        """The loss at the present scales."""
        found = self.at(view, start.f, view.log_rate(batch))
        return start, scale_statistics(view.globals.weights + start.n, *found)

    def shared(self, g: Globals, chain: Chain, total: ScaleStatistics) -> tuple[Globals, Chain]:
        """Propose."""
        return g, propose(g, chain, total)


@dataclass(frozen=True)
class WeightStatistics(Additive):
    """Sums over rows for the weights."""

    n_rows: float
    tables: np.ndarray
    log_one: np.ndarray  # sum_u log(1 + A_k r(F_uk))
    scale: Any = 0.0  # at the proposed scales, where there are any


@dataclass(frozen=True)
class DrawWeights(RowMove):
    """Tables of the counts; then the weights and what governs them, x integrated out."""

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, WeightStatistics]:
        """t_uk ~ tables(n_uk, w_k)."""
        log_one, _ = self.at(view, start.f, view.log_rate(batch))
        return start, WeightStatistics(batch.n_rows, self._tables(view, start), log_one.sum(axis=0))

    def _tables(self, view: Visit, start: RowDraws) -> np.ndarray:
        return self.backend.sampling.tables(start.n, view.globals.weights, view.seed(), view.ids).sum(axis=0)

    def shared(self, g: Globals, chain: Chain, total: WeightStatistics) -> tuple[Globals, Chain]:
        """The order of the sticks, and then the process at the top, truncated, in that order."""
        top, order = TOPS[self.model.top], chain.order_of(g.n_components)
        order = draws.draw_order(g.weights, order, top.power_of_last(g), chain.rng)
        in_order = replace(g, weights=g.weights[order])
        drawn = top.draw(in_order, total.tables[order], total.log_one[order], chain.rng)
        weights = np.empty_like(drawn.weights)
        weights[order] = drawn.weights
        return replace(drawn, weights=weights), replace(chain, order=order)


@dataclass(frozen=True)
class DecideScale(DrawWeights):
    """Accept or reject each proposed scale; then the weights, at the scales there are."""

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, WeightStatistics]:
        """The loss at the proposed scales."""
        assert isinstance(view.proposal, ScaleProposal)  # the pass before made it
        log_rate = view.log_rate(batch) + (view.proposal.values - np.log(view.scale))
        found = scale_statistics(view.globals.weights + start.n, *self.at(view, start.f, log_rate))
        return start, WeightStatistics(batch.n_rows, self._tables(view, start), found.log_one, found)

    def shared(self, g: Globals, chain: Chain, total: WeightStatistics) -> tuple[Globals, Chain]:
        """Metropolis and Hastings, component by component; a whole profile is scaled."""
        proposal, z = chain.proposal, np.log(chain.scale)
        assert isinstance(proposal, ScaleProposal)  # the pass before made it
        step = Step.at(g, total.scale, proposal.values)
        ratio = step.log_target - proposal.log_target + step.log_density(z) - proposal.log_forward
        accept = np.log(1.0 - chain.rng.random(len(z))) < ratio
        factor = np.where(accept, np.exp(proposal.values - z), 1.0)
        total = replace(total, log_one=np.where(accept, total.log_one, proposal.log_one))
        # E a given the counts is scaled along, so that a sample's parts belong together.
        g = replace(g, atom_rate=g.atom_rate / factor)
        atoms = None if chain.atoms is None else np.maximum(chain.atoms * factor, TINY)
        chain = replace(chain, scale=np.maximum(chain.scale * factor, TINY), atoms=atoms, proposal=None)
        return super().shared(g, chain, total)
