"""Data drawn from the models themselves, with the truth that a fit should find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from cormorant.data import Counts, as_counts
from cormorant.models.cnpf import get_model, link_function


@dataclass(frozen=True)
class Simulation:
    """Counts and what they were drawn from: y ~ Poisson(x a), x ~ Gamma(w, 1 / r(F)), F = d l^T + mu."""

    counts: Counts
    atoms: np.ndarray  # components x columns
    weights: np.ndarray  # w
    locations: np.ndarray  # components x D
    field: np.ndarray  # F, rows x components
    x: np.ndarray  # rows x components

    @property
    def correlation(self) -> np.ndarray:
        """rho_km = l_k . l_m / (|l_k| |l_m|), zero where a component has no location."""
        norms = np.linalg.norm(self.locations, axis=1)
        unit = self.locations / np.where(norms > 0, norms, 1.0)[:, None]
        rho = unit @ unit.T
        np.fill_diagonal(rho, 1.0)
        return rho


def simulate(
    model: str = "cnpf",
    n_rows: int = 1000,
    n_columns: int = 200,
    n_components: int = 10,
    n_dims: int = 5,
    *,
    row_total: float = 100.0,
    a0: float = 0.1,
    weight: float = 0.5,
    sigma_l2: float = 0.5,
    sigma_m2: float = 0.25,
    locations: np.ndarray | None = None,
    seed: int | np.random.Generator = 0,
) -> Simulation:
    """Draw a data set from a model.

    Args:
        model: `cnpf`, `softplus-cnpf`, `scaled-hgp` or `hgp`.
        n_rows: Rows u.
        n_columns: Columns i.
        n_components: Components k.
        n_dims: Dimension D of the locations.
        row_total: Expected total of an average row; sets the scale of the atoms.
        a0: Shape of the atoms' gamma draws: small means few columns a component.
        weight: w, the same for every component.
        sigma_l2: Variance of the locations.
        sigma_m2: Variance of the row means mu_u.
        locations: Components x D, in place of drawn ones (to plant correlations).
        seed: Seed or generator.
    """
    spec = get_model(model)
    for name, value in (("row_total", row_total), ("a0", a0), ("weight", weight)):
        if not value > 0:
            raise ValueError(f"{name} must be positive, got {value!r}.")
    rng = np.random.default_rng(seed)
    weights = np.full(n_components, float(weight))
    if locations is None:
        locations = rng.normal(size=(n_components, n_dims)) * np.sqrt(sigma_l2)
    locations = np.asarray(locations, dtype=np.float64)
    if locations.ndim != 2 or len(locations) != n_components:
        raise ValueError(f"locations must be {n_components} components x D, got shape {locations.shape}.")
    if not spec.has_locations:
        locations = np.zeros((n_components, 0))
    field = rng.normal(size=(n_rows, locations.shape[1])) @ locations.T
    if spec.has_mean:
        field = field + rng.normal(size=(n_rows, 1)) * np.sqrt(sigma_m2)
    x = rng.gamma(weights, size=field.shape) * link_function(spec.link, field)
    atoms = rng.gamma(a0, size=(n_components, n_columns)) + 1e-12
    atoms *= row_total / (x.mean(axis=0).sum() * atoms.sum(axis=1, keepdims=True))
    blocks = [sparse.csr_matrix(rng.poisson(x[i : i + 1024] @ atoms)) for i in range(0, n_rows, 1024)]
    return Simulation(as_counts(sparse.vstack(blocks).tocsr()), atoms, weights, locations, field, x)
