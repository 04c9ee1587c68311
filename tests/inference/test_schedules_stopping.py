"""Which rows a step visits, how far it moves, and when a fit ends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from cormorant.inference.schedules import Plan, RobbinsMonro
from cormorant.inference.stopping import Patience


class TestRobbinsMonro:
    def test_is_the_papers(self):
        schedule = RobbinsMonro(50.0, 0.9)
        assert schedule(0) == pytest.approx(51.0**-0.9)
        assert schedule(99) == pytest.approx(150.0**-0.9)

    @given(st.floats(0.0, 1e3), st.floats(0.501, 1.0))
    def test_falls_from_at_most_one(self, offset, decay):
        steps = np.array([RobbinsMonro(offset, decay)(t) for t in range(50)])
        assert steps[0] <= 1.0
        assert np.all(steps > 0)
        assert np.all(np.diff(steps) < 0)

    @pytest.mark.parametrize("decay", [0.5, 1.01, 0.0, float("nan")])
    def test_refuses_a_decay_that_does_not_converge(self, decay):
        with pytest.raises(ValueError, match="learning_decay"):
            RobbinsMonro(1.0, decay)

    @pytest.mark.parametrize("offset", [-1.0, float("nan")])
    def test_refuses_a_negative_offset(self, offset):
        with pytest.raises(ValueError, match="learning_offset"):
            RobbinsMonro(offset, 0.7)


class TestPlan:
    @given(st.integers(1, 40), st.integers(1, 50), st.integers(1, 50), st.integers(0, 5))
    def test_an_epoch_visits_every_row_once(self, n_rows, batch_size, block_size, seed):
        plan = Plan(n_rows, batch_size, block_size, None)
        steps = list(plan.epoch(np.random.default_rng(seed)))
        assert_array_equal(np.sort(np.concatenate([np.concatenate(blocks) for blocks in steps])), np.arange(n_rows))
        assert len(steps) == -(-n_rows // batch_size)
        assert all(0 < len(block) <= block_size for blocks in steps for block in blocks)
        assert all(sum(map(len, blocks)) <= batch_size for blocks in steps)

    def test_a_full_batch_goes_in_order_and_draws_nothing(self):
        rng = np.random.default_rng(0)
        before = rng.bit_generator.state
        (blocks,) = Plan(10, 10, 4, None).epoch(rng)
        assert_array_equal(np.concatenate(blocks), np.arange(10))
        assert rng.bit_generator.state == before

    def test_minibatches_are_shuffled_anew(self):
        plan, rng = Plan(100, 10, 10, None), np.random.default_rng(0)
        first, second = (np.concatenate([b[0] for b in plan.epoch(rng)]) for _ in range(2))
        assert not np.array_equal(first, second)
        again = np.concatenate([b[0] for b in plan.epoch(np.random.default_rng(0))])
        assert_array_equal(first, again)

    def test_steps_are_whole_without_a_schedule(self):
        assert Plan(10, 5, 5, None).rho(7) == 1.0
        assert Plan(10, 5, 5, RobbinsMonro(1.0, 0.7)).rho(2) == pytest.approx(4.0**-0.7)


class TestPatience:
    def test_waits_for_so_many_looks_in_a_row(self):
        patience = Patience("the perplexity", 0.01, 2, lower_is_better=True)
        assert patience.improved(100.0)
        assert not patience.improved(99.5)  # less than one per cent
        assert not patience.exhausted
        assert patience.improved(98.0)  # starts the wait again
        assert not patience.improved(98.0)
        assert not patience.improved(120.0)
        assert patience.exhausted
        assert patience.best == 98.0
        reason = patience.reason(6)
        for part in ("after 6 epochs", "the perplexity", "0.01", "2 checks", "98"):
            assert part in reason

    def test_small_gains_add_up(self):
        """Compared with the best, not with the last: steps below the tolerance that go on are progress."""
        patience = Patience("the bound", 0.01, 3, lower_is_better=False)
        values = [-100.0, -99.4, -98.8]
        assert [patience.improved(v) for v in values] == [True, False, True]

    def test_higher_is_better_for_the_bound(self):
        patience = Patience("the bound", 1e-3, 1, lower_is_better=False)
        assert patience.improved(-100.0)
        assert patience.improved(-90.0)
        assert not patience.improved(-95.0)
        assert patience.exhausted

    def test_no_number_is_no_improvement(self):
        patience = Patience("the perplexity", 0.0, 1, lower_is_better=True)
        patience.improved(10.0)
        assert not patience.improved(float("nan"))
        assert patience.exhausted
