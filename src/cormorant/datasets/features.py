"""Latent features drawn from the models themselves, and the classic bars, with the truth that a fit should find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cormorant.datasets.simulators import OVERFLOWS, _check_positive, _check_sizes, draw_poisson
from cormorant.measures import component_correlation
from cormorant.models.features import FEATURE_MODELS, LIKELIHOODS, LatentFeatures, draw_entries, signal_mean


@dataclass(frozen=True)
class FeatureSimulation:
    """A matrix and what it was drawn from."""

    y: np.ndarray  # rows x columns
    z: np.ndarray  # rows x features: which row shows which
    atoms: np.ndarray  # features x columns
    background: np.ndarray  # columns
    log_odds: np.ndarray  # b_k
    locations: np.ndarray  # features x D
    mean: np.ndarray  # E y given z, rows x columns

    @property
    def correlation(self) -> np.ndarray:
        """rho_km = l_k . l_m / (|l_k| |l_m|), zero where a feature has no location."""
        return component_correlation(self.locations)


@OVERFLOWS
def simulate_features(
    model: str = "beta-features",
    likelihood: str = "gaussian",
    n_rows: int = 500,
    n_columns: int = 40,
    n_components: int = 6,
    n_dims: int = 2,
    *,
    probability: float = 0.3,
    atom_scale: float = 2.0,
    noise: float = 0.25,
    sigma_l2: float = 2.0,
    locations: np.ndarray | None = None,
    seed: int | np.random.Generator = 0,
) -> FeatureSimulation:
    """Draw a matrix of features that are equally common: the story of `cormorant.models.features` given the weights.

    Args:
        model: `beta-features`, `gamma-features` or `ibp`.
        likelihood: `gaussian`, `poisson` or `bernoulli`.
        n_rows: Rows n.
        n_columns: Columns i.
        n_components: Features k.
        n_dims: Dimension D of the locations.
        probability: Of a feature where F = 0; b_k is its logit.
        atom_scale: Size of the atoms: a standard deviation, or the mean of gamma variables of shape A0 (counts).
        noise: sigma_y^2, of real data.
        sigma_l2: Variance of the locations.
        locations: Features x D, in place of drawn ones (to plant correlations).
        seed: Seed or generator.
    """
    spec = _model(model)
    if likelihood not in LIKELIHOODS:
        raise ValueError(f"likelihood must be one of {', '.join(LIKELIHOODS)}; got {likelihood!r}.")
    _check_sizes(n_rows=n_rows, n_columns=n_columns, n_components=n_components, n_dims=n_dims)
    _check_positive(atom_scale=atom_scale, noise=noise)
    _check_positive(or_zero=True, sigma_l2=sigma_l2)
    if not 0.0 < probability < 1.0:
        raise ValueError(f"probability must be between 0 and 1, got {probability!r}.")
    rng = np.random.default_rng(seed)
    if locations is None:
        locations = rng.normal(size=(n_components, n_dims)) * np.sqrt(sigma_l2)
    locations = np.asarray(locations, dtype=np.float64)
    if locations.ndim != 2 or len(locations) != n_components or not np.isfinite(locations).all():
        raise ValueError(f"locations must be {n_components} features x D, finite; got shape {locations.shape}.")
    locations = locations if spec.has_locations else np.zeros((n_components, 0))
    if likelihood == "poisson":
        atoms = rng.gamma(0.5, size=(n_components, n_columns)) * 2.0 * atom_scale
        background = np.full(n_columns, 0.1)
    else:
        atoms = rng.normal(size=(n_components, n_columns)) * atom_scale
        background = np.full(n_columns, -1.0 if likelihood == "bernoulli" else 0.0)
    return _draw(likelihood, n_rows, atoms, background, _logit(probability), locations, noise, rng)


def bars(
    n_rows: int = 400,
    size: int = 6,
    *,
    likelihood: str = "gaussian",
    probability: float = 0.25,
    noise: float = 0.25,
    locations: np.ndarray | None = None,
    seed: int | np.random.Generator = 0,
) -> FeatureSimulation:
    """Images of size x size pixels made of bars: every row and every column of pixels is a feature, on or off.

    Args:
        n_rows: Images.
        size: Pixels a side; there are 2 size features, the rows first.
        likelihood: `gaussian` (a bar adds 1), `poisson` (adds 4 to a rate of 0.1) or `bernoulli` (adds 5 to a logit of
            -2.5).
        probability: Of each bar where F = 0.
        noise: sigma_y^2, of real data.
        locations: 2 size features x D, to plant correlations; None: bars come independently.
        seed: Seed or generator.
    """
    heights = {"gaussian": (1.0, 0.0), "poisson": (4.0, 0.1), "bernoulli": (5.0, -2.5)}
    if likelihood not in heights:
        raise ValueError(f"likelihood must be one of {', '.join(heights)}; got {likelihood!r}.")
    _check_sizes(n_rows=n_rows, size=size)
    _check_positive(noise=noise)
    images = np.zeros((2 * size, size, size))
    images[np.arange(size), np.arange(size), :] = 1.0
    images[size + np.arange(size), :, np.arange(size)] = 1.0
    height, ground = heights[likelihood]
    locations = np.zeros((2 * size, 0)) if locations is None else np.asarray(locations, dtype=np.float64)
    atoms, background = height * images.reshape(2 * size, -1), np.full(size * size, ground)
    rng = np.random.default_rng(seed)
    return _draw(likelihood, n_rows, atoms, background, _logit(probability), locations, noise, rng)


def _draw(
    likelihood: str,
    n_rows: int,
    atoms: np.ndarray,
    background: np.ndarray,
    log_odds: float,
    locations: np.ndarray,
    noise: float,
    rng: np.random.Generator,
) -> FeatureSimulation:
    """z_nk ~ Bernoulli(sigmoid(b_k + l_k . d_n)), and y given z."""
    eta = log_odds + rng.normal(size=(n_rows, locations.shape[1])) @ locations.T
    z = (rng.random(eta.shape) < 1.0 / (1.0 + np.exp(-eta))).astype(np.float64)
    mean = signal_mean(likelihood, background + z @ atoms)
    if likelihood == "poisson":  # rates that the user chose may be too large to draw from
        y = draw_poisson(mean, rng).astype(np.float64)
    else:
        y = draw_entries(likelihood, mean, noise, rng)
    return FeatureSimulation(y, z, atoms, background, np.full(len(atoms), log_odds), locations, mean)


def _model(name: str) -> LatentFeatures:
    if name not in FEATURE_MODELS:
        raise ValueError(f"model must be one of {', '.join(FEATURE_MODELS)}; got {name!r}.")
    return FEATURE_MODELS[name]


def _logit(probability: float) -> float:
    return float(np.log(probability) - np.log1p(-probability))
