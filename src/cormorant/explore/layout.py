"""Where components go in a drawing: near what they go with, and never on top of each other."""

from __future__ import annotations

import numpy as np

GAP = 5.0  # of a circle to what is kept free around it
WIDE = 1.5  # width of a page over its height
AIR = 5.0  # room, of what the circles need
BENDS = (0.0, 0.04, -0.04, 0.08, -0.08, 0.14, -0.14)  # of the length of a line, tried in turn
CLEAR = 3.0  # points between a line and a circle that it does not belong to


def cluster_order(rho: np.ndarray) -> np.ndarray:
    """Leaves of the average-linkage tree over 1 - rho, neighbours as alike as the tree allows."""
    if len(rho) < 3:
        return np.arange(len(rho))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    apart = squareform(np.clip(1.0 - rho, 0.0, 2.0), checks=False)
    return leaves_list(linkage(apart, method="average", optimal_ordering=True))


def stress_layout(distance: np.ndarray, sweeps: int = 300) -> np.ndarray:
    """Places in the plane whose distances are close to those wanted, n x 2; the same for the same distances.

    Minimises sum_{i<j} (|z_i - z_j| - d_ij)^2 / d_ij^2 by majorisation (each sweep lowers it), from the plane that
    classical scaling gives.
    """
    n = len(distance)
    if n < 3:
        return np.linspace([0.0, 0.0], [distance.max(initial=0.0), 0.0], n)
    d = np.maximum(distance, 1e-3 * max(distance.max(), 1e-9)) + np.eye(n)
    weights = 1.0 / d**2
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian)
    z = _classical_scaling(distance)
    for _ in range(sweeps):
        between = np.linalg.norm(z[:, np.newaxis] - z, axis=2) + np.eye(n)
        ratio = -weights * d / np.maximum(between, 1e-12)
        np.fill_diagonal(ratio, 0.0)
        np.fill_diagonal(ratio, -ratio.sum(axis=1))
        z = inverse @ (ratio @ z)
    return z


def _classical_scaling(distance: np.ndarray) -> np.ndarray:
    """The plane of the two largest eigenvalues of the doubly centred squared distances."""
    squared = distance**2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1, keepdims=True) + squared.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    plane = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 1e-12))
    # Eigenvectors have no sign of their own; fix it, so that the picture does not depend on the library.
    return plane * np.where(plane[np.argmax(np.abs(plane), axis=0), [0, 1]] < 0, -1.0, 1.0)


def fit_into(places: np.ndarray, sizes: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Stretch places so that boxes of these sizes (n x 2) around them fill the room from (0, 0) to ``room``."""
    low, high = places.min(axis=0), places.max(axis=0)
    margin = sizes.max(axis=0) / 2
    spread = np.where(high > low, high - low, 1.0)
    stretched = margin + (places - low) / spread * np.maximum(room - 2 * margin, 0.0)
    return np.where(high > low, stretched, room / 2)


def separate(places: np.ndarray, sizes: np.ndarray, room: np.ndarray, sweeps: int = 2000) -> np.ndarray | None:
    """Move boxes apart until none overlaps another or leaves the room; None if that does not come about."""
    z = places.copy()
    # Boxes at one place would be pushed one way; a tiny turn of each tells them apart.
    turn = 2.4 * np.arange(len(z))
    z += 1e-3 * np.column_stack([np.cos(turn), np.sin(turn)])
    for _ in range(sweeps):
        push = _push(z, sizes)
        if not push.any():
            return z
        z = np.clip(z + push, sizes / 2, np.maximum(room - sizes / 2, sizes / 2))
    return None


def overlaps(places: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of boxes that overlap: the first, the second, and how far in x and in y (m x 2)."""
    first, second = np.triu_indices(len(places), k=1)
    met = np.ones(len(first), dtype=bool)
    for x, size in zip(places.T, sizes.T, strict=True):
        met &= (size[first] + size[second]) / 2 - np.abs(x[first] - x[second]) > 1e-9
    first, second = first[met], second[met]
    return first, second, (sizes[first] + sizes[second]) / 2 - np.abs(places[first] - places[second])


def _push(z: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """A little more than half the overlap of each pair, along the axis on which they overlap least."""
    first, second, depth = overlaps(z, sizes)
    axis = np.argmin(depth, axis=1)
    pair = np.arange(len(first))
    # Boxes with equal coordinates part by their order.
    side = np.where(z[first, axis] > z[second, axis], 1.0, -1.0)
    step = 0.55 * side * depth[pair, axis]
    push = np.zeros_like(z)
    np.add.at(push, (first, axis), step)
    np.add.at(push, (second, axis), -step)
    return push


def line_around(
    ends: np.ndarray, circles: np.ndarray, radii: np.ndarray, labels: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """Points (m x 2) of a line between two ends (2 x 2): straight, or bent if it would run through something else.

    A line that runs through a circle looks as if it ended there, so circles come first; of the bends that keep clear
    of them, the one that covers least of the labels, which are boxes of these sizes (n x 2) around their centres.
    """
    across = (ends[1] - ends[0]) @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    t = np.linspace(0.0, 1.0, 65)[:, np.newaxis]
    best, most = ends, (-np.inf, 0)
    for bend in BENDS:
        middle = ends.mean(axis=0) + 2.0 * bend * across
        line = (1 - t) ** 2 * ends[0] + 2 * t * (1 - t) * middle + t**2 * ends[1]
        free = (np.linalg.norm(line[:, np.newaxis] - circles, axis=2) - radii).min(initial=CLEAR)
        covered = (np.abs(line[:, np.newaxis] - labels) < sizes / 2).all(axis=2).sum()
        if (free, -covered) > most:
            best, most = line, (free, -covered)
        if most == (CLEAR, 0):
            break
    return best


def place_circles(rho: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Places (n x 2) of circles of these radii: distances follow 1 - rho as well as a plane can, and none touch.

    The longest extent goes across the page, since screens and labels are wider than high.
    """
    sizes = np.repeat(2.0 * (radii + GAP)[:, np.newaxis], 2, axis=1)
    wanted = _longest_first(stress_layout(1.0 - rho))
    height = np.sqrt(AIR * (sizes**2).sum() / WIDE) if len(rho) else 0.0
    while True:
        room = np.array([WIDE * height, height])
        places = separate(fit_into(wanted, sizes, room), sizes, room)
        if places is not None:
            return places - room / 2
        height *= 1.2


def _longest_first(places: np.ndarray) -> np.ndarray:
    """Centred, and turned so that the first coordinate has the larger spread."""
    centred = places - places.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    turned = axes[:, ::-1]
    return centred @ (turned * np.where(turned[np.argmax(np.abs(turned), axis=0), [0, 1]] < 0, -1.0, 1.0))
