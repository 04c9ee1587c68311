"""The sampler leaves the posterior as it is: Geweke's joint distribution test, and exact answers on tiny data."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from cormorant.backends.cpu import CpuBackend
from cormorant.inference import fit as loop
from cormorant.inference.features.gibbs import Chain, FeatureDraws, FeatureGibbs, FeatureStatistics
from cormorant.inference.features.likelihoods import LIKELIHOODS
from cormorant.inference.features.state import FeatureGlobals, Table, as_rows, extended
from cormorant.inference.schedules import Plan
from cormorant.inference.state import State
from cormorant.models.features import A0, FEATURE_MODELS, LEVEL_SPREAD, FeaturePriors, log_density, process_shape

ROWS, COLUMNS, FEATURES = 4, 3, 2
# Light tails, so that the means of the summaries have standard errors.
PRIORS = FeaturePriors(
    mass=(6.0, 3.0), concentration=(6.0, 4.0), sigma_l2=(6.0, 4.0), noise=(5.0, 3.0), atoms=(5.0, 4.0),
    background=(5.0, 3.0),
)  # fmt: skip


class Joint:
    """Two ways to draw (parameters, data) of a tiny model: from the story, and by sweeps between draws of the data."""

    def __init__(self, model, likelihood, seed):
        self.model, self.likelihood, self.rng = FEATURE_MODELS[model], likelihood, np.random.default_rng(seed)
        self.n_dims = 1 if self.model.has_locations else 0
        self.observed = np.ones((ROWS, COLUMNS), dtype=bool)
        self.observed[0, 1] = self.observed[2, 0] = False
        self.scheme = FeatureGibbs(
            self.model, LIKELIHOODS[likelihood], CpuBackend(), has_field=self.model.has_locations
        )

    def prior(self):
        """Globals and the rows' own draws, by the generative story."""
        rng, h = self.rng, PRIORS
        mass, concentration = (rng.gamma(p[0]) / p[1] for p in (h.mass, h.concentration))
        inverse = {name: getattr(h, name)[1] / rng.gamma(getattr(h, name)[0]) for name in ("sigma_l2", "noise")}
        scales = [rng.gamma(p[0]) / p[1] for p in (h.background, h.atoms)]
        if self.likelihood != "poisson":
            scales = [p[1] / rng.gamma(p[0]) for p in (h.background, h.atoms)]
        shape = process_shape(self.model, mass, concentration, FEATURES)
        # Small shapes: a ratio of gammas, and the logarithm of a gamma, through Gamma(s + 1) u^(1 / s).
        log_odds = np.log(rng.gamma(shape + 1.0, size=FEATURES)) + np.log(rng.random(FEATURES)) / shape
        if self.model.process == "beta":
            log_odds -= np.log(rng.gamma(concentration, size=FEATURES))
        else:
            log_odds -= np.log(concentration)
        locations = rng.normal(size=(FEATURES, self.n_dims)) * np.sqrt(inverse["sigma_l2"])
        each = np.concatenate([scales[:1], np.repeat(scales[1:], FEATURES)])
        if self.likelihood == "poisson":
            level, atoms = 0.0, np.maximum(rng.gamma(A0, size=(COLUMNS, FEATURES + 1)) / each, 1e-12)
        else:
            level = rng.normal() * np.sqrt(LEVEL_SPREAD * scales[0])
            atoms = rng.normal(size=(COLUMNS, FEATURES + 1)) * np.sqrt(each)
            atoms[:, 0] += level
        noise = inverse["noise"] if self.likelihood == "gaussian" else 1.0
        g = FeatureGlobals(
            atoms, log_odds, locations, mass, concentration, inverse["sigma_l2"], noise, scales[1], scales[0],
            level, np.zeros(FEATURES), priors=PRIORS,
        )  # fmt: skip
        d = rng.normal(size=(ROWS, self.n_dims))
        z = (rng.random((ROWS, FEATURES)) < expit(g.log_odds_of(d))).astype(float)
        return g, FeatureDraws(z, d)

    def data(self, g, rows):
        signal, rng = extended(rows.z) @ g.atoms.T, self.rng
        if self.likelihood == "gaussian":
            y = signal + rng.normal(size=signal.shape) * np.sqrt(g.noise)
        elif self.likelihood == "poisson":
            y = rng.poisson(signal).astype(float)
        else:
            y = (rng.random(signal.shape) < expit(signal)).astype(float)
        return Table(y * self.observed, self.observed)

    def summary(self, g, rows, table):
        """Bounded or slowly growing functions, so that their means have standard errors."""
        eta, y = g.log_odds_of(rows.d), table.values
        return [
            np.log(g.mass), np.log(g.concentration), expit(g.log_odds[0]), np.tanh(g.sigma_l2) * self.n_dims,
            np.log(g.noise), np.log(g.atom_scale), np.log(g.background_scale), np.tanh((g.locations**2).sum()),
            np.tanh(g.level), np.tanh(g.level * g.atoms[:, 0].mean()),
            expit(eta).mean(), rows.z.mean(), rows.z[:, 0] @ rows.z[:, 1], np.tanh(g.atoms).mean(),
            np.tanh(np.abs(g.atoms[:, 0])).mean(),
            np.tanh((extended(rows.z) @ g.atoms.T).mean()), np.tanh(y.mean()), np.tanh(y[:, 0] @ y[:, 1]),
            (rows.z * np.tanh(eta - g.log_odds)).mean(), np.tanh((rows.z.T @ y / ROWS * g.atoms[:, 1:].T).sum()),
        ]  # fmt: skip

    def by_story(self, n):
        out = []
        for _ in range(n):
            g, rows = self.prior()
            out.append(self.summary(g, rows, self.data(g, rows)))
        return np.array(out)

    def by_sweeps(self, n):
        g, rows = self.prior()
        state, out = State(g, Chain(self.rng)), []
        for _ in range(n):
            table = self.data(state.globals, rows)
            for _ in range(self.scheme.passes(state)):
                rows, statistics = self.scheme.local_step(self.scheme.visit(state), table, rows)
                state = self.scheme.global_step(state, statistics, 1.0)
            out.append(self.summary(state.globals, rows, table))
        return np.array(out)


