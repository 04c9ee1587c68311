"""Every package at its best: settings are tried on validation rows of the training part, the best is scored once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from cormorant.data import Counts

from .jobs import Job, Outcome, run_all
from .packages import Effort, Peer, Setting
from .scoring import logarithm, perplexity, row_sums
from .splits import Split

VALIDATION_ROWS = 500
Chosen = list[tuple[Setting, tuple[str, ...]]]  # settings, each with the fractions at which it did best


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
    """A trial's outcome, its chains averaged.

    Attributes:
        trial: What was run.
        outcome: What it cost, or why it failed.
        perplexity: By the fraction observed.
        spread: The range of a repeated fit's perplexities.
        by_row: Log probability of the test counts of each held-out row, the mean of repeated fits.
        behind: By how many percent our model's perplexity is lower, and the standard error of that for these fits.
    """

    trial: Trial
    outcome: Outcome
    perplexity: dict[str, float] = field(default_factory=dict)
    spread: dict[str, float] = field(default_factory=dict)
    by_row: dict[str, np.ndarray] = field(default_factory=dict)
    behind: dict[str, tuple[float, float]] = field(default_factory=dict)


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

        def chosen(peer: Peer) -> Chosen:
            settings = peer.settings(self.effort)
            if len(settings) == 1:
                return [(settings[0], ("10%", "50%"))]
            scores = [score for score in validated if score.trial.peer is peer]
            return [(score.trial.setting, fractions) for score, fractions in best(scores)]

        return self.as_chosen({peer: chosen(peer) for peer in peers})

    def as_chosen(self, settings: Mapping[Peer, Chosen]) -> list[Trial]:
        """These settings with all their chains, or seeds."""
        return [Trial(p, s, self._fits(p, self.chains), fractions) for p in settings for s, fractions in settings[p]]

    def beside(self, ours: Peer, scores: Sequence[Score], folder: Path) -> list[Score]:
        """The scores, told how far behind our model they are, if it is among them or its fits are kept."""
        reference = next((score for score in scores if score.trial.peer is ours), None)
        if reference is None:
            [trial] = self.finals([ours], [])
            if not all(job.file.is_file() for job in trial.jobs(folder)):
                return list(scores)
            [reference] = self.score([trial], folder)
        tests = {fraction: pair[1] for fraction, pair in Split.read(folder).pairs.items()}
        return [score if score.trial.peer is ours else behind(score, reference, tests) for score in scores]

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
    by_row = {f: row_sums(logarithm(p), tests[f]) for f, p in mean.items()}
    found = {f: perplexity(p, tests[f]) for f, p in mean.items()}
    return Score(trial, cost(chains, len(chains)), found, by_row=by_row)


def repeated(trial: Trial, fits: Sequence[Outcome], tests: Mapping[str, Counts]) -> Score:
    """Fits of several seeds, each a predictor of its own: the mean of their perplexities and of their time."""
    failed = [outcome.failure for outcome in fits if outcome.failure]
    if failed:
        return Score(trial, Outcome({}, failure=failed[0]))
    found = {f: [perplexity(outcome.probabilities[f], tests[f]) for outcome in fits] for f in tests}
    means = {f: float(np.mean(values)) for f, values in found.items()}
    spread = {f: max(values) - min(values) for f, values in found.items()}
    logs = {f: np.mean([logarithm(outcome.probabilities[f]) for outcome in fits], axis=0) for f in tests}
    by_row = {f: row_sums(log, tests[f]) for f, log in logs.items()}
    return Score(trial, cost(fits, 1), means, spread, by_row)


def behind(score: Score, ours: Score, tests: Mapping[str, Counts]) -> Score:
    """The score, told how many percent lower our perplexity is, with the standard error of that on other rows.

    Some rows are hard for every model: so it is that of the ratio, from differences by rows. How far fits by other
    seeds are apart is not in it.
    """
    found = {}
    for fraction in score.by_row.keys() & ours.by_row.keys():
        totals, gain = tests[fraction].row_totals(), ours.by_row[fraction] - score.by_row[fraction]
        if not np.isfinite(gain).all():  # a model rules out what is there
            continue
        mean = gain.sum() / totals.sum()
        error = np.sqrt(np.sum((gain - mean * totals) ** 2)) / totals.sum()
        ratio = np.exp(-mean)
        found[fraction] = (100.0 * float(1.0 - ratio), 100.0 * float(ratio * error))
    return replace(score, behind=found)


def cost(fits: Sequence[Outcome], times: int) -> Outcome:
    """What ``times`` fits of their mean time take; memory is that of the largest."""
    return Outcome(
        {},
        seconds=times * float(np.mean([fit.seconds for fit in fits])),
        wall=times * float(np.mean([fit.wall for fit in fits])),
        inference=times * float(np.mean([fit.inference for fit in fits])),
        megabytes=max(fit.megabytes for fit in fits),
    )
