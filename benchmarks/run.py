"""What needs no data outside the repository: CNPF beside scikit-learn's LDA on the embedded sample, in one run.

    make bench          # or: python benchmarks/run.py --components 50 --jobs -1

Held-out perplexity with 10% and 50% of a row's entries observed, fit seconds, and both as ratios to LDA. The split is
that of every other figure of ours: 1,000 rows held out with seed 1.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.decomposition import LatentDirichletAllocation

from cormorant import CNPF, HGP, ScaledHGP, load_nyt
from cormorant.data import Counts, hold_out, split_entries
from cormorant.estimators import TruncationWarning
from cormorant.evaluation import perplexity


def lda_perplexity(model: LatentDirichletAllocation, observed: Counts, test: Counts) -> float:
    """The same score for LDA: topic proportions from the observed entries, topics at their posterior means."""
    topics = model.components_ / model.components_.sum(axis=1, keepdims=True)
    probability = model.transform(observed.tocsr(copy=True)) @ topics
    entries = test.tocsr().tocoo()
    return float(np.exp(-(entries.data * np.log(probability[entries.row, entries.col])).sum() / test.total))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--components", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    warnings.simplefilter("ignore", TruncationWarning)
    rng = np.random.default_rng(1)
    split = hold_out(load_nyt(), 1000, rng)
    pairs = [split_entries(split.held_out, 0.1, rng), split_entries(split.held_out, 0.5, 2)]
    CNPF(2, 2, max_epochs=1).fit(split.train.rows(slice(0, 100)))  # compilation is not what is timed

    def timed(model, data):
        begin = time.perf_counter()
        model.fit(data)
        return time.perf_counter() - begin

    lda = LatentDirichletAllocation(args.components, max_iter=10, n_jobs=args.jobs, random_state=args.seed)
    lda_seconds = timed(lda, split.train.tocsr(copy=True))
    base = [lda_perplexity(lda, *pair) for pair in pairs]
    print(f"{'':20}{'10%':>8}{'50%':>8}{'seconds':>9}   ratio to LDA: 10%, 50%, seconds")
    print(f"{'LDA':20}{base[0]:8.0f}{base[1]:8.0f}{lda_seconds:9.1f}")
    for cls, inference in ((HGP, "auto"), (ScaledHGP, "auto"), (CNPF, "structured"), (CNPF, "auto")):
        model = cls(args.components, inference=inference, n_jobs=args.jobs, random_state=args.seed)
        seconds = timed(model, split.train)
        found = [perplexity(model, *pair) for pair in pairs]
        ratios = [found[0] / base[0], found[1] / base[1], seconds / lda_seconds]
        shown = ", ".join(f"{r:.2f}" for r in ratios)
        name = f"{model.model.name}, {model.inference_}"
        print(f"{name:20}{found[0]:8.0f}{found[1]:8.0f}{seconds:9.1f}   {shown}")


if __name__ == "__main__":
    main()
