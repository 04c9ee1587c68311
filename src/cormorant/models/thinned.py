"""Thinned dependent measures (section 4.4 of the paper): all rows share one measure, and covariates thin it for each.

The generative story, truncated at T components, given the covariates theta_u of every row:

    c ~ Gamma(a_c, b_c)                  w_k ~ Gamma(alpha / T, c)           a_k ~ Dirichlet(a0, .., a0)
    l_k ~ N(0, sigma_l^2 I)              b_k ~ N(0, sigma_b^2)               F_uk = theta_u . l_k + b_k
    z_uk ~ Bernoulli(sigmoid(F_uk))      x_uk = w_k z_uk                     y_ui ~ Poisson(e_u sum_k x_uk a_ki)

A row has a component whole or not at all, and rows with like covariates have like components. As T grows the weights
become the atoms of a gamma process of mass alpha and rate c; since the atoms sum to one, w_k is the expected count of
component k in a row that has it.

Components are correlated through the covariates alone (`field_correlation`): given them, every z_uk is independent.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from cormorant.measures import component_correlation


@dataclass(frozen=True)
class Thinning:
    """The numbers of the story that are given; a0 may be learned."""

    name: ClassVar[str] = "thinned"
    title: ClassVar[str] = "Poisson factorisation thinned by covariates"
    normalised: ClassVar[bool] = False
    takes_covariates: ClassVar[bool] = True
    needs_covariates: ClassVar[bool] = True

    alpha: float = 1.0
    a_c: float = 1.0
    b_c: float = 0.01
    a0: float = 0.1
    sigma_l2: float = 4.0  # two standard deviations are odds of 55 to 1
    sigma_b2: float = 4.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (np.isfinite(value) and value > 0):
                raise ValueError(f"{field.name} must be a positive number, got {value!r}.")

    def prior_variances(self, n_covariates: int) -> np.ndarray:
        """Of (l_k, b_k)."""
        return np.append(np.full(n_covariates, self.sigma_l2), self.sigma_b2)


def field_correlation(locations: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """What covariates make components share: the correlation of F_uk and F_um over rows, components x components.

    rho_km = l_k . S l_m / sqrt(l_k . S l_k  l_m . S l_m), with S the covariance of theta_u over the rows.
    """
    values, vectors = np.linalg.eigh(np.atleast_2d(covariance))
    return component_correlation(locations @ (vectors * np.sqrt(np.maximum(values, 0.0))))
