"""What needs no data outside the repository: CNPF beside scikit-learn's LDA on the embedded sample, in one run.

    make bench          # or: python benchmarks/run.py --components 50 --jobs -1

Held-out perplexity with 10% and 50% of a row's entries observed, fit seconds, and both as ratios to LDA. The split is
that of every other figure of ours: 1,000 rows held out with seed 1.
"""

from __future__ import annotations

import argparse
import time
import warnings

from harness.packages.scikit import FittedLDA
from harness.scoring import column_mean, entry_probabilities
from harness.scoring import perplexity as score
from harness.splits import split
from sklearn.decomposition import LatentDirichletAllocation

from cormorant import CNPF, HGP, ScaledHGP, load_nyt
from cormorant.estimators import TruncationWarning
from cormorant.evaluation import perplexity


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--components", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    warnings.simplefilter("ignore", TruncationWarning)
    parts = split(load_nyt())
    pairs = list(parts.pairs.values())
    CNPF(2, 2, max_epochs=1).fit(parts.train.rows(slice(0, 100)))  # compilation is not what is timed

    def timed(model, data):
        begin = time.perf_counter()
        model.fit(data)
        return time.perf_counter() - begin

    lda = LatentDirichletAllocation(args.components, max_iter=10, n_jobs=args.jobs, random_state=args.seed)
    lda_seconds = timed(lda, parts.train.tocsr(copy=True))
    peer = FittedLDA(lda, column_mean(parts.train))
    base = [score(entry_probabilities(peer.pairs(observed), test), test) for observed, test in pairs]
    print(f"{'':20}{'10%':>8}{'50%':>8}{'seconds':>9}   ratio to LDA: 10%, 50%, seconds")
    print(f"{'LDA':20}{base[0]:8.0f}{base[1]:8.0f}{lda_seconds:9.1f}")
    for cls, inference in ((HGP, "auto"), (ScaledHGP, "auto"), (CNPF, "structured"), (CNPF, "auto")):
        model = cls(args.components, inference=inference, n_jobs=args.jobs, random_state=args.seed)
        seconds = timed(model, parts.train)
        found = [perplexity(model, *pair) for pair in pairs]
        ratios = [found[0] / base[0], found[1] / base[1], seconds / lda_seconds]
        shown = ", ".join(f"{r:.2f}" for r in ratios)
        name = f"{model.model.name}, {model.inference_}"
        print(f"{name:20}{found[0]:8.0f}{found[1]:8.0f}{seconds:9.1f}   {shown}")


if __name__ == "__main__":
    main()
