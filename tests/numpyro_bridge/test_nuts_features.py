"""NUTS, which sums over the states of z, against the feature models' own sampler and their variational fit."""

import numpy as np
import pytest

pytest.importorskip("numpyro", reason="needs the extra numpyro")

import numpyro
from numpyro import distributions as dist

from cormorant.backends.cpu import CpuBackend
from cormorant.inference import fit as loop
from cormorant.inference.features.gibbs import Chain, FeatureGibbs
from cormorant.inference.features.likelihoods import LIKELIHOODS
from cormorant.inference.features.state import FeatureGlobals, Table, as_rows, extended
from cormorant.inference.features.structured import FeatureStructured
from cormorant.inference.schedules import Plan
from cormorant.inference.state import State
from cormorant.measures import BetaProcess, GaussianAtoms, GaussianLocations, beta_bernoulli, to_numpyro
from cormorant.measures.numpyro_bridge import Bernoulli, Gaussian
from cormorant.models.features import FEATURE_MODELS, FeaturePriors

from . import helpers  # noqa: F401  (double precision)
from .posteriors import mean_and_error, nuts_draws

# Noise enough for the samplers to go between the ways of explaining sixteen rows: with .3 chains stay apart. Columns
# enough for a row to tell its features: with five, where it does not, the variational means are 11.5% away.
ROWS, COLUMNS, FEATURES, MASS, CONCENTRATION, SIGMA_L2, NOISE = 16, 10, 2, 2.0, 1.5, 1.0, 1.0
# The bridge's model has no background and a known noise: priors that hold ours at nothing and at NOISE.
PRIORS = FeaturePriors(background=(1e8, 1e-4), noise=(1e8, 1e8 * NOISE))
MODEL = FEATURE_MODELS["beta-features"]


def simulate(likelihood):
    rng = np.random.default_rng(4)
    z = (rng.random((ROWS, FEATURES)) < 0.5).astype(float)
    signal = z @ (2.0 * rng.normal(size=(FEATURES, COLUMNS)))
    if likelihood == "gaussian":
        return signal + np.sqrt(NOISE) * rng.normal(size=signal.shape)
    return (rng.random(signal.shape) < 1.0 / (1.0 + np.exp(-signal))).astype(float)


def start(rng):
    return FeatureGlobals(
        np.column_stack([np.zeros(COLUMNS), 0.5 * rng.normal(size=(COLUMNS, FEATURES))]), np.full(FEATURES, -0.5),
        0.3 * rng.normal(size=(FEATURES, 1)), MASS, CONCENTRATION, SIGMA_L2, noise=NOISE, atom_scale=1.0,
        background_scale=1e-12, usage=np.zeros(FEATURES), priors=PRIORS, learns_atom_scale=False,
    )  # fmt: skip


def gibbs_signals(y, likelihood, n_chains, n_sweeps):
    """s = z a after every sweep: chains x draws x rows x columns."""
    scheme = FeatureGibbs(MODEL, LIKELIHOODS[likelihood], CpuBackend(), learns=frozenset())
    table, chains = Table(y, np.ones(y.shape, dtype=bool)), []
    for seed in range(n_chains):
        rng = np.random.default_rng(seed)
        state, rows, found = State(start(rng), Chain(rng)), None, []
        for sweep in range(n_sweeps):
            for _ in range(scheme.passes(state)):
                rows, statistics = scheme.local_step(scheme.visit(state), table, rows)
                state = scheme.global_step(state, statistics, 1.0)
            if sweep >= n_sweeps // 5:
                found.append(extended(rows.z) @ state.globals.atoms.T)
        chains.append(found)
    return np.array(chains)


def structured_signals(y, likelihood, n_starts):
    """E s under q, of the start that ends with the highest bound."""
    scheme, table = FeatureStructured(MODEL, likelihood, CpuBackend()), Table(y, np.ones(y.shape, dtype=bool))
    # Of the bound, in which the priors that hold what is known weigh 1e9, differences are meaningless: no tolerance.
    plan, settings, ends = Plan(ROWS, ROWS, ROWS, None), loop.Settings(1000, 0.0, 1000, "bound"), []
    for seed in range(n_starts):
        rng = np.random.default_rng(seed)
        ends.append(loop.run(scheme, State(start(rng)), as_rows(table), plan, settings, rng))
    best = max(ends, key=lambda end: end.history[-1].bound)
    return extended(best.memory.get(np.arange(ROWS)).rho) @ best.state.globals.atoms.T


def nuts_signals(y, likelihood):
    measure = beta_bernoulli(
        BetaProcess(MASS, CONCENTRATION), GaussianAtoms(np.zeros(COLUMNS)), GaussianLocations(1, variance=SIGMA_L2)
    )
    law = Gaussian(NOISE**0.5) if likelihood == "gaussian" else Bernoulli(link="logit")

    def weights(number):  # the finite approximation of the beta process that the feature models have
        beta = dist.Beta(MASS * CONCENTRATION / FEATURES, CONCENTRATION)
        return numpyro.sample("weights", beta.expand([number]).to_event(1))

    model = to_numpyro(measure, law, FEATURES, weights=weights)
    return nuts_draws(model, y, n_chains=4, n_draws=2000, n_warmup=1000)["mean"]


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_the_sampler_and_the_variational_fit_agree_with_nuts(likelihood):
    """Posterior means of the signals, all tuples unknown: the sampler's within the Monte Carlo errors of both.

    One of 160 z scores passes 4.5 once in a thousand right runs; labels do not matter to the signals. Those of
    structured inference must be within a tenth of their root mean square.
    """
    y = simulate(likelihood)
    ours, our_error = mean_and_error(gibbs_signals(y, likelihood, n_chains=4, n_sweeps=10_000))
    nuts, nuts_error = mean_and_error(nuts_signals(y, likelihood))
    assert max(our_error.max(), nuts_error.max()) < 0.1 * np.sqrt((nuts**2).mean())
    assert (np.abs(ours - nuts) / np.hypot(our_error, nuts_error)).max() < 4.5
    structured = structured_signals(y, likelihood, n_starts=6)
    assert np.sqrt(((structured - nuts) ** 2).mean() / (nuts**2).mean()) < 0.1
