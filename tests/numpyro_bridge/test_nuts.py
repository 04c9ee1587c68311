"""NUTS on the NumPyro models against what the library knows: its Gibbs sampler, its variational fits, exact answers."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logit

pytest.importorskip("numpyro", reason="needs the extra numpyro")

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal
from numpyro.optim import Adam

from cormorant import CNPF, DILN
from cormorant.backends.cpu import CpuBackend
from cormorant.inference.features.gibbs import FeatureGibbs
from cormorant.inference.features.likelihoods import LIKELIHOODS
from cormorant.inference.features.predictive import SampledFeatures
from cormorant.inference.features.state import FeatureGlobals, Table
from cormorant.measures import (
    BetaProcess,
    DirichletAtoms,
    DirichletProcess,
    GaussianAtoms,
    GaussianLocations,
    beta_bernoulli,
    cnpf_model,
    diln,
    to_numpyro,
)
from cormorant.measures.numpyro_bridge import Gaussian
from cormorant.measures.numpyro_bridge.weights import break_sticks
from cormorant.models.features import FEATURE_MODELS

from .helpers import GIVEN, LOCATIONS, WEIGHTS
from .posteriors import (
    BETA,
    COLUMNS,
    COMPONENTS,
    DIMS,
    NUMBERS,
    gibbs_draws,
    mean_and_error,
    nuts_draws,
    simulate,
    simulate_topics,
)


def relative_rms(ours, theirs):
    return float(np.sqrt(np.mean((ours - theirs) ** 2) / np.mean(theirs**2)))


def agreed_rates(nuts, gibbs, total):
    """NUTS' posterior means of the rates, once both have few per cent of error there and agree, on the total as well.

    Errors come from effective sample sizes; the largest of 180 z scores passes 4.5 once in a thousand right runs.
    """
    for ours, theirs in (("mean", "mean"), ("total", total)):
        (found, error), (expected, expected_error) = mean_and_error(gibbs[ours]), mean_and_error(nuts[theirs])
        assert (error / found).max() < 0.04
        assert (expected_error / expected).max() < 0.04
        assert (np.abs(found - expected) / np.hypot(error, expected_error)).max() < 4.5
    return nuts["mean"].mean(axis=(0, 1))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")  # all three are in use
def test_nuts_gibbs_and_structured_inference_agree_on_cnpf():
    """Thirty rows, six columns, three components, the same prior with every hyper-parameter fixed.

    Structured inference, as it is by default (zero-order), must be within a tenth of the rates' root mean square.
    """
    y = simulate(0)
    model = cnpf_model(COLUMNS, COMPONENTS, DIMS, **NUMBERS)
    draws = nuts_draws(model, y, n_chains=2, n_draws=1500, n_warmup=500, names=("mean", "s"))
    nuts = agreed_rates(draws, gibbs_draws(y, "cnpf", n_chains=4, n_sweeps=5000), "s")
    structured = CNPF(
        COMPONENTS, DIMS, inference="structured", max_epochs=3000, tol=1e-9, validation=0, random_state=1, **NUMBERS
    ).fit(y)
    assert relative_rms(structured.transform(y) @ structured.components_, nuts) < 0.1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")
def test_nuts_gibbs_and_structured_inference_agree_on_diln():
    """The same for the probabilities of columns and beta; NUTS has the normaliser itself, ours is freed from it."""
    y = simulate_topics(0)
    given = {name: NUMBERS[name] for name in ("a0", "sigma_l2", "a_alpha", "b_alpha")}

    def weights(number):  # those of the truncated Dirichlet process times beta
        alpha = numpyro.sample("alpha", dist.Gamma(given["a_alpha"], given["b_alpha"]))
        beta = numpyro.sample("beta", dist.Gamma(BETA["a_beta"], BETA["b_beta"]))
        v = numpyro.sample("v", dist.Beta(1.0, alpha).expand([number - 1]).to_event(1))
        return beta * break_sticks(jnp.append(v, 1.0))

    atoms, locations = DirichletAtoms(np.full(COLUMNS, given["a0"])), GaussianLocations(DIMS, given["sigma_l2"])
    measure = diln(DirichletProcess(1.0), atoms, locations, beta=1.0)
    model = to_numpyro(measure, "categorical", COMPONENTS, weights=weights)
    draws = nuts_draws(model, y, n_chains=2, n_draws=1500, n_warmup=500, names=("mean", "beta"))
    nuts = agreed_rates(draws, gibbs_draws(y, "diln", n_chains=4, n_sweeps=5000), "beta")
    options = {"inference": "structured", "max_epochs": 3000, "tol": 1e-9, "validation": 0, "random_state": 1}
    structured = DILN(COMPONENTS, DIMS, **options, **given, **BETA).fit(y)
    assert relative_rms(structured.transform(y) @ structured.components_, nuts) < 0.1


@pytest.mark.slow
def test_nuts_with_features_summed_out_finds_their_probabilities():
    """Given the tuples, P(z = 1 | y) is a sum over eight states and a quadrature over d: NUTS must give the same.

    Errors are from effective sample sizes; one of 24 z scores passes 4 once in six hundred right runs.
    """
    measure = beta_bernoulli(BetaProcess(3.0, 2.0), GaussianAtoms(np.zeros(4)), GaussianLocations(2))
    y = few_rows()
    model = to_numpyro(measure, Gaussian(1.0), 3, **GIVEN)
    found, error = mean_and_error(nuts_draws(model, y, n_chains=2, n_draws=2000, n_warmup=300, names=("x",))["x"])
    exact = feature_probabilities(y)
    assert (np.abs(found - exact) / error).max() < 4.0


def test_the_sampler_of_features_finds_the_same_probabilities():
    """In seconds, what NUTS takes a minute for: forty short chains of the rows, whose scatter is the error.

    Of 24 z scores of a right sampler (forty chains, so t) one passes 4.5 once in seven hundred runs.
    """
    known = FeatureGlobals(np.eye(4, 4, 1), logit(WEIGHTS), LOCATIONS, 3.0, 2.0, 1.0, noise=1.0)  # no background
    gibbs = FeatureGibbs(FEATURE_MODELS["beta-features"], LIKELIHOODS["gaussian"], CpuBackend(), learns=frozenset())
    y = few_rows()
    table = Table(y, np.ones(y.shape, dtype=bool))
    chains = [SampledFeatures(gibbs, [20 * [known]], seed=seed).describe(table).probability for seed in range(40)]
    error = np.std(chains, axis=0, ddof=1) / np.sqrt(40)
    assert error.max() < 0.01
    assert (np.abs(np.mean(chains, axis=0) - feature_probabilities(y)) / error).max() < 4.5


def few_rows():
    return np.random.default_rng(3).normal(0.5, 1.0, (8, 4))


def feature_probabilities(y):
    """P(z_uk = 1 | y) with F = l.d summed over a fine Gauss-Hermite grid of d."""
    nodes, p = np.polynomial.hermite_e.hermegauss(40)
    d = np.stack(np.meshgrid(nodes, nodes), -1).reshape(-1, 2)
    p = np.outer(p, p).ravel() / p.sum() ** 2
    on = 1 / (1 + np.exp(-(np.log(WEIGHTS / (1 - WEIGHTS)) + d @ LOCATIONS.T)))
    states = np.array(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij")).reshape(3, -1).T
    prior = p @ np.prod(np.where(states[None], on[:, None], 1 - on[:, None]), axis=2)
    means = np.hstack([states, np.zeros((8, 1))])  # atoms are unit vectors
    joint = prior * np.exp(stats.norm.logpdf(y[:, None, :], means, 1.0).sum(axis=2))
    return joint @ states / joint.sum(axis=1, keepdims=True)


@pytest.mark.slow
def test_stochastic_variational_inference_runs_and_improves():
    y = simulate(0)
    model = cnpf_model(COLUMNS, COMPONENTS, DIMS, **NUMBERS)
    svi = SVI(model, AutoNormal(model), Adam(0.02), Trace_ELBO())
    losses = np.asarray(svi.run(jax.random.key(0), 1500, y, progress_bar=False).losses)
    assert np.isfinite(losses).all()
    assert losses[-200:].mean() < 0.8 * losses[:50].mean()
