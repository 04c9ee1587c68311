"""The contract of stochastic inference: steps that see some of the rows, by `batch_size` and by `partial_fit`."""

import copy
from typing import Any

import numpy as np
import pytest
from contract_cases import (
    ALL_CASES,
    BATCH,
    CASES,
    ROWS,
    Case,
    assert_finite_and_shaped,
    assert_same_numbers,
    drawn,
    fit,
    fitted,
    known,
    predictions,
    told_of_rows,
)

from cormorant.estimators import load, registry

pytestmark = pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")
STEPPING = [case for case in ALL_CASES if case.makes_steps]
PARTS = 3  # calls of `partial_fit`, each with a part of the rows


def show(case: Case, model: Any, rows: slice) -> Any:
    """One step on some of the rows."""
    return model.partial_fit(drawn(case)[0][rows], **{name: value[rows] for name, value in known(case).items()})


def shown_in_parts(case: Case, **others: Any) -> Any:
    model = case.unfitted(**others)
    for part in range(PARTS):
        show(case, model, slice(part * BATCH, (part + 1) * BATCH))
    return model


@pytest.mark.parametrize("case", [case for case in CASES if case.is_stochastic and not case.samples], ids=str)
def test_steps_that_see_all_rows_are_those_of_batch_inference(case):
    told = {name: value for name, value in case.settings.items() if name != "batch_size"}
    (batch,) = (other for other in CASES if other.name == case.name and other.settings == told)
    assert_same_numbers(fit(case, batch_size=ROWS), fitted(batch))
    assert not np.array_equal(fitted(case).components_, fitted(batch).components_)


@pytest.mark.parametrize("name", [name for name, cls in registry.ALL.items() if "batch_size" not in cls().get_params()])
def test_models_without_stochastic_inference_say_so(name):
    assert not hasattr(registry.ALL[name], "partial_fit")
    with pytest.raises(TypeError, match="unexpected keyword argument 'batch_size'"):
        registry.ALL[name](batch_size=BATCH)


@pytest.mark.parametrize("case", [case for case in CASES if case.samples and hasattr(case.cls, "partial_fit")], ids=str)
def test_samplers_take_no_rows_in_parts(case):
    with pytest.raises(ValueError, match="visits all rows in every sweep, so it has no partial_fit; use inference="):
        show(case, case.unfitted(), slice(0, BATCH))


@pytest.mark.parametrize("case", STEPPING, ids=str)
def test_rows_may_come_in_parts(case, tmp_path):
    seen = []
    model = shown_in_parts(case, callbacks=[lambda info, state: seen.append(info)])
    assert_finite_and_shaped(case, model)
    shown = drawn(case)[0][: PARTS * BATCH].row_totals() + (not case.cls.model.normalised)
    assert model.n_rows_seen_ == np.count_nonzero(shown)  # normalised models see no empty rows
    assert len(model.history_) == len(seen) == model.n_epochs_ == PARTS
    assert [(info["epoch"], info["stage"]) for info in model.history_] == [(t + 1, "partial_fit") for t in range(PARTS)]
    assert np.all(np.diff([info["rho"] for info in model.history_]) < 0)
    assert np.all(np.diff([info["seconds"] for info in model.history_]) > 0)
    assert {info["bound"] is not None for info in model.history_} == {case.has_bound}
    assert model.bound_ == model.history_[-1]["bound"]
    assert model.stop_reason_ == f"partial_fit takes one step a call: {PARTS} steps so far"
    assert len(model.validation_rows_) == len(model.held_out_rows_) == 0
    assert not model.interrupted_
    again = shown_in_parts(case, n_jobs=2)
    assert_same_numbers(model, again)
    read = load(again.save(tmp_path / "model"))
    for each in (model, read):
        show(case, each, slice(0, BATCH))
    assert_same_numbers(model, read)
    assert len(read.history_) == PARTS + 1


@pytest.mark.parametrize("case", STEPPING, ids=str)
def test_steps_go_on_from_a_fit_and_learn(case, tmp_path):
    """From a saved one as from the one in memory; and from nothing they come to know the rows better than at first."""
    model = copy.deepcopy(fitted(case))
    read = load(model.save(tmp_path / "model"))
    for each in (model, read):
        show(case, each, slice(0, BATCH))
    assert_same_numbers(model, read)
    learning = show(case, case.unfitted(), slice(0, ROWS))
    if case.settings["inference"] == "structured":  # a first step has nothing to average with: it is that of a batch
        assert_same_numbers(learning, show(case, case.unfitted(learning_offset=0.0), slice(0, ROWS)))
    first = told_of_rows(case, predictions(case, learning)["column_probabilities"])
    for _ in range(4):
        show(case, learning, slice(0, ROWS))
    assert told_of_rows(case, predictions(case, learning)["column_probabilities"]) > first
