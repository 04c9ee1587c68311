"""The tables of options and the library say the same."""

import inspect
import re

import pytest

from cormorant.cli.options import FIT, READ, SIMULATE, batch_size, number_or_word, stop_words
from cormorant.data.readers.registry import FORMATS
from cormorant.datasets import simulate, simulate_features, simulate_prior, simulate_thinned
from cormorant.estimators.parameters import ALLOCATIONS, DEFAULTS
from cormorant.estimators.registry import ALL, FAMILIES, OF_COUNTS
from cormorant.models.cnpf import PROCESSES
from cormorant.models.features import LIKELIHOODS
from cormorant.models.kernels import KERNELS

NOT_OPTIONS = {"callbacks", "verbose", "warm_start", "random_state"}  # the last is --seed, which the split shares


def parameters(table):
    return {setting.parameter for setting in table}


def option(table, parameter):
    return next(setting for setting in table if setting.parameter == parameter)


def test_every_parameter_of_the_estimators_has_an_option():
    assert parameters(FIT) == {name for cls in ALL.values() for name in cls().get_params()} - NOT_OPTIONS


def test_every_option_of_the_readers_is_there():
    known = {name for kind in FORMATS.values() for name in kind.options}
    assert parameters(READ) == known | {"format", "vocabulary", "row_names"}


def test_every_number_of_the_simulator_is_there():
    functions = simulate, simulate_features, simulate_thinned, simulate_prior
    known = {name for function in functions for name in inspect.signature(function).parameters}
    assert parameters(SIMULATE) == known - {"model", "locations", "hyper", "seed"}
    drawn = {setting.parameter for setting in SIMULATE if "without --prior" not in setting.panel}
    assert drawn == set(inspect.signature(simulate_prior).parameters) - {"model", "hyper", "seed"}


def defaults(functions):
    return {name: value.default for f in functions for name, value in inspect.signature(f).parameters.items()}


SIMULATORS = {
    "counts": [simulate], "features": [simulate_features], "thinned": [simulate_thinned], "prior": [simulate_prior]
}  # fmt: skip
INITS = {family: [cls.__init__ for cls in members.values()] for family, members in FAMILIES.items()}


@pytest.mark.parametrize(("table", "functions"), [(FIT, INITS), (SIMULATE, SIMULATORS)], ids=["fit", "simulate"])
def test_the_help_tells_the_defaults(table, functions):
    """Those of models of counts, and in brackets those of other families where they differ."""
    usual, *others, prior = (defaults(functions.get(f, [])) for f in ("counts", "features", "thinned", "prior"))
    for setting in table:
        for family, own in zip(("features", "thinned"), others, strict=True):
            if setting.parameter in usual and setting.parameter in own:
                differs = own[setting.parameter] != usual[setting.parameter]
                told = re.search(rf"\(.*\b{family}: ([^\s,;)]+).*\)", setting.help)
                assert (told and told[1]) == (str(own[setting.parameter]) if differs else None), setting.flag
        told = re.search(r"Default: (\S+?)[.,;]?(\s|$)", setting.help)
        actual = (prior | others[0] | others[1] | usual)[setting.parameter]
        if told and actual is not None:
            assert told[1] == str(actual), setting.flag
        else:  # None: what it means depends on the data, or is the scheme's own
            assert actual is None, setting.flag


def test_the_help_tells_the_choices():
    for name in (*DEFAULTS, "auto"):
        assert name in option(FIT, "inference").help
    for table in (FIT, SIMULATE):
        assert all(name in option(table, "tuples").help for name in PROCESSES)
        assert all(name in option(table, "kernel").help for name in KERNELS)
    for name in ALLOCATIONS:
        assert name in option(FIT, "allocation").help
    for name in FORMATS:
        assert name in option(READ, "format").help
    for name in LIKELIHOODS:
        assert name in option(FIT, "likelihood").help


@pytest.mark.parametrize(("verb", "models"), [("fit", ALL), ("simulate", ALL), ("compare", OF_COUNTS)])
def test_models_are_named_in_the_help(cormorant, verb, models):
    told = " ".join(cormorant(verb, "--help").out.replace("│", " ").split())
    for model in models:
        assert model in told


def test_flags_differ():
    for table in (FIT, READ, SIMULATE):
        flags = [flag for setting in table for flag in setting.flag.split("/")]
        assert len(set(flags)) == len(flags)


def test_texts_are_read(tmp_path):
    assert [batch_size(text) for text in ("auto", "all", "100")] == ["auto", None, 100]
    assert [number_or_word(text) for text in ("5", "0.5", "auto")] == [5, 0.5, "auto"]
    (tmp_path / "words.txt").write_text("the\na\n")
    found = [stop_words(text) for text in ("english", "none", str(tmp_path / "words.txt"))]
    assert found == ["english", None, ["the", "a"]]
    with pytest.raises(ValueError, match=r"--stop-words must be .*; nowhere could not be read \(No such file"):
        stop_words("nowhere")
