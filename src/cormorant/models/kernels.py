"""What a location means: the covariance of F over the components, as a finite feature map phi.

    F_uk = sigma phi(l_k) . d_u + mu_u,  d_u ~ N(0, I),  so  Cov(F_uk, F_um) = sigma^2 phi(l_k) . phi(l_m) + Var mu_u

    linear      sigma phi(l) = l, l ~ N(0, sigma^2 I_D): the paper's
    rbf         phi(l) . phi(m) = exp(-|l - m|^2 / (2 lambda^2)), l ~ N(0, I_D), lambda the length scale
    matern      the same with heavier-tailed frequencies: F is rougher in l, the less nu
    brownian    phi(tau) . phi(tau') = min(tau, tau'), tau uniform on 1/D, 2/D, .., 1: F_uk = B_u(tau_k)
    groups      phi(l) . phi(m) = 1 if l = m else 0, l one of D groups: F_uk = d_{u, l_k}

sigma^2 is ``sigma_l2``. The first three have locations in R^D, which inference moves by gradients (the first by an
exact solve); the last two have D places for a location to be, of which inference picks one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.special import gammaincinv, ndtri

LEAST_CORRELATION = 0.02  # as far apart as components are placed at first
TOGETHER = 0.2  # correlation from which on components are put in one group at first


class Kernel(Protocol):
    """Everything that inference must know of a kernel."""

    @property
    def is_linear(self) -> bool:
        """Whether the features are the locations themselves, sigma being the scale of their prior."""
        ...

    @property
    def places(self) -> np.ndarray | None:
        """The locations that there are, one a row, all as likely; None: all of R^D, and they are Gaussian."""
        ...

    def width(self, n_dims: int) -> int:
        """Numbers that a location consists of."""
        ...

    def start(self, n_components: int, n_dims: int, variance: float, rng: np.random.Generator) -> np.ndarray:
        """Locations drawn from their prior, components x width."""
        ...

    def place(self, covariance: np.ndarray) -> np.ndarray:
        """Locations to begin with, at which the kernel is roughly like a covariance of F, components x components."""
        ...

    def features(self, locations: np.ndarray, variance: float) -> np.ndarray:
        """sigma phi(l_k), components x features."""
        ...

    def jacobian(self, locations: np.ndarray, variance: float) -> np.ndarray:
        """d sigma phi(l_k) / d l_k, components x features x D."""
        ...

    def prior_variance(self, variance: float) -> float:
        """Of Gaussian locations."""
        ...


@dataclass(frozen=True)
class Linear:
    """sigma phi(l) = l."""

    is_linear = True
    places = None

    def width(self, n_dims: int) -> int:
        """D."""
        return n_dims

    def start(self, n_components: int, n_dims: int, variance: float, rng: np.random.Generator) -> np.ndarray:
        """l ~ N(0, sigma^2 I)."""
        return rng.normal(size=(n_components, n_dims)) * np.sqrt(variance)

    def place(self, covariance: np.ndarray) -> np.ndarray:
        """l with l l^T the covariance."""
        values, vectors = np.linalg.eigh(covariance)
        return vectors * np.sqrt(np.maximum(values, 0.0))

    def features(self, locations: np.ndarray, variance: float) -> np.ndarray:
        """l."""
        return locations

    def jacobian(self, locations: np.ndarray, variance: float) -> np.ndarray:
        """I."""
        return np.broadcast_to(np.eye(locations.shape[1]), (len(locations), *[locations.shape[1]] * 2))

    def prior_variance(self, variance: float) -> float:
        """sigma^2."""
        return variance


@dataclass(frozen=True, eq=False)
class Fourier:
    """phi(l) = (cos(omega_j . l), sin(omega_j . l))_j / sqrt(J): phi(l) . phi(m) is the mean of cos(omega_j . (l - m)).

    With the omega_j drawn from the spectral density of a stationary kernel that mean is the kernel (Rahimi and Recht).
    """

    frequencies: np.ndarray  # J x D
    length_scale: float

    is_linear = False
    places = None

    def width(self, n_dims: int) -> int:
        """D."""
        return n_dims

    def start(self, n_components: int, n_dims: int, variance: float, rng: np.random.Generator) -> np.ndarray:
        """l ~ N(0, I)."""
        return rng.normal(size=(n_components, n_dims))

    def place(self, covariance: np.ndarray) -> np.ndarray:
        """Classical scaling of the distances that give an RBF kernel those correlations."""
        rho = np.clip(_correlation(covariance), LEAST_CORRELATION, 1.0)
        return _classical_scaling(-2.0 * self.length_scale**2 * np.log(rho), self.frequencies.shape[1])

    def features(self, locations: np.ndarray, variance: float) -> np.ndarray:
        """sigma (cos, sin) / sqrt(J)."""
        angle = locations @ self.frequencies.T
        return self._scale(variance) * np.hstack([np.cos(angle), np.sin(angle)])

    def jacobian(self, locations: np.ndarray, variance: float) -> np.ndarray:
        """sigma (-sin omega, cos omega) / sqrt(J)."""
        angle = locations @ self.frequencies.T
        slope = np.hstack([-np.sin(angle), np.cos(angle)])
        return self._scale(variance) * slope[:, :, None] * np.vstack([self.frequencies] * 2)

    def prior_variance(self, variance: float) -> float:
        """1."""
        return 1.0

    def _scale(self, variance: float) -> float:
        return float(np.sqrt(variance / len(self.frequencies)))


@dataclass(frozen=True)
class _Places:
    """Kernels whose locations are one of D places."""

    n_places: int

    is_linear = False

    @property
    def places(self) -> np.ndarray:
        """One a row."""
        raise NotImplementedError

    def width(self, n_dims: int) -> int:
        """Numbers that a place consists of."""
        return self.places.shape[1]

    def start(self, n_components: int, n_dims: int, variance: float, rng: np.random.Generator) -> np.ndarray:
        """Every place as likely."""
        return self.places[rng.integers(self.n_places, size=n_components)]

    def jacobian(self, locations: np.ndarray, variance: float) -> np.ndarray:
        """There is none."""
        raise TypeError(f"the locations of {type(self).__name__} are not continuous: they have no derivative.")

    def prior_variance(self, variance: float) -> float:
        """Infinite: no place is more likely than another."""
        return np.inf


class Groups(_Places):
    """phi(l) = l, one of the unit vectors; a component without a group has l = 0."""

    @property
    def places(self) -> np.ndarray:
        """The unit vectors."""
        return np.eye(self.n_places)

    def place(self, covariance: np.ndarray) -> np.ndarray:
        """Average linkage, for as long as the components of two groups go together on average."""
        if len(covariance) == 1:
            return self.places[:1]
        tree = linkage(squareform(1.0 - _correlation(covariance), checks=False), "average")
        group = fcluster(tree, 1.0 - TOGETHER, "distance")
        if group.max() > self.n_places:
            group = fcluster(tree, self.n_places, "maxclust")
        return self.places[group - 1]

    def features(self, locations: np.ndarray, variance: float) -> np.ndarray:
        """sigma l."""
        return np.sqrt(variance) * locations


class Brownian(_Places):
    """phi_j(tau) = D^(-1/2) if j / D <= tau else 0: the increments of B, of variance 1 / D each, up to tau."""

    @property
    def places(self) -> np.ndarray:
        """tau = 1 / D, 2 / D, .., 1."""
        return np.arange(1, self.n_places + 1)[:, None] / self.n_places

    def place(self, covariance: np.ndarray) -> np.ndarray:
        """By the first coordinate of the components, about -cos(pi tau), in one of its two directions.

        What all F of a row share is mu_u's, so only Var(F_k - F_m) = sigma^2 |tau_k - tau_m| counts, and a walk run
        backwards has the same. With evenly spread tau the first principal function of a centred walk is that cosine.
        """
        variance = np.diag(covariance)
        line = _classical_scaling(variance[:, None] + variance - 2.0 * covariance, 1)
        line = 2.0 * (line - line.min()) / max(np.ptp(line), 1e-300) - 1.0
        tau = np.arccos(np.clip(-line, -1.0, 1.0)) / np.pi
        return np.maximum(np.rint(self.n_places * tau), 1.0) / self.n_places

    def features(self, locations: np.ndarray, variance: float) -> np.ndarray:
        """sigma D^(-1/2) where the increment is in the past."""
        half = 0.5 / self.n_places  # so that rounding moves no tau from its place
        return np.sqrt(variance / self.n_places) * (locations + half >= self.places.T)


def draw_frequencies(
    n_frequencies: int, n_dims: int, length_scale: float, nu: float | None, rng: np.random.Generator
) -> np.ndarray:
    """omega_j ~ N(0, I / lambda^2) (RBF), or multivariate t with 2 nu degrees of freedom (Matern), J x D.

    The points are evenly scattered (a scrambled Halton sequence): with as many of them the kernel is met more closely
    than by independent draws.
    """
    from scipy.stats import qmc  # slow to import, and few need it

    uniform = qmc.Halton(n_dims + 1, rng=rng).random(n_frequencies)
    uniform = np.clip(uniform, 1e-9, 1.0 - 1e-9)
    omega = np.ascontiguousarray(ndtri(uniform[:, :n_dims])) / length_scale
    return omega if nu is None else omega * np.sqrt(nu / gammaincinv(nu, uniform[:, n_dims:]))  # Student-t


def _classical_scaling(squared: np.ndarray, n_dims: int) -> np.ndarray:
    """Points whose squared distances are about those, one a row."""
    centre = np.eye(len(squared)) - 1.0 / len(squared)
    values, vectors = np.linalg.eigh(-0.5 * centre @ squared @ centre)
    top = np.argsort(values)[::-1][:n_dims]
    found = vectors[:, top] * np.sqrt(np.maximum(values[top], 0.0))
    return np.pad(found, ((0, 0), (0, n_dims - found.shape[1])))


def _correlation(covariance: np.ndarray) -> np.ndarray:
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    rho = np.clip(covariance / np.outer(spread, spread), -1.0, 1.0)
    np.fill_diagonal(rho, 1.0)
    return rho


KERNELS = ("linear", "rbf", "matern", "brownian", "groups")
WITH_FREQUENCIES = ("rbf", "matern")  # those that Fourier features stand for


def default_length_scale(n_dims: int) -> float:
    """Two locations from the prior are at a distance of about sqrt(2 D), where F then correlates by exp(-2) (RBF)."""
    return float(np.sqrt(n_dims / 2.0))


def make_kernel(name: str, n_dims: int, frequencies: np.ndarray | None, length_scale: float | None) -> Kernel:
    """The kernel of that name; ``frequencies`` and ``length_scale`` are those of rbf and matern."""
    if name in WITH_FREQUENCIES:
        assert frequencies is not None  # drawn when a fit begins
        return Fourier(frequencies, default_length_scale(n_dims) if length_scale is None else length_scale)
    return {"linear": Linear(), "brownian": Brownian(n_dims), "groups": Groups(n_dims)}[name]
