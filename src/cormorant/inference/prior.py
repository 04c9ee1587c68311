"""The prior of f_u = (d_u, mu_u): Gaussian, or with heavy tails in d, around a mean that covariates may set.

    f_u ~ N(Gamma theta_u, Lambda_u^-1),  Lambda_u = diag(tau_u, .., tau_u, 1 / sigma_m^2)

tau_u = 1 of a Gaussian process; tau_u ~ Gamma(nu / 2, nu / 2) makes d_u Student-t with nu degrees of freedom.
A precision of zero is that of a flat prior, of density one everywhere (mu_u of a normalised model).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln

from cormorant.backends.packing import diagonal_places
from cormorant.backends.sampling import Sampling
from cormorant.models.cnpf import Hyperparameters, PoissonFactorization

WIDE_LEVEL = 10.0  # sigma_m^2 where nothing is known of it: a row's scale may be 500 times another's


def prior_of(model: PoissonFactorization, hyper: Hyperparameters, n_features: int) -> Prior:
    """The prior that a model has for rows without covariates; d_u has a coordinate for each feature of a location."""
    precision = [1.0] * n_features
    if model.has_level:
        precision.append(0.0 if model.normalised else 1.0 / hyper.sigma_m2)
    return Prior(np.array(precision), df=hyper.df if model.heavy_tails else None, n_heavy=n_features)


@dataclass(frozen=True)
class Prior:
    """p(f_u) of some rows; without covariates all means are 0."""

    precision: np.ndarray  # Lambda at tau = 1, a diagonal: P
    mean: np.ndarray | float = 0.0  # rows x P: Gamma theta_u
    df: float | None = None  # nu; None: Gaussian
    n_heavy: int = 0  # coordinates that tau scales: the first, those of d

    @property
    def size(self) -> int:
        """P."""
        return len(self.precision)

    def take(self, index: np.ndarray) -> Prior:
        """The same for some of the rows."""
        return replace(self, mean=self.mean[index]) if isinstance(self.mean, np.ndarray) else self

    def variance(self) -> np.ndarray:
        """1 / Lambda at tau = 1; zero where the prior is flat."""
        return np.divide(1.0, self.precision, out=np.zeros(self.size), where=self.precision > 0)

    def scaled(self, tau: np.ndarray | None) -> np.ndarray:
        """Lambda_u: P, or rows x P."""
        if tau is None:
            return self.precision
        heavy = np.arange(self.size) < self.n_heavy
        return self.precision * np.where(heavy, tau[:, None], 1.0)

    def tau(self, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray | None:
        """E tau_u = (nu + D) / (nu + E |d_u - m0_u|^2), the best q(tau_u) for q(f_u) = N(mean, covariance (packed))."""
        if self.df is None:
            return None
        return (self.df + self.n_heavy) / (self.df + self._distance(mean, covariance))

    def draw_tau(self, f: np.ndarray, sampling: Sampling, seed: int, ids: np.ndarray | None) -> np.ndarray:
        """tau_u ~ Gamma((nu + D) / 2, (nu + |d_u - m0_u|^2) / 2), given f_u."""
        assert self.df is not None  # asked for heavy tails only
        rate = 0.5 * (self.df + ((f - self.mean)[:, : self.n_heavy] ** 2).sum(axis=1))
        shape = np.full((len(f), 1), 0.5 * (self.df + self.n_heavy))
        return sampling.gammas(shape, seed, ids)[:, 0] / rate

    def cross_entropy(self, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        """-E log p(f_u) of each row, less (log 2 pi) / 2 a coordinate.

        Of a Student-t, -E log p(f_u | tau_u) + KL(q(tau_u) || p(tau_u)) at the best q(tau_u), a gamma.
        """
        flat = np.log(np.where(self.precision > 0, self.precision, 2.0 * np.pi))  # a flat prior's log density is zero
        square = (covariance[:, diagonal_places(self.size)] + (mean - self.mean) ** 2) * self.precision
        if self.df is None:
            return 0.5 * (square - flat).sum(axis=1)
        nu, d = self.df, self.n_heavy
        constant = gammaln(0.5 * (nu + d)) - gammaln(0.5 * nu) - 0.5 * d * np.log(0.5 * nu)
        tails = 0.5 * (nu + d) * np.log1p(square[:, :d].sum(axis=1) / nu) - constant
        return tails + 0.5 * (square - flat)[:, d:].sum(axis=1)

    def _distance(self, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        """E |d_u - m0_u|^2."""
        places = diagonal_places(self.n_heavy)
        return (covariance[:, places] + (mean - self.mean)[:, : self.n_heavy] ** 2).sum(axis=1)

    def draws(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """f - m0 of rows drawn from the prior, n x P; zero where the prior is flat."""
        z = rng.normal(size=(n, self.size)) * np.sqrt(self.variance())
        if self.df is None:
            return z
        tau = rng.gamma(0.5 * self.df, 2.0 / self.df, size=n)
        z[:, : self.n_heavy] /= np.sqrt(tau)[:, None]
        return z
