"""Poisson factorisation (section 4.1 of the paper), the normalised models (section 4.3), and their restrictions.

The generative story, truncated at T components:

    alpha ~ Gamma(a_alpha, b_alpha)      c ~ Gamma(a_c, b_c)
    s ~ Gamma(alpha, c)                  v_k ~ Beta(1, alpha)         w_k = s v_k prod_{j<k} (1 - v_j)
    l_k ~ N(0, sigma_l^2 I_D)            a_ki ~ Gamma(a0, b0)
    d_u ~ N(0, I_D)                      mu_u ~ N(0, sigma_m^2)       F_uk = l_k . d_u + mu_u
    x_uk ~ Gamma(w_k, 1 / r(F_uk))       y_ui ~ Poisson(e_u sum_k x_uk a_ki)

with r = exp (CNPF) or softplus (softplus-CNPF). Scaled HGP: all l_k = 0. HGP: all l_k = 0 and all mu_u = 0. The weights
may also come from another process (below), and F have another covariance than the linear one (`kernels`).

The models with locations also come with covariates theta_u of the rows, which move the mean of f_u = (d_u, mu_u),

    f_u ~ N(Gamma theta_u, diag(1, .., 1, sigma_m^2))                 Gamma_pc ~ N(0, sigma_g^2 Var f_up)

and with a Student-t process in place of the Gaussian: d_u ~ N(Gamma theta_u, I / tau_u), tau_u ~ Gamma(nu / 2, nu / 2).

DILN, the discrete infinite logistic normal, takes the totals N_u of the rows as given and normalises the weights:

    x_uk ~ Gamma(beta w_k, exp(-F_uk))   F_uk = l_k . d_u             pi_uk = x_uk / sum_j x_uj
    a_k ~ Dirichlet(a0, .., a0)          beta ~ Gamma(a_beta, b_beta)
    y_u ~ Multinomial(N_u, sum_k pi_uk a_k)

The process that the tuples (a_k, w_k, l_k) come from, the measure at the top that all rows share, is one of

    gamma       w as above, with s; beta = 1, since c scales the weights already
    pitman-yor  the same with v_k ~ Beta(1 - sigma, alpha + k sigma), sigma the discount: a tail of small weights
    dirichlet   v_k ~ Beta(1, alpha), v_T = 1, w_k = v_k prod_{j<k} (1 - v_j): the weights sum to one, beta scales them
    beta        w_k ~ Beta(alpha / T, alpha): the beta process of mass one and concentration alpha, truncated

HDP, the hierarchical Dirichlet process: DILN's dirichlet top and all l_k = 0.

Where a0 is learned, columns have a base measure, m ~ Dirichlet(1, .., 1): that of column i is I a0 m_i in place of a0
(with digamma allocation, or where entries of gamma atoms are missing, m stays flat).

The normaliser is freed by 1 / S^N = int exp(N mu - S exp(mu)) dmu / Gamma(N): a normalised model is a Poisson one whose
row mean mu_u has a flat prior, and whose atoms sum to one. (mu_u = log xi_u, in the words of those who write
1 / S^N = int xi^(N-1) exp(-xi S) dxi / Gamma(N).) So all models share their inference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cormorant.models.kernels import Kernel, Linear

PROCESSES = ("dirichlet", "gamma", "beta", "pitman-yor")  # that tuples may come from
WITH_RATE = ("gamma", "pitman-yor")  # those whose total is not known, but has a rate c
WITH_BETA = tuple(name for name in PROCESSES if name not in WITH_RATE)  # those whose weights a beta scales


@dataclass(frozen=True)
class PoissonFactorization:
    """What distinguishes the models: the link, the parts of F_uk = l_k . d_u + mu_u, and what is normalised."""

    name: str
    title: str
    link: str  # r: "exp" or "softplus"
    has_mean: bool  # mu_u ~ N(0, sigma_m^2)
    has_locations: bool  # l_k . d_u
    normalised: bool = False  # whether weights are proportions, and atoms Dirichlet; then mu_u has a flat prior
    top: str = "gamma"  # the process of the tuples, one of PROCESSES
    kernel: Kernel = Linear()  # noqa: RUF009 (it is frozen); what the locations mean: F_uk = sigma phi(l_k) . d_u + mu_u
    has_covariates: bool = False  # whether the mean of f_u is Gamma theta_u
    heavy_tails: bool = False  # whether d_u is a Student-t variable
    needs_covariates: ClassVar[bool] = False

    @property
    def takes_covariates(self) -> bool:
        """Whether rows may have covariates: they move components through their locations."""
        return self.has_locations

    @property
    def has_level(self) -> bool:
        """Whether inference has a mu_u: the story's own, or that of the freed normaliser."""
        return self.has_mean or self.normalised

    @property
    def has_field(self) -> bool:
        """Whether there is an F at all."""
        return self.has_level or self.has_locations


MODELS = {
    model.name: model
    for model in (
        PoissonFactorization("cnpf", "correlated nonparametric Poisson factorisation", "exp", True, True),
        PoissonFactorization("softplus-cnpf", "CNPF with the softplus link", "softplus", True, True),
        PoissonFactorization("scaled-hgp", "scaled hierarchical gamma process", "exp", True, False),
        PoissonFactorization("hgp", "hierarchical gamma process", "exp", False, False),
        PoissonFactorization("diln", "discrete infinite logistic normal", "exp", False, True, True, "dirichlet"),
        PoissonFactorization("hdp", "hierarchical Dirichlet process", "exp", False, False, True, "dirichlet"),
    )
}


def get_model(name: str) -> PoissonFactorization:
    """The model of that name, or an error that lists the names there are."""
    if name not in MODELS:
        raise ValueError(f"model must be one of {', '.join(MODELS)}; got {name!r}.")
    return MODELS[name]


@dataclass(frozen=True)
class Hyperparameters:
    """The numbers of the story that are given, not drawn."""

    a0: float  # shape of the atoms' gamma prior; where there is a base measure the mean over the columns
    b0: float  # its rate
    sigma_l2: float  # variance of a location
    sigma_m2: float  # variance of a row's mean mu_u
    a_alpha: float = 1.0
    b_alpha: float = 0.01
    a_c: float = 1.0
    b_c: float = 0.01
    a_beta: float = 1.0
    b_beta: float = 0.01
    discount: float = 0.5  # sigma of a Pitman-Yor process
    sigma_g2: float = 1.0  # variance of a coefficient of the covariates, in units of Var f
    df: float = 4.0  # nu, degrees of freedom of a Student-t process

    def __post_init__(self) -> None:
        if not 0 <= self.discount < 1:
            raise ValueError(f"discount must be at least 0 and below 1, got {self.discount!r}.")
        for name, value in vars(self).items():
            if name != "discount" and not (np.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be a positive number, got {value!r}.")


def link_function(name: str, field: np.ndarray) -> np.ndarray:
    """r(F), floored so that its logarithm stays finite."""
    return np.exp(field) if name == "exp" else np.maximum(np.logaddexp(0.0, field), 1e-300)
