"""Which chains a fit is made of: as many components as there may be, fewer, or both; none where sampling does not help.

Two chains of each size that is worth it tell, on the rows kept aside, what the mean of all chains will come to. A race
between structured starts cannot: one fit with few components may be ahead of one with many, and the mean of several the
other way round, since what fits with many components get wrong differs from fit to fit. And where rows have counts that
vary more than Poisson counts do (cells and their genes), chains may predict worse than the fits that they start from;
then several of those are averaged.

The first two chains of each size leave the rows kept aside out; the others, by which nothing is chosen, do not.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cormorant._words import counted
from cormorant.data import Counts
from cormorant.estimators.chains import Run, forgetful
from cormorant.inference.fit import Outcome
from cormorant.inference.gibbs import Gibbs
from cormorant.inference.predictive import SampledPosterior, Validation, entry_probabilities, mean_log

logger = logging.getLogger("cormorant")
Predicted = list[list[np.ndarray]]  # of each split, by each chain: probabilities of the entries to predict
PILOTS = 2  # chains of each size that the choice is made by
MOST_OF_A_GAIN = 0.99  # of the square of what m chains can gain at most: there their variance would be infinite
CLOSE = 0.95  # of a start's perplexity: where chains promise no less, the structured fit goes on to its end beside them
MOST_FITS = 4  # structured fits that are averaged, where they are kept
WORTH_TWICE = 0.985  # of the promised perplexity: where twice as many chains promise less, there are as many


@dataclass(frozen=True)
class Contender:
    """One number of components: what the first chain starts from, and how to run some of so many chains, by number.

    ``fit`` takes a start to the end of a structured fit, the first (0) or one of its own, of which there may be
    ``n_fits``; None: chains are asked for.
    """

    first: Outcome
    run: Callable[[Sequence[int], int], list[Run]]
    fit: Callable[[int], Outcome] | None = None
    n_fits: int = MOST_FITS


@dataclass(frozen=True)
class Choice:
    """The chains, and what the first of them starts from; or none, and the structured fits that are better."""

    first: Outcome
    runs: list[Run] = field(default_factory=list)
    interrupted: bool = False
    others: list[Outcome] = field(default_factory=list)  # structured fits beside the first


def worth_trying(firsts: Sequence[Outcome]) -> list[int]:
    """Which of the starts, the one with most components first, have chains to follow.

    Averaging does more for many components than for few, so fewer whose start is not even ahead stay behind.
    """
    return [i for i, first in enumerate(firsts) if i == 0 or first.best < firsts[0].best]


def choose(
    contenders: Sequence[Contender],
    gibbs: Gibbs,
    validation: Validation | None,
    n_chains: int,
    most_chains: int,
) -> Choice:
    """Run a few chains of each contender, and then all of the one that promises most, or of both together.

    They are ``n_chains``, or ``most_chains`` where those promise enough more.
    """
    first, few = contenders[0], range(min(PILOTS, n_chains))
    is_settled = len(contenders) == 1 and first.fit is None and most_chains == n_chains
    if validation is None or is_settled:  # there is nothing to choose, or by
        return Choice(first.first, first.run(range(n_chains), n_chains))
    pilots: list[list[Run]] = []
    predicted: list[Predicted] = []
    allotted = None
    try:
        for contender in contenders:
            pilots.append(contender.run(few, n_chains))
            if not _are_whole(pilots[-1], len(few)):
                break
            predicted.append(predict(validation, gibbs, pilots[-1]))
        else:
            allotted = best_allotment(validation, predicted, n_chains, most_chains)
    except KeyboardInterrupt:
        pass
    if allotted is None:  # interrupted: the first chains are kept
        return Choice(first.first, pilots[0] if pilots else [], interrupted=True)
    runs = [run for i, share in allotted.shares.items() for run in pilots[i][:share]]
    begun = Choice(contenders[min(allotted.shares)].first, runs)
    ahead = min(contenders, key=lambda contender: contender.first.best)
    if ahead.fit is not None and allotted.promised >= CLOSE * ahead.first.best:
        end = _or_nothing(ahead.fit, 0)
        if end is None or end.interrupted:
            return replace(begun, interrupted=True)
        if end.best <= allotted.promised:
            logger.info(
                "a structured fit predicts as well as chains promise to, and is kept; for samples give n_chains"
            )
            return averaged(end, ahead.fit, min(ahead.n_fits, n_chains))
    for i, share in allotted.in_the_end.items():
        rest = range(len(few), share)
        more = contenders[i].run(rest, sum(allotted.in_the_end.values()))
        begun = replace(begun, runs=begun.runs + more)
        if not _are_whole(more, len(rest)):
            return replace(begun, interrupted=True)
    return begun


@dataclass(frozen=True)
class Allotment:
    """How many chains of each size promise most, what they promise, and how many there are to be ``in_the_end``."""

    shares: Mapping[int, int]
    promised: float
    in_the_end: Mapping[int, int]


def best_allotment(
    validation: Validation, predicted: Sequence[Predicted], n_chains: int, most_chains: int
) -> Allotment:
    """All chains of one size, or half of each; ``most_chains`` in the end where these promise enough more."""
    options = [{i: n_chains} for i in range(len(predicted))]
    if len(predicted) > 1 and n_chains > 1:
        options.append({0: n_chains - n_chains // 2, 1: n_chains // 2})
    promised = [forecast(validation, predicted, shares) for shares in options]
    best = int(np.argmin(promised))
    shares = options[best]
    more = {i: share * most_chains // n_chains for i, share in shares.items()}
    is_worth_it = forecast(validation, predicted, more) < WORTH_TWICE * promised[best]
    return Allotment(shares, promised[best], more if is_worth_it else shares)


def averaged(first: Outcome, fit: Callable[[int], Outcome], n_fits: int) -> Choice:
    """The first structured fit and others beside it: their mean predicts better than they do on average."""
    others: list[Outcome] = []
    for number in range(1, n_fits):
        other = _or_nothing(fit, number)
        if other is None or other.interrupted:
            kept = f"interrupted in fit {number + 1} of {n_fits}; kept: {counted(number, 'fit')}"
            return Choice(replace(first, interrupted=True, reason=kept), others=others, interrupted=True)
        others.append(forgetful(other))
    if others:
        first = replace(first, reason=f"{first.reason}; predictions are the mean of {n_fits} fits")
    return Choice(first, others=others)


def _or_nothing(fit: Callable[[int], Outcome], number: int) -> Outcome | None:
    """A fit; None where an interrupt came between two stages of it."""
    try:
        return fit(number)
    except KeyboardInterrupt:
        return None


def _are_whole(runs: Sequence[Run], wanted: int) -> bool:
    return len(runs) == wanted and all(run.end is not None and not run.end.interrupted for run in runs)


def predict(validation: Validation, gibbs: Gibbs, runs: Sequence[Run]) -> Predicted:
    """What each of some chains predicts of the rows kept aside."""
    posteriors = [SampledPosterior(gibbs, [run.collector.samples]) for run in runs if run.collector]
    return [[entry_probabilities(p, seen, test) for p in posteriors] for seen, test in validation.splits]


def forecast(validation: Validation, predicted: Sequence[Predicted], shares: Mapping[int, int]) -> float:
    """Perplexity of the rows kept aside by the mean of more chains, so many (``shares``) of each size, by a few.

    What a chain of size i gives an entry scatters about its mean like a lognormal variable, of relative variance r_i.
    Then the mean of m_i chains of each size, which have the shares w_i of all, has

        E log p = log E p - log(1 + R) / 2,      R = sum_i w_i^2 r_i / m_i,

    and r_i is known from what averaging the first few of them gains.
    """
    weights = np.array(list(shares.values())) / sum(shares.values())
    logs = []
    for number, (_, test) in enumerate(validation.splits):
        few = [predicted[i][number] for i in shares]
        together = mean_log(weights @ [np.mean(chains, axis=0) for chains in few], test)
        variance = weights**2 * [relative_variance(chains, test) for chains in few]
        left = [variance @ (1.0 / np.array(m)) for m in ([len(chains) for chains in few], list(shares.values()))]
        logs.append(together + 0.5 * (np.log1p(left[0]) - np.log1p(left[1])))
    return float(np.exp(-np.mean(logs)))


def relative_variance(chains: Sequence[np.ndarray], test: Counts) -> float:
    """r of the probabilities that single chains give an entry, by what their mean gains over each of them.

    log(1 + r) / 2 - log(1 + r / m) / 2 is the gain of m chains, which is below log(m) / 2 however far they are apart.
    """
    m = len(chains)
    gain = mean_log(np.mean(chains, axis=0), test) - np.mean([mean_log(p, test) for p in chains])
    ratio = min(np.exp(2.0 * gain), MOST_OF_A_GAIN * m)
    return float((ratio - 1.0) / (1.0 - ratio / m)) if m > 1 else 0.0
