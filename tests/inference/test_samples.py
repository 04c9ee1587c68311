"""Samples kept small, chains matched, summaries that rotations leave alone; diagnostics against known chains."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cormorant.inference.diagnostics import effective_sample_size, split_rhat
from cormorant.inference.samples import Collector, Sample, align, in_use, summarise
from cormorant.inference.start import merge_components, starts_to_try, with_unused
from cormorant.inference.state import Globals
from cormorant.models.cnpf import MODELS, Hyperparameters
from cormorant.models.kernels import Linear


def draw(seed, n_columns=8, n_components=5, n_dims=2):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(2.0, (n_columns, n_components)) * (rng.random((n_columns, n_components)) < 0.5)
    hyper = Hyperparameters(0.3, 1.0, 0.2, 1.5)
    return Globals(
        0.3 + counts, rng.gamma(5.0, size=n_components), rng.gamma(1.0, size=n_components),
        rng.normal(size=(n_components, n_dims)), 1.3, 0.7, hyper,
    )  # fmt: skip


def test_a_sample_gives_back_its_globals():
    g = draw(0)
    back = Sample.of(g).globals
    for name in ("atom_shape", "atom_rate", "weights", "locations"):
        assert_allclose(getattr(back, name), getattr(g, name), rtol=1e-15)


def test_chains_are_matched_whatever_their_labels():
    g, order = draw(1, n_columns=30), np.array([3, 0, 4, 1, 2])
    shuffled = Sample.of(g).reorder(order)
    [aligned] = align([shuffled], g.atom_mean)
    assert_array_equal(aligned.rest.weights, g.weights)
    assert_allclose(aligned.globals.atom_shape, g.atom_shape)


def test_rotations_do_not_blur_the_summary():
    """The mean of the same locations in several rotations has the products of each."""
    g = draw(2)
    turned = []
    for angle in (0.0, 1.0, 2.5):
        rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        turned.append(Sample.of(replace(g, locations=g.locations @ rotation)))
    found = summarise(turned, Linear())
    assert_allclose(found.locations @ found.locations.T, g.locations @ g.locations.T, atol=1e-12)
    assert_allclose(found.atom_mean, g.atom_mean)


def test_a_collector_keeps_evenly_after_the_burn_in():
    collector = Collector(n_sweeps=30, n_samples=4)
    assert sorted(collector.sweeps) == [15, 20, 25, 30]
    assert sorted(Collector(n_sweeps=3, n_samples=10).sweeps) == [2, 3]


def test_effective_sample_size_and_rhat():
    rng = np.random.default_rng(3)
    independent = rng.normal(size=(4, 1000))
    assert effective_sample_size(independent) == pytest.approx(4000, rel=0.15)
    assert split_rhat(independent) == pytest.approx(1.0, abs=0.01)
    slow = np.zeros((4, 4000))
    for t in range(1, 4000):
        slow[:, t] = 0.8 * slow[:, t - 1] + rng.normal(size=4)
    # An autoregression of order one: n (1 - phi) / (1 + phi).
    assert effective_sample_size(slow) == pytest.approx(16_000 / 9, rel=0.15)
    assert np.isnan(split_rhat(np.ones((2, 1))))
    assert np.isnan(effective_sample_size(np.ones((2, 1))))
    apart = independent + np.arange(4)[:, None]
    assert split_rhat(apart) > 1.3
    drifting = independent + np.linspace(0.0, 6.0, 1000)
    assert split_rhat(drifting) > 1.3


def test_unused_components_hold_nothing():
    g = with_unused(MODELS["cnpf"], draw(4), 9)
    assert g.atom_shape.shape == (8, 9)
    assert_array_equal(g.atom_shape[:, 5:], 0.3)
    assert (g.weights[5:] < 1e-9).all()
    assert with_unused(MODELS["cnpf"], draw(4), 5).n_components == 5
    assert_allclose(with_unused(MODELS["hdp"], draw(4), 9).atom_mean[:, 5:], 1 / 8)  # the mean of a Dirichlet prior


def test_what_a_chain_was_filled_up_with_is_not_in_use():
    chain = [Sample.of(draw(seed, n_columns=30)) for seed in range(2)]
    filled = [sample.with_unused(MODELS["cnpf"], 9).reorder(np.arange(9)[::-1]) for sample in chain]
    assert_array_equal(in_use(chain), np.arange(5))
    assert_array_equal(in_use(filled), np.arange(4, 9))
    for sample in filled:
        few = sample.only(in_use(filled))
        assert_array_equal(few.atom_mean, sample.globals.atom_mean[:, 4:])
        assert_array_equal(few.globals.atom_shape, sample.globals.atom_shape[:, 4:])
        assert_array_equal(few.rest.weights, sample.rest.weights[4:])
        assert np.shares_memory(few.counts.data, sample.counts.data)  # most of what a sample takes


def test_twins_are_merged_and_the_idle_dropped():
    """Three components, each twice, and one that holds next to nothing."""
    rng = np.random.default_rng(5)
    true = rng.gamma(0.2, 50.0, (40, 3))
    shape = 0.3 + np.hstack([0.6 * true, 0.4 * true, 1e-3 * rng.random((40, 1))])
    g = Globals(shape, np.ones(7), np.full(7, 0.5), np.zeros((7, 2)), 1.0, 1.0, Hyperparameters(0.3, 1.0, 0.2, 1.5))
    merged = merge_components(MODELS["cnpf"], g, 3)
    order = np.argsort(merged.atom_shape.sum(axis=0))
    expected = 0.3 + true
    assert_allclose(merged.atom_shape[:, order], expected[:, np.argsort(expected.sum(axis=0))])
    assert_allclose(merged.weights, 1.0)
    assert_allclose(merge_components(MODELS["hdp"], g, 3).atom_mean.sum(axis=0), 1.0)


def test_ties_leave_no_component_empty():
    """Components that share no column are all equally far apart, and still as many groups come out as are wanted."""
    shape = 0.3 + np.kron(np.eye(15), np.full((4, 1), 50.0))
    hyper = Hyperparameters(0.3, 1.0, 0.2, 1.5)
    g = Globals(shape, np.full(15, 3.0), np.full(15, 0.5), np.zeros((15, 2)), 1.0, 1.0, hyper)
    merged = merge_components(MODELS["cnpf"], g, 5)
    assert ((merged.atom_shape - 0.3).sum(axis=0) >= 200.0 - 1e-9).all()
    assert_allclose(merged.atom_rate, 3.0)
    empty = merge_components(MODELS["cnpf"], replace(g, atom_shape=np.full_like(shape, 0.3)), 1)  # all-zero data
    assert empty.n_components == 1
    assert_allclose(empty.atom_shape, 0.3)


def test_a_sample_never_holds_less_than_nothing():
    """A chain that was interrupted at once has an a0 that is newer than the shapes."""
    g = draw(0)
    newer = replace(g, hyper=replace(g.hyper, a0=1.9))
    assert (Sample.of(newer).counts.toarray() >= 0.0).all()


def test_starts_follow_the_size_of_the_data():
    assert starts_to_try(10_000, 200) == [(0.5, 200), (0.0, 200), (0.5, 50), (0.0, 50)]
    assert starts_to_try(5_000, 30) == [(0.5, 30), (0.0, 30)]
    assert starts_to_try(500, 20) == [(0.5, 60), (0.5, 60)]
    assert starts_to_try(500, 80) == [(0.5, 240), (0.5, 240), (0.5, 20)]
