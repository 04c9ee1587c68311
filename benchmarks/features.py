"""Latent features on binary data: log loss of held-out entries, correlated against uncorrelated and matched baselines.

    python benchmarks/features.py --data FOLDER --sets house_votes84,zoo --seeds 0,1,2

A fifth of the entries is hidden (masked, not zero) and predicted. Of the votes, a member's yea and nay on a question
are hidden together, and questions without a recorded vote are missing, neither fitted nor scored. The baselines have
as many dimensions as the correlated model (beta-features) has features in use: logistic PCA with a ridge penalty, and
NMF (KL loss, masked), each with its strength chosen on a tenth of the shown entries. Logistic PCA is also there at its
best rank, chosen on that tenth with its penalty. The sizes of the feature models were chosen on splits of other seeds
(50 to 52). `--max-rows` takes a seeded sample. `--figure FILE` draws the features that the correlated model found in
images, with the last seed.
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from cormorant.estimators import FEATURE_ESTIMATORS, TruncationWarning
from cormorant.explore import figures

SIZES = {  # features at most, dimensions of their locations
    "house_votes84": (30, 2),
    "zoo": (20, 5),
    "animals_attributes": (20, 5),
    "mnist_t10k_binary": (100, 15),
}
PENALTIES = (0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 10.0)
NMF_PENALTIES = (0.01, 0.1, 1.0)
RANKS = (1, 2, 5, 10, 20, 50, 100)


def load(folder: Path, max_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries, which of them exist, and a group for each column: groups are hidden together."""
    y = sparse.load_npz(folder / "counts.npz").toarray().astype(float)
    if len(y) > max_rows:
        y = y[np.sort(np.random.default_rng(0).permutation(len(y))[:max_rows])]
    names = (folder / "columns.txt").read_text().splitlines()
    questions = [name.split(":", 1)[1] if name.startswith(("yea:", "nay:")) else name for name in names]
    groups = np.unique(questions, return_inverse=True)[1]
    exists = np.ones(y.shape, dtype=bool)
    if len(set(questions)) < len(names):
        shown = np.stack([y[:, groups == group].sum(axis=1) > 0 for group in range(groups.max() + 1)], axis=1)
        exists = shown[:, groups]
    return y, exists, groups


def hide(exists: np.ndarray, groups: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    return (rng.random((len(exists), groups.max() + 1)) < share)[:, groups] & exists


def log_loss(y: np.ndarray, probability: np.ndarray, hidden: np.ndarray) -> float:
    p = np.clip(probability, 1e-6, 1.0 - 1e-6)
    return -float((y * np.log(p) + (1.0 - y) * np.log1p(-p))[hidden].mean())


def logistic_pca(y: np.ndarray, shown: np.ndarray, rank: int, penalty: float, seed: int) -> np.ndarray:
    """P(y = 1) = sigmoid(c_i + u_n . v_i) with penalty (|u|^2 + |v|^2) / 2, by L-BFGS."""
    n, i = y.shape
    rng = np.random.default_rng(seed)
    mean = ((y * shown).sum(axis=0) + 0.5) / (shown.sum(axis=0) + 1.0)
    start = np.concatenate([np.log(mean / (1 - mean)), 0.1 * rng.normal(size=(n + i) * rank)])

    def parts(x):
        return x[:i], x[i : i + n * rank].reshape(n, rank), x[i + n * rank :].reshape(i, rank)

    def loss(x):
        c, u, v = parts(x)
        s = c + u @ v.T
        error = (expit(s) - y) * shown
        value = ((np.logaddexp(0.0, s) - y * s) * shown).sum() + 0.5 * penalty * ((u**2).sum() + (v**2).sum())
        slope = [error.sum(axis=0), (error @ v + penalty * u).ravel(), (error.T @ u + penalty * v).ravel()]
        return value, np.concatenate(slope)

    c, u, v = parts(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 150}).x)
    return expit(c + u @ v.T)


def nmf(y: np.ndarray, shown: np.ndarray, rank: int, penalty: float, seed: int) -> np.ndarray:
    """Rates u_n . v_i of least KL divergence over the shown entries as chances 1 - exp(-rate)."""
    rng = np.random.default_rng(seed)
    level = np.sqrt((y * shown).sum() / shown.sum() / rank)
    u, v = (level * rng.gamma(5.0, 0.2, size=(size, rank)) for size in y.shape)
    for _ in range(200):
        u *= ((y * shown / (u @ v.T + 1e-9)) @ v) / (shown @ v + penalty)
        v *= ((y * shown / (u @ v.T + 1e-9)).T @ u) / (shown.T @ u + penalty)
    return -np.expm1(-u @ v.T)


