"""The parameters of all models, as scikit-learn wants them: kept as they are given, looked at when a fit begins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator

from cormorant.inference.fit import Callback


class Parameters(BaseEstimator):
    """Every parameter that a model may have; `CNPF` and `DILN` say what they mean."""

    def __init__(
        self,
        n_components: int = 200,
        n_dims: int = 25,
        *,
        tuples: str = "gamma",
        discount: float = 0.5,
        kernel: str = "linear",
        length_scale: float | None = None,
        nu: float = 1.5,
        n_frequencies: int = 32,
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
        b0: float | None = None,
        sigma_l2: float | None = None,
        sigma_m2: float | None = None,
        sigma_g2: float = 1.0,
        formula: str | None = None,
        field: str = "gaussian",
        df: float = 4.0,
        a_alpha: float = 1.0,
        b_alpha: float = 0.01,
        a_c: float = 1.0,
        b_c: float = 0.01,
        warm_start: bool = False,
        callbacks: Sequence[Callback] = (),
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.n_dims = n_dims
        self.tuples = tuples
        self.discount = discount
        self.kernel = kernel
        self.length_scale = length_scale
        self.nu = nu
        self.n_frequencies = n_frequencies
        self.inference = inference
        self.allocation = allocation
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.tol = tol
        self.patience = patience
        self.stopping = stopping
        self.validation = validation
        self.n_chains = n_chains
        self.n_sweeps = n_sweeps
        self.n_samples = n_samples
        self.learning_offset = learning_offset
        self.learning_decay = learning_decay
        self.a0 = a0
        self.b0 = b0
        self.sigma_l2 = sigma_l2
        self.sigma_m2 = sigma_m2
        self.sigma_g2 = sigma_g2
        self.formula = formula
        self.field = field
        self.df = df
        self.a_alpha = a_alpha
        self.b_alpha = b_alpha
        self.a_c = a_c
        self.b_c = b_c
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
