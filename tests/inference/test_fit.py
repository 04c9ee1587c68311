"""The loop: when it ends and with what, whom it visits, what it remembers; stochastic steps arrive."""

import logging
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cormorant.data import as_counts
from cormorant.inference.fit import Outcome, Settings, race
from cormorant.inference.predictive import Validation
from cormorant.inference.rows import RowMemory, Rows
from cormorant.inference.schedules import Plan, RobbinsMonro
from cormorant.inference.state import Locals, State


class Scripted:
    """A validation whose perplexities are written down beforehand."""

    def __init__(self, values):
        self.values, self.seen = iter(values), []

    def perplexity(self, posterior):
        self.seen.append(posterior.globals)
        return next(self.values)


class Spy:
    """A scheme that notes the rows of every local step (by their exposures) and where they started."""

    def __init__(self, scheme):
        self.scheme, self.visits, self.starts = scheme, [], []

    def __getattr__(self, name):
        return getattr(self.scheme, name)

    def local_step(self, view, batch, start, want_bound=False):
        self.visits.append(np.round(batch.exposure * 1000).astype(int))
        self.starts.append(start)
        return self.scheme.local_step(view, batch, start, want_bound)


@pytest.fixture
def problem(make_problem):
    """Thirty rows whose exposures are nearly one, and all different."""
    return make_problem("cnpf", exposure=1.0 + np.arange(30) / 1000)


class TestEnd:
    @pytest.mark.parametrize("at", [1, 3])
    @pytest.mark.parametrize("watch", ["bound", "perplexity"])
    def test_interrupt_keeps_the_state_so_far(self, problem, at, watch):
        states = []

        def stop(info, state):
            states.append(state)
            if info.epoch == at:
                raise KeyboardInterrupt

        outcome = problem.run(10, watch=watch, callbacks=[stop])
        assert outcome.reason == f"interrupted after {at} epoch{'s' if at > 1 else ''}; the state so far is kept"
        assert [info.epoch for info in outcome.history] == list(range(1, at + 1))
        assert outcome.state is states[-1]
        assert outcome.state.n_steps == at

    def test_interrupt_in_the_middle_of_an_epoch(self, problem):
        """What the finished epochs led to is returned, even if that is where the fit began."""

        class Interrupted(Spy):
            def local_step(self, *arguments):
                if len(self.visits) == 7:
                    raise KeyboardInterrupt
                return super().local_step(*arguments)

        scheme = Interrupted(problem.scheme)
        outcome = replace(problem, scheme=scheme).run(10, Plan(30, 10, 10, None), watch="nothing")
        assert outcome.reason.startswith("interrupted after 2 epochs")
        assert outcome.state.n_steps == 6

    def test_interrupt_returns_the_best_by_perplexity(self, problem):
        def stop(info, state):
            if info.epoch == 4:
                raise KeyboardInterrupt

        outcome = problem.run(10, watch="perplexity", validation=Scripted([9.0, 5.0, 7.0, 8.0]), callbacks=[stop])
        assert outcome.state.n_steps == 2

    def test_best_state_by_perplexity_is_returned(self, problem):
        validation = Scripted([9.0, 5.0, 7.0, 6.0, 5.5, 5.0])
        outcome = problem.run(20, watch="perplexity", validation=validation, tol=1e-3, patience=3)
        assert outcome.state.n_steps == 2
        assert outcome.state.globals is validation.seen[1]
        assert outcome.best == 5.0
        assert [info.perplexity for info in outcome.history] == [9.0, 5.0, 7.0, 6.0, 5.5]
        assert outcome.reason == (
            "converged after 5 epochs: the perplexity of the validation rows has not improved "
            "by more than 0.001 (relative) for 3 checks; best 5"
        )

    def test_looks_only_now_and_then_and_at_the_end(self, problem):
        validation = Scripted([4.0, 3.0, 2.0])
        outcome = problem.run(7, watch="perplexity", validation=validation, check_every=3)
        assert [info.perplexity for info in outcome.history] == [None, None, 4.0, None, None, 3.0, 2.0]
        assert outcome.state.n_steps == 7

    def test_interrupt_between_two_looks_keeps_the_last_state(self, problem):
        """The bound only rises: the last state is the best, whether it was looked at or not."""

        def stop(info, state):
            if info.epoch == 5:
                raise KeyboardInterrupt

        assert problem.run(10, check_every=3, callbacks=[stop]).state.n_steps == 5

    def test_stops_by_the_bound(self, problem):
        outcome = problem.run(500, tol=1e-4, patience=2)
        bounds = [info.bound for info in outcome.history]
        assert outcome.reason.startswith(f"converged after {len(bounds)} epochs: the bound has not improved")
        assert len(bounds) < 500
        assert outcome.state.n_steps == len(bounds)

    def test_says_when_it_runs_out_of_epochs(self, problem, caplog):
        with caplog.at_level(logging.INFO, "cormorant"):
            outcome = problem.run(2)
        assert outcome.reason == "stopped at max_epochs = 2 before converging; raise max_epochs to go on"
        assert outcome.reason in caplog.text
        assert outcome.best == np.inf  # no perplexity was looked at

    def test_no_epochs_change_nothing(self, problem):
        outcome = problem.run(0)
        assert outcome.state is problem.start
        assert outcome.history == ()

    @pytest.mark.parametrize("watch", ["nothing", "bound"])
    def test_goes_on_where_it_stopped(self, problem, watch):
        """Two parts, the second resuming the first, are one fit."""
        whole = problem.run(6, watch=watch)
        first = problem.run(3, watch=watch)
        second = replace(problem, start=first.state).run(6, watch=watch, resume=first)
        assert [info.epoch for info in second.history] == [1, 2, 3, 4, 5, 6]
        assert np.all(np.diff([info.seconds for info in second.history]) > 0)
        for name in ("atom_shape", "weights", "locations"):
            assert_array_equal(getattr(whole.state.globals, name), getattr(second.state.globals, name))

    def test_a_resumed_fit_has_to_beat_what_it_resumes(self, problem):
        first = problem.run(2, watch="perplexity", validation=Scripted([9.0, 5.0]))
        resumed = replace(problem, start=first.state)
        worse = resumed.run(4, watch="perplexity", validation=Scripted([6.0, 7.0]), resume=first)
        assert worse.state is first.state
        better = resumed.run(4, watch="perplexity", validation=Scripted([6.0, 4.0]), resume=first)
        assert better.state.n_steps == 4
        assert (worse.best, better.best) == (5.0, 4.0)

    def test_callbacks_see_every_epoch(self, problem):
        seen = []
        outcome = problem.run(3, callbacks=[lambda info, state: seen.append((info, state.n_steps))])
        assert [info for info, _ in seen] == list(outcome.history)
        assert [steps for _, steps in seen] == [1, 2, 3]
        assert all(info.max_epochs == 3 and info.n_components == 4 and info.rho == 1.0 for info, _ in seen)
        assert np.all(np.diff([info.seconds for info, _ in seen]) > 0)


