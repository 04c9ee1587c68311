"""The moves of the sampler: each draws something of every row, and then something that the rows share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from cormorant.backends.sampling import Sampling
from cormorant.backends.scanning import CountTable
from cormorant.backends.select import Backend
from cormorant.backends.vectors import pad
from cormorant.inference import draws, locations
from cormorant.inference.batch import Batch
from cormorant.inference.field import Design, precision_of
from cormorant.inference.links import LINKS, Derivatives
from cormorant.inference.prior import Prior
from cormorant.inference.rows import EACH_COUNT
from cormorant.inference.state import Additive, Globals
from cormorant.models.cnpf import PoissonFactorization

TINY = 1e-300
LEAST_PRECISION = 0.01  # of a proposal where a prior is flat: out in its tail the curvature alone would send f anywhere


def fresh_seed(rng: np.random.Generator) -> int:
    """A seed of 63 bits for a compiled draw."""
    return int(rng.integers(1 << 63))


@dataclass(frozen=True)
class RowDraws:
    """What is kept of a row between passes: its counts by component, f, and the component of each of its counts."""

    n: np.ndarray  # rows x components; no columns: not allocated yet
    f: np.ndarray  # rows x P
    z: np.ndarray | None = field(default=None, metadata=EACH_COUNT)  # where counts are drawn one by one

    @classmethod
    def fresh(cls, n_rows: int, design: Design) -> RowDraws:
        """Rows that no sweep has visited."""
        return cls(np.zeros((n_rows, 0)), np.zeros((n_rows, design.prior.size)) + design.prior.mean)


@dataclass(frozen=True)
class Proposal:
    """Values proposed for the components, and what deciding on them needs of the present ones."""

    values: np.ndarray
    log_forward: np.ndarray  # log density of the proposal
    log_target: np.ndarray  # of the present values


@dataclass(frozen=True)
class Chain:
    """What a chain carries beside the globals: the scales of the atoms, its generator, and what was proposed.

    And the atoms as drawn; or, where their profiles are summed out, the table of the counts.
    """

    scale: np.ndarray  # A_k
    rng: np.random.Generator
    atoms: np.ndarray | None = None  # columns x components
    table: CountTable | None = None
    proposal: Proposal | None = None
    order: np.ndarray | None = None  # of the sticks: the number of the component that has each (None: as numbered)

    def seed(self) -> int:
        """A fresh seed for a compiled draw."""
        return fresh_seed(self.rng)

    def order_of(self, n_components: int) -> np.ndarray:
        """The order of the sticks."""
        return np.arange(n_components) if self.order is None else self.order


@dataclass(frozen=True)
class Visit:
    """What a pass needs of the shared quantities."""

    globals: Globals
    move: Move
    scale: np.ndarray  # A_k
    design: Design
    rng: np.random.Generator
    atoms: np.ndarray | None = None  # as drawn or as given, columns x components; None where profiles are summed out
    table: CountTable | None = None  # which the counts change as they go
    proposal: Proposal | None = None
    ids: np.ndarray | None = None  # of the rows, where their numbers will not do
    sums: bool = True  # whether sums over the rows are wanted, or the rows alone

    @cached_property
    def top_atoms(self) -> np.ndarray:
        """The atoms as the allocation wants them."""
        assert self.atoms is not None  # who asks has them
        return pad(top_one(self.atoms))

    @property
    def in_order(self) -> bool:
        """Whether blocks wait for one another: counts that are drawn one by one, given all the others."""
        return self.table is not None and self.move.changes_table

    def log_rate(self, batch: Batch) -> np.ndarray:
        """Log of e_u A_k, as these rows looked."""
        return batch.log_rate_of(self.scale, self.atoms)

    def seed(self) -> int:
        """A fresh seed for one block of rows."""
        return fresh_seed(self.rng)

    def design_of(self, batch: Batch) -> Design:
        """With the prior of these rows."""
        return self.design.given(batch.covariates, self.globals.coefficients)

    def draw_tau(self, prior: Prior, f: np.ndarray, sampling: Sampling) -> np.ndarray | None:
        """tau_u given f_u, where tails are heavy; used and forgotten, so that f alone is kept."""
        return None if prior.df is None else prior.draw_tau(f, sampling, self.seed(), self.ids)


class Move(Protocol):
    """``rows`` draws for a block of rows and sums statistics; ``shared`` draws what the rows have in common."""

    changes_table: ClassVar[bool]

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, Any]:
        """Draw for the rows."""
        ...

    def shared(self, g: Globals, chain: Chain, total: Any) -> tuple[Globals, Chain]:
        """Draw given the rows."""
        ...


@dataclass(frozen=True)
class RowMove:
    """What every move needs: the model, and what does the work."""

    model: PoissonFactorization
    backend: Backend
    changes_table: ClassVar[bool] = False

    def at(self, view: Visit, f: np.ndarray, log_rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log(1 + A r) and A r / (1 + A r) of each row and component."""
        field = self.backend.product(f, view.design.loadings.T)
        return LINKS[self.model.link].at(field, log_rate, self.backend)


