"""The moves that share the counts out among the components, and then draw what the atoms are drawn from.

Given the counts the profile a_ki / A_k is a Dirichlet variable, whatever x and the scale A_k are, so it is drawn by
itself or summed out; the scale moves with x integrated out (`scale`). Where entries are missing the two do not part,
and the atoms are drawn given x.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from cormorant.inference import dirichlet, draws
from cormorant.inference.batch import Batch
from cormorant.inference.moves import (
    TINY,
    Chain,
    RowDraws,
    RowMove,
    Visit,
    draw_atoms,
    draw_profiles,
    top_one,
)
from cormorant.inference.scale import propose, scale_statistics
from cormorant.inference.state import Additive, Globals, flat


@dataclass(frozen=True)
class CountStatistics(Additive):
    """Sums over rows for the atoms."""

    n_rows: float
    counts: Any  # columns x components; None where only the rows matter
    exposure: Any = 0.0  # where entries are missing: sum_u e_u x_uk, columns x components
    scale: Any = 0.0  # at the present scales, where they are proposed next


@dataclass(frozen=True)
class ShareCounts(RowMove):
    """x, and with it the counts by component and a flat mu_u; then a0, the base measure and the atoms."""

    learns_a0: bool
    has_missing: bool = False
    decides_scale: bool = True  # whether the passes that follow decide on the scales

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, CountStatistics]:
        """x_uk ~ Gamma(w_k + n_uk, 1/r(F_uk) + A_k), and each count to a component with probability ~ x_uk a_ki."""
        w, sampling, log_rate = view.globals.weights, self.backend.sampling, view.log_rate(batch)
        log_one, share = self.at(view, start.f, log_rate)
        was_visited = start.n.shape[1] > 0  # the first time a draw from the prior would leave most components out
        x = self._draw_x(view, start.n, share, log_rate) if was_visited else w * share * np.exp(-log_rate)
        n, counts = sampling.counts(
            batch.indptr, batch.indices, batch.whole_counts, top_one(x), view.top_atoms,
            view.seed(), view.ids, view.sums,
        )  # fmt: skip
        f = self._level(view, start.f, x) if self.model.normalised else start.f
        found = CountStatistics(batch.n_rows, counts)
        if view.sums and self.has_missing:
            found = replace(found, exposure=batch.exposed(x))
        elif view.sums and self._proposes:
            found = replace(found, scale=scale_statistics(w + n, log_one, share))
        return RowDraws(n, f), found

    @property
    def _proposes(self) -> bool:
        """Whether it proposes scales itself; of entries that are missing it cannot."""
        return self.decides_scale and not self.model.normalised and not self.has_missing

    def _draw_x(self, view: Visit, n: np.ndarray, share: np.ndarray, log_rate: np.ndarray) -> np.ndarray:
        """x given n and f."""
        x = self.backend.sampling.gammas(view.globals.weights + n, view.seed(), view.ids)
        x *= share * np.exp(-log_rate)
        return np.maximum(x, TINY, out=x)

    def mean_weights(self, view: Visit, batch: Batch, rows: RowDraws) -> np.ndarray:
        """E x given n and f: (w + n) r / (1 + A r)."""
        log_rate = view.log_rate(batch)
        return (view.globals.weights + rows.n) * self.at(view, rows.f, log_rate)[1] * np.exp(-log_rate)

    def _level(self, view: Visit, f: np.ndarray, x: np.ndarray) -> np.ndarray:
        """f with mu_u drawn given x: exp(-mu_u) ~ Gamma(sum_k w_k, sum_k x_uk exp(-l_k . d_u)), as its prior is flat.

        Given x, where mu_u and n part ways, it moves as far as the weights alone allow, however many counts there are.
        """
        rest = self.backend.product(f[:, :-1], view.design.loadings[:, :-1].T)
        shape = np.full((len(f), 1), view.globals.weights.sum())
        gammas = np.maximum(self.backend.sampling.gammas(shape, view.seed(), view.ids), TINY)
        rate = np.maximum((x * np.exp(-rest)).sum(axis=1, keepdims=True), TINY)
        return np.hstack([f[:, :-1], np.log(rate) - np.log(gammas)])

    def shared(self, g: Globals, chain: Chain, total: CountStatistics) -> tuple[Globals, Chain]:
        """a0 and the atoms, given the counts."""
        if self.model.normalised:
            return self._dirichlet(g, chain, total)
        if self.has_missing:
            return self._given_x(g, chain, total)
        return self._profiles(g, chain, total)

    def _with_prior(self, g: Globals, chain: Chain, counts: np.ndarray, totals: np.ndarray) -> Globals:
        """a0 and the base measure with the profiles summed out, given the scales (a normalised model has none)."""
        if not self.learns_a0:
            return g
        h, tables = g.hyper, self._tables(g, counts, chain)
        all_tables = float(tables.sum())
        if self.model.normalised:
            a0 = dirichlet.draw_a0(all_tables, totals, len(counts), h.a0, chain.rng)
        else:
            scaled = h.b0 * chain.scale
            a0 = draws.draw_a0_given_scale(all_tables, len(counts), totals, scaled, h.a0, chain.rng)
        return replace(g, hyper=replace(h, a0=a0), base=draws.draw_base(tables, chain.rng))

    def _tables(self, g: Globals, counts: np.ndarray, chain: Chain) -> np.ndarray:
        """Tables of the counts of each column, over all components: given these, its prior is easy to draw."""
        by_component = np.ascontiguousarray(counts.T)
        each = np.broadcast_to(g.prior_shape[:, 0], len(counts)).copy()  # compiled for arrays that could be written
        return self.backend.sampling.tables(by_component, each, chain.seed()).sum(axis=0)

    def _profiles(self, g: Globals, chain: Chain, total: CountStatistics) -> tuple[Globals, Chain]:
        """a_k / A_k ~ Dirichlet(a0 + c_k), after a0; then scales are proposed."""
        counts = total.counts
        g = self._with_prior(g, chain, counts, counts.sum(axis=0))
        shape = g.prior_shape + counts
        g = replace(g, atom_shape=shape, atom_rate=shape.sum(axis=0) / chain.scale)
        atoms = draw_profiles(shape, self.backend, chain.rng) * chain.scale
        chain = replace(chain, atoms=np.maximum(atoms, TINY))
        return g, propose(g, chain, total.scale) if self._proposes else chain

    def _given_x(self, g: Globals, chain: Chain, total: CountStatistics) -> tuple[Globals, Chain]:
        """a_ki ~ Gamma(a0 + c_ki, b0 + sum_u x_uk), after a0 with a summed out.

        The base stays flat: where columns were not looked at alike its shares would be no Dirichlet variable.
        """
        g, h = replace(g, base=flat()), g.hyper
        if self.learns_a0:
            tables = float(self._tables(g, total.counts, chain).sum())
            h = replace(h, a0=draws.draw_a0(tables, total.exposure, h.b0, chain.rng))
        g = replace(g, atom_shape=h.a0 + total.counts, atom_rate=h.b0 + total.exposure, hyper=h)
        atoms = draw_atoms(self.model, g, self.backend, chain.rng)
        return g, replace(chain, atoms=atoms, scale=atoms.sum(axis=0))

    def _dirichlet(self, g: Globals, chain: Chain, total: CountStatistics) -> tuple[Globals, Chain]:
        """a_k ~ Dirichlet(a0 + c_k), after a0 with a summed out.

        Columns that were looked at less than others first get the counts that they lack: exp(m a), which missing
        entries leave in the density of a, is a sum over j ~ Poisson(m a), given which a is a Dirichlet variable again.
        """
        counts = total.counts
        if self.has_missing:
            counts = counts + chain.rng.poisson(dirichlet.lacking(total.exposure) * chain.atoms)
        g = self._with_prior(g, chain, counts, counts.sum(axis=0))
        shape = g.prior_shape + counts
        g = replace(g, atom_shape=shape, atom_rate=shape.sum(axis=0))
        return g, replace(chain, atoms=draw_profiles(shape, self.backend, chain.rng))


@dataclass(frozen=True)
class ScanCounts(ShareCounts):
    """The counts one by one, each given all others, with x and the profiles of the atoms summed out; then a0.

    p(z = k) ~ (w_k + n_uk) A_k r(F_uk) / (1 + A_k r(F_uk)) (a0_i + c_ki) / (I a0 + C_k). Where most counts are small
    this goes several times as far in a sweep as drawing x and the atoms and then the counts: a component that has
    nothing of a column, or of a row, has a drawn weight of all but zero there, and no count would ever come to it.
    New rows, whose atoms are given, sum out x alone.
    """

    changes_table: ClassVar[bool] = True

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, CountStatistics]:
        """Counts that have no component yet are shared out by the atoms' means, given what the row comes with."""
        log_rate = view.log_rate(batch)
        log_one, share = self.at(view, start.f, log_rate)
        n = start.n if start.n.shape[1] else np.zeros(share.shape)
        a0, factor, atoms, z = view.globals.prior_shape[:, 0], share, None, start.z
        if view.atoms is not None:  # of new rows, or for the first time
            a0, factor, atoms, z = 0.0, share * np.exp(-log_rate), view.top_atoms, z if view.table is None else None
        z = self.backend.sampling.scan(
            batch.indptr, batch.indices, batch.count_offsets, z, n, factor, view.globals.weights,
            view.table, view.seed(), atoms, a0, view.ids,
        )  # fmt: skip
        f = start.f
        if self.model.normalised:
            f = self._level(view, f, self._draw_x(view, n, share, log_rate))
        found = CountStatistics(batch.n_rows, 0.0)
        if view.sums and self._proposes:
            found = replace(found, scale=scale_statistics(view.globals.weights + n, log_one, share))
        return RowDraws(n, f, z), found

    def shared(self, g: Globals, chain: Chain, total: CountStatistics) -> tuple[Globals, Chain]:
        """a0, with the profiles summed out; then scales are proposed."""
        table = chain.table
        assert table is not None  # a chain that scans has one
        counts = table.counts
        g = self._with_prior(g, chain, counts, table.totals)
        rate = len(counts) * g.hyper.a0 + table.totals
        counts += g.prior_shape
        g = replace(g, atom_shape=counts, atom_rate=rate / chain.scale)
        return g, propose(g, chain, total.scale) if self._proposes else chain
