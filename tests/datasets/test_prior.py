"""What is drawn from a model's prior follows the distributions that its story names."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from cormorant.datasets import features as of_features
from cormorant.datasets import simulate_prior
from cormorant.datasets import thinned as of_thinned
from cormorant.datasets.prior import NAMES, PRIOR
from cormorant.models.cnpf import MODELS, PROCESSES, WITH_RATE
from cormorant.models.features import A0, FEATURE_MODELS, LEVEL_SPREAD, FeaturePriors
from cormorant.models.thinned import Thinning

POISSON = sorted(name for name, model in MODELS.items() if not model.normalised)


def uniform(draws):
    """Whether probabilities look uniform; at this level one of a thousand sound seeds fails."""
    return stats.kstest(draws, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("model", POISSON)
def test_everything_follows_its_prior(model):
    """Each quantity at the distribution function that the generative story gives it is uniform."""
    hyper = replace(PRIOR, a_alpha=3.0, b_alpha=1.5, a_c=4.0, b_c=2.0, sigma_l2=0.3, a0=0.7, b0=2.0)
    rng = np.random.default_rng(0)
    draws = [simulate_prior(model, 2, 3, 6, 2, hyper=hyper, seed=rng) for _ in range(400)]
    alpha, c = np.array([d.alpha for d in draws]), np.array([d.c for d in draws])
    assert uniform(stats.gamma.cdf(alpha, 3.0, scale=1 / 1.5))
    assert uniform(stats.gamma.cdf(c, 4.0, scale=1 / 2.0))
    assert uniform(stats.gamma.cdf([d.total for d in draws], alpha, scale=1 / c))
    sticks = np.array([d.sticks for d in draws])
    assert uniform(stats.beta.cdf(sticks[:, :-1], 1.0, alpha[:, None]).ravel())
    assert np.all(sticks[:, -1] == 1.0)
    assert uniform(stats.gamma.cdf(np.ravel([d.atoms for d in draws]), 0.7, scale=1 / 2.0))
    locations = np.ravel([d.locations for d in draws])
    assert (
        uniform(stats.norm.cdf(locations, scale=np.sqrt(0.3))) if MODELS[model].has_locations else len(locations) == 0
    )


@pytest.mark.parametrize("top", ["dirichlet", "gamma", "beta"])
def test_everything_of_diln_follows_its_prior(top):
    hyper = replace(PRIOR, a_alpha=3.0, b_alpha=1.5, a_c=4.0, b_c=2.0, a_beta=2.0, b_beta=0.7, a0=0.7)
    rng = np.random.default_rng(0)
    draws = [simulate_prior("diln", 2, 3, 6, 2, top=top, row_total=5.0, hyper=hyper, seed=rng) for _ in range(400)]
    alpha = np.array([d.alpha for d in draws])
    weights, sticks = np.array([d.weights for d in draws]), np.array([d.sticks for d in draws])
    assert uniform(stats.gamma.cdf(alpha, 3.0, scale=1 / 1.5))
    # A column of a Dirichlet draw is Beta(a0, (I - 1) a0); only one of each atom is independent of the rest.
    assert uniform(stats.beta.cdf(np.array([d.atoms[:, 0] for d in draws]).ravel(), 0.7, 1.4))
    if top == "gamma":
        c = np.array([d.c for d in draws])
        assert uniform(stats.gamma.cdf(weights.sum(axis=1), alpha, scale=1 / c))
        assert all(d.beta == 1.0 for d in draws)
    else:
        assert uniform(stats.gamma.cdf([d.beta for d in draws], 2.0, scale=1 / 0.7))
        assert all(d.c is None for d in draws)
    if top == "beta":
        assert uniform(stats.beta.cdf(weights, alpha[:, None] / 6, alpha[:, None]).ravel())
    else:
        assert uniform(stats.beta.cdf(sticks[:, :-1], 1.0, alpha[:, None]).ravel())
    assert np.allclose(weights.sum(axis=1), 1.0) == (top == "dirichlet")
    totals = [d.counts.total for d in draws]  # Poisson(10)
    assert abs(np.mean(totals) - 10.0) < 4 * np.sqrt(10.0 / 400)


@pytest.mark.parametrize("process", PROCESSES)
def test_tuples_of_poisson_models(process):
    """beta, or c, is there as the process has it, and pitman-yor's sticks are Beta(1 - sigma, alpha + k sigma)."""
    hyper = replace(PRIOR, discount=0.3)
    draws = [simulate_prior("hgp", 1, 2, 6, tuples=process, hyper=hyper, seed=seed) for seed in range(300)]
    assert all((d.beta is None) == (process in WITH_RATE) == (d.c is not None) for d in draws)
    if process == "pitman-yor":
        alpha, sticks = np.array([d.alpha for d in draws])[:, None], np.array([d.sticks[:-1] for d in draws])
        found = stats.beta.cdf(sticks, 0.7, alpha + 0.3 * np.arange(1, 6)).ravel()
        assert uniform(found)