def draw_profiles(shape: np.ndarray, backend: Backend, rng: np.random.Generator) -> np.ndarray:
    """a_k / A_k ~ Dirichlet(shape_k)."""
    gammas = np.maximum(backend.sampling.gammas(shape, fresh_seed(rng)), TINY)
    return np.maximum(gammas / gammas.sum(axis=0), TINY)


def draw_atoms(model: PoissonFactorization, g: Globals, backend: Backend, rng: np.random.Generator) -> np.ndarray:
    """a ~ q(a): gamma variables, in a normalised model divided by their sum."""
    if model.normalised:
        return draw_profiles(g.atom_shape, backend, rng)
    return np.maximum(backend.sampling.gammas(g.atom_shape, fresh_seed(rng)) / g.atom_rate, TINY)


def top_one(a: np.ndarray) -> np.ndarray:
    """In single precision, each row's largest at one; what would vanish beside it is kept just visible."""
    single = np.empty(a.shape, np.float32)
    np.divide(a, a.max(axis=1, keepdims=True), out=single, casting="same_kind")
    return np.maximum(single, 1e-18, out=single)


@dataclass(frozen=True)
class Visited(Additive):
    """Rows seen, where a pass has nothing else to sum."""

    n_rows: float


@dataclass(frozen=True)
class LocationStatistics(Additive):
    """Sums over rows for the locations: minus the curvature of their log likelihoods (packed), slope and value."""

    n_rows: float
    precision: np.ndarray  # components x R (R + 1) / 2, in the features (with the linear kernel, the locations: R = D)
    slope: np.ndarray  # components x R
    log_likelihood: np.ndarray  # components


@dataclass(frozen=True)
class FieldStatistics(Additive):
    """Sums over rows once f is drawn."""

    n_rows: float
    level: float  # sum_u (mu_u - Gamma_mu theta_u)^2
    locations: Any = 0.0  # `LocationStatistics`, where locations are proposed next


@dataclass(frozen=True)
class LocationMove(RowMove):
    """What proposing locations and deciding on them share: their log likelihoods (x integrated out) and densities."""

    def _likelihood(
        self, view: Visit, batch: Batch, rows: RowDraws, loadings: np.ndarray, bounded: np.ndarray | None = None
    ) -> Derivatives:
        """h at F. Its derivatives make proposals, which may be rounded to single precision: where rows are short."""
        w, link = view.globals.weights, LINKS[self.model.link]
        dtype = precision_of(batch.row_totals.max(initial=0.0) + w.sum())
        field = self.backend.product(rows.f, loadings.T)
        return link.likelihood(field, view.log_rate(batch), rows.n, w, self.backend, dtype, bounded)

    def _location_statistics(
        self, view: Visit, batch: Batch, rows: RowDraws, loadings: np.ndarray
    ) -> LocationStatistics:
        """Curvature, slope and log likelihood of every location."""
        h = self._likelihood(view, batch, rows, loadings)
        d = rows.f[:, : rows.f.shape[1] - self.model.has_level].astype(h.omega.dtype)
        return LocationStatistics(
            n_rows=batch.n_rows,
            precision=self.backend.product(h.omega.T, self.backend.pack_products(d)),
            slope=self.backend.product(h.slope.T, d).astype(np.float64),
            log_likelihood=h.value.sum(axis=0),
        )

    def _at_locations(self, at: np.ndarray, total: LocationStatistics, sigma_l2: float):
        """Slope of the log densities of locations, minus their curvature (packed), and the log densities."""
        kernel = self.model.kernel
        density = total.log_likelihood + locations.log_prior(kernel, at, sigma_l2)
        return *locations.pull_back(kernel, at, sigma_l2, total.slope, total.precision), density


