"""Every package at its best: settings are tried on validation rows of the training part, the best is scored once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

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
    """A trial's outcome, its chains averaged."""

    trial: Trial
    outcome: Outcome
    perplexity: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Runner:
    """Chains of a sampler (fewer to choose by), processes at a time, processor seconds that a fit may take."""

    effort: Effort
    chains: int = 10
    validation_chains: int = 3
    n_jobs: int = 1
    limit: int = 7200

    def score(self, trials: Sequence[Trial], folder: Path) -> list[Score]:
        """Run every chain of every trial on the split in ``folder`` and score the averages."""
        jobs = [trial.jobs(folder) for trial in trials]
        outcomes = iter(run_all([job for chains in jobs for job in chains], self.n_jobs, self.limit))
        tests = {fraction: pair[1] for fraction, pair in Split.read(folder).pairs.items()}
        scores = []
        for trial, chains in zip(trials, jobs, strict=True):
            found = average([next(outcomes) for _ in chains])
            perplexities = {f: perplexity(p, tests[f]) for f, p in found.probabilities.items()}
            scores.append(Score(trial, found, perplexities))
        return scores

    def trials(self, peers: Sequence[Peer], chains: int) -> list[Trial]:
        """All settings of the packages; only samplers have chains."""
        return [Trial(p, setting, chains if p.is_sampler else 1) for p in peers for setting in p.settings(self.effort)]

    def validate(self, peers: Sequence[Peer], folder: Path) -> list[Score]:
        """Scores of all settings on the validation rows; a package with one setting needs none."""
        with_choice = [peer for peer in peers if len(peer.settings(self.effort)) > 1]
        return self.score(self.trials(with_choice, self.validation_chains), folder)

    def finals(self, peers: Sequence[Peer], validated: Sequence[Score]) -> list[Trial]:
        """The settings to report: the best at each fraction observed, or the only one."""
        found: list[Trial] = []
        for peer in peers:
            chains = self.chains if peer.is_sampler else 1
            settings = peer.settings(self.effort)
            if len(settings) == 1:
                found.append(Trial(peer, settings[0], chains, ("10%", "50%")))
                continue
            scores = [score for score in validated if score.trial.peer is peer]
            found.extend(Trial(peer, s.trial.setting, chains, fractions) for s, fractions in best(scores))
        return found


def best(scores: Sequence[Score]) -> list[tuple[Score, tuple[str, ...]]]:
    """The scores that are lowest at some fraction, each with the fractions at which it is."""
    fractions = sorted({fraction for score in scores for fraction in score.perplexity})
    lowest = {f: min(scores, key=lambda score, f=f: score.perplexity.get(f, math.inf)) for f in fractions}
    unique = {id(score): score for score in lowest.values()}.values()
    return [(score, tuple(f for f in fractions if lowest[f] is score)) for score in unique]


def average(outcomes: Sequence[Outcome]) -> Outcome:
    """Chains as one: predictive probabilities averaged, time added up, memory that of the largest."""
    failed = [outcome.failure for outcome in outcomes if outcome.failure]
    if failed:
        return Outcome({}, failure=failed[0])
    fractions = outcomes[0].probabilities
    return Outcome(
        {f: np.mean([outcome.probabilities[f] for outcome in outcomes], axis=0) for f in fractions},
        seconds=sum(outcome.seconds for outcome in outcomes),
        wall=sum(outcome.wall for outcome in outcomes),
        inference=sum(outcome.inference for outcome in outcomes),
        megabytes=max(outcome.megabytes for outcome in outcomes),
    )
