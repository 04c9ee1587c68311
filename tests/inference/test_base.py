"""The base measure, a column's a0 beside the others': learned by every scheme that learns a0, and carried along."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats
from scipy.special import digamma, gammaln

from cormorant import CNPF, DILN, load
from cormorant.backends.cpu import CpuBackend
from cormorant.data import as_counts
from cormorant.inference import draws
from cormorant.inference.atoms import learn_prior
from cormorant.inference.globals import BASE_PRIOR
from cormorant.inference.samples import Sample, summarise
from cormorant.inference.start import merge_components, with_unused
from cormorant.inference.state import Globals, Statistics
from cormorant.models.cnpf import MODELS, Hyperparameters
from cormorant.models.kernels import Linear

pytestmark = pytest.mark.filterwarnings("ignore:all 12 components")

HYPER = Hyperparameters(0.3, 1.0, 0.2, 1.5)


def globals_of(counts, **more):
    """Atoms that were learned from these counts, columns x components."""
    n_components = counts.shape[1]
    g = Globals(
        counts, np.ones(n_components), np.ones(n_components), np.zeros((n_components, 2)), 1.0, 1.0, HYPER, **more
    )
    return replace(g, atom_shape=counts + g.prior_shape)


def statistics(counts, exposure):
    """Sums over rows of which only the atoms' matter."""
    nothing = np.zeros(0)
    return Statistics(1.0, counts, nothing, nothing, exposure, nothing, nothing, nothing, 0.0)


def learned(counts, exposure, normalised, steps=300):
    """Where the steps of structured inference end."""
    g = globals_of(counts)
    for _ in range(steps):
        g = replace(g, atom_shape=counts + g.prior_shape)
        g = learn_prior(g, statistics(counts, exposure), normalised, zero_order=True)
    return g


@pytest.mark.parametrize("normalised", [False, True])
def test_its_steps_end_at_a_mode(normalised):
    """Of the likelihood of the counts, the atoms summed out, and its Dirichlet prior, in log a0_i for one sum of them.

    Counts are zero or many, so that expected ones are sure.
    """
    rng = np.random.default_rng(0)
    counts = 50.0 * rng.poisson(3.0 * rng.dirichlet(np.full(9, 0.5), 4).T)
    exposure = np.array([100.0, 300.0, 700.0, 900.0])
    a = learned(counts, exposure, normalised).prior_shape
    tables, total = (a * (digamma(a + counts) - digamma(a))).sum(axis=1), a.sum()
    slope = (BASE_PRIOR + tables) / a[:, 0]
    assert_allclose(slope, slope[0], rtol=1e-4)  # what the sum of all holds back is one number
    held = np.log1p(exposure / HYPER.b0) if not normalised else digamma(total + counts.sum(axis=0)) - digamma(total)
    assert tables.sum() == pytest.approx(total * held.sum(), rel=1e-3)


@pytest.mark.parametrize("normalised", [False, True])
def test_what_drew_the_atoms_is_found(normalised):
    rng = np.random.default_rng(1)
    truth = rng.gamma(1.0, 0.2, 60)
    atoms = rng.gamma(truth[:, None], size=(60, 400))
    if normalised:
        atoms *= 2 / atoms.sum(axis=0)
    g = learned(rng.poisson(300 * atoms).astype(float), np.full(400, 300.0), normalised, steps=100)
    assert g.base.mean() == pytest.approx(1.0)
    assert np.corrcoef(g.prior_shape[:, 0], truth)[0, 1] > 0.98
    assert g.hyper.a0 == pytest.approx(truth.mean(), rel=0.1)


def test_draws_of_it_follow_the_posterior():
    """Of two columns on a grid, against the chain of tables and shares; a0 is held."""
    counts, a0, rng, found = np.array([[9, 4], [0, 1]]), 0.7, np.random.default_rng(2), []
    sampling, base = CpuBackend().sampling, np.ones(2)
    for _ in range(12_000):
        tables = sampling.tables(np.ascontiguousarray(counts.T), a0 * base, int(rng.integers(1 << 62))).sum(axis=0)
        base = draws.draw_base(tables, rng)
        found.append(base[0] / 2)
    grid = np.linspace(1e-5, 1 - 1e-5, 20_000)
    each = 2 * a0 * np.array([grid, 1 - grid])[:, None]
    log_p = (gammaln(each + counts[..., None]) - gammaln(each)).sum(axis=(0, 1))
    log_p += stats.beta.logpdf(grid, BASE_PRIOR, BASE_PRIOR)
    cdf = np.cumsum(np.exp(log_p - log_p.max()))
    assert stats.kstest(found[::6], lambda x: np.interp(x, grid, cdf / cdf[-1])).pvalue > 1e-3


