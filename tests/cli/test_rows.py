"""`cormorant rows`: the library's tables of rows, of the fit or new ones."""

import numpy as np
import pytest

import cormorant as library
from cormorant.data import write
from cormorant.explore import tables


def test_the_first_rows(cormorant, fit_folder, counts_file):
    ran = cormorant("rows", fit_folder, counts_file, "--limit", 4)
    assert ran.code == 0
    assert "The first 4 of 300 rows" in ran.out
    found = cormorant("rows", fit_folder, counts_file, "--limit", 4, "--json").json["rows"]
    assert [one["row"] for one in found] == ["0", "1", "2", "3"]
    assert all("similar" not in one for one in found)


def test_one_row_in_full(cormorant, fit_folder, counts, counts_file):
    (found,) = cormorant("rows", fit_folder, counts_file, "--row", 12, "--top", 3, "--json").json["rows"]
    model, row = library.load(fit_folder), counts.rows([12])
    expected = tables.row_profile(model, 0, row, n=3)
    assert [line["component"] for line in found["components"]] == expected["component"].tolist()
    np.testing.assert_allclose([line["std"] for line in found["components"]], expected["std"])
    following = model.top_columns(row, 3)
    assert [line["column"] for line in found["next"]] == following["column"].tolist()
    assert len(found["similar"]) == 3
    for part in ("its components", "would show next", "similar rows"):
        assert part in cormorant("rows", fit_folder, counts_file, "--row", 12).out


def test_a_row_of_the_fit_is_not_similar_to_itself(cormorant, fit_folder, counts_file):
    model = library.load(fit_folder)
    own = str(model.row_names_[0])
    (found,) = cormorant("rows", fit_folder, counts_file, "--row", own, "--json").json["rows"]
    assert own not in [line["row"] for line in found["similar"]]


def test_rows_by_name(cormorant, fit_folder, counts, tmp_path):
    named = counts.rows([5, 6]).named(row_names=["1", "Ann"])
    write(named, tmp_path / "named.npz")
    found = cormorant("rows", fit_folder, tmp_path / "named.npz", "--row", "Ann", "--row", "1", "--json").json["rows"]
    assert [one["row"] for one in found] == ["Ann", "1"]
    # A name comes before a number: the second is the first row, not the one at position 1.
    first = cormorant("rows", fit_folder, tmp_path / "named.npz", "--limit", 1, "--json").json["rows"][0]
    assert found[1]["components"] == first["components"]


@pytest.mark.parametrize(("row", "said"), [("300", "--row must be a number from 0 to 299"), ("Ann", "have no names")])
def test_unknown_rows(cormorant, fit_folder, counts_file, row, said):
    ran = cormorant("rows", fit_folder, counts_file, "--row", row)
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
