"""CNPF as its estimator knows it, hyper-priors and all, for NUTS."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cormorant.measures._jax import dist, jnp
from cormorant.measures.bases import GammaAtoms
from cormorant.measures.constructions import cnpf, softplus_cnpf
from cormorant.measures.levy import GammaProcess
from cormorant.measures.locations import GaussianLocations
from cormorant.measures.numpyro_bridge.model import to_numpyro
from cormorant.measures.numpyro_bridge.sites import sample
from cormorant.measures.numpyro_bridge.weights import break_sticks

if TYPE_CHECKING:
    from jax import Array


def gamma_process_sticks(
    a_alpha: float = 1.0, b_alpha: float = 0.01, a_c: float = 1.0, b_c: float = 0.01
) -> Callable[[int], Array]:
    """Weights of a gamma process of unknown mass and rate, truncated so that the last stick takes all that is left.

    alpha ~ Gamma(a_alpha, b_alpha)      c ~ Gamma(a_c, b_c)
    s ~ Gamma(alpha, c)                  v_k ~ Beta(1, alpha), v_T = 1      w_k = s v_k prod_{j<k} (1 - v_j)
    """

    def sample_weights(number: int) -> Array:
        alpha = sample("alpha", dist.Gamma(a_alpha, b_alpha))
        c = sample("c", dist.Gamma(a_c, b_c))
        s = sample("s", dist.Gamma(alpha, c))
        if number == 1:
            return s[None]
        v = sample("v", dist.Beta(1.0, alpha), (number - 1,))
        return s * break_sticks(jnp.append(v, 1.0))

    return sample_weights


def cnpf_model(
    n_columns: int,
    n_components: int,
    n_dims: int,
    *,
    a0: float,
    b0: float,
    sigma_l2: float,
    sigma_m2: float,
    a_alpha: float = 1.0,
    b_alpha: float = 0.01,
    a_c: float = 1.0,
    b_c: float = 0.01,
    link: str = "exp",
) -> Callable[..., None]:
    """The NumPyro model with exactly the prior of the estimators `CNPF` and `SoftplusCNPF` (`link="softplus"`).

    a_ki ~ Gamma(a0, b0), l_k ~ N(0, sigma_l^2 I), mu_u ~ N(0, sigma_m^2), weights as in `gamma_process_sticks`.
    """
    measures = {"exp": cnpf, "softplus": softplus_cnpf}
    if link not in measures:
        raise ValueError(f"link: expected 'exp' or 'softplus', got {link!r}")
    measure = measures[link](
        GammaProcess(1.0),  # only the law of its weights is replaced
        GammaAtoms(n_columns, a0, b0),
        GaussianLocations(n_dims, sigma_l2),
        mean_variance=sigma_m2,
    )
    weights = gamma_process_sticks(a_alpha, b_alpha, a_c, b_c)
    return to_numpyro(measure, "poisson", n_components, weights=weights)