def test_components_are_merged_with_it():
    g = globals_of(
        np.random.default_rng(3).poisson(5.0, (6, 7)).astype(float), base=np.array([0.1, 0.2, 0.3, 0.4, 1, 4])
    )
    merged = merge_components(MODELS["cnpf"], g, 3)
    assert merged.held_counts.sum() == pytest.approx(g.held_counts.sum())
    assert_allclose((merged.atom_shape - merged.prior_shape).sum(axis=1), (g.atom_shape - g.prior_shape).sum(axis=1))


def test_samples_and_what_is_filled_up_carry_it():
    base = np.array([0.2, 0.5, 2.3])
    counts = np.array([[3.0, 0.0], [0.0, 1.0], [7.0, 2.0]])
    g = globals_of(counts, base=base)
    assert_allclose(g.held_counts, counts.sum(axis=0))
    assert_allclose(Sample.of(g).globals.atom_shape, g.atom_shape)
    assert_allclose(Sample.of(g).atom_mean, g.atom_mean)
    for model in (MODELS["cnpf"], MODELS["diln"]):
        assert_allclose(with_unused(model, g, 3).atom_shape[:, 2], HYPER.a0 * base)
    assert_allclose(with_unused(MODELS["diln"], g, 3).atom_mean[:, 2], base / 3)
    assert_allclose(Sample.of(g).with_unused(MODELS["cnpf"], 3).only(np.arange(2)).atom_mean, g.atom_mean)
    mean = summarise([Sample.of(g), Sample.of(globals_of(counts))], Linear())  # the other chain had not begun
    assert_allclose(mean.prior_shape[:, 0], HYPER.a0 * (base + 1) / 2)
    assert_allclose(mean.held_counts, counts.sum(axis=0))
    assert len(summarise([Sample.of(globals_of(counts))], Linear()).base) == 0


@pytest.fixture(scope="module")
def uneven():
    """Four kinds of rows with ten columns each; after these, five columns of all, each half as common."""
    rng, kind = np.random.default_rng(1), np.repeat(np.arange(4), 75)
    own = rng.poisson(4.0 * np.kron(np.eye(4), np.ones((1, 10)))[kind])
    return as_counts(np.hstack([own, rng.poisson(0.5, (300, 5))]))


@pytest.mark.parametrize("options", [{"inference": "structured"}, {"inference": "gibbs", "n_sweeps": 30}])
@pytest.mark.parametrize("estimator", [CNPF, DILN])
def test_columns_of_every_component_have_more_of_it(uneven, tmp_path, estimator, options):
    model = estimator(n_components=12, random_state=0, **options).fit(uneven)
    base = model._globals.base
    assert base[40:].min() > np.median(base[:40])
    again = load(model.save(tmp_path / "model"))
    assert_allclose(again._globals.base, base)
    assert again.perplexity(uneven) == model.perplexity(uneven)


def test_it_is_flat_where_a0_is_given_or_entries_are_missing(uneven):
    missing = sparse.csr_array(([1], ([0], [0])), shape=uneven.shape)
    for mask, options in (
        (None, {"a0": 0.2}),
        (None, {"allocation": "digamma"}),
        (None, {"inference": "mean-field"}),
        (missing, {}),
        (missing, {"inference": "gibbs", "n_sweeps": 4}),
    ):
        options = {"inference": "structured", "max_epochs": 3} | options
        model = CNPF(n_components=12, random_state=0, **options).fit(uneven, mask=mask)
        assert len(model._globals.base) == 0, options
    masked = DILN(n_components=12, random_state=0, inference="structured", max_epochs=3).fit(uneven, mask=missing)
    assert len(masked._globals.base) == uneven.n_columns  # Dirichlet atoms make up for what was not looked at


def test_going_on_keeps_it_unless_a0_is_given(uneven):
    model = CNPF(n_components=12, random_state=0, inference="structured", max_epochs=3, warm_start=True).fit(uneven)
    begun = model._resumed(*uneven.shape[::-1]).globals.base
    assert_allclose(begun, model._globals.base)
    assert len(begun) == uneven.n_columns
    assert len(model.set_params(allocation="digamma").fit(uneven)._globals.base) == 0
    for given in ({"a0": 0.2}, {"allocation": "digamma"}):
        model = CNPF(n_components=12, random_state=0, inference="structured", max_epochs=3, warm_start=True).fit(uneven)
        assert len(model.set_params(**given)._resumed(*uneven.shape[::-1]).globals.base) == 0, given
