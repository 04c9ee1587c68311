"""The three likelihoods of the sampler: sums over rows that the atoms need, and the atoms' draws given them.

Gaussian and binary data are quadratic in the atoms, sum_n kappa_ni s_ni - omega_ni s_ni^2 / 2: kappa = y / sigma_y^2
and omega = 1 / sigma_y^2, or kappa = y - 1/2 and omega ~ PolyaGamma(1, s). Counts are allocated to the features that a
row has on, and the atoms are gamma variables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from cormorant.backends.features import column_products
from cormorant.backends.packing import add_diagonal, pack_indices, pack_products, unpack
from cormorant.backends.select import Backend
from cormorant.inference.draws import inverse_gamma
from cormorant.inference.features.state import FeatureGlobals, Table, extended
from cormorant.inference.moves import fresh_seed
from cormorant.inference.state import Additive
from cormorant.models.features import A0, LEVEL_SPREAD

LEAST_ATOM = 1e-12  # of counts: the background keeps every rate positive


@dataclass(frozen=True)
class QuadraticStatistics(Additive):
    """Sums over rows: omega z~ z~^T of every column (one row where it is the same for all), kappa z~, sum y^2."""

    precision: np.ndarray  # (1 or columns) x packed
    linear: np.ndarray  # columns x (1 + T)
    squares: float
    entries: float


@dataclass(frozen=True)
class CountStatistics(Additive):
    """Sums over rows: allocated counts, and rows that looked at a column with the feature on."""

    counts: np.ndarray  # columns x (1 + T)
    exposure: np.ndarray


class Likelihood(Protocol):
    """What the sampler asks of a likelihood."""

    @property
    def name(self) -> str:
        """As the user says it."""
        ...

    def statistics(self, backend: Backend, g: FeatureGlobals, table: Table, z: np.ndarray, rng: Any) -> Any:
        """Sums over a block of rows."""
        ...

    def draw(self, backend: Backend, g: FeatureGlobals, total: Any, rng: np.random.Generator) -> FeatureGlobals:
        """Atoms, then the scales given them."""
        ...


def packed_products(z: np.ndarray) -> np.ndarray:
    """z~ z~^T of each row, packed."""
    return pack_products(extended(z))


def twice_off_diagonal(size: int) -> np.ndarray:
    """What a packed entry counts for in a full sum."""
    p, q = pack_indices(size)
    return np.where(p == q, 1.0, 2.0)


def residual_squares(total: QuadraticStatistics, atoms: np.ndarray, covariance: np.ndarray | None = None) -> float:
    """E sum (y - s)^2 over the observed entries, from statistics with omega = 1 and kappa = y."""
    second = pack_products(atoms)
    if covariance is not None:
        second += covariance
    if len(total.precision) == 1:
        second = second.sum(axis=0)
    quadratic = float((total.precision * twice_off_diagonal(atoms.shape[1]) * second).sum())
    return max(total.squares - 2.0 * float((total.linear * atoms).sum()) + quadratic, 1e-12 * total.squares)


def draw_scales(g: FeatureGlobals, rng: np.random.Generator) -> FeatureGlobals:
    """m_0, sigma_0^2 and, unless it is given, sigma_a^2, given the atoms."""
    atoms, background = g.atoms[:, 1:], g.atoms[:, 0]
    if g.learns_atom_scale:
        g = replace(g, atom_scale=inverse_gamma(g.priors.atoms, atoms.size, float((atoms**2).sum()), rng))
    mean, weight = best_level(background)
    level = float(rng.normal(mean, np.sqrt(g.background_scale / weight)))
    scale = inverse_gamma(g.priors.background, background.size + 1, level_squares(background, level), rng)
    return replace(g, level=level, background_scale=scale)


def best_level(background: np.ndarray) -> tuple[float, float]:
    """Mean of m_0 given the background, and its precision in units of 1 / sigma_0^2."""
    weight = background.size + 1.0 / LEVEL_SPREAD
    return float(background.sum() / weight), weight


def level_squares(background: np.ndarray, level: float) -> float:
    """What sigma_0^2 is judged by: squares about m_0, and that of m_0, in its own units."""
    return float(((background - level) ** 2).sum() + level**2 / LEVEL_SPREAD)


def draw_atoms(backend: Backend, g: FeatureGlobals, precision, linear, rng: np.random.Generator) -> np.ndarray:
    """a_i ~ N with precision diag(1 / scales) + sum_n omega_ni z~_n z~_n^T, one a column."""
    size, linear = linear.shape[1], linear + g.prior_mean / g.scales
    precision = add_diagonal(np.array(precision), 1.0 / g.scales, size)
    if len(precision) == 1:  # one factorisation serves all columns
        factor = np.linalg.cholesky(unpack(precision, size)[0])
        half = np.linalg.solve(factor, linear.T) + rng.standard_normal(linear.T.shape)
        return np.linalg.solve(factor.T, half).T
    return backend.sampling.gaussians(precision, linear, fresh_seed(rng))


@dataclass(frozen=True)
class Gaussian:
    """y ~ N(s, sigma_y^2)."""

    name: str = "gaussian"

    def statistics(self, backend: Backend, g: FeatureGlobals, table: Table, z: np.ndarray, rng: Any):
        """With omega = 1 and kappa = y: the noise is put in when the atoms are drawn."""
        if table.is_complete:
            precision = packed_products(z).sum(axis=0)[None, :]
        else:
            precision = column_products(backend.sampling.threads, z, table.observed.astype(np.float64))
        linear = backend.product(np.ascontiguousarray(table.values.T), extended(z))
        return QuadraticStatistics(precision, linear, float((table.values**2).sum()), float(table.observed.sum()))

    def draw(self, backend: Backend, g: FeatureGlobals, total: QuadraticStatistics, rng: np.random.Generator):
        """a, then sigma_y^2, sigma_a^2, m_0, sigma_0^2."""
        atoms = draw_atoms(backend, g, total.precision / g.noise, total.linear / g.noise, rng)
        noise = inverse_gamma(g.priors.noise, total.entries, residual_squares(total, atoms), rng)
        return draw_scales(replace(g, atoms=atoms, noise=noise), rng)


@dataclass(frozen=True)
class Bernoulli:
    """y ~ Bernoulli(sigmoid(s))."""

    name: str = "bernoulli"

    def statistics(self, backend: Backend, g: FeatureGlobals, table: Table, z: np.ndarray, rng: np.random.Generator):
        """omega_ni ~ PG(1, s_ni), kappa = y - 1/2; nothing at missing entries."""
        whole = extended(z)
        signal = backend.product(whole, np.ascontiguousarray(g.atoms.T))
        none, one = np.zeros(signal.shape), np.ones(signal.shape[1])
        omega = backend.sampling.polya_gammas(none, one, signal, fresh_seed(rng)) * table.observed
        kappa = (table.values - 0.5) * table.observed
        linear = backend.product(np.ascontiguousarray(kappa.T), whole)
        return QuadraticStatistics(column_products(backend.sampling.threads, z, omega), linear, 0.0, 0.0)

    def draw(self, backend: Backend, g: FeatureGlobals, total: QuadraticStatistics, rng: np.random.Generator):
        """a, then sigma_a^2, m_0 and sigma_0^2."""
        return draw_scales(replace(g, atoms=draw_atoms(backend, g, total.precision, total.linear, rng)), rng)


@dataclass(frozen=True)
class Poisson:
    """y ~ Poisson(s)."""

    name: str = "poisson"

    def statistics(self, backend: Backend, g: FeatureGlobals, table: Table, z: np.ndarray, rng: np.random.Generator):
        """Each count goes to a feature that the row has on, with probability ~ a_ki, or to the background."""
        whole = extended(z)
        counts: Any = backend.sampling.counts(*table.by_entry, whole, g.atoms, fresh_seed(rng))[1]
        if table.is_complete:
            exposure = np.tile(whole.sum(axis=0), (table.n_columns, 1))
        else:
            exposure = backend.product(np.ascontiguousarray(table.observed.T, dtype=np.float64), whole)
        return CountStatistics(counts.astype(np.float64), exposure)

    def draw(self, backend: Backend, g: FeatureGlobals, total: CountStatistics, rng: np.random.Generator):
        """a_ki ~ Gamma(A0 + c_ki, r + rows that could show it), then r_a and r_0."""
        rate = total.exposure + g.scales
        atoms = np.maximum(backend.sampling.gammas(A0 + total.counts, fresh_seed(rng)) / rate, LEAST_ATOM)
        scales = [
            float(rng.gamma(shape + A0 * a.size) / (rate + a.sum()))
            for (shape, rate), a in ((g.priors.atoms, atoms[:, 1:]), (g.priors.background, atoms[:, 0]))
        ]
        return replace(g, atoms=atoms, atom_scale=scales[0], background_scale=scales[1])


LIKELIHOODS: dict[str, Likelihood] = {item.name: item for item in (Gaussian(), Bernoulli(), Poisson())}
