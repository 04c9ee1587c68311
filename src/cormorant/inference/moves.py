"""The moves of the sampler: each draws something of every row, and then something that the rows share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from cormorant.backends.select import Backend
from cormorant.inference import draws
from cormorant.inference.batch import Batch
from cormorant.inference.field import Design, pack_indices, unpack
from cormorant.inference.links import POINT_LINKS, Expansion
from cormorant.inference.state import Additive, Globals
from cormorant.models.cnpf import PoissonFactorization

TINY = 1e-300


@dataclass(frozen=True)
class RowDraws:
    """What is kept of a row between passes: its counts by component, and f."""

    n: np.ndarray  # rows x components; no columns: not allocated yet
    f: np.ndarray  # rows x P


@dataclass(frozen=True)
class Proposal:
    """Values proposed for the components, and what deciding on them needs of the present ones."""

    values: np.ndarray
    log_forward: np.ndarray  # log density of the proposal
    log_target: np.ndarray  # of the present locations


@dataclass(frozen=True)
class Chain:
    """What a chain carries beside the globals: the atoms as drawn, its generator, and what was proposed."""

    atoms: np.ndarray  # columns x components
    rng: np.random.Generator
    proposal: Proposal | None = None


@dataclass(frozen=True)
class Visit:
    """What a pass needs of the shared quantities."""

    globals: Globals
    move: Move
    atoms: np.ndarray  # as drawn, columns x components
    design: Design
    rng: np.random.Generator
    proposal: Proposal | None = None
    ids: np.ndarray | None = None  # of the rows, where their numbers will not do
    by_column: bool = True  # whether counts by column are wanted

    @cached_property
    def top_atoms(self) -> np.ndarray:
        """The atoms as the allocation wants them."""
        return _top_one(self.atoms)

    def seed(self) -> int:
        """A fresh seed for one block of rows."""
        return int(self.rng.integers(1 << 63))


class Move(Protocol):
    """``rows`` draws for a block of rows and sums statistics; ``shared`` draws what the rows have in common."""

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, Any]:
        """Draw for the rows."""
        ...

    def shared(self, g: Globals, chain: Chain, total: Any) -> tuple[Globals, Chain]:
        """Draw given the rows."""
        ...


def field_move(model: PoissonFactorization, backend: Backend, learns_sigma_l2: bool = False) -> Move | None:
    """What draws f, if the model has it."""
    if not (model.has_mean or model.has_locations):
        return None
    return DrawField(model, backend, learns_sigma_l2) if model.link == "exp" else MetropolisField(model, backend)


@dataclass(frozen=True)
class RowMove:
    """What every move needs: the model, and what does the work."""

    model: PoissonFactorization
    backend: Backend

    def _expand(self, view: Visit, batch: Batch, f: np.ndarray) -> tuple[np.ndarray, Expansion]:
        """log A of each row and component, and the logarithms of h at F with their derivatives."""
        log_rate = np.broadcast_to(batch.log_rate(view.atoms), (batch.n_rows, view.globals.n_components))
        field = self.backend.product(f, view.design.loadings.T)
        return log_rate, POINT_LINKS[self.model.link].expand(field, np.zeros_like(field), log_rate, self.backend)

    def mean_scale(self, view: Visit, batch: Batch, f: np.ndarray) -> np.ndarray:
        """E x / (w + n) given f: r / (1 + A r)."""
        return self._expand(view, batch, f)[1].mean_scale


@dataclass(frozen=True)
class CountStatistics(Additive):
    """Sums over rows for the atoms."""

    n_rows: float
    counts: Any  # columns x components; None where only the rows matter
    exposure: Any  # sum_u e_u x_uk


@dataclass(frozen=True)
class ShareCounts(RowMove):
    """x, and with it the counts by component; then a0 and the atoms."""

    learns_a0: bool

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, CountStatistics]:
        """x_uk ~ Gamma(w_k + n_uk, 1/r(F_uk) + A_k), and each count to a component with probability ~ x_uk a_ki."""
        w, sampling = view.globals.weights, self.backend.sampling
        _, e = self._expand(view, batch, start.f)
        if start.n.shape[1]:
            x = np.maximum(sampling.gammas(w + start.n, view.seed(), view.ids) * e.mean_scale, TINY)
        else:
            x = w * e.mean_scale  # the first time: a draw from the prior would leave most components out
        n, counts = sampling.counts(
            batch.indptr, batch.indices, batch.whole_counts, _top_one(x), view.top_atoms,
            view.seed(), view.ids, view.by_column,
        )  # fmt: skip
        return RowDraws(n, start.f), CountStatistics(batch.n_rows, counts, batch.exposed(x) if view.by_column else None)

    def shared(self, g: Globals, chain: Chain, total: CountStatistics) -> tuple[Globals, Chain]:
        """a_ki ~ Gamma(a0 + c_ki, b0 + sum_u x_uk), after a0 with a summed out."""
        h, sampling, rng = g.hyper, self.backend.sampling, chain.rng
        if self.learns_a0:
            each = np.full(total.counts.shape[1], h.a0)
            tables = sampling.tables(total.counts.astype(np.int64), each, int(rng.integers(1 << 63))).sum()
            h = replace(h, a0=draws.draw_a0(tables, len(total.counts), total.exposure, h.b0, rng))
        shape, rate = h.a0 + total.counts, h.b0 + total.exposure
        atoms = np.maximum(sampling.gammas(shape, int(rng.integers(1 << 63))) / rate, TINY)
        return replace(g, atom_shape=shape, atom_rate=rate, hyper=h), replace(chain, atoms=atoms)


def _top_one(a: np.ndarray) -> np.ndarray:
    """In single precision, each row's largest at one; what would vanish beside it is kept just visible."""
    return np.maximum(a / a.max(axis=1, keepdims=True), 1e-18).astype(np.float32)