def test_drawn_weights_are_those_of_the_sticks():
    drawn = simulate_prior(n_rows=5, n_components=30, seed=4)
    assert drawn.weights.sum() == pytest.approx(drawn.total)
    rest = np.cumsum(drawn.weights[::-1])[::-1]
    assert drawn.weights / rest == pytest.approx(drawn.sticks)


def test_rows_drawn_from_the_prior_follow_their_rates():
    drawn = simulate_prior("cnpf", n_rows=2000, n_columns=30, n_components=5, seed=1)
    rates = drawn.x @ drawn.atoms
    # Given the rates the total is Poisson: four standard deviations.
    assert abs(drawn.counts.total - rates.sum()) < 4 * np.sqrt(rates.sum())
    ratio = drawn.x / np.exp(drawn.field)
    error = 4 * np.sqrt(drawn.weights / 2000)  # x / r(F) ~ Gamma(w, 1) has variance w
    assert np.all(np.abs(ratio.mean(axis=0) - drawn.weights) < error)


# Kernels, heavy tails and covariates


def covariance_error(covariance, n):
    """Four standard deviations of an empirical covariance of n Gaussian rows."""
    spread = np.diag(covariance)
    return 4 * np.sqrt((np.outer(spread, spread) + covariance**2) / n)


def expected_kernel(name, drawn):
    """phi(l_k) . phi(l_m) in closed form; of Fourier features what the frequencies stand for."""
    l = drawn.locations  # noqa: E741
    apart = np.sqrt(((l[:, None] - l) ** 2).sum(axis=-1))
    return {
        "linear": lambda: l @ l.T / 0.5,
        "rbf": lambda: np.exp(-0.5 * apart**2),
        "matern": lambda: (1 + np.sqrt(3) * apart) * np.exp(-np.sqrt(3) * apart),
        "brownian": lambda: np.minimum(l, l.T),
        "groups": lambda: (apart == 0).astype(float),
    }[name]()


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        ("linear", {}),
        ("rbf", {"length_scale": 1.0, "n_frequencies": 512}),
        ("matern", {"length_scale": 1.0, "n_frequencies": 512, "nu": 1.5}),
        ("brownian", {}),
        ("groups", {}),
    ],
)
@pytest.mark.parametrize("model", ["cnpf", "softplus-cnpf"])
def test_the_field_has_the_covariance_of_its_kernel(model, kernel, options):
    drawn = simulate_prior(model, 4000, 1, 5, 3, kernel=kernel, **options, hyper=replace(PRIOR, sigma_l2=0.5), seed=2)
    expected = 0.5 * expected_kernel(kernel, drawn)
    scattered = 0.03 if options else 1e-12  # of 512 frequencies
    np.testing.assert_allclose(drawn.loadings @ drawn.loadings.T, expected, atol=scattered)
    whole = drawn.loadings @ drawn.loadings.T + PRIOR.sigma_m2
    assert np.all(np.abs(np.cov(drawn.field.T, bias=True) - whole) < covariance_error(whole, 4000))
    shares = np.diag(expected) > 0
    rho = expected / np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(drawn.correlation[shares][:, shares], rho[shares][:, shares], atol=4 * scattered)
    assert (drawn.frequencies is None) == (kernel not in ("rbf", "matern"))


@pytest.mark.parametrize("kernel", ["brownian", "groups"])
def test_every_place_is_as_likely(kernel):
    drawn = simulate_prior("cnpf", 1, 1, 3000, 4, kernel=kernel, seed=0)
    _, number = np.unique(drawn.locations, axis=0, return_counts=True)
    assert len(number) == 4
    assert stats.chisquare(number).pvalue > 1e-3