class TestRace:
    """Several starts: each runs for two looks, the best goes on."""

    @staticmethod
    def race(problem, perplexities, max_epochs=6, n_starts=3, callbacks=()):
        limits = Settings(max_epochs, 0.0, 100, "perplexity")
        starts = [replace(problem.start, n_steps=1000 * i) for i in range(n_starts)]
        plan, rng = Plan(30, 30, 30, None), np.random.default_rng(0)
        scripted = Scripted(perplexities)
        return race(problem.scheme, starts, problem.rows, plan, limits, rng, scripted, callbacks)

    def test_the_best_start_goes_on(self, problem):
        outcome = self.race(problem, [9.0, 8.0, 9.0, 6.0, 9.0, 7.0, 5.0, 4.0, 3.0, 2.0])
        assert outcome.state.n_steps == 1006
        assert [info.perplexity for info in outcome.history] == [9.0, 6.0, 5.0, 4.0, 3.0, 2.0]
        assert [info.stage for info in outcome.history] == ["start 2 of 3"] * 2 + ["fit"] * 4
        assert not outcome.interrupted

    def test_fewer_epochs_than_a_heat(self, problem):
        outcome = self.race(problem, [9.0, 8.0, 4.0, 5.0, 6.0, 7.0], max_epochs=2)
        assert outcome.state.n_steps == 1001  # the better of its two states
        assert outcome.reason.startswith("stopped at max_epochs = 2")

    def test_a_start_that_is_far_behind_is_looked_at_once(self, problem):
        outcome = self.race(problem, [9.0, 8.0, 9.95, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0], n_starts=3)
        # The second start's 9.95 is more than a tenth above 9.0: its one look is followed by the third start's two.
        assert [info.perplexity for info in outcome.history] == [9.0, 7.0, 6.0, 5.0, 4.0, 3.0]
        assert outcome.start == 2

    @pytest.mark.parametrize(("smaller", "chosen"), [(7.3, 0), (7.1, 1)])
    def test_fewer_components_have_to_be_clearly_better(self, make_problem, smaller, chosen):
        problem = make_problem("cnpf")
        g = problem.globals
        few = replace(
            g,
            atom_shape=g.atom_shape[:, :3],
            atom_rate=g.atom_rate[:3],
            weights=g.weights[:3],
            locations=g.locations[:3],
        )
        starts = [problem.start, State(few)]
        plan, limits = Plan(30, 30, 30, None), Settings(2, 0.0, 100, "perplexity")
        looks = Scripted([9.0, 8.0, 9.0, smaller])
        outcome = race(problem.scheme, starts, problem.rows, plan, limits, np.random.default_rng(0), looks)
        assert outcome.start == chosen

    def test_interrupt_in_a_heat_keeps_the_best_so_far(self, problem):
        calls = []

        def stop(info, state):
            calls.append(info)
            if len(calls) == 3:
                raise KeyboardInterrupt

        outcome = self.race(problem, [9.0, 6.0, 8.0], callbacks=[stop])
        assert outcome.interrupted
        assert outcome.reason.startswith("interrupted")
        assert outcome.state.n_steps == 2


