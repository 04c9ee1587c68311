"""Measures thinned by covariates: the sampler leaves the posterior as it is, finds what was planted, and predicts."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import expit

from cormorant.backends.cpu import CpuBackend
from cormorant.data import as_counts
from cormorant.datasets import simulate_thinned
from cormorant.estimators import HGP, ThinnedPoissonFactorization, load
from cormorant.inference.draws import A0_PRIOR
from cormorant.inference.rows import Rows
from cormorant.inference.state import State
from cormorant.inference.thinned import ThinnedDraws, ThinnedGibbs, ThinnedGlobals
from cormorant.models.thinned import Thinning

ROWS, COLUMNS, COMPONENTS = 5, 3, 2


class Joint:
    """Two ways to draw (parameters, data) of a tiny model: from the story, and by sweeps between draws of the data."""

    hyper = Thinning(alpha=3.0, a_c=6.0, b_c=4.0, sigma_l2=1.0, sigma_b2=0.5)
    exposure = np.array([0.5, 1.0, 1.0, 2.0, 1.5])
    theta = np.column_stack([np.linspace(-1.0, 1.0, ROWS), np.ones(ROWS)])

    def __init__(self, seed):
        self.rng, self.scheme = np.random.default_rng(seed), ThinnedGibbs(CpuBackend())

    def prior(self):
        rng, h = self.rng, self.hyper
        c = rng.gamma(h.a_c) / h.b_c
        weights = np.maximum(rng.gamma(h.alpha / COMPONENTS, size=COMPONENTS) / c, 1e-300)
        a0 = max(rng.gamma(A0_PRIOR[0]) / A0_PRIOR[1], 1e-12)
        gammas = np.maximum(rng.gamma(a0, size=(COLUMNS, COMPONENTS)), 1e-300)
        coefficients = rng.normal(size=(COMPONENTS, 2)) * np.sqrt(h.prior_variances(1))
        hyper = Thinning(**{**vars(h), "a0": a0})
        g = ThinnedGlobals(gammas / gammas.sum(axis=0), weights, coefficients, c, hyper)
        return g, (rng.random((ROWS, COMPONENTS)) < expit(g.field(self.theta))).astype(float)

    def counts(self, g, z):
        return self.rng.poisson(self.exposure[:, None] * (z * g.weights) @ g.atoms.T)

    def summary(self, g, z, y):
        return [
            np.log(g.c), np.log(g.weights.sum()), np.tanh(g.weights[0]), np.log(g.hyper.a0), (g.atoms**2).sum(),
            z.mean(), (z[:, 0] * z[:, 1]).mean(), np.tanh(g.coefficients[0, 0]), np.tanh(g.coefficients[1, 1]),
            np.tanh((g.coefficients**2).sum()), (z * self.theta[:, :1]).mean(), np.log1p(y.sum()),
            np.log1p((y > 0).sum()), (z * np.tanh(g.weights)).mean(), np.tanh((g.coefficients[:, 0] * g.weights).sum()),
        ]  # fmt: skip

    def by_story(self, n):
        out = []
        for _ in range(n):
            g, z = self.prior()
            out.append(self.summary(g, z, self.counts(g, z)))
        return np.array(out)

    def by_sweeps(self, n):
        g, z = self.prior()
        state, out = State(g, self.rng), []
        for _ in range(n):
            y = self.counts(state.globals, z)
            rows = Rows(as_counts(sparse.csr_matrix(y)), self.exposure, None, self.theta)
            batch = rows.batch(np.arange(ROWS), np.float64)
            draws, statistics = self.scheme.local_step(self.scheme.visit(state), batch, ThinnedDraws(z))
            z, state = draws.z, self.scheme.global_step(state, statistics, 1.0)
            out.append(self.summary(state.globals, z, self.counts(state.globals, z)))
        return np.array(out)


def geweke(n_story, n_sweeps):
    """z scores of the differences of means; the chain's standard errors from means of 40 stretches."""
    story, chain = Joint(1).by_story(n_story), Joint(2).by_sweeps(n_sweeps)[100:]
    stretches = np.array([part.mean(axis=0) for part in np.array_split(chain, 40)])
    error = np.sqrt(stretches.var(axis=0, ddof=1) / 40 + story.var(axis=0) / n_story)
    return (chain.mean(axis=0) - story.mean(axis=0)) / error


@pytest.mark.slow
def test_joint_distribution():
    """Fifteen z scores of a right sampler: beyond 4 once in a thousand runs."""
    assert np.abs(geweke(10_000, 12_000)).max() < 4.0


def test_joint_distribution_sees_a_wrong_move(monkeypatch):
    """The test has teeth: rows that take what they do not show too seriously are found out."""
    right = ThinnedGibbs.draw_z

    def wrong(self, g, batch, z, seed, ids=None):
        return right(self, g, replace(batch, exposure=3.0 * batch.exposure), z, seed, ids)

    monkeypatch.setattr(ThinnedGibbs, "draw_z", wrong)
    assert np.abs(geweke(10_000, 6_000)).max() > 4.0


