"""The exact sampler (section 4.1, x and the atoms' profiles integrated out): each move leaves the posterior as it is.

A sweep is a few passes over the rows, each followed by a draw of what the rows share. Every sweep draws the counts:

    counts      z of each count in turn ~ (w_k + n_uk) A_k r / (1 + A_k r) (a0_i + c_ki) / (I a0 + C_k);  then a0

and then, by turns, the weights, or the field with what it hangs on: counts are what moves slowly.

    weights     log(1 + A_k r(F_uk)) at scales proposed,  t_uk ~ tables(n_uk, w_k);    then A, the order, s, v, alpha, c

    field       f_u around a Newton step of its log density, accepted or not;                   then sigma_m^2, l'
    regression  sums of f_u theta_u^T, where rows have covariates;                              then Gamma
    locations   the log densities of the proposals;                                             then l, sigma_l^2
                (where locations have places, `places`: the log densities at each;              then l)

x is never kept. Where entries are missing, or counts so many that one by one would take too long, x and the atoms are
drawn, and the counts given them: n_u. ~ Multinomial(y, x_uk a_ki); whatever is drawn with x integrated out (weights,
field, locations) comes before x is drawn again. Decision 4 has the figures.

Given Polya-Gamma variables f and l would be Gaussian (exponential link), but move less far in a sweep. New rows, whose
chains are short, take that step (`predictive`). The atoms of a normalised model have no scale, and the pass of the
counts also draws its mu_u, given x.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from cormorant.backends.scanning import CountTable
from cormorant.backends.select import Backend
from cormorant.inference.batch import Batch
from cormorant.inference.moves import (
    Chain,
    DecideLocations,
    MetropolisField,
    Move,
    RowDraws,
    Visit,
    draw_atoms,
)
from cormorant.inference.places import ChoosePlaces
from cormorant.inference.regression import DrawCoefficients
from cormorant.inference.rows import RowMemory, Rows
from cormorant.inference.scale import DecideScale, DrawWeights, ProposeScale
from cormorant.inference.sharing import ScanCounts, ShareCounts
from cormorant.inference.state import Globals, State
from cormorant.inference.structured import Structured
from cormorant.models.cnpf import PoissonFactorization


@dataclass(frozen=True)
class Gibbs:
    """The scheme for one model. A row that is new to a fitted model is solved as structured inference solves it."""

    model: PoissonFactorization
    backend: Backend
    learns_a0: bool = True
    learns_sigma_l2: bool = True
    learns_sigma_m2: bool = True
    has_missing: bool = False  # whether entries of the rows are treated as missing
    one_by_one: bool = True  # whether counts are few enough to be drawn one by one

    @property
    def dtype(self) -> type:
        """Double precision: whole numbers stay whole."""
        return np.float64

    def memory(self, rows: Rows) -> RowMemory:
        """A chain goes on from where it was, however much memory that takes."""
        return RowMemory(rows.n_rows, None, rows.counts.row_totals())

    @property
    def scans(self) -> bool:
        """Whether x and the atoms are summed out, and the counts drawn one after the other."""
        return self.one_by_one and not self.has_missing

    @cached_property
    def sweeps(self) -> tuple[tuple[Move, ...], ...]:
        """The passes of a sweep and, where there is a field, of the next: each leaves the posterior as it is."""
        parts = (self.model, self.backend)
        share = partial(ScanCounts if self.scans else ShareCounts, *parts, self.learns_a0, self.has_missing)
        first: list[Move] = [share()]
        if self.has_missing and not self.model.normalised:
            first.append(ProposeScale(*parts))
        first.append(DrawWeights(*parts) if self.model.normalised else DecideScale(*parts))  # no scale if normalised
        if not self.model.has_field:
            return (tuple(first),)
        learns = self.learns_sigma_m2 and self.model.has_mean
        second: list[Move] = [share(decides_scale=False), MetropolisField(*parts, learns)]
        if self.model.has_covariates:
            second.append(DrawCoefficients(*parts))
        if self.model.has_locations and self.model.kernel.places is not None:
            second.append(ChoosePlaces(*parts))
        elif self.model.has_locations:
            learns = self.learns_sigma_l2 and self.model.kernel.is_linear  # that of another kernel comes with the start
            second.append(DecideLocations(*parts, learns))
        return tuple(first), tuple(second)

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """The passes of all sweeps until the first comes again."""
        return tuple(move for sweep in self.sweeps for move in sweep)

    def passes(self, state: State) -> int:
        """Visits to every row in the sweep that begins here."""
        return len(self.sweeps[0 if state.n_steps % len(self.moves) == 0 else -1])

    @property
    def solver(self) -> Structured:
        """Structured inference for the same model."""
        return Structured(self.model, self.backend)

    def begin(self, g: Globals, rng: np.random.Generator) -> State:
        """A chain that starts with atoms drawn from q(a), or with their means where they are summed out."""
        order = np.argsort(-g.weights, kind="stable")
        if self.scans:
            return State(g, Chain(g.atom_total, rng, table=CountTable.empty(*g.atom_shape.shape), order=order))
        atoms = draw_atoms(self.model, g, self.backend, rng)
        return State(g, Chain(atoms.sum(axis=0), rng, atoms, order=order))

    def _move(self, state: State) -> Move:
        return self.moves[state.n_steps % len(self.moves)]

    def visit(self, state: State) -> Visit:
        """What a pass needs of the state."""
        g, chain = state.globals, _chain(state)
        move, design = self._move(state), self.solver.design(g)
        atoms = g.atom_mean if self.scans and state.n_steps == 0 else chain.atoms  # by which counts are first placed
        view = Visit(g, move, chain.scale, design, chain.rng, atoms, chain.table, chain.proposal)
        if isinstance(move, ShareCounts) and atoms is not None:
            _ = view.top_atoms  # cached here, once, and not by each block
        return view

    def local_step(
        self, view: Visit, batch: Batch, start: RowDraws | None, want_bound: bool = False
    ) -> tuple[RowDraws, object]:
        """Draw what belongs to the rows, and sum what the shared draw needs of them."""
        begin = RowDraws.fresh(batch.n_rows, view.design_of(batch)) if start is None else start
        return view.move.rows(view, batch, begin)

    def global_step(self, state: State, new: Any, rho: float) -> State:
        """Draw what the rows share."""
        g, chain = self._move(state).shared(state.globals, _chain(state), new)
        return replace(state, globals=g, memory=chain, n_steps=state.n_steps + 1)

    def bound(self, g: Globals, statistics: object) -> float:
        """A sampler has no bound."""
        raise ValueError("a sampler has no bound to stop by: use stopping='auto'.")


def _chain(state: State) -> Chain:
    assert isinstance(state.memory, Chain)  # `begin` made it one
    return state.memory
