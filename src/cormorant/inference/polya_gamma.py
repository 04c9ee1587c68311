"""The move of f_u that new rows take: Gaussian given Polya-Gamma variables."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cormorant.inference.batch import Batch
from cormorant.inference.moves import RowDraws, RowMove, Visit, Visited
from cormorant.inference.state import Additive


@dataclass(frozen=True)
class PolyaGammaField(RowMove):
    """Exponential link: f_u alone, Gaussian given Polya-Gamma omega (x integrated out).

    It always moves: from a cold start a few sweeps are worth more than as many Metropolis steps, which reach further
    once they are under way.
    """

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, Additive]:
        """omega_uk ~ PG(w_k + n_uk, F_uk + log A_k); f_u with precision Lambda_u + sum_k omega_uk g_k g_k^T."""
        design, w, sampling = view.design_of(batch), view.globals.weights, self.backend.sampling
        tau = view.draw_tau(design.prior, start.f, sampling)
        log_rate = view.log_rate(batch)
        field = self.backend.product(start.f, design.loadings.T)
        omega = sampling.polya_gammas(start.n, w, field + log_rate, view.seed(), view.ids)
        pull = self.backend.product(0.5 * (start.n - w) - omega * log_rate, design.loadings)
        pull = pull + design.prior.scaled(tau) * design.prior.mean
        # In double precision: a product's last digits depend on the rows beside a row, and its answer must not.
        f = sampling.gaussians(design.precision(omega, self.backend, tau), pull, view.seed(), view.ids)
        return replace(start, f=f), Visited(batch.n_rows)