@pytest.mark.parametrize("kernel", ["rbf", "matern"])
def test_locations_of_stationary_kernels_are_standard_normal(kernel):
    drawn = simulate_prior("cnpf", 1, 1, 500, 2, kernel=kernel, n_frequencies=3, seed=0)
    assert uniform(stats.norm.cdf(drawn.locations.ravel()))
    assert drawn.frequencies.shape == (3, 2)


@pytest.mark.parametrize("df", [1.5, 4.0])
def test_heavy_tails_are_those_of_student(df):
    """diln's F has no mu: over |l_k| it is a t variable, whose tail a Gaussian test would refuse."""
    drawn = simulate_prior("diln", 2000, 2, 3, 2, df=df, seed=1)
    scaled = drawn.field[:, 0] / np.linalg.norm(drawn.locations[0])
    assert uniform(stats.t.cdf(scaled, df))
    assert not uniform(stats.norm.cdf(scaled))
    gaussian = simulate_prior("diln", 2000, 2, 3, 2, seed=1)
    assert uniform(stats.norm.cdf(gaussian.field[:, 0] / np.linalg.norm(gaussian.locations[0])))


@pytest.mark.parametrize("options", [{}, {"kernel": "groups"}, {"kernel": "rbf", "n_frequencies": 3}])
def test_covariates_move_the_mean_of_the_field(options):
    """Given the loadings, effects are N(0, sigma_g^2 (|phi_k|^2 + sigma_m^2)), and F - theta e^T is as without them."""
    hyper = replace(PRIOR, sigma_g2=0.5)
    draws = [simulate_prior("cnpf", 3, 2, 3, 2, n_covariates=2, hyper=hyper, seed=s, **options) for s in range(300)]
    size = np.array([np.linalg.norm(d.loadings[0]) ** 2 + PRIOR.sigma_m2 for d in draws])
    assert uniform(stats.norm.cdf([d.effects[0, 1] for d in draws], scale=np.sqrt(0.5 * size)))
    rest = [d.field[0, 0] - d.covariates[0] @ d.effects[0] for d in draws]
    assert uniform(stats.norm.cdf(rest, scale=np.sqrt(size)))
    assert uniform(stats.norm.cdf(np.ravel([d.covariates for d in draws])))


def test_effects_of_normalised_models_have_no_mean():
    drawn = simulate_prior("diln", 10, 2, 4, 1, n_covariates=1, seed=0)
    ratio = drawn.effects[:, 0] / drawn.locations[:, 0]
    np.testing.assert_allclose(ratio, ratio[0])


# Features

TIGHT = (1e8, 4e8)  # a prior of all but a number: 4, or its inverse


def test_weights_of_features_follow_their_process():
    priors = FeaturePriors(mass=(3.0, 1.5), concentration=(4.0, 2.0), sigma_l2=(5.0, 2.0), noise=(3.0, 2.0))
    for name, spec in FEATURE_MODELS.items():
        rng = np.random.default_rng(1)
        draws = [simulate_prior(name, 1, 2, 4, 2, hyper=priors, seed=rng) for _ in range(300)]
        g, c = np.array([(d.mass, d.concentration) for d in draws]).T
        assert uniform(stats.gamma.cdf(g, 3.0, scale=1 / 1.5))
        assert uniform(stats.gamma.cdf(c, 4.0, scale=1 / 2.0))
        assert uniform(stats.invgamma.cdf([d.noise for d in draws], 3.0, scale=2.0))
        log_odds = np.array([d.log_odds for d in draws])
        if spec.process == "beta":
            found = stats.beta.cdf(expit(log_odds), (c * g / 4)[:, None], c[:, None])
        else:
            found = stats.gamma.cdf(np.exp(log_odds), (g / 4)[:, None], scale=1 / c[:, None])
        assert uniform(found.ravel())
        if spec.has_locations:
            variance = np.array([d.sigma_l2 for d in draws])
            assert uniform(stats.invgamma.cdf(variance, 5.0, scale=2.0))
            assert uniform(stats.norm.cdf([d.locations[0, 0] for d in draws], scale=np.sqrt(variance)))
        else:
            assert all(d.locations.shape == (4, 0) and d.sigma_l2 is None for d in draws)


