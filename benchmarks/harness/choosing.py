"""Every package at its best: settings are tried on validation rows of the training part, the best is scored once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cormorant.data import Counts

from .jobs import Job, Outcome, run_all
from .packages import Effort, Peer, Setting
from .scoring import perplexity
from .splits import Split

VALIDATION_ROWS = 500


@dataclass(frozen=True)
class Trial:
    """A setting of a package, with its chains."""

    peer: Peer
    setting: Setting
    chains: int
    chosen_for: tuple[str, ...] = ()  # fractions at which it did best on the validation rows

    def jobs(self, folder: Path) -> list[Job]:
        """A job a chain; the seeds are the chains' numbers."""
        return [Job(str(folder.resolve()), self.peer.name, self.setting, seed) for seed in range(1, self.chains + 1)]


@dataclass(frozen=True)
class Score:
    """A trial's outcome, its chains averaged; ``spread`` is the range of a repeated fit's perplexities."""

    trial: Trial
    outcome: Outcome
    perplexity: dict[str, float] = field(default_factory=dict)
    spread: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Runner:
    """Chains of a sampler (fewer to choose by), seeds of our models, processes at a time, seconds a fit may take."""

    effort: Effort
    chains: int = 10
    validation_chains: int = 3
    seeds: int = 3
    n_jobs: int = 1
    limit: int = 7200

    def score(self, trials: Sequence[Trial], folder: Path) -> list[Score]:
        """Run every chain of every trial on the split in ``folder`` and score the averages."""
        jobs = [trial.jobs(folder) for trial in trials]
        outcomes = iter(run_all([job for chains in jobs for job in chains], self.n_jobs, self.limit))
        tests = {fraction: pair[1] for fraction, pair in Split.read(folder).pairs.items()}
        scores = []
        for trial, chains in zip(trials, jobs, strict=True):
            judge = repeated if trial.peer.is_repeated else pooled
            scores.append(judge(trial, [next(outcomes) for _ in chains], tests))
        return scores

    def trials(self, peers: Sequence[Peer], chains: int) -> list[Trial]:
        """All settings of the packages; only samplers have chains."""
        return [Trial(p, setting, self._fits(p, chains)) for p in peers for setting in p.settings(self.effort)]

    def validate(self, peers: Sequence[Peer], folder: Path) -> list[Score]:
        """Scores of all settings on the validation rows; a package with one setting needs none."""
        with_choice = [peer for peer in peers if len(peer.settings(self.effort)) > 1]
        return self.score(self.trials(with_choice, self.validation_chains), folder)

    def finals(self, peers: Sequence[Peer], validated: Sequence[Score]) -> list[Trial]:
        """The settings to report: the best at each fraction observed, or the only one."""
        found: list[Trial] = []
        for peer in peers:
            chains = self._fits(peer, self.chains)
            settings = peer.settings(self.effort)
            if len(settings) == 1:
                found.append(Trial(peer, settings[0], chains, ("10%", "50%")))
                continue
            scores = [score for score in validated if score.trial.peer is peer]
            found.extend(Trial(peer, s.trial.setting, chains, fractions) for s, fractions in best(scores))
        return found

    def _fits(self, peer: Peer, chains: int) -> int:
        return chains if peer.is_sampler else self.seeds if peer.is_repeated else 1


def best(scores: Sequence[Score]) -> list[tuple[Score, tuple[str, ...]]]:
    """The scores that are lowest at some fraction, each with the fractions at which it is."""
    fractions = sorted({fraction for score in scores for fraction in score.perplexity})
    lowest = {f: min(scores, key=lambda score, f=f: score.perplexity.get(f, math.inf)) for f in fractions}
    unique = {id(score): score for score in lowest.values()}.values()
    return [(score, tuple(f for f in fractions if lowest[f] is score)) for score in unique]


def pooled(trial: Trial, chains: Sequence[Outcome], tests: Mapping[str, Counts]) -> Score:
    """Chains as one predictor: probabilities averaged, time added up, memory that of the largest."""
    failed = [outcome.failure for outcome in chains if outcome.failure]
    if failed:
        return Score(trial, Outcome({}, failure=failed[0]))
    mean = {f: np.mean([outcome.probabilities[f] for outcome in chains], axis=0) for f in tests}
    return Score(trial, cost(chains, len(chains)), {f: perplexity(p, tests[f]) for f, p in mean.items()})


def repeated(trial: Trial, fits: Sequence[Outcome], tests: Mapping[str, Counts]) -> Score:
    """Fits of several seeds, each a predictor of its own: the mean of their perplexities and of their time."""
    failed = [outcome.failure for outcome in fits if outcome.failure]
    if failed:
        return Score(trial, Outcome({}, failure=failed[0]))
    found = {f: [perplexity(outcome.probabilities[f], tests[f]) for outcome in fits] for f in tests}
    means = {f: float(np.mean(values)) for f, values in found.items()}
    return Score(trial, cost(fits, 1), means, {f: max(values) - min(values) for f, values in found.items()})


def cost(fits: Sequence[Outcome], times: int) -> Outcome:
    """What ``times`` fits of their mean time take; memory is that of the largest."""
    return Outcome(
        {},
        seconds=times * float(np.mean([fit.seconds for fit in fits])),
        wall=times * float(np.mean([fit.wall for fit in fits])),
        inference=times * float(np.mean([fit.inference for fit in fits])),
        megabytes=max(fit.megabytes for fit in fits),
    )
