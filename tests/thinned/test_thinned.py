"""Measures thinned by covariates: the sampler leaves the posterior as it is, finds what was planted, and predicts."""

import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import expit

from cormorant.backends.cpu import CpuBackend
from cormorant.data import as_counts, split_entries
from cormorant.datasets import simulate_thinned
from cormorant.estimators import HGP, ThinnedPoissonFactorization, load
from cormorant.estimators.thinned_chains import counterparts
from cormorant.evaluation import compare, perplexity
from cormorant.inference.draws import A0_PRIOR
from cormorant.inference.predictive import log_likelihood
from cormorant.inference.rows import Rows
from cormorant.inference.state import State
from cormorant.inference.thinned import ThinnedDraws, ThinnedGibbs, ThinnedGlobals
from cormorant.models.thinned import Thinning, field_correlation

pytestmark = pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")

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
        g = ThinnedGlobals(gammas / gammas.sum(axis=0), weights, coefficients, np.zeros(COMPONENTS), c, hyper)
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
    settings = {"n_sweeps": 100, "n_chains": 2, "random_state": 0}
    return ThinnedPoissonFactorization(8, **settings).fit(truth.counts, covariates=truth.covariates)


def matched(model, truth):
    found, wanted = (a / np.linalg.norm(a, axis=1, keepdims=True) for a in (model.components_, truth.atoms))
    rows, match = linear_sum_assignment(-(wanted @ found.T))
    assert (wanted @ found.T)[rows, match].min() > 0.98
    return match


def test_fitted_attributes(model, truth):
    """Components stand by what they hold, and the three that are too many hold next to nothing."""
    assert model.usage_.sum() == pytest.approx(1.0)
    assert np.all(np.diff(model.usage_) <= 0)
    assert model.n_components_used_ == 5
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.covariate_effects_ * truth.covariates.std(axis=0), model.locations_)
    assert [info["stage"] for info in model.history_].count("chain 2 of 2") == 100
    assert model.stop_reason_.startswith("made all 100 sweeps of 2 chains; largest split R-hat")
    assert set(model.diagnostics_) == {"total", "c", "a0", "effective_components", "location_variance"}
    assert [len(trace["c"]) for trace in model.traces_] == [50, 50]


def test_chains_are_matched_to_the_first(model):
    """Within every chain component k is about the same columns."""
    assert [len(chain) for chain in model.samples_] == [20, 20]
    first, second = (np.mean([g.atoms for g in chain], axis=0)[:, :5] for chain in model.samples_)
    cosines = (first * second).sum(axis=0) / np.linalg.norm(first, axis=0) / np.linalg.norm(second, axis=0)
    assert cosines.min() > 0.98


def test_predictions_average_over_all_chains(model, truth):
    rows = {"X": truth.counts.rows(slice(0, 3)), "covariates": truth.covariates[:3]}
    probability = []
    for chain in model.samples_:
        one = copy.copy(model)
        one.samples_ = [chain]
        probability.append(one.column_probabilities(**rows))
    np.testing.assert_allclose(model.column_probabilities(**rows), np.mean(probability, axis=0), rtol=1e-4)
    assert not np.allclose(*probability, rtol=1e-3)


def test_components_share_what_covariates_give_them(model, truth):
    """rho is that of F over the rows: of the planted effects, and exactly so of every sample."""
    match = matched(model, truth)
    np.testing.assert_allclose(truth.correlation, field_correlation(truth.effects, np.eye(2)))
    field = truth.covariates @ truth.effects.T
    assert np.abs(model.correlation_[np.ix_(match, match)] - np.corrcoef(field.T)).max() < 0.15
    low, high = model.correlation_interval_
    assert np.all((low <= model.correlation_) & (model.correlation_ <= high))
    g, scaled = model.samples_[0][0], truth.covariates / truth.covariates.std(axis=0)
    expected = np.corrcoef((scaled @ g.locations.T).T)
    np.testing.assert_allclose(field_correlation(g.locations, model._covariance), expected)


def test_data_frames_and_formulas(truth, tmp_path):
    """Levels and transformations are remembered, in the file too; an effect is per unit of what was given."""
    numbers = truth.covariates
    frame = pd.DataFrame({"age": 50 + 10 * numbers[:, 0], "sex": np.where(numbers[:, 1] > 0, "m", "f")})
    settings = {"n_sweeps": 10, "n_chains": 1, "random_state": 0}
    model = ThinnedPoissonFactorization(5, formula="~ age + C(sex)", **settings).fit(truth.counts, covariates=frame)
    assert model.covariate_names_.tolist() == ["age", "C(sex)[T.m]"]
    np.testing.assert_allclose(model.covariate_effects_[:, 0] * frame["age"].std(ddof=0), model.locations_[:, 0])
    again, rows = load(model.save(tmp_path / "fit")), truth.counts.rows([0, 1])
    np.testing.assert_array_equal(
        again.transform(rows, covariates=frame.iloc[:2]), model.transform(rows, covariates=frame.iloc[:2])
    )
    with pytest.raises(ValueError, match="must have levels that the fit saw"):
        again.transform(rows, covariates=frame.iloc[:2].assign(sex="x"))
    plain = ThinnedPoissonFactorization(5, **settings).fit(truth.counts, covariates=frame)
    assert plain.covariate_names_.tolist() == ["age", "sex[T.m]"]


