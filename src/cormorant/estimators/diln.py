"""DILN and HDP, the normalised models: the public classes. They lack the parameters they do not use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cormorant.estimators.factorization import Factorization
from cormorant.inference.fit import Callback
from cormorant.models.cnpf import MODELS


class Normalised(Factorization):
    """What DILN and HDP have that the others have not."""

    def __init__(self, *, a_beta, b_beta, **given):
        super().__init__(**given)
        self.a_beta = a_beta
        self.b_beta = b_beta


class DILN(Normalised):
    """Discrete infinite logistic normal, a topic model whose topics are correlated:

        x_uk ~ Gamma(beta w_k, exp(-F_uk)), F_uk = l_k . d_u,  pi_uk = x_uk / sum_j x_uj,  a_k ~ Dirichlet(a0)
        y_u ~ Multinomial(N_u, sum_k pi_uk a_k)

    The totals N_u are given, not modelled: rows without counts teach nothing, and there is no exposure. `transform`
    gives the proportions E pi, whose rows sum to one. Parameters and attributes are as for `CNPF`, less those of mu_u,
    of the atoms' rate and of mean-field inference, but for these:

    Args:
        top: The measure that all rows share. "dirichlet" (the paper's): a Dirichlet process of concentration alpha; the
            w_k sum to one, and the learned beta says how close rows stay to them. "gamma": a gamma process of mass
            alpha and rate c, whose total, s ~ Gamma(alpha, c), takes the part of beta (which is one). "beta": a beta
            process of mass one and concentration alpha; every w_k is between 0 and 1, independently of the others, and
            beta scales them. "pitman-yor": "gamma" with a tail of small weights.
        discount: sigma of top="pitman-yor", v_k ~ Beta(1 - sigma, alpha + k sigma).
        a0: Concentration of the atoms' Dirichlet prior, of each column; None: learned, for each its own: `base_`.
        a_alpha: Shape of the prior of alpha.
        b_alpha: Its rate.
        a_c: Shape of the prior of c (top="gamma" or "pitman-yor").
        b_c: Its rate.
        a_beta: Shape of the prior of beta (the other tops).
        b_beta: Its rate.

    Attributes:
        components_: E a, components x columns; each sums to one.
        components_shape_: The Dirichlet parameters of q(a), components x columns.
        components_rate_: Their sums, one a component.
        weights_: w.
        beta_: beta; 1 if top="gamma" or "pitman-yor".
        total_: The sum of w: 1 if top="dirichlet".
        alpha_: Concentration (or mass) of the top.
        c_: Rate of that process.
    """

    model = MODELS["diln"]

    def __init__(
        self,
        n_components: int = 200,
        n_dims: int = 25,
        *,
        top: str = "dirichlet",
        discount: float = 0.5,
        inference: str = "auto",
        allocation: str = "zero-order",
        batch_size: int | str | None = "auto",
        max_epochs: int = 100,
        tol: float = 3e-4,
        patience: int = 3,
        stopping: str = "auto",
        validation: float | str = "auto",
        n_chains: int | None = None,
        n_sweeps: int | None = None,
        n_samples: int = 5,
        learning_offset: float | None = None,
        learning_decay: float | None = None,
        a0: float | None = None,
        sigma_l2: float | None = None,
        sigma_g2: float = 1.0,
        formula: str | None = None,
        field: str = "gaussian",
        df: float = 4.0,
        a_alpha: float = 1.0,
        b_alpha: float = 0.01,
        a_c: float = 1.0,
        b_c: float = 0.01,
        a_beta: float = 1.0,
        b_beta: float = 0.01,
        warm_start: bool = False,
        callbacks: Sequence[Callback] = (),
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__", "top")}
        super().__init__(**given)
        self.top = top


class HDP(Normalised):
    """Hierarchical Dirichlet process: DILN without locations, pi_u ~ Dirichlet(beta w). Its topics are independent.

    Parameters and attributes as for `DILN`, less those of the locations and of other tops.
    """

    model = MODELS["hdp"]

    def __init__(
        self,
        n_components: int = 200,
        *,
        inference: str = "auto",
        allocation: str = "zero-order",
        batch_size: int | str | None = "auto",
        max_epochs: int = 100,
        tol: float = 3e-4,
        patience: int = 3,
        stopping: str = "auto",
        validation: float | str = "auto",
        n_chains: int | None = None,
        n_sweeps: int | None = None,
        n_samples: int = 5,
        learning_offset: float | None = None,
        learning_decay: float | None = None,
        a0: float | None = None,
        a_alpha: float = 1.0,
        b_alpha: float = 0.01,
        a_beta: float = 1.0,
        b_beta: float = 0.01,
        warm_start: bool = False,
        callbacks: Sequence[Callback] = (),
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        super().__init__(**given)