@dataclass(frozen=True)
class WeightStatistics(Additive):
    """Sums over rows for the weights."""

    n_rows: float
    tables: np.ndarray
    log_one: np.ndarray  # sum_u log(1 + A_k r(F_uk))


@dataclass(frozen=True)
class DrawWeights(RowMove):
    """Tables of the counts; then s, the sticks, alpha and c, x integrated out."""

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, WeightStatistics]:
        """t_uk ~ tables(n_uk, w_k)."""
        tables = self.backend.sampling.tables(start.n, view.globals.weights, view.seed(), view.ids)
        _, e = self._expand(view, batch, start.f)
        return start, WeightStatistics(batch.n_rows, tables.sum(axis=0), e.log_one.sum(axis=0))

    def shared(self, g: Globals, chain: Chain, total: WeightStatistics) -> tuple[Globals, Chain]:
        """The gamma process, truncated."""
        h, rng = g.hyper, chain.rng
        weights = draws.draw_weights(total.tables, total.log_one, g.weights, g.alpha, g.c, rng)
        alpha = draws.draw_alpha(weights, g.alpha, g.c, h.a_alpha, h.b_alpha, rng)
        c = draws.draw_c(weights, alpha, h.a_c, h.b_c, rng)
        return replace(g, weights=weights, alpha=alpha, c=c), chain


@dataclass(frozen=True)
class LocationStatistics(Additive):
    """Sums over rows for the locations: a Gaussian's precision (packed) and linear term, and log likelihoods."""

    n_rows: float
    precision: np.ndarray  # components x D (D + 1) / 2
    linear: np.ndarray  # components x D
    log_likelihood: np.ndarray  # components; zero where nothing needs it