@dataclass(frozen=True)
class MetropolisField(LocationMove):
    """f_u, and then l_k, each proposed around a Newton step of its log density (x integrated out), then decided on.

    Every other proposal of a row, by the toss of a coin, takes a bound for the curvature: it moves less far, and is
    accepted where the density is far from a Gaussian one.
    """

    learns_sigma_m2: bool = False

    def _newton(self, view: Visit, batch: Batch, rows: RowDraws, bounded: np.ndarray, tau: np.ndarray | None):
        """The log density of f given tau, its slope, and minus its curvature (packed)."""
        prior, away = view.design.prior.scaled(tau), rows.f - view.design.prior.mean
        h = self._likelihood(view, batch, rows, view.design.loadings, bounded)
        design = view.design.as_type(h.omega.dtype.type)
        density = h.value.sum(axis=1) - 0.5 * (prior * away**2).sum(axis=1)
        slope = self.backend.product(h.slope, design.loadings) - prior * away
        return density, slope, design.precision(h.omega, self.backend, tau, LEAST_PRECISION)

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, FieldStatistics]:
        """One proposal a row, f + N(P^-1 slope, P^-1); then what sigma_m^2 and a proposal of the locations need."""
        sampling = self.backend.sampling
        view = replace(view, design=view.design_of(batch))
        tau = view.draw_tau(view.design.prior, start.f, sampling)
        bounded = sampling.uniforms(batch.n_rows, view.seed(), view.ids) < 0.5
        density, slope, precision = self._newton(view, batch, start, bounded, tau)
        move, forth = sampling.proposals(precision, slope, view.seed(), view.ids)
        proposed = replace(start, f=start.f + move)
        new_density, new_slope, new_precision = self._newton(view, batch, proposed, bounded, tau)
        back = self.backend.gaussian_log_densities(new_precision, new_slope, -move)
        accept = np.log(sampling.uniforms(batch.n_rows, view.seed(), view.ids)) < new_density + back - density - forth
        drawn = replace(start, f=np.where(accept[:, None], proposed.f, start.f))
        found = FieldStatistics(batch.n_rows, float(((drawn.f - view.design.prior.mean)[:, -1] ** 2).sum()))
        if view.sums and self.model.has_locations and self.model.kernel.places is None:
            found = replace(found, locations=self._location_statistics(view, batch, drawn, view.design.loadings))
        return drawn, found

    def shared(self, g: Globals, chain: Chain, total: FieldStatistics) -> tuple[Globals, Chain]:
        """sigma_m^2 given the mu_u; l'_k ~ l_k + N(P_k^-1 slope_k, P_k^-1)."""
        if self.learns_sigma_m2:
            h = g.hyper
            sigma_m2 = draws.draw_sigma_m2(total.n_rows, total.level, g.coefficients[-1:], h.sigma_g2, chain.rng)
            g = replace(g, hyper=replace(h, sigma_m2=sigma_m2))
        if not isinstance(total.locations, LocationStatistics):
            return g, chain
        slope, precision, target = self._at_locations(g.locations, total.locations, g.hyper.sigma_l2)
        move, forward = self.backend.sampling.proposals(precision, slope, chain.seed())
        return g, replace(chain, proposal=Proposal(g.locations + move, forward, target))


@dataclass(frozen=True)
class DecideLocations(LocationMove):
    """Accept or reject each proposed location; given f, x integrated out, they are independent."""

    learns_sigma_l2: bool

    def rows(self, view: Visit, batch: Batch, start: RowDraws) -> tuple[RowDraws, LocationStatistics]:
        """Slope, curvature and log likelihood at the proposals."""
        assert view.proposal is not None  # the pass before made it
        features = self.model.kernel.features(view.proposal.values, view.globals.hyper.sigma_l2)
        loadings = np.hstack([features, view.design.loadings[:, features.shape[1] :]])
        return start, self._location_statistics(view, batch, start, loadings)

    def shared(self, g: Globals, chain: Chain, total: LocationStatistics) -> tuple[Globals, Chain]:
        """Metropolis and Hastings, component by component."""
        proposal = chain.proposal
        assert proposal is not None  # the pass before made it
        slope, precision, target = self._at_locations(proposal.values, total, g.hyper.sigma_l2)
        back = self.backend.gaussian_log_densities(precision, slope, g.locations - proposal.values)
        ratio = target - proposal.log_target + back - proposal.log_forward
        accept = np.log(1.0 - chain.rng.random(len(ratio))) < ratio
        drawn, h = np.where(accept[:, None], proposal.values, g.locations), g.hyper
        if self.learns_sigma_l2:
            h = replace(h, sigma_l2=draws.draw_sigma_l2(drawn, chain.rng))
        return replace(g, locations=drawn, hyper=h), replace(chain, proposal=None)