def test_units_do_not_matter(truth):
    """Days or years: the prior is of a standard deviation, so the fit is the same."""
    fits = [
        ThinnedPoissonFactorization(5, n_sweeps=6, n_chains=1, random_state=0).fit(
            truth.counts, covariates=truth.covariates * [unit, 1.0]
        )
        for unit in (1.0, 365.0)
    ]
    np.testing.assert_allclose(fits[0].locations_, fits[1].locations_, rtol=1e-6)
    np.testing.assert_allclose(fits[0].covariate_effects_, fits[1].covariate_effects_ * [365.0, 1.0], rtol=1e-6)


def test_an_interrupt_keeps_what_there_is(truth):
    def interrupt(stage, epoch):
        def stop(info, state):
            if (info.stage, info.epoch) == (stage, epoch):
                raise KeyboardInterrupt

        return stop

    for stage, epoch in (("chain 1 of 2", 5), ("start", 3), ("surplus components", 2)):
        model = ThinnedPoissonFactorization(4, n_sweeps=8, callbacks=[interrupt(stage, epoch)], random_state=0)
        model.fit(truth.counts, covariates=truth.covariates)
        assert model.interrupted_
        assert f"interrupted after {epoch}" in model.stop_reason_
        assert model.transform(truth.counts, covariates=truth.covariates).shape == (800, 4)


def test_standard_deviations_are_those_of_the_samples(model, truth):
    """x is w z: over samples its variance is that of w z, a Bernoulli one within each."""
    rows = model._rows(truth.counts.rows(slice(0, 4)), None, None, truth.covariates[:4])
    pairs = list(model._first_chain.weights(rows))
    second = np.mean([x * g.weights for x, g in pairs], axis=0)
    mean, std = model.transform(truth.counts.rows(slice(0, 4)), covariates=truth.covariates[:4], return_std=True)
    np.testing.assert_allclose(mean, np.mean([x for x, _ in pairs], axis=0))
    np.testing.assert_allclose(std**2, second - mean**2, atol=1e-8)


def test_scores_agree(model, truth):
    """The estimator's own perplexity and that of a split by the caller; what is hidden is not taken for zeros."""
    seen, test = split_entries(truth.counts, 0.1, 0)
    theta = truth.covariates
    expected = model.perplexity(truth.counts, 0.1, covariates=theta)
    assert perplexity(model, seen, test, theta) == pytest.approx(expected)
    assert expected < 0.98 * np.exp(-log_likelihood(model._posterior, model._rows(seen, None, None, theta), test))
    assert model.score(truth.counts, covariates=theta) == pytest.approx(
        -np.log(model.perplexity(truth.counts, 0.5, covariates=theta))
    )


def test_compared_with_others_on_one_split(truth):
    settings = {"n_components": 5, "n_sweeps": 6, "n_chains": 1, "max_epochs": 5}
    rows, theta = truth.counts.rows(slice(0, 300)), truth.covariates[:300]
    found = compare(rows, ["hgp", "thinned"], n_held_out=60, covariates=theta, **settings)
    assert [record["model"] for record in found.records] == ["hgp", "thinned"]
    assert all(value < 120 for record in found.records for value in record["perplexity"].values())
    with pytest.raises(ValueError, match="covariates must be given: thinned has them decide"):
        compare(truth.counts, ["thinned"])


def test_planted_effects_are_found(model, truth):
    """Weights, who has which component, and what covariates do: intervals of 90% hold at least 6 of 10 effects."""
    match = matched(model, truth)
    np.testing.assert_allclose(model.weights_[match], truth.weights, rtol=0.1)
    x = model.transform(truth.counts, covariates=truth.covariates)[:, match]
    assert ((x > 0.5 * truth.weights) == truth.z).mean() > 0.98
    assert np.corrcoef(model.covariate_effects_[match].ravel(), truth.effects.ravel())[0, 1] > 0.95
    low, high = model.covariate_effects_interval_[:, match]
    assert ((low <= truth.effects) & (truth.effects <= high)).sum() >= 6
    inside = expit(truth.covariates @ truth.effects.T + truth.intercepts)
    assert np.abs(model.inclusion(truth.covariates)[:, match] - inside).mean() < 0.05