def _location_statistics(backend: Backend, omega, pull, d, log_likelihood) -> LocationStatistics:
    """sum_u omega_uk d_u d_u^T and sum_u pull_uk d_u."""
    p, q = pack_indices(d.shape[1])
    return LocationStatistics(
        len(d), backend.product(omega.T, d[:, p] * d[:, q]), backend.product(pull.T, d), log_likelihood
    )


@dataclass(frozen=True)
class DrawField(RowMove):
    """Exponential link: given Polya-Gamma omega, f_u and then l_k are Gaussian, x integrated out."""

    learns_sigma_l2: bool

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, LocationStatistics]:
        """omega_uk ~ PG(w_k + n_uk, F_uk + log A_k); f_u with precision Lambda_0 + sum_k omega_uk g_k g_k^T."""
        design, w, sampling = view.design, view.globals.weights, self.backend.sampling
        log_rate = np.broadcast_to(batch.log_rate(view.atoms), start.n.shape)
        field = self.backend.product(start.f, design.loadings.T)
        omega = sampling.polya_gammas(start.n, w, field + log_rate, view.seed(), view.ids)
        pull = 0.5 * (start.n - w) - omega * log_rate
        precision = design.precision(self.backend.product(omega, design.products))
        f = sampling.gaussians(precision, self.backend.product(pull, design.loadings), view.seed(), view.ids)
        d = f[:, : view.globals.locations.shape[1]]
        mean = f[:, -1:] if self.model.has_mean else 0.0
        none = np.zeros(len(w))
        return RowDraws(start.n, f), _location_statistics(self.backend, omega, pull - omega * mean, d, none)

    def shared(self, g: Globals, chain: Chain, total: LocationStatistics) -> tuple[Globals, Chain]:
        """l_k ~ N with precision I / sigma_l^2 + sum_u omega_uk d_u d_u^T."""
        if not self.model.has_locations:
            return g, chain
        size = g.locations.shape[1]
        precision = unpack(total.precision, size) + np.eye(size) / g.hyper.sigma_l2
        drawn = self.backend.sampling.gaussians(precision, total.linear, int(chain.rng.integers(1 << 63)))
        return _with_locations(g, drawn, self.learns_sigma_l2, chain.rng), chain


def _with_locations(g: Globals, locations: np.ndarray, learns_sigma_l2: bool, rng: np.random.Generator) -> Globals:
    h = g.hyper
    if learns_sigma_l2:
        h = replace(h, sigma_l2=draws.draw_sigma_l2(locations, rng))
    return replace(g, locations=locations, hyper=h)


