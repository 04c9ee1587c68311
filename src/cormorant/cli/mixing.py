"""What to think of intervals from chains that have not mixed."""

from __future__ import annotations

from typing import Any

from cormorant.cli.console import note


def note_on_intervals(model: Any) -> None:
    """Say so where the chains of a sampled model have not mixed."""
    from cormorant.estimators.chains import WANTED_RHAT, largest_rhat

    worst = largest_rhat(getattr(model, "diagnostics_", None) or {})
    if worst > WANTED_RHAT:
        note(f"the intervals are too narrow: chains have not mixed (split R-hat {worst:.2f}); fit with more --sweeps.")
