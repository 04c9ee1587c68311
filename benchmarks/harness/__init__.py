"""What the benchmarks share: one split a data set, one score for every package, one process a fit."""
