"""CorrelatedRandomMeasure: weights, atoms, locations, a random function and a transformation together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cormorant.measures import _check
from cormorant.measures._check import Seed
from cormorant.measures.bases import AtomDistribution
from cormorant.measures.draws import GroupDraws, MeasureDraw, Tuples, normalized
from cormorant.measures.functions import RandomFunction
from cormorant.measures.locations import LocationDistribution
from cormorant.measures.transformation import Transformation
from cormorant.measures.weights import WeightProcess


@dataclass(frozen=True)
class CorrelatedRandomMeasure:
    """M(A) = sum_i x_i delta_{a_i}(A), drawn in three steps.

        {(a_i, w_i, l_i)} ~ Poisson process of mean H(da) nu(dw) L(dl)     process, base, locations
        F ~ GP(m, K)                                                        function
        x_i ~ T(. | w_i, F(l_i))                                            transform

    `fixed` components are given in advance and join every draw; only their x is random. A `normalized`
    measure is divided by its total mass.
    """

    process: WeightProcess
    base: AtomDistribution
    locations: LocationDistribution
    function: RandomFunction
    transform: Transformation
    fixed: Tuples | None = None
    normalized: bool = False

    def __post_init__(self) -> None:
        _check.instance("process", self.process, WeightProcess)
        _check.instance("base", self.base, AtomDistribution, of_functions="CallableAtoms")
        _check.instance("locations", self.locations, LocationDistribution, of_functions="CallableLocations")
        _check.instance("function", self.function, RandomFunction)
        _check.instance("transform", self.transform, Transformation)
        _check.fields(self, normalized=_check.flag)
        self.transform.check_process("transform", self.process)
        if self.fixed is not None:
            self.check_tuples("fixed", self.fixed)

    def check_tuples(self, name: str, tuples: Tuples) -> None:
        """Tuples given by hand fit this measure: atoms and locations in its spaces, weights for its transform."""
        _check.instance(name, tuples, Tuples)
        # Atoms from a function tell their dimension only when drawn.
        spaces = {"atoms": getattr(self.base, "dimension", None), "locations": self.locations.dimension}
        for part, dimension in spaces.items():
            given = getattr(tuples, part).shape[1]
            if dimension not in (None, given):
                raise ValueError(f"{name}: expected {part} of dimension {dimension}, got {given}")
        if self.transform.unit_weights:
            _check.weights(name, tuples.weights, _check.BELOW_ONE)

    def normalize(self) -> CorrelatedRandomMeasure:
        """The normalised measure G(A) = M(A) / M(E)."""
        return replace(self, normalized=True)

    def sample_tuples(self, rng: Seed, *, number: int | None = None, tail_mass: float | None = None) -> Tuples:
        """Draw {(a, w, l)}, the first `number` weights or enough to leave out at most `tail_mass`."""
        rng = _check.generator(rng)
        weights = self.process.sample(rng, number=number, tail_mass=tail_mass)
        atoms = self.base.sample(rng, len(weights))
        locations = self.locations.sample(rng, len(weights))
        if self.fixed is None:
            return Tuples(atoms, weights.values, locations, weights.left_out)
        if self.fixed.atoms.shape[1] != atoms.shape[1]:
            raise ValueError(f"fixed: expected atoms of dimension {atoms.shape[1]}, got {self.fixed.atoms.shape[1]}")
        return Tuples(
            np.vstack([self.fixed.atoms, atoms]),
            np.concatenate([self.fixed.weights, weights.values]),
            np.vstack([self.fixed.locations, locations]),
            weights.left_out,
            fixed=len(self.fixed),
        )

    def sample(
        self,
        rng: Seed,
        *,
        number: int | None = None,
        tail_mass: float | None = None,
        tuples: Tuples | None = None,
    ) -> MeasureDraw:
        """Draw one measure, from fresh tuples or from those given."""
        return self.sample_groups(1, rng, number=number, tail_mass=tail_mass, tuples=tuples)[0]

    def sample_groups(
        self,
        n: int,
        rng: Seed,
        *,
        number: int | None = None,
        tail_mass: float | None = None,
        tuples: Tuples | None = None,
    ) -> GroupDraws:
        """Draw n measures that share their tuples, each with a fresh function: the hierarchical measure."""
        n, rng = _check.count("n", n), _check.generator(rng)
        if tuples is None:
            tuples = self.sample_tuples(rng, number=number, tail_mass=tail_mass)
        elif number is not None or tail_mass is not None:
            raise ValueError("tuples: expected either tuples or a truncation (number, tail_mass), got both")
        else:
            self.check_tuples("tuples", tuples)
        function = self.function.sample(tuples.locations, rng, n)
        if self.normalized:
            weights = normalized(self.transform.sample_log(tuples.weights, function, rng))
        else:
            weights = self.transform.sample(tuples.weights, function, rng)
        return GroupDraws(weights, function, tuples)
