"""Which rows each step visits, and how far it moves. Batch and stochastic inference differ in nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RobbinsMonro:
    """Step sizes rho_t = (offset + t)^-decay, t = 1, 2, ...; the paper: offset 50 (text) or 100, decay .9."""

    offset: float
    decay: float

    def __post_init__(self) -> None:
        if not self.offset >= 0:
            raise ValueError(f"learning_offset must be at least 0, got {self.offset!r}.")
        if not 0.5 < self.decay <= 1.0:
            raise ValueError(f"learning_decay must be in (0.5, 1] for convergence, got {self.decay!r}.")

    def __call__(self, n_steps: int) -> float:
        """rho after ``n_steps`` steps."""
        return float((self.offset + n_steps + 1.0) ** -self.decay)


@dataclass(frozen=True)
class Plan:
    """One epoch as a list of steps, each a list of blocks of rows that are solved apart and summed.

    Blocks bound the memory of a step; they are cut the same way whatever the number of threads.
    """

    n_rows: int
    batch_size: int
    block_size: int
    schedule: RobbinsMonro | None  # None: every step takes the new statistics whole

    @classmethod
    def of_all(cls, n_rows: int, block_size: int) -> Plan:
        """Every step visits every row, in blocks."""
        return cls(n_rows, n_rows, min(n_rows, block_size), None)

    @property
    def is_full(self) -> bool:
        """Whether a step visits every row."""
        return self.batch_size >= self.n_rows

    def rho(self, n_steps: int) -> float:
        """Weight of the new statistics at this step."""
        return 1.0 if self.schedule is None else self.schedule(n_steps)

    def epoch(self, rng: np.random.Generator) -> Iterator[list[np.ndarray]]:
        """Steps of one epoch; the rows are shuffled unless a step visits them all."""
        order = np.arange(self.n_rows) if self.is_full else rng.permutation(self.n_rows)
        # Near-equal steps: a last one of a few rows would count as much as the others.
        for rows in np.array_split(order, -(-self.n_rows // self.batch_size)):
            yield np.array_split(rows, -(-len(rows) // self.block_size))
