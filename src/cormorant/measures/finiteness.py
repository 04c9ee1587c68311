"""Is M(E) finite almost surely, and is its mean finite? Two verdicts, each with its reason.

M(E) is finite with probability P_F(int min(x, 1) dnu~ < inf), and has the mean E_F int x dnu~, where
nu~ = nu(da, dw, dl) T(dx | w, F(l)). With the weights integrated out, both come down to one integral over
locations, int h(F(l)) L(dl), finite for almost every F or on average over F. What h is:

    transformation            h for almost surely             h for the mean
    identity, HGP, thinning   1                               1
    gamma, exp link; DILN     log(1 + exp F) at most          exp F
    gamma, softplus link      F at most                       F
    Bernoulli, beta           F, or exp(sigma F) where the number of small weights grows like w^-sigma

(the last because int w e^F / (1 + w e^F) nu(dw) is of order log(1 + e^F) for the gamma and beta processes).
The sufficient condition int exp(F) dL < inf of the paper is thus far from necessary: it marks where the
*mean* of the exp-link gamma ends, c_1 sigma_l^2 < 1 for K(l, l) = c_0 + c_1 |l|^2, and nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cormorant.measures import _check
from cormorant.measures.correlated import CorrelatedRandomMeasure
from cormorant.measures.functions import CovariateFunction, RandomFunction, StudentTProcess
from cormorant.measures.levy import LevyProcess
from cormorant.measures.locations import GaussianLocations, LocationDistribution
from cormorant.measures.transformation import Growth
from cormorant.measures.weights import WeightProcess


@dataclass(frozen=True)
class Verdict:
    """An answer (None where it cannot be decided), its reason, and how to say it."""

    holds: bool | None
    reason: str
    yes: str
    no: str

    def __str__(self) -> str:
        if self.holds is None:
            return f"{self.yes}? undetermined: {self.reason}"
        return f"{self.yes if self.holds else self.no}: {self.reason}"


@dataclass(frozen=True)
class Finiteness:
    """The two verdicts on M(E)."""

    almost_surely: Verdict
    mean: Verdict

    def __str__(self) -> str:
        return f"{self.almost_surely}\n{self.mean}"


Answer = tuple[bool | None, str]


def finiteness(measure: CorrelatedRandomMeasure) -> Finiteness:
    """Whether M(E) is finite almost surely, and whether its mean is; normalised, whether M(E) can divide."""
    _check.instance("measure", measure, CorrelatedRandomMeasure)
    sure, mean = _sure(measure), _mean(measure)
    if measure.normalized:
        sure = _normalizable(measure, sure)
        mean = (True, "a normalised measure has total mass one") if sure[0] else (None, sure[1])
    return Finiteness(
        Verdict(*sure, yes="finite almost surely", no="not almost surely finite"),
        Verdict(*mean, yes="mean finite", no="mean infinite"),
    )


def _normalizable(measure: CorrelatedRandomMeasure, sure: Answer) -> Answer:
    if measure.transform.may_vanish:
        return False, "the total mass is zero with positive probability, so it cannot be normalised"
    if sure[0] and measure.transform.reads_function and isinstance(measure.function, CovariateFunction):
        return None, "covariates can leave out every atom (F = -inf), so that nothing is left to normalise"
    return sure


def _sure(measure: CorrelatedRandomMeasure) -> Answer:
    """P_F(int min(x, 1) dnu~ < inf) = 1; fixed components are finitely many and never matter."""
    if _infinite_base(measure.process):
        return False, "infinite base measure, H(E) = inf"
    growth = measure.transform.sure_growth
    if growth is None:
        return None, f"{type(measure.transform).__name__} does not declare its sure_growth"
    if growth is Growth.BOUNDED:
        return True, f"{type(measure.process).__name__} is finite, and x is of order w whatever F is"
    return _Field.of(measure).sure(growth_rate(growth, measure.process))


def _mean(measure: CorrelatedRandomMeasure) -> Answer:
    """E_F int x dnu~ < inf, and the same of the fixed components."""
    process, growth = measure.process, measure.transform.mean_growth
    if _infinite_base(process):
        return False, "infinite base measure, H(E) = inf"
    if growth is None:
        return None, f"{type(measure.transform).__name__} does not declare its mean_growth"
    if math.isinf(process.mean) and growth is not Growth.SATURATING:
        return False, f"{type(process).__name__} has infinite mean"
    if growth is Growth.BOUNDED:
        return True, f"{type(process).__name__} has finite mean, and x is of order w whatever F is"
    if measure.fixed is not None and growth is not Growth.SATURATING:
        at_fixed = np.diag(measure.function.kernel(measure.fixed.locations)).max(initial=0.0)
        answer = _student_mean(measure.function, float(at_fixed), growth_rate(growth, process))
        if answer is not None:
            return answer
    return _Field.of(measure).mean(growth_rate(growth, process))


def _infinite_base(process: WeightProcess) -> bool:
    return isinstance(process, LevyProcess) and math.isinf(process.mass)


def growth_rate(growth: Growth | None, process: WeightProcess) -> float:
    """The rate kappa of h(F) = exp(kappa F); zero stands for h(F) = F, or less."""
    return {Growth.EXPONENTIAL: 1.0, Growth.SATURATING: process.index}.get(growth, 0.0) if growth else 0.0


def _student_mean(function: RandomFunction, variance: float, rate: float) -> Answer | None:
    """Why a Student-t F of positive variance has no mean of h(F), or None where it has one."""
    if not isinstance(function, StudentTProcess) or variance == 0:
        return None
    if rate > 0:
        return False, "Student-t process, under which exp(F) has no mean"
    if function.degrees <= 1:
        return False, f"Student-t process with {function.degrees:g} <= 1 degrees of freedom"
    return None


@dataclass(frozen=True)
class _Field:
    """What is known of F(l) for l ~ L: its mean, the polynomial K(l, l) in |l|^2, the law of l."""

    function: RandomFunction
    locations: LocationDistribution
    polynomial: tuple[float, ...] | None
    bounded_mean: bool

    @classmethod
    def of(cls, measure: CorrelatedRandomMeasure) -> _Field:
        """Read it off a measure; at the origin alone only K(0, 0) counts, and any mean is bounded."""
        polynomial = measure.function.kernel.diagonal_polynomial()
        origin = isinstance(measure.locations, GaussianLocations) and measure.locations.variance == 0
        if polynomial is not None:
            last = max((j for j, c in enumerate(polynomial) if c != 0), default=0)
            polynomial = polynomial[:1] if origin else polynomial[: last + 1]
        bounded = origin or measure.function.constant_mean() is not None
        return cls(measure.function, measure.locations, polynomial, bounded)

    def sure(self, rate: float) -> Answer:
        """int exp(rate F) dL < inf (of F itself where the rate is zero) for almost every F."""
        if self.polynomial is None or not self.bounded_mean:
            return self._unknown()
        if len(self.polynomial) == 1:
            return True, f"bounded kernel, K(l, l) = {self.polynomial[0]:g}"
        if not isinstance(self.locations, GaussianLocations):
            return self._unknown()
        # Paths grow like |l|^degree up to a logarithm: below |l|^2, exp(F) is integrable against a Gaussian.
        if rate == 0 or len(self.polynomial) == 2:
            return True, f"{self._kernel_name()}, Gaussian locations"
        return False, f"exp({rate:g} F) outgrows Gaussian locations: {self._growth()}"

    def mean(self, rate: float) -> Answer:
        """E_F int exp(rate F) dL < inf (of F itself where the rate is zero)."""
        if self.polynomial is None or not self.bounded_mean:
            return self._unknown()
        gaussian = isinstance(self.locations, GaussianLocations)
        if gaussian or self.polynomial[0] > 0:
            answer = _student_mean(self.function, sum(self.polynomial), rate)
            if answer is not None:
                return answer
        if len(self.polynomial) == 1:
            return True, f"bounded kernel, K(l, l) = {self.polynomial[0]:g}"
        if not isinstance(self.locations, GaussianLocations):
            return self._unknown()
        if rate == 0:
            return True, f"linear growth in F, {self._kernel_name()}, Gaussian locations"
        if len(self.polynomial) > 2:
            return False, f"E exp(F) outgrows Gaussian locations: {self._growth()}"
        variance, border = self.locations.variance, 1 / (rate**2 * max(self.polynomial[1:]))
        holds = variance < border
        return holds, f"location variance {variance:g} {'<' if holds else '>='} {border:g}"

    def _unknown(self) -> Answer:
        if not self.bounded_mean:
            return None, f"nothing is known of how the mean of {type(self.function).__name__} grows with l"
        if self.polynomial is None:
            kernel = type(self.function.kernel).__name__
            return None, f"{kernel} does not declare its diagonal_polynomial"
        return None, f"{type(self.locations).__name__} may have any tail, and the kernel is unbounded"

    def _kernel_name(self) -> str:
        return self._growth() if self.function.kernel.affine() is None else "linear kernel"

    def _growth(self) -> str:
        power = 2 * (len(self.polynomial or ()) - 1)
        return f"K(l, l) grows like |l|^{power}"
