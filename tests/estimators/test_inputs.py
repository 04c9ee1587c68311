"""What fit and transform take, and what they say of what they do not take."""

import re
import warnings

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from cormorant.data import as_counts
from cormorant.datasets import simulate
from cormorant.estimators import CNPF, ESTIMATORS, HGP

pytestmark = pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")
NAMES = [f"w{i}" for i in range(20)]
POISSON = sorted(name for name, cls in ESTIMATORS.items() if not cls.model.normalised)  # what mean field is for
PAIRS = [*((name, "structured") for name in sorted(ESTIMATORS)), *((name, "mean-field") for name in POISSON)]


@pytest.fixture(scope="module")
def counts():
    return simulate("hgp", n_rows=60, n_columns=20, n_components=3, seed=1).counts.named(column_names=NAMES)


@pytest.fixture(scope="module")
def dense(counts):
    return counts.tocsr().toarray().astype(float)


@pytest.fixture(scope="module")
def fitted(counts):
    return HGP(3, max_epochs=3, random_state=0).fit(counts)


def frame(dense):
    return pd.DataFrame(dense, columns=NAMES, index=[f"r{u}" for u in range(len(dense))])


KINDS = {
    "array": lambda dense: dense,
    "list": lambda dense: dense.tolist(),
    "csr": sparse.csr_matrix,
    "coo": sparse.coo_matrix,
    "csc array": sparse.csc_array,
    "frame": frame,
    "sparse frame": lambda dense: frame(dense).astype(pd.SparseDtype(float, 0.0)),
    "AnnData": lambda dense: anndata.AnnData(frame(dense)),
}


@pytest.mark.parametrize(
    ("bad", "remedy"), [(-2.0, "Negative values in data"), (np.nan, "mask of fit"), (np.inf, "it stands for")]
)
@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("method", ["fit", "partial_fit", "transform"])
def test_a_bad_entry_is_named_whatever_it_is_in(dense, fitted, kind, bad, remedy, method):
    faulty = dense.copy()
    faulty[7, 3] = bad
    model = fitted if method == "transform" else HGP(3)
    pattern = rf"row 7( \('r7'\))?, column 3( \('w3'\))? is {bad}\..*{remedy}"
    with pytest.raises(ValueError, match=pattern):
        getattr(model, method)(KINDS[kind](faulty))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_is_transformed_alike(dense, fitted, kind):
    """By name where there are names, without a warning about them; fit knew the names from Counts."""
    assert np.array_equal(fitted.transform(KINDS[kind](dense)), fitted.transform(dense))


@pytest.mark.parametrize("value", [1e-45, 1e-31, 1e-300])
@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_entries_below_the_range_are_refused_at_the_door(counts, fitted, name, value):
    dense = counts.tocsr().toarray().astype(float)
    dense[4, 2] = value
    X = as_counts(dense, column_names=NAMES)
    for call in (ESTIMATORS[name](3).fit, fitted.transform):
        with pytest.raises(ValueError, match=r"at least 1e-30; the one at row 4, column 2 \('w2'\) is .*Multiply X"):
            call(X)


@pytest.mark.parametrize("value", [10**12, 10**18, 2**63 - 1, 1e20, 1e30, 1e39, 1e300])
@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_rows_above_the_range_are_refused_at_the_door(name, value):
    for X in (np.array([[1, 2], [value, 3]]), sparse.csr_matrix(np.array([[1, 2], [value, 3]]))):
        with pytest.raises(ValueError, match=r"at most 1e\+11; row 1 sums to .*Divide X by a constant"):
            ESTIMATORS[name](3).fit(X)


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e6, 1e9, 5e9])
@pytest.mark.parametrize(("name", "inference"), PAIRS)
def test_whatever_is_in_range_gives_a_finite_model(name, inference, scale):
    X = np.random.default_rng(0).poisson(1.0, size=(12, 6)) * scale
    model = ESTIMATORS[name](3, inference=inference, max_epochs=4, random_state=0).fit(X)
    x, std = model.transform(X, return_std=True)
    for array in (model.components_, model.weights_, x, std, model.perplexity(X, 0.5)):
        assert np.all(np.isfinite(array))


