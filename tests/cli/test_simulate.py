"""`cormorant simulate`: the library's draws, and the truth beside them."""

import json

import numpy as np
import pytest

from cormorant.data import read
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


@pytest.mark.parametrize("model", ["hgp", "softplus-cnpf"])
def test_from_the_prior(cormorant, tmp_path, model):
    ran = cormorant("simulate", "--model", model, "--prior", *SIZES, "--out", tmp_path / "s")
    assert ran.code == 0
    expected = simulate_prior(model, 50, 20, 3, 2, seed=0)
    assert read(tmp_path / "s" / "counts.npz") == expected.counts
    with np.load(tmp_path / "s" / "truth.npz") as truth:
        assert truth["alpha"] == expected.alpha


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "lda"], "got 'lda'"),
        (["--weight", "0"], "--weight must be positive"),
        (["--rows", "0"], "--rows"),
        (["--prior", "--weight", "1"], "--weight does nothing with --prior"),
        (["--row-total", "1e30"], "must give rows that sum to 1e+11 at most; these give one of"),
        (["--sigma-l2", "1e300"], "at most; these give one of nan. Take them nearer to their defaults."),
        (["--sigma-l2", "1e300", "--sigma-g2", "1e300", "--n-covariates", "1"], "at most; these give one of nan"),
        (["--df", "0.0001"], "at most; these give one of"),
        (["--weight", "1e-300"], "at most; these give one of nan"),
        (["--model", "diln", "--row-total", "1e30"], "at most; these give one of 1e+30"),
        (["--model", "diln", "--df", "0.0001"], "at most; these give one of nan"),
        (["--model", "ibp", "--likelihood", "poisson", "--atom-scale", "1e30"], "at most; these give one of"),
    ],
)
def test_refusals(cormorant, tmp_path, options, said):
    ran = cormorant("simulate", *options, "--out", tmp_path / "s")
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
