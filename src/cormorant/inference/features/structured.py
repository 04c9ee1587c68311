"""Structured variational inference of latent features: closed-form steps on one bound, which never falls.

    q(z_nk) = Bernoulli(rho_nk)    q(d_n) = N(m_n, S_n)    q(a_i) = N(mu_i, V_i)    points: b, l, the variances

Both logistic functions, of z and of binary y, are bounded by Jaakkola and Jordan's quadratic. With r = (1, rho),
M_i = E[a_i a_i^T], and the likelihood written as sum kappa s - omega s^2 / 2 (`likelihoods`):

    logit rho_nk = b_k + l_k . m_n + h_nk - sum_{j != k} r_nj Q_n,jk - Q_n,kk / 2     h_n = sum_i kappa_ni mu_i
                                                                                     Q_n = sum_i omega_ni M_i
    S_n^-1 = I + sum_k omega_nk l_k l_k^T        m_n = S_n sum_k (rho_nk - 1/2 - omega_nk b_k) l_k
    V_i^-1 = diag(1 / scales) + sum_n omega_ni E[z~ z~^T]        mu_i = V_i (prior mean / scales + sum_n kappa_ni r_n)

Counts have no such scheme: z_nk = 1 wherever a count is allocated, which no factorised q can say. They are sampled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cormorant.backends.features import solve_probabilities
from cormorant.backends.packing import add_diagonal, diagonal_places, pack_indices, pack_products, unpack
from cormorant.backends.select import Backend
from cormorant.inference.features.likelihoods import (
    QuadraticStatistics,
    best_level,
    level_squares,
    residual_squares,
    twice_off_diagonal,
)
from cormorant.inference.features.state import FeatureGlobals, Table, extended
from cormorant.inference.rows import RowMemory, Rows
from cormorant.inference.state import Additive, State
from cormorant.models.features import LEVEL_SPREAD, LatentFeatures

SWEEPS = 2  # of z and of d in turn, at each visit
NEWTON_STEPS = 50  # for b: it stops long before
SLOWEST_NOISE = 0.9  # sigma_y^2 falls by no more than this factor a step


@dataclass(frozen=True)
class RowBeliefs:
    """q of a block of rows."""

    rho: np.ndarray
    mean: np.ndarray  # of d
    covariance: np.ndarray  # packed


@dataclass(frozen=True)
class View:
    """What every block of rows needs of the globals."""

    globals: FeatureGlobals

    @cached_property
    def second(self) -> np.ndarray:
        """M_i = E[a_i a_i^T], columns x packed."""
        g = self.globals
        found = pack_products(g.atoms)
        return found if g.covariance is None else found + g.covariance

    @cached_property
    def second_total(self) -> np.ndarray:
        """sum_i M_i, packed."""
        return self.second.sum(axis=0)


@dataclass(frozen=True)
class BeliefStatistics(Additive):
    """Sums over rows for every global update, and the rows' part of the bound."""

    n_rows: float
    on: np.ndarray  # sum_n rho_nk
    omega: np.ndarray  # sum_n omega_nk
    omega_mean: np.ndarray  # sum_n omega_nk m_n
    omega_second: np.ndarray  # sum_n omega_nk E[d d^T], packed
    pull: np.ndarray  # sum_n (rho_nk - 1/2) m_n
    atoms: QuadraticStatistics
    bound: float


def row_products(rho: np.ndarray) -> np.ndarray:
    """E[z~ z~^T] of each row, packed: r r^T, with rho on the diagonal."""
    r = extended(rho)
    p, q = pack_indices(r.shape[1])
    found = pack_products(r)
    found[:, p == q] = r
    return found