def test_what_is_masked_may_be_out_of_range(dense):
    mask = np.zeros(dense.shape, bool)
    mask[3, 5] = True
    huge = dense.copy()
    huge[3, 5] = 1e300
    one, two = (HGP(3, max_epochs=2, random_state=0).fit(X, mask=mask) for X in (dense, huge))
    assert np.array_equal(one.components_, two.components_)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ("x", r"mask must be truth values \(or numbers\) of the shape of X, \(60, 20\); got 'x'"),
        (np.full((60, 20), "x"), "mask must be truth values"),
        (None, None),
        (True, r"got shape \(\)"),
        (np.ones((20, 60)), r"got shape \(20, 60\)"),
        (sparse.csr_matrix((3, 3)), r"got shape \(3, 3\)"),
        (
            np.full((60, 20), np.nan),
            r"of the shape of X, \(60, 20\); the one at row 0, column 0 is NaN\. Put True",
        ),
        (sparse.coo_matrix(([np.nan], ([7], [3])), shape=(60, 20)), "row 7, column 3 is NaN"),
        (as_counts(np.ones((20, 60))), r"got shape \(20, 60\)"),
    ],
)
def test_masks_that_are_none(counts, mask, message):
    if mask is None:
        HGP(2, max_epochs=1).fit(counts, mask=mask)
        return
    with pytest.raises(ValueError, match=message):
        HGP(2).fit(counts, mask=mask)


@pytest.mark.parametrize("kind", [as_counts, np.float16, sparse.csr_matrix, sparse.coo_array, sparse.lil_matrix])
def test_masks_of_every_kind_mark_the_same_entries(dense, kind):
    mask = np.random.default_rng(0).random(dense.shape) < 0.1
    given = kind(mask * np.random.default_rng(1).integers(1, 4, mask.shape))  # whatever is not zero is missing
    one, two = (HGP(3, max_epochs=2, random_state=0).fit(dense, mask=m) for m in (mask, given))
    assert np.array_equal(one.components_, two.components_)
    assert not np.array_equal(one.components_, HGP(3, max_epochs=2, random_state=0).fit(dense).components_)


@pytest.mark.parametrize("method", ["fit", "partial_fit", "transform"])
def test_masked_arrays_are_not_fitted_with_what_they_hide(dense, fitted, method):
    hiding = np.ma.array(dense, mask=dense > dense.max() - 1)
    call = getattr(fitted if method == "transform" else HGP(3, max_epochs=2, random_state=0), method)
    with pytest.raises(ValueError, match=r"pass X\.filled\(0\) and, .*, mask=X\.mask"):
        call(hiding)
    call(hiding.filled(0), mask=hiding.mask)
    call(np.ma.array(dense))  # hides nothing


@pytest.mark.parametrize(
    ("exposure", "message"),
    [
        ("x", "exposure must be 60 positive numbers, one a row; got 'x'"),
        (1.0, r"got shape \(\)"),
        (np.ones((60, 1)), r"got shape \(60, 1\)"),
        (np.r_[np.ones(59), 0.0], "that of row 59 is 0"),
        (np.r_[np.ones(59), np.nan], "that of row 59 is nan"),
        (np.r_[1e-300, np.ones(59)], "between 1e-100 and 1e.100; that of row 0 is 1e-300"),
    ],
)
def test_exposures_that_are_none(counts, exposure, message):
    with pytest.raises(ValueError, match=message):
        HGP(2).fit(counts, exposure=exposure)


@pytest.mark.parametrize("shape", [(0, 20), (5, 0)])
@pytest.mark.parametrize("kind", ["csr", "counts"])
def test_nothing_to_fit(shape, kind):
    X = sparse.csr_matrix(shape)
    with pytest.raises(ValueError, match=re.escape(f"at least one row and one column; got shape {shape}")):
        HGP(2).fit(as_counts(X) if kind == "counts" else X)


