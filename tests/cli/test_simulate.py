"""`cormorant simulate`: the library's draws, and the truth beside them."""

import json

import numpy as np
import pytest

from cormorant.data import as_counts, read
from cormorant.datasets import simulate, simulate_prior

SIZES = ["--rows", "50", "--columns", "20", "--components", "3", "--dims", "2"]


def test_the_draws_are_those_of_the_library(cormorant, tmp_path):
    ran = cormorant("simulate", *SIZES, "--weight", "0.7", "--seed", "4", "--out", tmp_path / "s", "--json")
    assert ran.code == 0
    expected = simulate("cnpf", 50, 20, 3, 2, weight=0.7, seed=4)
    assert read(tmp_path / "s" / "counts.npz") == expected.counts
    with np.load(tmp_path / "s" / "truth.npz", allow_pickle=False) as truth:
        for name in ("atoms", "weights", "locations", "x", "field", "correlation"):
            np.testing.assert_array_equal(truth[name], getattr(expected, name))
    record = json.loads((tmp_path / "s" / "run.json").read_text())
    assert record["parameters"] == {"n_rows": 50, "n_columns": 20, "n_components": 3, "n_dims": 2, "weight": 0.7}
    assert record["files"] == ["counts.npz", "truth.npz", "run.json"]
    assert ran.json["nonzeros"] == expected.counts.nnz


OF_PRIOR = {
    "--tuples": "tuples", "--top": "top", "--kernel": "kernel", "--length-scale": "length_scale", "--nu": "nu",
    "--frequencies": "n_frequencies", "--df": "df", "--n-covariates": "n_covariates", "--row-total": "row_total",
    "--likelihood": "likelihood", "--dims": "n_dims",
}  # fmt: skip


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("cnpf", {}),
        ("hgp", {"--tuples": "pitman-yor"}),
        ("scaled-hgp", {"--tuples": "beta"}),
        ("cnpf", {"--kernel": "matern", "--length-scale": 2.0, "--nu": 2.5, "--frequencies": 3, "--dims": 2}),
        ("softplus-cnpf", {"--kernel": "groups", "--dims": 2, "--df": 3.0, "--n-covariates": 2}),
        ("diln", {"--top": "gamma", "--row-total": 30.0, "--n-covariates": 1, "--df": 2.0}),
        ("hdp", {}),
        ("thinned", {"--n-covariates": 3}),
        ("beta-features", {"--likelihood": "poisson", "--dims": 2}),
        ("gamma-features", {"--likelihood": "bernoulli"}),
        ("ibp", {}),
    ],
)
def test_from_the_prior(cormorant, tmp_path, model, options):
    """What the library draws is written as the other draws are, for `fit` to read."""
    given = [str(word) for pair in options.items() for word in pair]
    ran = cormorant("simulate", "--model", model, "--prior", *SIZES[:-2], *given, "--out", tmp_path / "s")
    assert ran.code == 0
    expected = simulate_prior(model, 50, 20, 3, **{OF_PRIOR[flag]: value for flag, value in options.items()})
    found = {file.name for file in (tmp_path / "s").iterdir()}
    covariates = getattr(expected, "covariates", None)
    if model == "ibp":  # of real numbers
        data = {"matrix.npy"}
        np.testing.assert_array_equal(np.load(tmp_path / "s" / "matrix.npy"), expected.y)
    else:
        data = {"counts.npz"} | (set() if covariates is None else {"covariates.csv"})
        counts = expected.counts if hasattr(expected, "counts") else as_counts(expected.y)
        assert read(tmp_path / "s" / "counts.npz") == counts
    assert found == data | {"truth.npz", "run.json"}
    if covariates is not None:
        np.testing.assert_allclose(
            np.loadtxt(tmp_path / "s" / "covariates.csv", delimiter=",", skiprows=1, ndmin=2), covariates
        )
    with np.load(tmp_path / "s" / "truth.npz", allow_pickle=False) as truth:
        for name, value in vars(expected).items():
            if value is not None and name not in ("counts", "y"):
                np.testing.assert_array_equal(truth[name], value)
        np.testing.assert_array_equal(truth["correlation"], expected.correlation)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "lda"], "got 'lda'"),
        (["--weight", "0"], "--weight must be positive"),
        (["--rows", "0"], "--rows"),
        (["--prior", "--weight", "1"], "--weight does nothing with --prior, which has numbers of its own; leave it"),
        (["--prior", "--row-total", "9"], "--row-total 9.0 does nothing with --model cnpf; leave it out."),
        (["--prior", "--top", "gamma"], "--top does nothing with --model cnpf"),
        (["--prior", "--tuples", "levy"], "--tuples must be one of dirichlet, gamma, beta, pitman-yor; got 'levy'"),
        (["--prior", "--nu", "2"], "--nu 2.0 does nothing with --kernel linear; leave it out."),
        (["--prior", "--likelihood", "poisson"], "--likelihood does nothing with --model cnpf"),
        (["--prior", "--df", "0.1"], "at most; these give one of"),
        (["--prior", "--model", "hgp", "--kernel", "rbf"], "--kernel does nothing with --model hgp"),
        (["--prior", "--model", "hgp", "--n-covariates", "2"], "--n-covariates 2 does nothing with --model hgp"),
        (["--prior", "--model", "ibp", "--probability", "0.2"], "--probability does nothing with --prior"),
        (["--prior", "--model", "ibp", "--dims", "2"], "--dims does nothing with --model ibp"),
        (["--prior", "--model", "thinned", "--dims", "2"], "--dims does nothing with --model thinned"),
        (["--kernel", "rbf"], "--kernel does nothing without --prior; leave it out."),
        (["--model", "hgp", "--dims", "2"], "--dims does nothing with --model hgp"),
        (["--model", "hgp", "--df", "2"], "--df does nothing with --model hgp"),
        (["--sigma-g2", "2"], "--sigma-g2 does nothing without --n-covariates"),
        (["--row-total", "1e30"], "must give rows that sum to 1e+11 at most; these give one of"),
        (["--sigma-l2", "1e300"], "at most; these give one of nan. Take them nearer to their defaults."),
        (["--sigma-l2", "1e300", "--sigma-g2", "1e300", "--n-covariates", "1"], "at most; these give one of nan"),
        (["--df", "0.0001"], "at most; these give one of"),
        (["--weight", "1e-300"], "at most; these give one of nan"),
        (["--model", "diln", "--row-total", "1e30"], "at most; these give one of 1e+30"),
        (["--model", "diln", "--df", "0.0001"], "at most; these give one of nan"),
        (["--model", "thinned", "--row-total", "1e30"], "at most; these give one of"),
        (["--model", "ibp", "--likelihood", "poisson", "--atom-scale", "1e30"], "at most; these give one of"),
    ],
)
def test_refusals(cormorant, tmp_path, options, said):
    ran = cormorant("simulate", *options, "--out", tmp_path / "s")
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