@pytest.mark.parametrize("model", FEATURE_MODELS)
def test_rows_show_features_as_often_as_their_odds_say(model):
    """P(z = 1) = E sigmoid(b + |l| Z), Z standard normal, by quadrature."""
    drawn = simulate_prior(model, 4000, 2, 8, 2, seed=3)
    node, weight = np.polynomial.hermite_e.hermegauss(101)
    spread = np.linalg.norm(drawn.locations, axis=1)
    p = expit(drawn.log_odds[:, None] + spread[:, None] * node) @ weight / weight.sum()
    # Four standard deviations, and four rows where hardly any shows a feature.
    assert np.all(np.abs(drawn.z.sum(axis=0) - 4000 * p) < 4 * np.sqrt(4000 * p * (1 - p)) + 4)


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_atoms_of_features_are_normal(likelihood):
    hyper = replace(of_features.PRIOR, atoms=TIGHT, background=TIGHT, noise=TIGHT)
    rng = np.random.default_rng(0)
    draws = [simulate_prior("ibp", 40, 3, 4, likelihood=likelihood, hyper=hyper, seed=rng) for _ in range(200)]
    assert uniform(stats.norm.cdf(np.ravel([d.atoms for d in draws]), scale=2.0))
    assert uniform(stats.norm.cdf([d.background[0] for d in draws], scale=2.0 * np.sqrt(1 + LEVEL_SPREAD)))
    assert uniform(stats.norm.cdf([d.background[0] - d.background[1] for d in draws], scale=2.0 * np.sqrt(2)))
    if likelihood == "gaussian":
        assert uniform(stats.norm.cdf(np.ravel([d.y[0] - d.mean[0] for d in draws]), scale=2.0))
    else:
        p = np.ravel([d.mean for d in draws])
        y = np.ravel([d.y for d in draws])
        assert abs((y - p).sum()) < 4 * np.sqrt((p * (1 - p)).sum())
        assert draws[0].noise is None


def test_atoms_of_counts_are_gamma_variables():
    hyper = replace(of_features.PRIOR, atoms=(1e8, 4e8), background=(1e8, 1e8))  # rates of 1/4 and 1
    rng = np.random.default_rng(0)
    draws = [simulate_prior("ibp", 40, 3, 4, likelihood="poisson", hyper=hyper, seed=rng) for _ in range(200)]
    assert uniform(stats.gamma.cdf(np.ravel([d.atoms for d in draws]), A0, scale=4.0))
    assert uniform(stats.gamma.cdf(np.ravel([d.background for d in draws]), A0))
    mean = sum(d.mean.sum() for d in draws)
    assert abs(sum(d.y.sum() for d in draws) - mean) < 4 * np.sqrt(mean)


def test_weights_too_small_for_a_number_have_log_odds():
    hyper = replace(of_features.PRIOR, mass=(1.0, 1e4))
    for model in FEATURE_MODELS:
        drawn = simulate_prior(model, 20, 3, 50, hyper=hyper, seed=0)
        assert drawn.log_odds.min() < -1e4
        assert np.isfinite(drawn.log_odds).all()
        assert drawn.z.sum() == 0


# Thinned measures


def test_everything_of_thinned_measures_follows_its_prior():
    hyper = Thinning(alpha=3.0, a_c=4.0, b_c=2.0, a0=0.7, sigma_l2=2.0, sigma_b2=0.5)
    rng = np.random.default_rng(0)
    draws = [simulate_prior("thinned", 2, 3, 4, n_covariates=2, hyper=hyper, seed=rng) for _ in range(300)]
    c = np.array([d.c for d in draws])
    assert uniform(stats.gamma.cdf(c, 4.0, scale=1 / 2.0))
    weights = np.array([d.weights for d in draws])
    assert uniform(stats.gamma.cdf(weights, 3.0 / 4, scale=1 / c[:, None]).ravel())
    assert uniform(stats.beta.cdf(np.ravel([d.atoms[:, 0] for d in draws]), 0.7, 1.4))
    assert uniform(stats.norm.cdf(np.ravel([d.effects for d in draws]), scale=np.sqrt(2.0)))
    assert uniform(stats.norm.cdf(np.ravel([d.intercepts for d in draws]), scale=np.sqrt(0.5)))