def tuned(method, penalties, ranks, y, shown, groups, seed) -> tuple[np.ndarray, int]:
    """Predictions with the rank and penalty that do best on a tenth of the shown entries, and that rank."""
    kept = hide(shown, groups, 0.1, np.random.default_rng(100 + seed))
    choices = [(rank, penalty) for rank in ranks for penalty in penalties]
    losses = [log_loss(y, method(y, shown & ~kept, rank, penalty, seed), kept) for rank, penalty in choices]
    rank, penalty = choices[int(np.argmin(losses))]
    return method(y, shown, rank, penalty, seed), rank


def draw(model, folder: Path, file: str | None) -> None:
    """The features as pictures, where columns are pixels by line and place: r12c7."""
    names = (folder / "columns.txt").read_text().split()
    if file is None or not all(re.fullmatch(r"r\d+c\d+", name) for name in names):
        return
    places = np.array([[int(number) for number in name[1:].split("c")] for name in names])
    height, width = places.max(axis=0) + 1
    pixels = places @ [width, 1]
    ax = figures.component_images(model, (height, width), pixels=pixels, n=model.n_components_used_, across=20)
    ax.figure.savefig(file, dpi=150, bbox_inches="tight")


def compare(name: str, args: argparse.Namespace, seed: int) -> None:
    y, exists, groups = load(Path(args.data) / name, args.max_rows)
    hidden = hide(exists, groups, 0.2, np.random.default_rng(seed))
    shown = exists & ~hidden
    rate = ((y * shown).sum(axis=0) + 0.5) / (shown.sum(axis=0) + 1.0)
    report(name, seed, "column means", log_loss(y, np.tile(rate, (len(y), 1)), hidden), 0.0, "")
    used, dims = SIZES[name]
    for model in args.models.split(","):
        options = {} if model == "ibp" else {"n_dims": dims}
        if args.inference == "gibbs":
            options |= {"n_sweeps": args.sweeps, "n_chains": args.chains}
        begin = time.perf_counter()
        estimator = FEATURE_ESTIMATORS[model](
            SIZES[name][0], likelihood="bernoulli", inference=args.inference,
            n_starts=args.starts, random_state=seed, n_jobs=args.jobs, **options,
        )  # fmt: skip
        estimator.fit(y, mask=~shown)
        loss = log_loss(y, estimator.predict_mean(y, mask=~shown), hidden)
        if model == "beta-features":
            used = estimator.n_components_used_
            draw(estimator, Path(args.data) / name, args.figure)
        seconds = time.perf_counter() - begin
        report(name, seed, model, loss, seconds, f"{estimator.n_components_used_} features")
    ranks = [rank for rank in RANKS if rank < min(y.shape)]
    for label, method, penalties, tried in (
        ("logistic PCA", logistic_pca, PENALTIES, [used]),
        ("NMF", nmf, NMF_PENALTIES, [used]),
        ("PCA, best rank", logistic_pca, PENALTIES, ranks),
    ):
        begin = time.perf_counter()
        predicted, rank = tuned(method, penalties, tried, y, shown, groups, seed)
        report(name, seed, label, log_loss(y, predicted, hidden), time.perf_counter() - begin, f"{rank} dimensions")


def report(name: str, seed: int, label: str, loss: float, seconds: float, size: str) -> None:
    print(f"{name:20}{seed:5d}  {label:16}{loss:9.4f}{seconds:9.1f} s  {size}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--sets", default="house_votes84,zoo,animals_attributes,mnist_t10k_binary")
    parser.add_argument("--models", default="beta-features,gamma-features,ibp")
    parser.add_argument("--inference", default="gibbs")
    parser.add_argument("--max-rows", type=int, default=2000)
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--starts", type=int, default=1)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--figure", help="where to draw the features of images")
    args = parser.parse_args()
    warnings.simplefilter("ignore", TruncationWarning)
    for name in args.sets.split(","):
        for seed in args.seeds.split(","):
            compare(name, args, int(seed))


if __name__ == "__main__":
    main()