@dataclass(frozen=True)
class FeatureStructured:
    """The scheme for one model; ``likelihood`` is "gaussian" or "bernoulli". Without sweeps, rows stay as they are."""

    model: LatentFeatures
    likelihood: str
    backend: Backend
    sweeps: int = SWEEPS

    @property
    def dtype(self) -> type:
        """Double precision."""
        return np.float64

    def passes(self, state: State) -> int:
        """A step visits its rows once."""
        return 1

    def memory(self, rows: Rows) -> RowMemory:
        """The bound can only be watched if rows go on from where they were."""
        return RowMemory(rows.n_rows, None)

    def visit(self, state: State) -> View:
        """What a pass over the rows needs of the state."""
        g: Any = state.globals
        return View(g)

    # Rows

    def fresh(self, g: FeatureGlobals, n_rows: int) -> RowBeliefs:
        """Rows that no step has visited: at the prior."""
        size = g.locations.shape[1]
        rho = np.tile(1.0 / (1.0 + np.exp(-g.log_odds)), (n_rows, 1))
        return RowBeliefs(rho, np.zeros((n_rows, size)), np.tile(np.eye(size)[pack_indices(size)], (n_rows, 1)))

    def local_step(self, view: View, batch: Table, start: RowBeliefs | None, want_bound: bool = False):
        """Solve a block of rows: z given d, d given z, a few times over."""
        q = self.solve_rows(view, batch, start)
        return q, self._statistics(view, batch, q)

    def solve_rows(self, view: View, batch: Table, start: RowBeliefs | None) -> RowBeliefs:
        """q of the rows with the globals held."""
        q = self.fresh(view.globals, batch.n_rows) if start is None else start
        for _ in range(self.sweeps):
            q = self._solve_d(view.globals, self._solve_z(view, batch, q))
        return q

    def signal(self, view: View, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E s and E s^2 of every entry."""
        mean = self.backend.product(extended(rho), np.ascontiguousarray(view.globals.atoms.T))
        weighted = row_products(rho) * twice_off_diagonal(view.globals.n_components + 1)
        return mean, np.maximum(self.backend.product(weighted, np.ascontiguousarray(view.second.T)), mean**2)

    def _weights(self, view: View, batch: Table, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """kappa and omega of every entry; zero where it is missing."""
        if self.likelihood == "gaussian":
            return batch.values, batch.observed.astype(np.float64)
        mean, second = self.signal(view, rho)
        _, _, omega = self.backend.logistic_bound(mean, second - mean**2, np.zeros(mean.shape[1]))
        return (batch.values - 0.5) * batch.observed, omega * batch.observed

    def _solve_z(self, view: View, batch: Table, q: RowBeliefs) -> RowBeliefs:
        g = view.globals
        noise, size = g.noise, g.n_components + 1
        if self.likelihood == "gaussian" and batch.is_complete:
            kappa, products = batch.values, view.second_total[None, :]
        else:
            kappa, omega = self._weights(view, batch, q.rho)
            products = self.backend.product(omega, view.second)
        linear = self.backend.product(np.ascontiguousarray(kappa), g.atoms) / noise
        eta = g.log_odds_of(q.mean)
        rho = solve_probabilities(self.backend.sampling.threads, linear, unpack(products, size) / noise, eta, q.rho, 1)
        return replace(q, rho=rho)

    def _odds(self, g: FeatureGlobals, q: RowBeliefs) -> tuple[np.ndarray, np.ndarray]:
        """E log(1 + exp(eta)), bounded, and omega_nk."""
        variance = self.backend.product(q.covariance, np.ascontiguousarray(g.design.quadratic.T))
        field = self.backend.product(q.mean, np.ascontiguousarray(g.locations.T))
        log_one, _, omega = self.backend.logistic_bound(field, variance, g.log_odds)
        return log_one, omega

    def _solve_d(self, g: FeatureGlobals, q: RowBeliefs) -> RowBeliefs:
        if g.locations.shape[1] == 0:
            return q
        _, omega = self._odds(g, q)
        pull = self.backend.product(q.rho - 0.5 - omega * g.log_odds, g.locations)
        mean, covariance = self.backend.gaussian_moments(g.design.precision(omega, self.backend), pull)
        return replace(q, mean=mean, covariance=covariance)

    def _statistics(self, view: View, batch: Table, q: RowBeliefs) -> BeliefStatistics:
        g = view.globals
        log_one, omega = self._odds(g, q)
        second = q.covariance + pack_products(q.mean)
        bound = float((q.rho * g.log_odds_of(q.mean) - log_one).sum() + _entropy(q.rho).sum())
        bound -= _divergence(q)
        atoms, likelihood = self._atom_statistics(view, batch, q.rho)
        product = self.backend.product
        return BeliefStatistics(
            batch.n_rows, q.rho.sum(axis=0), omega.sum(axis=0), product(omega.T, q.mean), product(omega.T, second),
            product((q.rho - 0.5).T, q.mean), atoms, bound + likelihood,
        )  # fmt: skip

    def _atom_statistics(self, view: View, batch: Table, rho: np.ndarray) -> tuple[QuadraticStatistics, float]:
        """Sums for q(a), and for binary data the likelihood's part of the bound."""
        squares, entries, likelihood = float((batch.values**2).sum()), float(batch.observed.sum()), 0.0
        r, products = extended(rho), row_products(rho)
        kappa, omega = self._weights(view, batch, rho)
        if self.likelihood == "gaussian" and batch.is_complete:
            precision = products.sum(axis=0)[None, :]
        else:
            precision = self.backend.product(np.ascontiguousarray(omega.T), products)
        if self.likelihood == "bernoulli":
            mean, second = self.signal(view, rho)
            c = np.sqrt(second)
            likelihood = float((kappa * mean - (0.5 * c + np.log1p(np.exp(-c))) * batch.observed).sum())
        linear = self.backend.product(np.ascontiguousarray(kappa.T), r)
        return QuadraticStatistics(precision, linear, squares, entries), likelihood

    # Globals

    def global_step(self, state: State, new: BeliefStatistics, rho: float) -> State:
        """Every update maximises the bound in what it changes."""
        g: Any = state.globals
        for update in (self._update_atoms, self._update_odds, self._update_locations):
            g = update(g, new)
        return replace(state, globals=replace(g, usage=new.on / new.n_rows), n_steps=state.n_steps + 1)

    def _update_atoms(self, g: FeatureGlobals, new: BeliefStatistics) -> FeatureGlobals:
        total, size = new.atoms, g.n_components + 1
        precision = add_diagonal(total.precision / g.noise, 1.0 / g.scales, size)
        linear = total.linear / g.noise + g.prior_mean / g.scales
        if len(precision) == 1:
            _, covariance = self.backend.gaussian_moments(precision, linear[:1])
            atoms = linear @ unpack(covariance, size)[0]
        else:
            atoms, covariance = self.backend.gaussian_moments(precision, linear)
        g = replace(g, atoms=atoms, covariance=covariance)
        variances = np.broadcast_to(_diagonals(covariance, size), atoms.shape)
        if self.likelihood == "gaussian":
            best = _mode(g.priors.noise, total.entries, residual_squares(total, atoms, covariance))
            # Part of the way also raises the bound, which has one peak in the noise; falling slowly, it leaves the
            # features time to part before they are sure of themselves.
            g = replace(g, noise=max(best, SLOWEST_NOISE * g.noise))
        if g.learns_atom_scale:
            squares = float((atoms**2 + variances)[:, 1:].sum())
            g = replace(g, atom_scale=_mode(g.priors.atoms, atoms[:, 1:].size, squares))
        level = best_level(atoms[:, 0])[0]
        squares = level_squares(atoms[:, 0], level) + float(variances[:, 0].sum())
        return replace(g, level=level, background_scale=_mode(g.priors.background, len(atoms) + 1, squares))

    def _update_odds(self, g: FeatureGlobals, new: BeliefStatistics) -> FeatureGlobals:
        """b_k: Newton on (on - N/2 - omega . F) b - omega b^2 / 2 + log p(b), which is concave."""
        linear = new.on - 0.5 * new.n_rows - (new.omega_mean * g.locations).sum(axis=1)
        b = g.log_odds.copy()

        def value(at: np.ndarray) -> np.ndarray:
            return linear * at - 0.5 * new.omega * at**2 + self.model.log_prior(at, g.mass, g.concentration)

        for _ in range(NEWTON_STEPS):
            slope, curve = self.model.prior_slopes(b, g.mass, g.concentration)
            step = (linear - new.omega * b + slope) / (new.omega + curve)
            while np.any(worse := value(b + step) < value(b) - 1e-12 * np.abs(value(b))):
                step[worse] *= 0.5
            b = b + step
            if np.abs(step).max() < 1e-10:
                break
        return replace(g, log_odds=b)

    def _update_locations(self, g: FeatureGlobals, new: BeliefStatistics) -> FeatureGlobals:
        size = g.locations.shape[1]
        if size == 0:
            return g
        precision = unpack(new.omega_second, size) + np.eye(size) / g.sigma_l2
        linear = new.pull - g.log_odds[:, None] * new.omega_mean
        return replace(g, locations=np.linalg.solve(precision, linear[..., None])[..., 0])

    def bound(self, g: FeatureGlobals, statistics: BeliefStatistics) -> float:
        """The evidence lower bound (with the densities of what has a point) at the globals of the statistics."""
        total = statistics.bound + float(self.model.log_prior(g.log_odds, g.mass, g.concentration).sum())
        total += _log_normal(g.locations, g.sigma_l2)
        if self.likelihood == "gaussian":
            squares = residual_squares(statistics.atoms, g.atoms, g.covariance)
            total -= 0.5 * (statistics.atoms.entries * np.log(2.0 * np.pi * g.noise) + squares / g.noise)
            total += _log_inverse_gamma(g.noise, g.priors.noise)
        total += _log_inverse_gamma(g.atom_scale, g.priors.atoms)
        total += _log_inverse_gamma(g.background_scale, g.priors.background)
        total += _log_normal(np.array(g.level), LEVEL_SPREAD * g.background_scale)
        return total - self._atom_divergence(g)

    def _atom_divergence(self, g: FeatureGlobals) -> float:
        """sum_i KL(q(a_i) || p(a_i)); without q, the atoms' negative log density."""
        n_columns, scales = len(g.atoms), g.scales
        squares = (g.atoms - g.prior_mean) ** 2
        if g.covariance is None:
            return float(0.5 * (squares / scales + np.log(2.0 * np.pi * scales)).sum())
        each = n_columns / len(g.covariance)  # columns that share a covariance
        variances = _diagonals(g.covariance, len(scales))
        spread = (variances / scales - 1.0 + np.log(scales)).sum() - _log_determinants(g.covariance, len(scales)).sum()
        return float(0.5 * (each * spread + (squares / scales).sum()))


def _mode(prior: tuple[float, float], n: float, squares: float) -> float:
    """The likeliest variance given n numbers and the (expected) sum of their squares."""
    return float((prior[1] + 0.5 * squares) / (prior[0] + 1.0 + 0.5 * n))


def _entropy(rho: np.ndarray) -> np.ndarray:
    inside = np.clip(rho, 1e-300, 1.0 - 1e-16)
    return -rho * np.log(inside) - (1.0 - rho) * np.log1p(-inside)


def _diagonals(packed: np.ndarray, size: int) -> np.ndarray:
    return packed[:, diagonal_places(size)]


def _log_determinants(packed: np.ndarray, size: int) -> np.ndarray:
    return np.linalg.slogdet(unpack(packed, size))[1]


def _divergence(q: RowBeliefs) -> float:
    """sum_n KL(q(d_n) || N(0, I))."""
    size = q.mean.shape[1]
    if size == 0:
        return 0.0
    trace = _diagonals(q.covariance, size).sum(axis=1)
    return float(0.5 * ((q.mean**2).sum() + (trace - size - _log_determinants(q.covariance, size)).sum()))


def _log_normal(values: np.ndarray, variance: float) -> float:
    return float(-0.5 * (values**2 / variance + np.log(2.0 * np.pi * variance)).sum())


def _log_inverse_gamma(value: float, prior: tuple[float, float]) -> float:
    """Up to a constant."""
    return float(-(prior[0] + 1.0) * np.log(value) - prior[1] / value)
