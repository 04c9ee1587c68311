"""Short labels of components, made of the columns that set them apart, no two the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cormorant.explore.fitted import FittedModel, check_number, largest, named
from cormorant.explore.scores import column_scores

CANDIDATES = 10  # columns that a label may fall back on when a more used component has the first ones
NAME_LETTERS = 60  # longer names are cut
LABEL_LETTERS = 40  # longer labels have fewer names
# Marks that turn the direction of writing: one in a name would turn what stands after it around too.
TURNS = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])


def component_labels(model: FittedModel, n: int = 3) -> list[str]:
    """A label for each component, in the order of their numbers: its n most telling columns.

    Telling is a column that is frequent in the component and rarer elsewhere (`scores.divergence`). Where a
    more used component has the label already, another column takes the place of the last one; if none of them
    helps, the component's number is added.

    Args:
        model: A fitted estimator.
        n: Columns in a label, or fewer where their names are long.
    """
    check_number("n", n)
    scores = column_scores(model, "divergence")
    between = ", " if any(" " in name for name in named(model.column_names_, range(scores.shape[1]))) else " "
    labels: dict[int, str] = {}
    for k in largest(model.usage_, len(model.usage_)).tolist():
        telling = [short_name(name) for name in named(model.column_names_, largest(scores[k], max(n, CANDIDATES)))]
        taken = set(labels.values())
        free = (label for label in _candidates(telling, n, between) if label not in taken)
        labels[k] = next(free, f"{telling[0]} ({k})")
    return [labels[k] for k in range(len(labels))]


def labels_of(model: FittedModel, components: np.ndarray, n: int = 3) -> list[str]:
    """The labels of some components."""
    labels = component_labels(model, n)
    return [labels[k] for k in components]


def numbered(label: str, component: int) -> str:
    """A label with its component's number, which some labels have already."""
    number = f" ({component})"
    return label if label.endswith(number) else label + number


def described(model: FittedModel, components: np.ndarray) -> dict[str, Any]:
    """The first columns of a table of components: number, label, share of the counts."""
    return {"component": components, "label": labels_of(model, components), "share": model.usage_[components]}


def short_name(name: str, letters: int = NAME_LETTERS) -> str:
    """One line of at most so many letters: all, or as many whole words as have room (of a long word, its letters).

    Marks that turn the direction of writing are left out.
    """
    line = " ".join(name.translate(TURNS).split())
    if len(line) <= letters:
        return line
    room = line[:letters]  # the ellipsis takes the place of the last letter, or of the space after a word
    return (room.rsplit(" ", 1)[0] if " " in room else room[:-1]).rstrip(" ,;:([") + "…"


def _candidates(telling: list[str], n: int, between: str) -> Iterator[str]:
    """The first names, as many as fit; then the same with each later name in place of the last."""
    fitting = [m for m in range(1, min(n, len(telling)) + 1) if len(between.join(telling[:m])) <= LABEL_LETTERS]
    kept = telling[: max(fitting, default=1) - 1]
    return (between.join([*kept, last]) for last in telling[len(kept) :])
