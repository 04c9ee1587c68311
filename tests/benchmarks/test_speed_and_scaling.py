"""The scripts behind the figures of speed: what they time is what their pages say."""

import numpy as np
import pytest
import scaling
import speed

from cormorant.data import as_counts


def test_an_exponent_is_the_slope_of_the_upper_half():
    sizes = [1.0, 2.0, 4.0, 8.0]
    assert scaling.exponent(sizes, [7.0, 7.0, 16.0, 64.0]) == pytest.approx(2.0)


def test_rows_have_just_so_many_nonzeros():
    counts = scaling.random_counts(rows=40, entries=7, columns=9)
    assert (counts.n_rows, counts.n_columns) == (40, 9)
    assert np.all(np.diff(counts.indptr) == 7)
    assert all(len(set(counts.indices[first : first + 7])) == 7 for first in counts.indptr[:-1])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("inference", ["structured", "gibbs"])
def test_an_epoch_is_timed_by_the_epochs_after_the_first(inference, monkeypatch):
    ticks = iter(range(1000))
    monkeypatch.setattr(scaling.time, "process_time", lambda: 3.0 * next(ticks))  # three seconds between two looks
    case = {"rows": 60, "entries": 5, "components": 3, "dims": 2, "columns": 20}
    settings = {"inference": inference, "validation": 0, "random_state": 0, "tol": 0.0, "n_jobs": 1}
    settings |= {"max_epochs": 5} if inference == "structured" else {"max_epochs": 1, "n_chains": 1, "n_sweeps": 5}
    counts = scaling.random_counts(case["rows"], case["entries"], case["columns"])
    assert scaling.epoch_seconds(case, settings, counts) == pytest.approx(3.0)
    assert next(ticks) == 5  # five epochs or sweeps were looked at, no start


def test_rates_are_counted_from_nonzeros_and_components(monkeypatch):
    counted = {}

    def rate(work, operations, repeats=7):
        work()
        counted.setdefault("operations", []).append(operations)
        return 1.0

    monkeypatch.setattr(scaling, "best_rate", rate)
    found = scaling.roofline("short", scaling.random_counts(50, 4, 30), 8, dims=2)
    assert [(r["loop"], r["rows"], r["components"]) for r in found] == [
        ("allocation", "short", 8),
        ("field step", "short", 8),
    ]
    assert counted["operations"][1] == 4 * 8 * (50 * 4) * 4  # 4 K a nonzero, four sweeps


def test_medians_and_ratios_of_the_table_of_seconds():
    found = [
        {"line": line, "repeat": repeat, "seconds": seconds, "10%": 1500.0, "50%": 1200.0}
        for line, times in {"lda": (10.0, 30.0, 20.0), "default": (50.0, 20.0, 30.0)}.items()
        for repeat, seconds in enumerate(times)
    ]
    page = speed.render(found).splitlines()
    assert "| scikit-learn LDA, K = 50, 10 passes, 2 jobs | 20.0 | 1.00 | 1500 | 1200 |  |" in page
    assert "| CNPF, default | 30.0 | 1.50 | 1500 | 1200 |  |" in page


def test_sweeps_are_timed_without_what_they_start_from(monkeypatch):
    """Two chains of two hundred sweeps: each clock starts at its own chain's first sweep."""
    ticks = iter(np.arange(0.0, 10_000.0))
    monkeypatch.setattr(speed.time, "perf_counter", lambda: next(ticks))

    class Model:
        def __init__(self, *sizes, callbacks, n_chains, n_sweeps, n_jobs, **settings):
            self.tick, self.chains, self.sweeps = callbacks[0], n_chains, n_sweeps
            assert n_jobs == 2  # one after the other the chains would take twice as long as the longest

        def fit(self, rows):
            stages = ["start"] * 50 + [f"chain {chain}" for chain in range(self.chains) for _ in range(self.sweeps)]
            for stage in stages:
                self.tick(type("Info", (), {"stage": stage}), None)

    monkeypatch.setattr(speed, "CNPF", Model)
    monkeypatch.setattr(speed, "our_levels", lambda model, parts: {})
    parts = type("Parts", (), {"train": as_counts(np.eye(3, dtype=int))})
    assert speed.sweeps(parts, n_chains=2) == {"seconds": pytest.approx(200.0)}


def test_lines_run_in_turn_and_the_slowest_once(monkeypatch):
    ran = []

    def run(command, **options):
        ran.append(command[command.index("--child") + 1])
        return type("Done", (), {"stdout": '{"seconds": 1.0}\n'})

    monkeypatch.setattr(speed.subprocess, "run", run)
    found = speed.measure(["lda", "ctm", "default"], 2, None)
    assert ran == ["lda", "ctm", "default", "lda", "default"]
    assert [(f["line"], f["repeat"]) for f in found if f["line"] != "lda"] == [
        ("ctm", 0),
        ("default", 0),
        ("default", 1),
    ]
