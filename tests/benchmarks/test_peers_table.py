"""Lines of the table and the page made of them."""

from pathlib import Path

import numpy as np
import pytest
from harness import curves, table
from harness.choosing import Score, Trial
from harness.jobs import Outcome
from harness.packages import PEERS, Effort

NYT = table.Data("nyt", 8447, 1000)


def scored(name, setting, ten, fifty, chosen, chains=1, behind=None):
    trial = Trial(PEERS[name], setting, chains, chosen)
    perplexity = {"10%": ten, "50%": fifty}
    return Score(trial, Outcome({}, 12.34, 20.0, 1.26, 99.6), perplexity, behind=behind or {})


@pytest.fixture
def lines():
    both = ("10%", "50%")
    scores = [
        scored(
            "tomotopy LDA",
            {"k": 20, "eta": 0.1},
            1631.4,
            1402.0,
            ("10%",),
            chains=10,
            behind={"10%": (4.68, 0.31), "50%": (-6.99, 0.42)},
        ),
        scored("tomotopy LDA", {"k": 50, "eta": 0.1}, 1640.0, 1370.2, ("50%",), chains=10),
        scored("cormorant CNPF", {"n_components": 200}, 1555.0, 1304.0, both),
    ]
    return [
        *(table.line(NYT, "test", score) for score in scores),
        table.line(NYT, "validation", scored("hpfrec", {"k": 20}, 1.0, 1.0, ())),
        table.missing_line(NYT, "hpfrec", "not installed (pip install hpfrec)"),
    ]


def test_the_page(lines):
    page = table.render(lines, "A note.").splitlines()
    assert page[:5] == [
        "# Cormorant beside other packages",
        "",
        "A note.",
        "",
        "## nyt, 8,447 rows, 1,000 of them held out",
    ]
    assert page[8:11] == [
        "| cormorant CNPF | n_components = 200 | **1555** | **1304** |  | 12 | 1.3 | 100 |",
        "| tomotopy LDA | k = 20, eta = 0.1; 10 chains | 1631 | (1402) | 4.7 ± 0.3, -7.0 ± 0.4 | 12 | 1.3 | 100 |",
        "| tomotopy LDA | k = 50, eta = 0.1; 10 chains | (1640) | 1370 |  | 12 | 1.3 | 100 |",
    ]
    assert page[11:16] == ["", "Not run:", "", "- hpfrec: not installed (pip install hpfrec)", ""]
    assert sum(line.startswith("- tomotopy LDA: `infer`") for line in page) == 1


def test_paragraphs_written_by_hand_stay(lines):
    first = table.render(lines, "A note.")
    assert table.remarks(first) == ""
    kept = "Read this\nwith care.\n\nAnd this."
    again = table.render(lines, "A note.", kept)
    assert again.splitlines()[2:9] == ["A note.", "", "Read this", "with care.", "", "And this.", ""]
    assert table.remarks(again) == kept
    assert again.replace(f"{kept}\n\n", "") == first


def test_lines_are_read_back_and_renewed(lines, tmp_path):
    file = tmp_path / "new" / "peers.csv"
    assert table.read(file) == []
    table.write(file, lines)
    assert table.read(file) == lines
    renewed = table.line(NYT, "test", scored("tomotopy LDA", {"k": 100}, 1.0, 2.0, ("10%", "50%"), chains=10))
    merged = table.merge(table.read(file), [renewed])
    assert merged == [*lines[2:], renewed]
    other = table.line(table.Data("arxiv", 20000, 1000), "test", scored("hpfrec", {"k": 20}, 1.0, 2.0, ("10%", "50%")))
    assert table.merge([*lines, other], [renewed]) == [*lines[2:], renewed, other]  # data sets stay where they are


def test_the_lowest_of_all_is_bold_wherever_it_stands(lines):
    """A setting that was chosen for the other fraction hides nothing; small figures have a decimal."""
    lines[1] |= {"10%": "49.0"}  # K = 50, chosen for 50%
    page = table.render(
        [line | ({"10%": "49.3"} if line["setting"] == "n_components = 200" else {}) for line in lines], ""
    )
    assert "| (**49.0**) | 1370 |" in page
    assert "| 49.3 | **1304** |" in page


