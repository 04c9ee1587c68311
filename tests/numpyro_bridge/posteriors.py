"""Posterior draws of the rates sum_k x_uk a_ki of CNPF, or of DILN's sum_k pi_uk a_ki, by the sampler and by NUTS."""

import arviz
import jax
import numpy as np
from numpyro.infer import MCMC, NUTS
from scipy import sparse

from cormorant.backends.cpu import CpuBackend
from cormorant.data import as_counts
from cormorant.inference.batch import Batch
from cormorant.inference.gibbs import Gibbs
from cormorant.inference.moves import draw_profiles
from cormorant.inference.start import start_globals
from cormorant.models.cnpf import MODELS, Hyperparameters, link_function

ROWS, COLUMNS, COMPONENTS, DIMS = 30, 6, 3, 1
NUMBERS = {
    "a0": 1.5, "b0": 1.0, "sigma_l2": 0.5, "sigma_m2": 0.5, "a_alpha": 4.0, "b_alpha": 2.0, "a_c": 4.0, "b_c": 4.0,
}  # fmt: skip
BETA = {"a_beta": 4.0, "b_beta": 2.0}  # DILN's own
HYPER = Hyperparameters(**NUMBERS, **BETA)


def simulate(seed):
    """Counts of two components that avoid each other and one that goes with neither, about three an entry."""
    rng = np.random.default_rng(seed)
    atoms = rng.gamma(0.4, 4.0, (COMPONENTS, COLUMNS))
    locations, d, mu = np.array([1.0, -1.0, 0.0]), rng.normal(size=(ROWS, 1)), 0.5 * rng.normal(size=(ROWS, 1))
    x = rng.gamma(1.0, np.exp(d * locations + mu))
    return rng.poisson(x @ atoms)


def simulate_topics(seed):
    """Forty tokens a row of topics that own two columns each, so that there is but one way to explain them."""
    rng = np.random.default_rng(seed)
    atoms = 0.05 + 0.35 * np.repeat(np.eye(COMPONENTS), COLUMNS // COMPONENTS, axis=1)
    x = rng.gamma(1.0, np.exp(rng.normal(size=(ROWS, 1)) * np.array([1.0, -1.0, 0.0])))
    return rng.multinomial(40, x / x.sum(axis=1, keepdims=True) @ atoms)


def gibbs_draws(y, name, n_chains, n_sweeps):
    """After every sweep the rates (their mean given all but x, unless x is normalised) and the total of the weights.

    Each chains x draws x ...
    """
    model = MODELS[name]
    scheme = Gibbs(model, CpuBackend(), learns_a0=False, learns_sigma_l2=False, learns_sigma_m2=False)
    csr = sparse.csr_matrix(y.astype(float))
    batch = Batch(csr.indptr.astype(np.int64), csr.indices, csr.data, COLUMNS)
    rates, totals = [], []
    for seed in range(n_chains):
        rng = np.random.default_rng(seed)
        start = start_globals(model, as_counts(y), COMPONENTS, DIMS, HYPER, rng, 0.3)
        state, rows = scheme.begin(start, rng), None
        rates.append([])
        totals.append([])
        for sweep in range(n_sweeps):
            for _ in range(scheme.passes(state)):
                rows, statistics = scheme.local_step(scheme.visit(state), batch, rows)
                state = scheme.global_step(state, statistics, 1.0)
            if sweep >= n_sweeps // 5:
                g, chain = state.globals, state.memory
                atoms = draw_profiles(g.atom_shape, scheme.backend, rng) * chain.scale
                field = rows.f @ np.hstack([g.locations, np.ones((COMPONENTS, 1))]).T
                shape = g.weights + rows.n
                x = rng.gamma(shape) if model.normalised else shape
                x = x / (1 / link_function(model.link, field) + atoms.sum(axis=0))
                rates[-1].append((x / x.sum(axis=1, keepdims=True) if model.normalised else x) @ atoms.T)
                totals[-1].append(g.weights.sum())
    return {"mean": np.array(rates), "total": np.array(totals)}


def nuts_draws(model, y, n_chains, n_draws, n_warmup, names=("mean",), **options):
    """Draws of the named sites, each chains x draws x ..."""
    sampler = NUTS(model, target_accept_prob=0.9)
    mcmc = MCMC(
        sampler, num_warmup=n_warmup, num_samples=n_draws, num_chains=n_chains,
        chain_method="vectorized", progress_bar=False,
    )  # fmt: skip
    mcmc.run(jax.random.key(0), y, **options)
    draws = mcmc.get_samples(group_by_chain=True)
    return {name: np.asarray(draws[name]) for name in names}


def mean_and_error(draws):
    """Posterior mean of each entry and its Monte Carlo error, sd / sqrt(effective sample size)."""
    data = arviz.convert_to_dataset({"rate": draws})
    size = arviz.ess(data, method="mean")["rate"].to_numpy()
    return draws.mean(axis=(0, 1)), draws.std(axis=(0, 1)) / np.sqrt(size)