def test_rows_of_thinned_measures_follow_their_covariates():
    drawn = simulate_prior("thinned", 4000, 20, 6, n_covariates=3, seed=1)
    p = expit(drawn.covariates @ drawn.effects.T + drawn.intercepts)
    assert np.all(np.abs((drawn.z - p).sum(axis=0)) < 4 * np.sqrt((p * (1 - p)).sum(axis=0)))
    expected = drawn.z @ drawn.weights
    assert abs(drawn.counts.total - expected.sum()) < 4 * np.sqrt(expected.sum())
    assert simulate_prior("thinned", 5, 4, 3).covariates.shape == (5, 2)


def test_thinned_measures_of_impossible_size_are_refused():
    with pytest.raises(ValueError, match=r"must give rows that sum to 1e\+11 at most"):
        simulate_prior("thinned", 50, 20, 6, hyper=replace(of_thinned.PRIOR, b_c=1e15))


# What is refused


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("lda", {}, f"model must be one of {', '.join(NAMES)}; got 'lda'"),
        ("cnpf", {"n_rows": 0}, "n_rows must be a whole number of at least 1"),
        ("cnpf", {"tuples": "levy"}, f"tuples must be one of {', '.join(PROCESSES)}; got 'levy'"),
        ("diln", {"top": "levy"}, f"top must be one of {', '.join(PROCESSES)}; got 'levy'"),
        ("cnpf", {"top": "gamma"}, "top='gamma' does nothing with model='cnpf'; leave it out"),
        ("diln", {"tuples": "gamma"}, "tuples='gamma' does nothing with model='diln'"),
        ("hdp", {"top": "dirichlet"}, "top='dirichlet' does nothing with model='hdp'"),
        ("diln", {"kernel": "rbf"}, "kernel='rbf' does nothing with model='diln'"),
        ("hgp", {"kernel": "rbf"}, "kernel='rbf' does nothing with model='hgp'"),
        ("scaled-hgp", {"df": 4.0}, r"df=4\.0 does nothing with model='scaled-hgp'"),
        ("hdp", {"n_covariates": 2}, "n_covariates=2 does nothing with model='hdp'"),
        ("cnpf", {"row_total": 50.0}, r"row_total=50\.0 does nothing with model='cnpf'"),
        ("cnpf", {"likelihood": "poisson"}, "likelihood='poisson' does nothing with model='cnpf'"),
        ("ibp", {"df": 4.0}, r"df=4\.0 does nothing with model='ibp'"),
        ("ibp", {"likelihood": "cauchy"}, "likelihood must be one of gaussian, poisson, bernoulli; got 'cauchy'"),
        ("thinned", {"kernel": "rbf"}, "kernel='rbf' does nothing with model='thinned'"),
        ("thinned", {"n_covariates": 0}, "n_covariates must be a whole number of at least 1"),
        ("cnpf", {"kernel": "cubic"}, "kernel must be one of linear, rbf, matern, brownian, groups; got 'cubic'"),
        ("cnpf", {"nu": 2.5}, r"nu=2\.5 does nothing with kernel='linear'"),
        ("cnpf", {"kernel": "rbf", "nu": 2.5}, r"nu=2\.5 does nothing with kernel='rbf'"),
        ("cnpf", {"kernel": "groups", "length_scale": 2.0}, r"length_scale=2\.0 does nothing with kernel='groups'"),
        ("cnpf", {"kernel": "brownian", "n_frequencies": 3}, "n_frequencies=3 does nothing with kernel='brownian'"),
        ("cnpf", {"kernel": "rbf", "length_scale": 0.0}, "length_scale must be positive"),
        ("cnpf", {"kernel": "rbf", "n_frequencies": 2.5}, "n_frequencies must be a whole number"),
        ("cnpf", {"df": -1.0}, "df must be positive"),
        ("cnpf", {"df": 0.1}, r"must give rows that sum to 1e\+11 at most"),
        ("diln", {"row_total": 0.0}, "row_total must be positive"),
        ("ibp", {"hyper": PRIOR}, "hyper must be FeaturePriors for ibp; got Hyperparameters"),
        ("thinned", {"hyper": PRIOR}, "hyper must be Thinning for thinned; got Hyperparameters"),
        ("cnpf", {"hyper": of_thinned.PRIOR}, "hyper must be Hyperparameters for cnpf; got Thinning"),
    ],
)
def test_what_a_model_does_not_have_is_refused(model, options, message):
    with pytest.raises(ValueError, match=message):
        simulate_prior(model, **{"n_rows": 20, "n_columns": 4, "n_components": 3, **options})