def test_margins_are_of_the_line_of_ours_that_is_there(lines):
    assert lines[0]["behind"] == "4.68 -6.99"
    [again] = [line | {"10%": "1500.0"} for line in lines if line["model"] == "cormorant CNPF"]
    merged = table.merge(lines, [again])
    assert [line["behind"] for line in merged] == [""] * len(lines)
    other = again | {"held out": "5000"}  # another set of rows
    assert table.merge(lines, [other])[0]["behind"] == "4.68 -6.99"


def test_the_published_table_can_be_read_and_renewed():
    lines = table.read(Path(__file__).parents[2] / "docs" / "benchmarks" / "peers.csv")
    assert set(lines[0]) == set(table.FIELDS)
    page = table.render(table.merge(lines, lines[:1]), "A note.")
    assert page.count("\n## ") == len({(line["data"], line["rows"], line["held out"]) for line in lines}) + 1


def test_rows_held_out_tell_lines_apart(lines):
    more = table.line(
        table.Data("nyt", 8447, 5000), "test", scored("tomotopy LDA", {"k": 20}, 1.0, 2.0, ("10%", "50%"))
    )
    assert table.merge(lines, [more]) == [*lines, more]
    assert "## nyt, 8,447 rows, 5,000 of them held out" in table.render([*lines, more], "A note.")


def test_what_was_chosen_is_read_back(lines):
    lda, effort = PEERS["tomotopy LDA"], Effort((20, 50), iterations=7)
    for line in lines:
        line["setting"] += ", iterations = 7"
    assert table.chosen(lines, NYT, lda, effort) == [
        ({"k": 20, "eta": 0.1, "iterations": 7}, ("10%",)),
        ({"k": 50, "eta": 0.1, "iterations": 7}, ("50%",)),
    ]
    lines[0]["failure"] = "took more than 7200 s"  # it was chosen all the same
    assert len(table.chosen(lines, NYT, lda, effort)) == 2
    assert table.chosen([], NYT, PEERS["column mean"], effort) == [({}, ("10%", "50%"))]  # there is nothing to choose
    with pytest.raises(ValueError, match="no setting of hpfrec for nyt with 8447 rows, 1000 of them held out"):
        table.chosen(lines, NYT, PEERS["hpfrec"], effort)
    with pytest.raises(ValueError, match=r"the table has tomotopy LDA with k = 50, eta = 0\.1, iterations = 7"):
        table.chosen(lines, NYT, lda, Effort((20,), iterations=7))


def test_outcomes_are_read_back(tmp_path):
    written = Outcome({"10%": np.array([0.25, 0.5]), "50%": np.array([0.125])}, 1.0, 2.0, 3.0, 4.0)
    written.write(tmp_path / "fits" / "one.npz")
    again = Outcome.read(tmp_path / "fits" / "one.npz")
    assert (again.seconds, again.wall, again.inference, again.megabytes, again.failure) == (1.0, 2.0, 3.0, 4.0, "")
    np.testing.assert_array_equal(again.probabilities["10%"], [0.25, 0.5])
    assert list(tmp_path.glob("fits/*")) == [tmp_path / "fits" / "one.npz"]


def test_time_curves_are_written_and_drawn(tmp_path):
    slow = Score(Trial(PEERS["tomotopy LDA"], {"iterations": 100}, 1), Outcome({}, failure="took more than 9 s"))
    few, many = (scored("tomotopy LDA", {"iterations": n}, 2000.0 / n, 1000.0 / n, ()) for n in (1, 10))
    curves.draw(NYT, {"a chain": [few, many, slow], "all slow": [slow]}, tmp_path)
    points = table.read(tmp_path / "time-nyt.csv")
    assert [(p["curve"], p["setting"], p["10%"], p["50%"]) for p in points] == [
        ("a chain", "iterations = 1", "2000.0", "1000.0"),
        ("a chain", "iterations = 10", "200.0", "100.0"),
    ]
    assert (tmp_path / "time-nyt.png").read_bytes().startswith(b"\x89PNG")