def test_columns_must_be_those_of_the_fit(counts, fitted):
    """In another order, too few, unknown: an error that says which, and how to choose them by name."""
    turned = counts.columns(np.arange(20)[::-1])
    with pytest.raises(ValueError, match=r"the columns in another order.*columns\(model\.column_names_\)"):
        fitted.transform(turned)
    assert np.array_equal(fitted.transform(turned.columns(fitted.column_names_)), fitted.transform(counts))
    with pytest.raises(ValueError, match="only 19 of them"):
        fitted.transform(counts.columns(slice(0, 19)))
    wider = as_counts(sparse.hstack([counts.tocsr(), counts.tocsr()[:, :2]]), column_names=[*NAMES, "a", "b"])
    with pytest.raises(ValueError, match=r"2 columns unknown to the fit \('a', 'b'\)"):
        fitted.transform(wider)
    assert np.array_equal(fitted.transform(wider.columns(fitted.column_names_)), fitted.transform(counts))
    for width in (19, 21):
        with pytest.raises(ValueError, match=f"X has {width} features, but HGP is expecting 20"):
            fitted.transform(np.ones((2, width)))
        with pytest.raises(ValueError, match=f"X has {width} features, but HGP is expecting 20"):
            fitted.transform(as_counts(np.ones((2, width))))


def test_data_frames_keep_scikit_learns_rules(counts, dense):
    model = HGP(2, max_epochs=1, random_state=0).fit(frame(dense))
    assert list(model.feature_names_in_) == NAMES == list(model.column_names_)
    assert model.row_names_[0] == "r0"
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frame(dense)[NAMES[::-1]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.transform(counts)  # Counts with the same names
    assert HGP(2, max_epochs=1).fit(pd.DataFrame(dense)).column_names_ is None  # an index that only numbers


@pytest.mark.parametrize(("name", "inference"), PAIRS)
def test_a_row_of_zeros_has_a_posterior_too(counts, name, inference):
    """It shows nothing: smaller weights than a row that does, and finite (of proportions: the prior's)."""
    model = ESTIMATORS[name](3, inference=inference, max_epochs=5, random_state=0).fit(counts)
    empty = sparse.csr_matrix((1, 20))
    x, std = model.transform(empty, return_std=True)
    assert np.all(x >= 0)
    assert np.all(np.isfinite(std))
    if model.model.normalised:
        assert x.sum() == pytest.approx(1.0)
    else:
        assert x.sum() < model.transform(counts).sum(axis=1).max()
    probability = model.column_probabilities(empty)[0]
    assert probability.sum() == pytest.approx(1.0)
    assert len(model.top_columns(empty, n=3)) == 3


@pytest.mark.parametrize(("name", "inference"), [("hgp", "structured"), *((name, "mean-field") for name in POISSON)])
@pytest.mark.parametrize("row", [np.zeros(20), np.eye(20)[3]], ids=["zeros", "one count"])
def test_a_row_does_not_depend_on_those_beside_it(counts, name, inference, row):
    model = ESTIMATORS[name](3, inference=inference, max_epochs=5, random_state=0).fit(counts)
    alone = model.transform(row[None])[0]
    beside = model.transform(np.vstack([counts.tocsr().toarray()[:3], row]))[3]
    assert np.allclose(beside, alone, rtol=1e-2)  # rows of a block stop together, once none moves by more than 1e-3


def test_transforming_no_rows_is_refused(fitted):
    with pytest.raises(ValueError, match="at least one row"):
        fitted.transform(sparse.csr_matrix((0, 20)))


def test_cnpf_takes_whole_floats_as_integers(dense):
    one, two = (CNPF(2, 2, max_epochs=2, random_state=0).fit(X) for X in (dense, dense.astype(int)))
    assert np.array_equal(one.components_, two.components_)