def _gaussian_log_density(at: np.ndarray, mean: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Of a stack of Gaussians, up to the constant of their dimension."""
    apart = at - mean
    return 0.5 * (np.linalg.slogdet(precision)[1] - np.einsum("up,upq,uq->u", apart, precision, apart))


@dataclass(frozen=True)
class MetropolisField(RowMove):
    """Any link: propose f_u from a Newton step of its own log density, and accept by Metropolis and Hastings."""

    def _newton(self, view: Visit, batch: Batch, n: np.ndarray, f: np.ndarray):
        """Log density at f, and the mean and precision of the proposal from there."""
        design, w = view.design, view.globals.weights
        _, e = self._expand(view, batch, f)
        prior = design.prior_precision
        density = (n * e.log_scale - w * e.log_one).sum(axis=1) - 0.5 * (f**2) @ prior
        omega = np.maximum(e.omega(n, w), 0.0)
        precision = design.precision(self.backend.product(omega, design.products))
        slope = self.backend.product(e.slope(n, w), design.loadings) - prior * f
        return density, f + np.linalg.solve(precision, slope[..., None])[..., 0], precision

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, Additive]:
        """One proposal a row."""
        sampling = self.backend.sampling
        density, mean, precision = self._newton(view, batch, start.n, start.f)
        linear = np.einsum("upq,uq->up", precision, mean)
        proposed = sampling.gaussians(precision, linear, view.seed(), view.ids)
        new_density, new_mean, new_precision = self._newton(view, batch, start.n, proposed)
        ratio = new_density - density
        ratio += _gaussian_log_density(start.f, new_mean, new_precision)
        ratio -= _gaussian_log_density(proposed, mean, precision)
        accept = np.log(sampling.uniforms(batch.n_rows, view.seed(), view.ids)) < ratio
        return RowDraws(start.n, np.where(accept[:, None], proposed, start.f)), Visited(batch.n_rows)

    def shared(self, g: Globals, chain: Chain, total: Additive) -> tuple[Globals, Chain]:
        """Nothing is shared here."""
        return g, chain


@dataclass(frozen=True)
class Visited(Additive):
    """Rows seen, where a pass has nothing else to sum."""

    n_rows: float


@dataclass(frozen=True)
class ProposeLocations(RowMove):
    """A Newton step of each location's log density, and a proposal around its end."""

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, LocationStatistics]:
        """Slope, curvature and log likelihood of every location."""
        return start, self._at(view, batch, start, view.design)

    def _at(self, view: Visit, batch: Batch, start: RowDraws, design: Design) -> LocationStatistics:
        w, n = view.globals.weights, start.n
        _, e = self._expand(replace(view, design=design), batch, start.f)
        d = start.f[:, : view.globals.locations.shape[1]]
        likelihood = (n * e.log_scale - w * e.log_one).sum(axis=0)
        return _location_statistics(self.backend, np.maximum(e.omega(n, w), 0.0), e.slope(n, w), d, likelihood)

    def shared(self, g: Globals, chain: Chain, total: LocationStatistics) -> tuple[Globals, Chain]:
        """l'_k ~ N(l_k + P_k^-1 slope_k, P_k^-1)."""
        mean, precision, target = _newton_locations(g.locations, total, g.hyper.sigma_l2)
        linear = np.einsum("kpq,kq->kp", precision, mean)
        proposed = self.backend.sampling.gaussians(precision, linear, int(chain.rng.integers(1 << 63)))
        forward = _gaussian_log_density(proposed, mean, precision)
        return g, replace(chain, proposal=Proposal(proposed, forward, target))


def _newton_locations(locations: np.ndarray, total: LocationStatistics, sigma_l2: float):
    """Mean and precision of a proposal from ``locations``, and their log densities."""
    size = locations.shape[1]
    precision = unpack(total.precision, size) + np.eye(size) / sigma_l2
    slope = total.linear - locations / sigma_l2
    mean = locations + np.linalg.solve(precision, slope[..., None])[..., 0]
    return mean, precision, total.log_likelihood - 0.5 * (locations**2).sum(axis=1) / sigma_l2


@dataclass(frozen=True)
class DecideLocations(ProposeLocations):
    """Accept or reject each proposed location; given f, x integrated out, they are independent."""

    learns_sigma_l2: bool

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, LocationStatistics]:
        """Slope, curvature and log likelihood at the proposals."""
        assert view.proposal is not None  # the pass before made it
        size = view.proposal.values.shape[1]
        loadings = np.hstack([view.proposal.values, view.design.loadings[:, size:]])
        return start, self._at(view, batch, start, Design.build(loadings, view.design.prior_precision))

    def shared(self, g: Globals, chain: Chain, total: LocationStatistics) -> tuple[Globals, Chain]:
        """Metropolis and Hastings, component by component."""
        proposal = chain.proposal
        assert proposal is not None  # the pass before made it
        mean, precision, target = _newton_locations(proposal.values, total, g.hyper.sigma_l2)
        ratio = target - proposal.log_target
        ratio += _gaussian_log_density(g.locations, mean, precision) - proposal.log_forward
        accept = np.log(1.0 - chain.rng.random(len(ratio))) < ratio
        drawn = np.where(accept[:, None], proposal.values, g.locations)
        return _with_locations(g, drawn, self.learns_sigma_l2, chain.rng), replace(chain, proposal=None)
