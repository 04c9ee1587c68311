"""The log joint density of the models against the same written by hand with scipy, at a fixed point."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_expit, logit, logsumexp

pytest.importorskip("numpyro", reason="needs the extra numpyro")

import jax
import numpyro.distributions as dist
from numpyro.infer.util import log_density

from cormorant.measures import (
    BernoulliLog,
    BetaProcess,
    Constant,
    CorrelatedRandomMeasure,
    DirichletAtoms,
    DirichletProcess,
    GammaAtoms,
    GammaProcess,
    GaussianAtoms,
    GaussianLocations,
    GaussianProcess,
    Linear,
    PitmanYorProcess,
    StudentTProcess,
    Thinning,
    beta_bernoulli,
    cnpf_model,
    completely_random,
    diln,
    to_numpyro,
)
from cormorant.measures.numpyro_bridge import Bernoulli, Categorical, Gaussian

from .helpers import ATOMS, EYE, GIVEN, LOCATIONS, WEIGHTS, Lomax, prior

U, COLUMNS, K, D = 5, 4, 3, 2
RNG = np.random.default_rng(7)
COUNTS = RNG.poisson(2.0, (U, COLUMNS))
MASK = RNG.random((U, COLUMNS)) < 0.7
REALS = RNG.normal(size=(U, COLUMNS))
DRAWN = {"d": RNG.normal(size=(U, D)), "mu_unit": RNG.normal(size=U), "l": RNG.normal(size=(K, D)) * 0.3}
GAMMAS = {name: RNG.gamma(2.0, size=(U, K)) for name in ("x_gamma", "x_exponential")}
PRECISE = {"rel": 1e-11}


def joint(model, point, *data, **named):
    return float(jax.jit(lambda p: log_density(model, data, named, p)[0])(point))


def normals(*names):
    return sum(stats.norm.logpdf(DRAWN[name]).sum() for name in names)


def gamma_parts(shape):
    """Log density of the two parts of x, and log x before its scale."""
    g, e = GAMMAS["x_gamma"], GAMMAS["x_exponential"]
    return stats.gamma.logpdf(g, shape + 1).sum() + stats.expon.logpdf(e).sum(), np.log(g) - e / shape


@pytest.mark.parametrize("link", ["exp", "softplus"])
def test_the_estimators_cnpf(link):
    """Everything: alpha, c, s, the sticks, small gamma atoms, locations, d, mu, x and the counts."""
    v, s, alpha, c = np.array([0.4, 0.7]), 1.3, 0.9, 2.1
    atoms = {name: RNG.gamma(1.5, size=(K, COLUMNS)) for name in ("a_gamma", "a_exponential")}
    point = {**DRAWN, **GAMMAS, **atoms, "alpha": alpha, "c": c, "s": s, "v": v}
    numbers = {"a0": 0.6, "b0": 1.4, "sigma_l2": 0.3, "sigma_m2": 0.5, "a_alpha": 2.0, "b_alpha": 1.5, "a_c": 3.0}
    model = cnpf_model(COLUMNS, K, D, b_c=0.8, link=link, **numbers)

    by_hand = stats.gamma.logpdf(alpha, 2.0, scale=1 / 1.5) + stats.gamma.logpdf(c, 3.0, scale=1 / 0.8)
    by_hand += stats.gamma.logpdf(s, alpha, scale=1 / c) + stats.beta.logpdf(v, 1, alpha).sum()
    by_hand += stats.norm.logpdf(DRAWN["l"], scale=np.sqrt(0.3)).sum() + normals("d", "mu_unit")
    by_hand += stats.gamma.logpdf(atoms["a_gamma"], 1.6).sum() + stats.expon.logpdf(atoms["a_exponential"]).sum()
    a = np.exp(np.log(atoms["a_gamma"]) - atoms["a_exponential"] / 0.6) / 1.4
    w = s * np.array([v[0], (1 - v[0]) * v[1], (1 - v[0]) * (1 - v[1])])
    F = DRAWN["d"] @ DRAWN["l"].T + np.sqrt(0.5) * DRAWN["mu_unit"][:, None]
    log_p, log_x = gamma_parts(w)
    x = np.exp(log_x) * (np.exp(F) if link == "exp" else np.logaddexp(0, F))
    by_hand += log_p + stats.poisson.logpmf(COUNTS, x @ a).sum()
    assert joint(model, point, COUNTS) == pytest.approx(by_hand, **PRECISE)


def test_two_parts_make_a_gamma():
    """g exp(-e / shape), g ~ Gamma(shape + 1), e ~ Exp(1), has density Gamma(shape): e integrated out on a grid."""
    shape, x = 0.3, 0.7
    e = np.linspace(0, 12, 200_001)
    log_g = np.log(x) + e / shape  # given e, g = x exp(e / shape) with Jacobian g / x
    density = np.exp(stats.gamma.logpdf(np.exp(log_g), shape + 1) + stats.expon.logpdf(e) + log_g - np.log(x))
    assert np.trapezoid(density, e) == pytest.approx(stats.gamma.pdf(x, shape), rel=1e-7)  # the trapezoid's error


@pytest.mark.parametrize("seen", [None, MASK], ids=["all seen", "masked"])
def test_diln_with_a_multinomial(seen):
    """Tokens on unseen columns are unseen too: the multinomial is over the others."""
    measure = diln(DirichletProcess(2.0), DirichletAtoms(np.full(COLUMNS, 0.8)), GaussianLocations(D, 0.3), beta=3.0)
    v, a = np.array([0.4, 0.7, 0.2]), RNG.dirichlet(np.ones(COLUMNS), K)
    point = {"v": v, "a": a, "l": DRAWN["l"], "d": DRAWN["d"], **GAMMAS}
    w = v * np.array([1, 0.6, 0.18])
    log_p, log_x = gamma_parts(3.0 * w)
    log_x = log_x + DRAWN["d"] @ DRAWN["l"].T
    by_hand = log_p + normals("d") + stats.norm.logpdf(DRAWN["l"], scale=np.sqrt(0.3)).sum()
    by_hand += stats.beta.logpdf(v, 1, 2.0).sum() + sum(stats.dirichlet.logpdf(row, np.full(COLUMNS, 0.8)) for row in a)
    means = np.exp(log_x - logsumexp(log_x, axis=1, keepdims=True)) @ a
    for u in range(U):
        columns = slice(None) if seen is None else seen[u]
        y, p = COUNTS[u, columns], means[u, columns]
        by_hand += stats.multinomial.logpmf(y, y.sum(), p / p.sum())
    assert joint(to_numpyro(measure, "categorical", K), point, COUNTS, seen) == pytest.approx(by_hand, **PRECISE)


def by_states(eta, top, atoms, log_likelihood):
    """sum_u log sum_z p(z) p(y_u | z), and E[x | y], one state at a time."""
    total, expected = 0.0, np.zeros((U, len(top)))
    for u in range(U):
        states = list(itertools.product((0, 1), repeat=len(top)))
        logs = []
        for z in states:
            log_z = sum(log_expit(e if on else -e) for e, on in zip(eta[u], z, strict=True))
            logs.append(log_z + log_likelihood(u, (np.array(z) * top) @ atoms))
        total += logsumexp(logs)
        expected[u] = np.exp(logs - logsumexp(logs)) @ (np.array(states) * top)
    return total, expected


def test_features_summed_out():
    """Beta-Bernoulli features, Gaussian data, some of them missing (NaN under the mask)."""
    measure = beta_bernoulli(BetaProcess(3.0, 2.0), GaussianAtoms(np.zeros(COLUMNS)), GaussianLocations(D))
    model = to_numpyro(measure, Gaussian(0.5), K, weights=GIVEN["weights"], locations=GIVEN["locations"])
    a, y = RNG.normal(size=(K, COLUMNS)), np.where(MASK, REALS, np.nan)
    eta = logit(WEIGHTS) + DRAWN["d"] @ LOCATIONS.T
    total, expected = by_states(eta, np.ones(K), a, lambda u, mean: stats.norm.logpdf(y[u], mean, 0.5)[MASK[u]].sum())
    by_hand = total + normals("d") + stats.norm.logpdf(a).sum()
    point = {"d": DRAWN["d"], "a": a}

    def joint_and_x(point):
        value, trace = log_density(model, (y, MASK), {}, point)
        return value, trace["x"]["value"]

    (value, x), slope = jax.jit(jax.value_and_grad(joint_and_x, has_aux=True))(point)
    assert float(value) == pytest.approx(by_hand, **PRECISE)
    np.testing.assert_allclose(x, expected, rtol=1e-10)
    assert all(np.isfinite(part).all() for part in slope.values())


@pytest.mark.parametrize("transform", [Thinning(), BernoulliLog()], ids=repr)
def test_other_two_valued_weights(transform):
    function = StudentTProcess(Linear(), degrees=5.0)
    measure = CorrelatedRandomMeasure(GammaProcess(3.0), ATOMS, GaussianLocations(D), function, transform)
    tau, background = RNG.gamma(2.0, size=U), 0.2
    F = DRAWN["d"] @ LOCATIONS.T / np.sqrt(tau)[:, None]
    eta, top = (F, WEIGHTS) if isinstance(transform, Thinning) else (np.log(WEIGHTS) + F, np.ones(K))
    total, _ = by_states(eta, top, EYE, lambda u, mean: stats.poisson.logpmf(COUNTS[u], mean + background).sum())
    by_hand = total + normals("d") + stats.gamma.logpdf(tau, 2.5, scale=1 / 2.5).sum()
    model = to_numpyro(measure, lambda mean: dist.Poisson(mean + background), K, **GIVEN)
    assert joint(model, {"d": DRAWN["d"], "tau": tau}, COUNTS) == pytest.approx(by_hand, **PRECISE)


def test_tokens_of_thinned_components():
    """Of the states one has no component: its tokens fall anywhere alike, and the slope stays a number."""
    function = GaussianProcess(Linear())
    measure = CorrelatedRandomMeasure(GammaProcess(3.0), ATOMS, GaussianLocations(D), function, Thinning())
    a = RNG.gamma(2.0, size=(K, COLUMNS))

    def log_likelihood(u, mean):
        shares = mean / mean.sum() if mean.any() else np.full(COLUMNS, 1 / COLUMNS)
        return stats.multinomial.logpmf(COUNTS[u], COUNTS[u].sum(), shares)

    total, _ = by_states(DRAWN["d"] @ LOCATIONS.T, WEIGHTS, a, log_likelihood)
    by_hand = total + normals("d") + stats.gamma.logpdf(a, 2.0).sum()
    model = to_numpyro(measure, "categorical", K, weights=GIVEN["weights"], locations=GIVEN["locations"])
    density = jax.value_and_grad(lambda point: log_density(model, (COUNTS,), {}, point)[0])
    value, slope = jax.jit(density)({"d": DRAWN["d"], "a": a})
    assert float(value) == pytest.approx(by_hand, **PRECISE)
    assert all(np.isfinite(part).all() for part in slope.values())


LIKELIHOODS = {
    # Not scipy's Bernoulli, which takes p: near one the chance of a zero has few digits left.
    "poisson link": (Bernoulli(), lambda m: np.where(COUNTS > 1, np.log(-np.expm1(-m)), -m)),
    "logit link": (Bernoulli(link="logit"), lambda m: log_expit(np.where(COUNTS > 1, m, -m))),
    "Gaussian": (Gaussian(2.0), lambda m: stats.norm.logpdf(COUNTS > 1, m, 2.0)),
    "callable": (lambda m: dist.NegativeBinomial2(m, 3.0), lambda m: stats.nbinom.logpmf(COUNTS > 1, 3, 3 / (3 + m))),
}


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_other_likelihoods_and_a_transformation_of_ones_own(name):
    likelihood, by_scipy = LIKELIHOODS[name]
    function = GaussianProcess(Linear() + Constant(0.5))
    measure = CorrelatedRandomMeasure(GammaProcess(3.0), ATOMS, GaussianLocations(D, 0.3), function, Lomax())
    gaps, x, a = RNG.exponential(size=K), RNG.gamma(1.0, size=(U, K)), RNG.gamma(2.0, size=(K, COLUMNS))
    w = measure.process.inverse_tail(np.cumsum(gaps))
    F = DRAWN["d"] @ DRAWN["l"].T + np.sqrt(0.5) * DRAWN["mu_unit"][:, None]
    by_hand = stats.expon.logpdf(gaps).sum() + stats.lomax.logpdf(x, 3.0, scale=2 * w * np.exp(F)).sum()
    by_hand += normals("d", "mu_unit") + stats.norm.logpdf(DRAWN["l"], scale=np.sqrt(0.3)).sum()
    by_hand += stats.gamma.logpdf(a, 2.0).sum() + by_scipy(x @ a)[MASK].sum()
    point = {**DRAWN, "gaps": gaps, "x": x, "a": a}
    value = joint(to_numpyro(measure, likelihood, K), point, (COUNTS > 1).astype(int), MASK)
    assert value == pytest.approx(by_hand, rel=1e-8)  # the table of weights has nine digits


def test_a_learned_scale_and_a_law_of_whole_rows():
    measure = diln(DirichletProcess(2.0), GaussianAtoms(np.zeros(COLUMNS)), GaussianLocations(D), beta=3.0)
    log_p, log_x = gamma_parts(3.0 * WEIGHTS)
    log_x = log_x + DRAWN["d"] @ LOCATIONS.T
    means = np.exp(log_x - logsumexp(log_x, axis=1, keepdims=True)) @ EYE
    point = {"d": DRAWN["d"], **GAMMAS, "scale": 0.7}
    model = to_numpyro(measure, Gaussian(dist.HalfNormal()), K, **GIVEN)
    by_hand = log_p + normals("d") + stats.halfnorm.logpdf(0.7) + stats.norm.logpdf(REALS, means, 0.7).sum()
    assert joint(model, point, REALS) == pytest.approx(by_hand, **PRECISE)
    whole = to_numpyro(measure, lambda mean: dist.MultivariateNormal(mean, 0.49 * np.eye(COLUMNS)), K, **GIVEN)
    del point["scale"]
    assert joint(whole, point, REALS) == pytest.approx(by_hand - stats.halfnorm.logpdf(0.7), **PRECISE)


def test_given_weights_of_a_dirichlet_process_may_lie_above_one():
    """As beta w does, where beta is learned; they were once cut off at one, and beta then came out too large."""
    measure = diln(DirichletProcess(2.0), GaussianAtoms(np.zeros(COLUMNS)), GaussianLocations(D), beta=1.0)
    weights = 2.5 * WEIGHTS / WEIGHTS.max()
    log_p, log_x = gamma_parts(weights)
    log_x = log_x + DRAWN["d"] @ LOCATIONS.T
    means = np.exp(log_x - logsumexp(log_x, axis=1, keepdims=True)) @ EYE
    model = to_numpyro(measure, Gaussian(0.7), K, **(GIVEN | {"weights": lambda number: weights}))
    by_hand = log_p + normals("d") + stats.norm.logpdf(REALS, means, 0.7).sum()
    assert joint(model, {"d": DRAWN["d"], **GAMMAS}, REALS) == pytest.approx(by_hand, **PRECISE)


def test_pitman_yor_sticks_and_unit_gamma_atoms():
    measure = replace(
        diln(DirichletProcess(2.0), GammaAtoms(COLUMNS, 2.0, 0.5), GaussianLocations(D, 0.0), beta=3.0),
        process=PitmanYorProcess(1.0, 0.4),
    )
    v, a = np.array([0.4, 0.7, 0.2]), RNG.gamma(2.0, size=(K, COLUMNS))
    log_p, log_x = gamma_parts(3.0 * v * np.array([1, 0.6, 0.18]))
    by_hand = log_p + normals("d") + stats.gamma.logpdf(a, 2.0, scale=2.0).sum()
    by_hand += stats.beta.logpdf(v, 0.6, 1.0 + 0.4 * np.arange(1, 4)).sum()
    means = np.exp(log_x - logsumexp(log_x, axis=1, keepdims=True)) @ a
    by_hand += stats.poisson.logpmf(COUNTS, means).sum()
    point = {"v": v, "a": a, "d": DRAWN["d"], **GAMMAS}
    assert joint(to_numpyro(measure, "poisson", K), point, COUNTS) == pytest.approx(by_hand, **PRECISE)


def test_drawing_tokens():
    measure = completely_random(DirichletProcess(2.0), ATOMS)
    drawn = prior(to_numpyro(measure, Categorical(total=9), K, atoms=lambda number: np.ones((number, COLUMNS))), rows=6)
    assert (drawn["counts"].sum(axis=1) == 9).all()