def test_what_covariates_do_is_of_all_chains(model, truth):
    """Intercepts and inclusion are means over both chains, of a component that one alone has found over that one."""
    theta = np.hstack([model._encoding.encode(truth.covariates, len(truth.covariates)), np.ones((800, 1))])
    every = [g for chain in model.samples_ for g in chain]
    found = counterparts(model.samples_)[0]
    assert found.sum() >= 5  # the planted ones
    np.testing.assert_allclose(model.intercepts_[found], np.mean([g.coefficients[:, -1] for g in every], axis=0)[found])
    inside = np.mean([expit(g.field(theta)) for g in every], axis=0)
    np.testing.assert_allclose(model.inclusion(truth.covariates)[:, found], inside[:, found])
    other = copy.copy(model)
    strange = [replace(g, atoms=np.roll(g.atoms, 1, axis=0)) for g in model.samples_[1]]
    other._finish([model.samples_[0], strange], model._covariance)
    alone = np.mean([g.coefficients[:, -1] for g in model.samples_[0]], axis=0)
    lost = ~counterparts(other.samples_)[0]
    assert lost.sum() >= 4
    np.testing.assert_allclose(other.intercepts_[lost], alone[lost])
    of_first = np.mean([expit(g.field(theta)) for g in model.samples_[0]], axis=0)
    np.testing.assert_allclose(other.inclusion(truth.covariates)[:, lost], of_first[:, lost])


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


def test_a_row_alone_gets_the_same_answer(model, truth):
    whole = model.transform(truth.counts, covariates=truth.covariates)
    one = model.transform(truth.counts.rows([7]), covariates=truth.covariates[[7]])
    np.testing.assert_allclose(one[0], whole[7])


def test_a_row_that_shows_nothing_is_predicted_by_what_its_covariates_say(model, truth):
    """Nobody may have looked at it; where somebody did (`transform`), it has no component that would have shown."""
    none = sparse.csr_matrix((1, truth.counts.n_columns))
    scaled = (np.array([1.0, -1.0]) - truth.covariates.mean(axis=0)) / truth.covariates.std(axis=0)
    theta = np.append(scaled, 1.0)[None]
    every = [g for chain in model.samples_ for g in chain]
    x = [g.weights * expit(g.field(theta)) for g in every]
    expected = np.mean([prior / prior.sum() @ g.atoms.T for prior, g in zip(x, every, strict=True)], axis=0)
    np.testing.assert_allclose(model.column_probabilities(none, covariates=[[1.0, -1.0]]), expected)
    assert np.max(x) > 1.0
    assert model.transform(none, covariates=[[1.0, -1.0]])[0, :5].max() < 1e-6


@pytest.mark.parametrize(
    ("settings", "covariates", "message"),
    [
        ({}, np.zeros((3, 2)), "covariates must have a row for each of the 800 rows of X; got 3"),
        ({}, None, "covariates must be given: ThinnedPoissonFactorization has them decide"),
        ({"formula": "~ age"}, np.zeros((800, 2)), "names columns, so covariates must be a data frame; got ndarray"),
        ({"n_chains": 0}, np.zeros((800, 2)), "n_chains must be a whole number of at least 1, got 0"),
        ({"alpha": -1.0}, np.zeros((800, 2)), "alpha must be a positive number, got -1.0"),
        ({"n_sweeps": 0}, np.zeros((800, 2)), "n_sweeps must be a whole number of at least 1, got 0"),
        ({"sigma_l2": "wide"}, np.zeros((800, 2)), "sigma_l2 must be a number, got 'wide'"),
    ],
)
def test_what_is_refused(settings, covariates, message, truth):
    with pytest.raises(ValueError, match=message):
        ThinnedPoissonFactorization(3, **settings).fit(truth.counts, covariates=covariates)


def test_fractions_are_refused(truth):
    with pytest.raises(ValueError, match=r"X must have whole numbers, .* samples; it has fractions\. Round X"):
        ThinnedPoissonFactorization(3).fit(0.5 * truth.counts.tocsr(), covariates=truth.covariates)


def test_other_covariates_are_refused(model, truth):
    with pytest.raises(ValueError, match="covariates must have the 2 columns of the fit; got 1"):
        model.transform(truth.counts, covariates=truth.covariates[:, :1])
    with pytest.raises(ValueError, match="covariates must be given"):
        model.transform(truth.counts)
    with pytest.raises(ValueError, match="mask must be left out"):
        model.column_probabilities(truth.counts, covariates=truth.covariates, mask=np.zeros(truth.counts.shape))