@pytest.fixture(scope="module")
def truth():
    return simulate_thinned(800, 120, 5, 2, row_total=60.0, seed=3)


@pytest.fixture(scope="module")
def model(truth):
    return ThinnedPoissonFactorization(5, n_sweeps=100, random_state=0).fit(truth.counts, covariates=truth.covariates)


def matched(model, truth):
    found, wanted = (a / np.linalg.norm(a, axis=1, keepdims=True) for a in (model.components_, truth.atoms))
    rows, match = linear_sum_assignment(-(wanted @ found.T))
    assert (wanted @ found.T)[rows, match].min() > 0.98
    return match


def test_planted_effects_are_found(model, truth):
    """Weights, who has which component, and what covariates do: intervals of 90% hold at least 6 of 10 effects."""
    match = matched(model, truth)
    np.testing.assert_allclose(model.weights_[match], truth.weights, rtol=0.1)
    x = model.transform(truth.counts, covariates=truth.covariates)[:, match]
    assert ((x > 0.5 * truth.weights) == truth.z).mean() > 0.98
    assert np.corrcoef(model.effects_[match].ravel(), truth.effects.ravel())[0, 1] > 0.95
    low, high = model.effects_interval_[:, match]
    assert ((low <= truth.effects) & (truth.effects <= high)).sum() >= 6
    inside = expit(truth.covariates @ truth.effects.T + truth.intercepts)
    assert np.abs(model.inclusion(truth.covariates)[:, match] - inside).mean() < 0.05


def test_covariates_help_where_little_is_seen():
    """On rows from the same components that the fit did not see, with one entry in twenty shown."""
    whole = simulate_thinned(1000, 120, 5, 2, row_total=60.0, seed=3)
    model = ThinnedPoissonFactorization(5, n_sweeps=60, random_state=0)
    model.fit(whole.counts.rows(slice(0, 800)), covariates=whole.covariates[:800])
    new, theta = whole.counts.rows(slice(800, 1000)), whole.covariates[800:]
    with_them = model.perplexity(new, 0.05, covariates=theta)
    shuffled = model.perplexity(new, 0.05, covariates=theta[::-1])
    plain = HGP(8, validation=0, random_state=0, n_sweeps=40).fit(whole.counts.rows(slice(0, 800)))
    assert with_them < 0.97 * shuffled
    assert with_them < plain.perplexity(new, 0.05)


def test_save_load_and_repeat(model, truth, tmp_path):
    again = load(model.save(tmp_path / "fit"))
    theta = truth.covariates
    assert again.perplexity(truth.counts, covariates=theta) == model.perplexity(truth.counts, covariates=theta)
    np.testing.assert_array_equal(again.effects_interval_, model.effects_interval_)
    probabilities = again.column_probabilities(truth.counts.rows(slice(0, 3)), covariates=theta[:3])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert model.score(truth.counts, covariates=theta) < 0
    small = [
        ThinnedPoissonFactorization(3, n_sweeps=6, random_state=1, n_jobs=n).fit(truth.counts, covariates=theta)
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(small[0].components_, small[1].components_)


def test_a_row_alone_gets_the_same_answer(model, truth):
    whole = model.transform(truth.counts, covariates=truth.covariates)
    one = model.transform(truth.counts.rows([7]), covariates=truth.covariates[[7]])
    np.testing.assert_allclose(one[0], whole[7])


def test_a_row_that_shows_nothing_has_what_its_covariates_say(model, truth):
    none = sparse.csr_matrix((1, truth.counts.n_columns))
    x = model.transform(none, covariates=[[1.0, -1.0]])
    expected = np.mean([g.weights * expit(g.field(np.array([[1.0, -1.0, 1.0]]))) for g in model.samples_], axis=0)
    np.testing.assert_allclose(x, expected)


@pytest.mark.parametrize(
    ("settings", "covariates", "message"),
    [
        ({}, np.zeros((3, 2)), "covariates must have one row for each of the 800 rows of X; got 3"),
        ({"alpha": -1.0}, np.zeros((800, 2)), "alpha must be a positive number, got -1.0"),
        ({"n_sweeps": 0}, np.zeros((800, 2)), "n_sweeps must be a whole number of at least 1, got 0"),
        ({"sigma_l2": "wide"}, np.zeros((800, 2)), "sigma_l2 must be a number, got 'wide'"),
    ],
)
def test_what_is_refused(settings, covariates, message, truth):
    with pytest.raises(ValueError, match=message):
        ThinnedPoissonFactorization(3, **settings).fit(truth.counts, covariates=covariates)


def test_other_covariates_are_refused(model, truth):
    with pytest.raises(ValueError, match="covariates must be the 2 that the fit had; got 1 columns"):
        model.transform(truth.counts, covariates=truth.covariates[:, :1])
