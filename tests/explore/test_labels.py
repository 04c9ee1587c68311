"""Labels: telling, short, no two the same."""

import numpy as np
import pytest

from cormorant.explore.labels import LABEL_LETTERS, component_labels, numbered, short_name

from .handmade import handmade


def test_labels_are_of_the_columns_that_set_components_apart(model):
    assert [label.split()[0] for label in component_labels(model)] == ["apple", "bird", "cat", "$dog$"]


def test_common_columns_do_not_label():
    """Every component shows column 0 most; what tells them apart are the others."""
    atoms = np.array([[5.0, 2.0, 0.1, 0.1], [5.0, 0.1, 2.0, 0.1]])
    assert component_labels(handmade(np.eye(2), [0.5, 0.5], components_=atoms), n=1) == ["bird", "cat"]


def test_labels_are_distinct_and_the_more_used_component_has_the_first_choice():
    """Two components that differ only in how much they hold."""
    atoms = np.array([[4.0, 3.0, 1.0, 0.1], [4.0, 3.0, 1.0, 0.1], [0.1, 0.1, 0.1, 4.0]])
    labels = component_labels(handmade(np.eye(3), [0.2, 0.5, 0.3], components_=atoms), n=2)
    assert labels[1] == "apple bird"
    assert labels[0] == "apple cat"


def test_numbers_tell_apart_what_columns_cannot():
    atoms = np.ones((3, 1))
    names = np.array(["only"], dtype=object)
    labels = component_labels(handmade(np.eye(3), [0.5, 0.3, 0.2], components_=atoms, column_names_=names))
    assert labels == ["only", "only (1)", "only (2)"]
    assert [numbered(label, k) for k, label in enumerate(labels)] == ["only (0)", "only (1)", "only (2)"]


def test_components_that_hold_nothing_have_labels_too():
    """Wherever they are: a fit by partial_fit does not sort its components."""
    labels = component_labels(handmade(np.eye(4), [0.5, 0.0, 0.5, 0.0]), n=1)
    assert labels == ["apple", "bird", "cat", "$dog$"]


def test_long_names_make_labels_of_fewer(model):
    model.column_names_ = np.array(["a long name of a column", "bird", "another quite long name", "d"], dtype=object)
    labels = component_labels(model)
    assert all(len(label) <= LABEL_LETTERS for label in labels)
    assert labels[0] == "a long name of a column, d"  # names with spaces have commas between; a third has no room


def test_short_names():
    assert short_name("a\n b\tc") == "a b c"
    assert short_name("abcdef", 4) == "abc…"
    assert short_name("ab def", 4) == "ab…"
    assert short_name("one two three", 9) == "one two…"  # words are not cut where there are several
    assert short_name("one two three", 7) == "one…"
    assert short_name("one two, three", 11) == "one two…"
    assert all(len(short_name("one two, three", letters)) <= letters for letters in range(1, 20))


def test_names_do_not_turn_the_writing():
    assert short_name("a\u202eb") == "ab"
    marks = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    assert short_name(f"a{marks} b{marks}", 3) == "a b"
    assert short_name("שלום עולם") == "שלום עולם"  # letters turn only themselves


def test_n_is_checked(model):
    with pytest.raises(ValueError, match="n must be a whole number of at least 1, got 0"):
        component_labels(model, n=0)