def geweke(model, likelihood, n_story, n_sweeps):
    """z scores of the differences of means; the chain's standard errors from means of 40 stretches."""
    story = Joint(model, likelihood, 1).by_story(n_story)
    chain = Joint(model, likelihood, 2).by_sweeps(n_sweeps)[200:]
    stretches = np.array([part.mean(axis=0) for part in np.array_split(chain, 40)])
    error = np.sqrt(stretches.var(axis=0, ddof=1) / 40 + story.var(axis=0) / n_story)
    return (chain.mean(axis=0) - story.mean(axis=0)) / np.maximum(error, 1e-9)


CASES = list(product(FEATURE_MODELS, LIKELIHOODS))
# Each likelihood and each process once, all but one of them slow.
FEW = [
    ("beta-features", "bernoulli"),
    pytest.param("beta-features", "gaussian", marks=pytest.mark.slow),
    pytest.param("gamma-features", "poisson", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("model", "likelihood"), FEW)
def test_joint_distribution(model, likelihood):
    """Twenty z scores of a right sampler (forty stretches, so t, not normal): beyond 4.5 once in a thousand runs."""
    assert np.abs(geweke(model, likelihood, 4_000, 4_000)).max() < 4.5


@pytest.mark.slow
@pytest.mark.parametrize(("model", "likelihood"), CASES)
def test_joint_distribution_at_length(model, likelihood):
    assert np.abs(geweke(model, likelihood, 20_000, 20_000)).max() < 4.5


def test_joint_distribution_sees_a_wrong_move(monkeypatch):
    """The test has teeth: rows with a feature that get lost are found out."""
    right = FeatureGibbs.draw_odds

    def wrong(self, g, total, rng):
        return right(self, g, replace(total, on=0.4 * total.on), rng)

    monkeypatch.setattr(FeatureGibbs, "draw_odds", wrong)
    assert np.abs(geweke("ibp", "gaussian", 4_000, 4_000)).max() > 4.5


def enumerated(g, table, likelihood):
    """P(z | y) of every row by adding up all 2^T of them, F = 0."""
    every = np.array(list(product([0.0, 1.0], repeat=g.n_components)))
    signal = extended(every) @ g.atoms.T
    pairs = zip(table.values, table.observed, strict=True)
    log_p = np.array([[(log_density(likelihood, y, s, g.noise) * o).sum() for s in signal] for y, o in pairs])
    log_p += every @ g.log_odds
    p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    return (p / p.sum(axis=1, keepdims=True)) @ every


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_features_of_rows_are_the_enumerated_posterior(likelihood):
    """With the globals held, row chains have the marginals of all 2^T feature sets; two entries are missing."""
    joint = Joint("ibp", likelihood, 5)
    g, rows = joint.prior()
    g = replace(g, log_odds=np.array([-0.4, 0.3]))
    table = joint.data(g, rows)
    total, n = np.zeros(rows.z.shape), 4_000
    for sweep in range(n):
        z, p = joint.scheme.draw_z(g, table, rows, sweep)
        rows = FeatureDraws(z, rows.d)
        total += p
    # A chain of two features forgets within some ten sweeps: the error of the mean is below .5 / sqrt(n / 10) = .025.
    np.testing.assert_allclose(total / n, enumerated(g, table, likelihood), atol=0.05)


def test_without_locations_the_weights_are_the_beta_posterior():
    """F = 0: w_k given z is Beta(c g / T + m_k, c + N - m_k), as in the Indian buffet process."""
    rng, n, on = np.random.default_rng(6), 30, np.array([0.0, 4.0, 21.0])
    scheme = FeatureGibbs(FEATURE_MODELS["ibp"], LIKELIHOODS["gaussian"], CpuBackend(), frozenset(), has_field=False)
    g = FeatureGlobals(np.zeros((1, 4)), np.zeros(3), np.zeros((3, 0)), 3.0, 1.5, 1.0, usage=np.zeros(3))
    found = []
    for sweep in range(12_000):
        exposure = (rng.exponential(size=(n, 3)) * expit(-g.log_odds)).sum(axis=0)  # t = e / (1 + o)
        g = scheme.draw_odds(g, FeatureStatistics(n, on, exposure, None), rng)
        if sweep % 20 == 19:  # successive draws are correlated where a feature is common
            found.append(expit(g.log_odds))
    for k, m in enumerate(on):
        expected = stats.beta(1.5 * 3.0 / 3 + m, 1.5 + n - m)
        assert stats.kstest(np.array(found)[:, k], expected.cdf).pvalue > 1e-3


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_threads_change_nothing(likelihood):
    """The same seed gives the same chain for any number of threads."""
    ends = []
    for n_jobs in (1, 2):
        joint = Joint("gamma-features", likelihood, 7)
        g, rows = joint.prior()
        table = joint.data(g, rows)
        scheme = FeatureGibbs(joint.model, LIKELIHOODS[likelihood], CpuBackend(n_jobs))
        settings = loop.Settings(5, 0.0, 1, "nothing")
        plan, rng = Plan(ROWS, ROWS, ROWS, None), np.random.default_rng(8)
        ends.append(loop.run(scheme, State(g, Chain(rng)), as_rows(table), plan, settings, rng).state.globals)
    for name in ("atoms", "log_odds", "locations"):
        np.testing.assert_array_equal(getattr(ends[0], name), getattr(ends[1], name))
