"""Locations under any kernel: what a step of structured inference makes of them, and the derivatives that a draw needs.

All that the bound says of the features phi_k of component k is, up to a constant and the curvature held,

    linear_k . phi_k - phi_k^T precision_k phi_k / 2,

which touches the bound from below (exponential link), so that whatever raises it, with log p(l_k), raises the bound:
an exact solve (linear kernel), Gauss-Newton steps that are halved while they do not, or the best of a few places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cormorant.backends.packing import add_diagonal, pack_indices, pack_products, unpack
from cormorant.inference.globals import update_locations
from cormorant.inference.state import Globals
from cormorant.models.kernels import Kernel

STEPS, HALVINGS = 10, 6  # Gauss-Newton steps of an update, and how often each may be halved
CANDIDATES = 128  # places all over the prior that a location may jump to: far from its peers the slope is no guide


@dataclass(frozen=True)
class Surrogate:
    """The quadratic function of the features that stands for the bound."""

    precision: np.ndarray  # components x features x features
    linear: np.ndarray  # components x features

    def at(self, features: np.ndarray) -> np.ndarray:
        """Its value for every component, each at features of its own."""
        quadratic = np.einsum("kp,kpq,kq->k", features, self.precision, features, optimize=True)
        return (self.linear * features).sum(axis=1) - 0.5 * quadratic

    def at_all(self, features: np.ndarray) -> np.ndarray:
        """Its value for every component at each of some places, components x places."""
        p, q = pack_indices(features.shape[1])
        packed = self.precision[:, p, q] * np.where(p == q, 0.5, 1.0)
        return self.linear @ features.T - packed @ pack_products(features).T

    def best_scale(self, features: np.ndarray) -> float:
        """The factor t that is best for all components at once, phi <- t phi."""
        quadratic = np.einsum("kp,kpq,kq->", features, self.precision, features, optimize=True)
        return float((self.linear * features).sum() / max(quadratic, 1e-300))


def relocate(kernel: Kernel, surrogate: Surrogate, g: Globals, learns_variance: bool) -> Globals:
    """The globals with new locations, and then sigma^2 if it is learned."""
    variance = g.hyper.sigma_l2
    found = update(kernel, surrogate, g.locations, variance)
    if learns_variance:
        variance = update_variance(surrogate, kernel.features(found, variance), variance)
    return replace(g, locations=found, hyper=replace(g.hyper, sigma_l2=variance))


def update(kernel: Kernel, surrogate: Surrogate, locations: np.ndarray, variance: float) -> np.ndarray:
    """Locations at which the surrogate with the log prior is no lower."""
    if kernel.is_linear:
        return update_locations(surrogate.precision, surrogate.linear, variance)
    if kernel.places is not None:
        return _best_places(kernel, surrogate, locations, variance, kernel.places)
    scattered = np.random.default_rng(0).normal(size=(CANDIDATES, locations.shape[1]))
    locations = _best_places(kernel, surrogate, locations, variance, scattered)
    return _ascend(kernel, surrogate, locations, variance)


def update_variance(surrogate: Surrogate, features: np.ndarray, variance: float) -> float:
    """sigma^2 at its best, the locations held; closed form, as the surrogate is quadratic in sigma."""
    return variance * np.clip(surrogate.best_scale(features), 0.5, 2.0) ** 2


def log_prior(kernel: Kernel, locations: np.ndarray, variance: float) -> np.ndarray:
    """log p(l_k) of each component."""
    if kernel.places is not None:
        return np.full(len(locations), -np.log(len(kernel.places)))
    spread = kernel.prior_variance(variance)
    return -0.5 * (locations**2).sum(axis=1) / spread - 0.5 * locations.shape[1] * np.log(2 * np.pi * spread)


def pull_back(
    kernel: Kernel, locations: np.ndarray, variance: float, slope: np.ndarray, precision: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Slope, and minus the curvature (packed), of the log density of l from those of the log likelihood of phi(l).

    By the chain rule, without the curvature of phi: J^T slope - Lambda l, and J^T precision J + Lambda.
    """
    size, spread = locations.shape[1], kernel.prior_variance(variance)
    if kernel.is_linear:
        return slope - locations / spread, add_diagonal(precision.copy(), 1.0 / spread, size)
    j = kernel.jacobian(locations, variance)
    full = np.einsum("kpd,kpq,kqe->kde", j, unpack(precision, slope.shape[1]), j, optimize=True)
    p, q = pack_indices(size)
    return np.einsum("kpd,kp->kd", j, slope) - locations / spread, add_diagonal(full[:, p, q], 1.0 / spread, size)


def _best_places(
    kernel: Kernel, surrogate: Surrogate, locations: np.ndarray, variance: float, places: np.ndarray
) -> np.ndarray:
    """Each component at the best of the places, or where it is, if none is better."""
    now = surrogate.at(kernel.features(locations, variance)) + log_prior(kernel, locations, variance)
    values = surrogate.at_all(kernel.features(places, variance)) + log_prior(kernel, places, variance)
    best = values.argmax(axis=1)
    return np.where((values.max(axis=1) > now)[:, None], places[best], locations)


def _ascend(kernel: Kernel, surrogate: Surrogate, locations: np.ndarray, variance: float) -> np.ndarray:
    """Gauss-Newton steps; a component whose step does not help, however short, stays where it is."""

    def value(at: np.ndarray) -> np.ndarray:
        return surrogate.at(kernel.features(at, variance)) + log_prior(kernel, at, variance)

    best, spread = value(locations), kernel.prior_variance(variance)
    for _ in range(STEPS):
        features, j = kernel.features(locations, variance), kernel.jacobian(locations, variance)
        slope = surrogate.linear - np.einsum("kpq,kq->kp", surrogate.precision, features)
        gradient = np.einsum("kpd,kp->kd", j, slope) - locations / spread
        curvature = np.einsum("kpd,kpq,kqe->kde", j, surrogate.precision, j, optimize=True)
        curvature = curvature + np.eye(locations.shape[1]) / spread
        move = np.linalg.solve(curvature, gradient[..., None])[..., 0]
        for _ in range(HALVINGS):
            better = value(locations + move) > best
            if better.all():
                break
            move = np.where(better[:, None], move, 0.5 * move)
        move = np.where((value(locations + move) > best)[:, None], move, 0.0)
        if not move.any():
            break
        locations = locations + move
        best = value(locations)
    return locations
