"""Feature models on one split: hidden entries, real numbers among them, and what is not compared."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from cormorant.data import as_counts, hold_out_rows
from cormorant.datasets.features import simulate_features
from cormorant.estimators import CNPF, IBP, BetaBernoulliFeatures, TruncationWarning
from cormorant.evaluation import compare

SHORT = {"n_components": 6, "n_starts": 1, "n_sweeps": 16, "n_samples": 3}
MODELS = ["beta-features", "ibp"]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        yield


@pytest.fixture(scope="module")
def y():
    return simulate_features(likelihood="poisson", n_rows=80, n_columns=10, seed=1).y


def test_entries_are_hidden_of_rows_that_are_held_out(y):
    found = compare(y, MODELS, n_held_out=20, observed=[0.3, 0.5], seed=4, likelihood="poisson", n_dims=2, **SHORT)
    rng = np.random.default_rng(4)
    train, kept = hold_out_rows(80, 20, rng)
    hidden = [rng.random((20, 10)) >= 0.3, np.random.default_rng(5).random((20, 10)) >= 0.5]
    model = BetaBernoulliFeatures(n_dims=2, likelihood="poisson", random_state=4, **SHORT).fit(y[train])
    expected = {"0.3": model.log_likelihood(y[kept], hidden[0]), "0.5": model.log_likelihood(y[kept], hidden[1])}
    assert found.records[0]["log_density"] == pytest.approx(expected)
    assert found.metric == "log_density"
    assert list(found.table().columns) == ["log density 30%", "log density 50%", "seconds", "components used"]
    assert list(found.models) == MODELS
    assert "log density 30%" in str(found)


@pytest.mark.parametrize("shape", [as_counts, sparse.csr_matrix, sparse.coo_array, pd.DataFrame, np.ndarray.tolist])
def test_whatever_fit_takes(y, shape):
    short = {**SHORT, "n_sweeps": 4, "likelihood": "poisson"}
    first, second = (compare(X, ["ibp"], n_held_out=20, **short).records[0] for X in (y, shape(y)))
    assert first["log_density"] == second["log_density"]


def test_real_numbers_with_missing_entries():
    """A missing entry is neither shown nor scored: what it would have been changes nothing."""
    y = simulate_features(n_rows=80, n_columns=10, seed=1).y
    missing = np.random.default_rng(0).random(y.shape) < 0.1
    masked, with_nan = np.ma.MaskedArray(y, missing), np.where(missing, np.nan, y)
    first, second = (compare(X, ["ibp"], n_held_out=20, **SHORT).records[0]["log_density"] for X in (masked, with_nan))
    assert first == second
    assert np.isfinite(list(first.values())).all()


def test_what_is_not_compared(y):
    short = {"n_held_out": 20, "likelihood": "poisson"}
    with pytest.raises(ValueError, match="all of features, which are compared by log density; got cnpf and ibp"):
        compare(y, {"cnpf": CNPF(3), "ibp": IBP(3)}, n_held_out=20)
    with pytest.raises(ValueError, match="a has it, b has 'poisson'"):
        compare(y, {"a": IBP(3), "b": IBP(3, likelihood="poisson")}, n_held_out=20)
    with pytest.raises(ValueError, match="covariates must be left out: IBP takes none"):
        compare(y, ["ibp"], covariates=np.zeros((80, 1)), **short)
    with pytest.raises(ValueError, match="n_held_out must be a number of rows"):
        compare(y, ["ibp"], n_held_out=80)
    with pytest.raises(ValueError, match="observed must be a fraction between 0 and 1"):
        compare(y, ["ibp"], observed=[1.5], **short)
    with pytest.raises(ValueError, match="observed must be different fractions"):
        compare(y, ["ibp"], observed=[0.5, 0.5], **short)
    with pytest.raises(ValueError, match=r"X must be a matrix, rows x columns; got shape \(10,\)"):
        compare(y[0], ["ibp"], **short)
    with pytest.raises(TypeError, match="likelihood"):
        compare(y, ["hgp"], n_held_out=20, likelihood="poisson")