class TestVisits:
    @pytest.mark.parametrize(("batch_size", "block_size"), [(30, 30), (30, 8), (7, 7), (7, 3)])
    def test_every_row_once_an_epoch(self, problem, batch_size, block_size):
        spy = Spy(problem.scheme)
        plan = Plan(30, batch_size, block_size, RobbinsMonro(5.0, 0.7))
        outcome = replace(problem, scheme=spy).run(3, plan, watch="nothing")
        visits = np.concatenate(spy.visits)
        for epoch in range(3):
            assert_array_equal(np.sort(visits[30 * epoch : 30 * (epoch + 1)]), 1000 + np.arange(30))
        steps = -(-30 // batch_size)
        assert outcome.state.n_steps == 3 * steps
        assert outcome.history[-1].rho == plan.rho(3 * steps - 1)

    def test_first_visits_are_cold_and_later_ones_warm(self, problem):
        spy = Spy(problem.scheme)
        replace(problem, scheme=spy).run(2, Plan(30, 10, 10, None), watch="nothing")
        assert [start is None for start in spy.starts] == [True] * 3 + [False] * 3

    def test_statistics_of_a_minibatch_stand_for_all_rows(self, problem):
        outcome = problem.run(1, Plan(30, 10, 10, RobbinsMonro(1.0, 0.7)), watch="nothing")
        memory = outcome.state.memory
        assert memory.n_rows == pytest.approx(30.0)

    def test_same_seed_same_fit(self, problem):
        plan = Plan(30, 8, 8, RobbinsMonro(5.0, 0.7))
        one, two = (problem.run(2, plan, watch="nothing", seed=3).state.globals for _ in range(2))
        other = problem.run(2, plan, watch="nothing", seed=4).state.globals
        assert_array_equal(one.atom_shape, two.atom_shape)
        assert not np.array_equal(one.atom_shape, other.atom_shape)


class TestRowMemory:
    @staticmethod
    def draw(n, rng):
        return Locals(rng.random((n, 3)), rng.random((n, 2)), rng.random((n, 2, 2)))

    def test_gives_back_what_it_was_given(self):
        rng, memory = np.random.default_rng(0), RowMemory(10)
        assert memory.get(np.array([1])) is None
        index = np.array([7, 2, 5])
        ended = self.draw(3, rng)
        memory.put(index, ended)
        back = memory.get(np.array([5, 7]))
        assert_array_equal(back.n, ended.n[[2, 0]])
        assert_array_equal(back.covariance, ended.covariance[[2, 0]])
        assert memory.get(np.array([5, 6])) is None  # row 6 has not been visited

    def test_limit_counts_the_bytes_of_all_rows(self):
        rng, index = np.random.default_rng(0), np.arange(3)
        size = 10 * (3 + 2 + 4) * 8
        for limit, kept in ((size, True), (size - 1, False)):
            memory = RowMemory(10, limit)
            memory.put(index, self.draw(3, rng))
            assert (memory.get(index) is not None) == kept

    def test_over_its_limit_every_visit_is_cold(self, problem):
        spy = Spy(problem.scheme)
        nowhere = Outcome(problem.start, (), "", RowMemory(30, limit=100))
        outcome = replace(problem, scheme=spy).run(4, watch="nothing", resume=nowhere)
        assert spy.starts == [None] * 4
        state, batch = problem.start, problem.batch()
        for _ in range(4):
            _, statistics = problem.scheme.local_step(problem.scheme.view(state.globals), batch, None)
            state = problem.scheme.global_step(state, statistics, 1.0)
        assert_allclose(outcome.state.globals.atom_shape, state.globals.atom_shape, rtol=1e-10)


class TestStochastic:
    @pytest.mark.parametrize("model", ["cnpf", "hgp"])
    def test_predicts_as_well_as_batch(self, make_problem, model):
        """Planted components: validation perplexities of the two within 3%, both well below the unigram's."""
        rng = np.random.default_rng(0)
        atoms = rng.dirichlet(np.full(300, 0.1), 5).T
        y = rng.poisson(rng.gamma(0.4, 12.0, (500, 5)) @ atoms.T)
        train, held = y[:400], Rows(as_counts(y[400:]))
        problem = make_problem(model, 1, y=train, n_components=8, allocation="zero-order", n_dims=3)
        validation = Validation.split(held, train.sum(axis=0) > 0, np.random.default_rng(1))
        batch = problem.run(40, watch="perplexity", validation=validation)
        plan = Plan(400, 80, 80, RobbinsMonro(5.0, 0.7))
        stochastic = problem.run(20, plan, watch="perplexity", validation=validation)
        share = (train.sum(axis=0) + 0.5) / (train.sum(axis=0) + 0.5).sum()
        splits = validation.splits
        unigram = np.exp(-np.mean([test.data @ np.log(share[test.indices]) / test.total for _, test in splits]))
        assert stochastic.best == pytest.approx(batch.best, rel=0.03)
        assert batch.best < 0.9 * unigram
