"""Weights under JAX have the law of the processes' own draws, and slopes."""

from functools import cache

import numpy as np
import pytest
from scipy import special

numpyro = pytest.importorskip("numpyro", reason="needs the extra numpyro")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from measures.helpers import in_mean  # noqa: E402
from numpyro import handlers  # noqa: E402

from cormorant.measures import (  # noqa: E402
    BetaProcess,
    DirichletProcess,
    GammaProcess,
    GeneralizedGammaProcess,
    PitmanYorProcess,
    StableProcess,
)
from cormorant.measures.numpyro_bridge.cnpf import gamma_process_sticks  # noqa: E402
from cormorant.measures.numpyro_bridge.weights import inverse_tail, weight_sampler  # noqa: E402

from .helpers import prior  # noqa: E402

LEVY = [
    GammaProcess(2.0, 3.0), GammaProcess(0.05), GammaProcess(100.0), BetaProcess(3.0, 2.0), BetaProcess(2.0, 0.1),
    BetaProcess(0.5, 50.0), StableProcess(1.0, 0.5), StableProcess(1.0, 0.05), GeneralizedGammaProcess(2.0, 1.0, 0.4),
]  # fmt: skip
STICKS = [DirichletProcess(2.0), PitmanYorProcess(1.0, 0.4)]
NUMBER, DRAWS = 8, 1000


def positions(process, arrivals):
    w = process.inverse_tail(arrivals)
    return special.logit(w) if process.upper == 1 else np.log(w)


def arrivals_of(process):
    """Arrivals of many draws, of weights that the process can tell from zero and from one."""
    drawn = np.cumsum(np.random.default_rng(0).exponential(size=(100, 20)), axis=1)
    low = process.tail(special.expit(15.0)) if process.upper == 1 else 0.0
    return drawn[(drawn < process.tail(1e-290)) & (drawn > low)]


@pytest.mark.parametrize("process", LEVY, ids=repr)
def test_the_inverse_tail_and_its_slope(process):
    """The cubics' error is below 2e-10 arrival / mass, which is 1e-8 at worst here; a logit of 15 has nine digits."""
    inverse, at = inverse_tail(process, 20), arrivals_of(process)
    np.testing.assert_allclose(inverse(jnp.asarray(at)), positions(process, at), rtol=0, atol=2e-8)
    slope, step = jax.vmap(jax.grad(inverse))(jnp.asarray(at)), 1e-4 * at
    numerical = (positions(process, at + step) - positions(process, at - step)) / (2 * step)
    np.testing.assert_allclose(slope, numerical, rtol=1e-4)


def test_the_inverse_tail_goes_on_past_its_table():
    """Before it and past it s still falls, continuously: a sampler that strays there comes back."""
    inverse = inverse_tail(BetaProcess(2.0, 0.1), 4)
    at = np.exp(np.linspace(-60.0, 9.0, 5000))
    s = np.asarray(inverse(jnp.asarray(at)))
    assert (np.diff(s) < 0).all()
    # Near one N(w) = mass (1 - w)^alpha, so that logit w = -log(arrival / mass) / alpha.
    np.testing.assert_allclose(s[at < 1e-6], -np.log(at[at < 1e-6] / 2.0) / 0.1, rtol=1e-6)


@cache
def under_jax(process):
    """Many draws of the weights."""
    sampler = weight_sampler(process, NUMBER)

    def one(key):
        with handlers.seed(rng_seed=key):
            return sampler().values

    return np.asarray(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(1), DRAWS)))


@pytest.mark.parametrize("process", [LEVY[0], LEVY[3], LEVY[-1], *STICKS], ids=repr)
def test_draws_have_the_moments_of_the_process(process):
    """Means of log w, sqrt w and their neighbours' products, against those of as many draws of the process."""
    rng = np.random.default_rng(2)
    ours = under_jax(process)
    theirs = np.stack([process.sample(rng, number=NUMBER).values for _ in range(DRAWS)])

    def moments(w):
        return np.hstack([np.log(w), np.sqrt(w), np.sqrt(w[:, 1:] * w[:, :-1])])

    assert in_mean(moments(ours) - moments(theirs), 0.0)


@pytest.mark.parametrize("process", STICKS, ids=repr)
def test_sticks_have_their_expected_lengths(process):
    assert in_mean(under_jax(process), process.expected_weights(NUMBER))


def test_the_estimators_sticks_use_up_the_whole():
    drawn = prior(lambda: numpyro.deterministic("w", gamma_process_sticks(4.0, 2.0, 4.0, 4.0)(5)))
    assert drawn["w"].sum() == pytest.approx(float(drawn["s"]), rel=1e-12)
    assert len(drawn["v"]) == 4
    one = prior(lambda: numpyro.deterministic("w", gamma_process_sticks()(1)))
    assert one["w"] == one["s"]
