"""When a fit ends, and the sentence that says why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Patience:
    """Stop once the best value has not improved by more than ``tol`` (relative) for ``patience`` looks in a row."""

    quantity: str  # what is watched, for the sentence
    tol: float
    patience: int
    lower_is_better: bool
    best: float | None = None
    waited: int = 0

    def improved(self, value: float) -> bool:
        """Take note of a value; whether it is the best so far by more than the tolerance."""
        if self.best is not None:
            gain = (self.best - value) if self.lower_is_better else (value - self.best)
            if not gain > self.tol * abs(self.best):
                self.waited += 1
                return False
        self.best, self.waited = value, 0
        return True

    @property
    def exhausted(self) -> bool:
        """Whether it is time to stop."""
        return self.waited >= self.patience

    def reason(self, epoch: int) -> str:
        """Why the fit ended."""
        return (
            f"converged after {epoch} epochs: {self.quantity} has not improved by more than {self.tol:g} "
            f"(relative) for {self.patience} checks; best {self.best:.6g}"
        )
