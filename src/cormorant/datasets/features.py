"""Latent features drawn from the models themselves, and the classic bars, with the truth that a fit should find."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit

from cormorant.datasets.checks import check_choice, check_positive, check_sizes
from cormorant.datasets.rows import OVERFLOWS, draw_poisson, given_locations
from cormorant.measures import component_correlation
from cormorant.models.features import (
    A0,
    FEATURE_MODELS,
    LEVEL_SPREAD,
    LIKELIHOODS,
    FeaturePriors,
    LatentFeatures,
    draw_entries,
    signal_mean,
)

# Where every number is drawn: some five features a row (fewer of a gamma process), clear atoms and correlations.
PRIOR = FeaturePriors(
    mass=(20.0, 4.0), concentration=(20.0, 20.0), sigma_l2=(20.0, 40.0), noise=(20.0, 5.0),
    atoms=(20.0, 80.0), background=(20.0, 4.0),
)  # fmt: skip


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
    mass: float | None = None  # of the process that the weights were drawn from, if they were
    concentration: float | None = None  # its concentration, or rate
    sigma_l2: float | None = None  # variance of the locations, if it was drawn
    noise: float | None = None  # sigma_y^2, if it was drawn

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
    spec = FEATURE_MODELS[check_choice("model", model, tuple(FEATURE_MODELS))]
    check_choice("likelihood", likelihood, LIKELIHOODS)
    check_sizes(n_rows=n_rows, n_columns=n_columns, n_components=n_components, n_dims=n_dims)
    check_positive(atom_scale=atom_scale, noise=noise)
    check_positive(or_zero=True, sigma_l2=sigma_l2)
    if not 0.0 < probability < 1.0:
        raise ValueError(f"probability must be between 0 and 1, got {probability!r}.")
    rng = np.random.default_rng(seed)
    locations = given_locations(locations, n_components, n_dims, sigma_l2, rng, of="features")
    locations = locations if spec.has_locations else np.zeros((n_components, 0))
    if likelihood == "poisson":
        atoms = rng.gamma(A0, size=(n_components, n_columns)) * atom_scale / A0
        background = np.full(n_columns, 0.1)
    else:
        atoms = rng.normal(size=(n_components, n_columns)) * atom_scale
        background = np.full(n_columns, -1.0 if likelihood == "bernoulli" else 0.0)
    log_odds = np.full(n_components, logit(probability))
    return _draw(likelihood, n_rows, atoms, background, log_odds, locations, noise, rng)


def draw_prior(
    spec: LatentFeatures,
    n_rows: int,
    n_columns: int,
    n_components: int,
    n_dims: int,
    *,
    priors: FeaturePriors,
    rng: np.random.Generator,
    likelihood: str = "gaussian",
) -> FeatureSimulation:
    """The whole story: mass and concentration, weights, locations, the scales of the atoms, atoms, rows."""
    check_choice("likelihood", likelihood, LIKELIHOODS)
    mass, concentration = (rng.gamma(shape) / rate for shape, rate in (priors.mass, priors.concentration))
    sigma_l2, noise = (scale / rng.gamma(shape) for shape, scale in (priors.sigma_l2, priors.noise))
    log_odds = spec.draw_log_odds(n_components, mass, concentration, rng)
    locations = rng.normal(size=(n_components, n_dims if spec.has_locations else 0)) * np.sqrt(sigma_l2)
    atoms, background = _draw_atoms(likelihood, n_components, n_columns, priors, rng)
    return replace(
        _draw(likelihood, n_rows, atoms, background, log_odds, locations, noise, rng),
        mass=mass,
        concentration=concentration,
        sigma_l2=sigma_l2 if spec.has_locations else None,
        noise=noise if likelihood == "gaussian" else None,
    )


def _draw_atoms(
    likelihood: str, n_components: int, n_columns: int, priors: FeaturePriors, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Atoms and background: gamma variables of drawn rates (counts), or normal ones of drawn variances."""
    (shape, own), (shape_0, own_0) = priors.atoms, priors.background
    if likelihood == "poisson":
        r_a, r_0 = rng.gamma(shape) / own, rng.gamma(shape_0) / own_0
        return rng.gamma(A0, size=(n_components, n_columns)) / r_a, rng.gamma(A0, size=n_columns) / r_0
    sigma_a2, sigma_02 = own / rng.gamma(shape), own_0 / rng.gamma(shape_0)
    level = rng.normal() * np.sqrt(LEVEL_SPREAD * sigma_02)
    atoms = rng.normal(size=(n_components, n_columns)) * np.sqrt(sigma_a2)
    return atoms, level + rng.normal(size=n_columns) * np.sqrt(sigma_02)


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
    check_choice("likelihood", likelihood, LIKELIHOODS)
    check_sizes(n_rows=n_rows, size=size)
    check_positive(noise=noise)
    images = np.zeros((2 * size, size, size))
    images[np.arange(size), np.arange(size), :] = 1.0
    images[size + np.arange(size), :, np.arange(size)] = 1.0
    height, ground = heights[likelihood]
    locations = np.zeros((2 * size, 0)) if locations is None else np.asarray(locations, dtype=np.float64)
    atoms, background = height * images.reshape(2 * size, -1), np.full(size * size, ground)
    log_odds, rng = np.full(2 * size, logit(probability)), np.random.default_rng(seed)
    return _draw(likelihood, n_rows, atoms, background, log_odds, locations, noise, rng)


def _draw(
    likelihood: str,
    n_rows: int,
    atoms: np.ndarray,
    background: np.ndarray,
    log_odds: np.ndarray,
    locations: np.ndarray,
    noise: float,
    rng: np.random.Generator,
) -> FeatureSimulation:
    """z_nk ~ Bernoulli(sigmoid(b_k + l_k . d_n)), and y given z."""
    eta = log_odds + rng.normal(size=(n_rows, locations.shape[1])) @ locations.T
    z = (rng.random(eta.shape) < expit(eta)).astype(np.float64)
    mean = signal_mean(likelihood, background + z @ atoms)
    if likelihood == "poisson":  # rates that the user chose may be too large to draw from
        y = draw_poisson(mean, rng).astype(np.float64)
    else:
        y = draw_entries(likelihood, mean, noise, rng)
    return FeatureSimulation(y, z, atoms, background, log_odds, locations, mean)
