"""What is compiled again, and what without a folder to keep it in; threads that are woken for work that is worth it,
outlive a fork, and leave BLAS as they found it."""

import importlib
import logging
import multiprocessing
import sys
import threading
import zipfile

import numba
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import ThreadpoolController, threadpool_info

from cormorant.backends import compiled
from cormorant.backends.compiled import EACH, SingleBlasThread, Threads, digest_of, keeping
from cormorant.backends.select import select_backend
from cormorant.inference import ahead


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def use_two_blas_threads():
    """Whatever the machine has, and whatever tests before have set; how many it is."""
    for library in ThreadpoolController().select(user_api="blas").lib_controllers:
        library.set_num_threads(2)
    compiled._release_blas()
    return blas_threads()


@pytest.mark.parametrize(
    ("n_rows", "each", "n_ranges"), [(1, 1000, 1), (9, EACH, 1), (9, 60, 5), (1000, EACH, 8), (2, 10**6, 2)]
)
def test_a_range_is_worth_a_thread(monkeypatch, n_rows, each, n_ranges):
    """Ten rows cut into eight ranges took five times as long as the same rows in one."""
    monkeypatch.setattr(compiled, "LEAST", 100)
    ranges = []
    Threads(2).over(lambda first, last: ranges.append((first, last)), n_rows, each)
    ranges.sort()
    assert len(ranges) == n_ranges
    assert [first for first, _ in ranges] == [0, *(last for _, last in ranges[:-1])]
    assert ranges[-1][1] == n_rows


@pytest.mark.parametrize(("least", "is_split"), [(1, True), (10**6, False)])
def test_small_products_are_not_split(monkeypatch, least, is_split):
    monkeypatch.setattr(compiled, "LEAST", least)
    threads, a, b = Threads(2), np.arange(600.0).reshape(300, 2), np.arange(20.0).reshape(2, 10)
    monkeypatch.setattr(compiled, "PRODUCTS", 1)
    assert_array_equal(threads.product(a, b), a @ b)
    assert bool(threads._workers._threads) == is_split


@pytest.mark.parametrize(("n_items", "splits", "are_apart"), [(2, False, True), (2, True, False), (1, False, False)])
def test_items_have_a_thread_each_where_they_fill_them_or_never_split(monkeypatch, n_items, splits, are_apart):
    monkeypatch.setattr(compiled, "LEAST", 1)
    threads = Threads(3)

    def parts(item):
        ranges = []
        threads.over(lambda first, last: ranges.append((first, last)), 100)
        return threading.current_thread() is not threading.main_thread(), len(ranges) == 1

    assert set(threads.map(parts, range(n_items), splits)) == {(are_apart, are_apart)}


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of newer Pythons: a fork beside threads
def test_threads_after_a_fork():
    """A server that loads a model and forks: the copy has the pool, but none of its threads."""
    threads = Threads(2)
    work = [(1, 2), (3, 4), (5, 6)]
    assert list(threads.map(sum, work)) == [3, 7, 11]
    assert not hangs_after_a_fork(lambda: list(threads.map(sum, work)))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_blas_is_not_waited_for_after_a_fork():
    """A server forks while another of its threads is on its way in: that thread is not in the copy, its lock is."""
    single = compiled.single_blas_thread()

    def enter():
        with single:
            pass

    with single._lock:
        assert not hangs_after_a_fork(enter)


def hangs_after_a_fork(work):
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(10)
    hangs = child.is_alive()
    child.kill()
    child.join()
    return hangs


def test_blas_is_left_as_it_was():
    """One context within another, and two threads of a service: the first is done while the second is not."""
    before, single = use_two_blas_threads(), SingleBlasThread()
    in_first, in_second, out_of_first, over = (threading.Event() for _ in range(4))

    def first():
        with single:
            in_first.set()
            in_second.wait(10)
        out_of_first.set()
        over.wait(10)  # it lives on

    thread = threading.Thread(target=first)
    thread.start()
    in_first.wait(10)
    with single:
        in_second.set()
        out_of_first.wait(10)
        with single:
            pass
        inside = blas_threads()
    after = blas_threads()
    over.set()
    thread.join()
    assert (before, inside, after) == ({2}, {1}, {2})
    with single:
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_compiled_without_a_folder_to_keep_it_in(caplog):
    """As where neither the package's folder nor the user's can be written to: Numba finds no place for the function."""
    found = {}
    exec("def double(x): return x + x", found)
    with caplog.at_level(logging.INFO, "cormorant"):
        double = keeping(nogil=True)(found["double"])
    assert double(2.0) == 4.0
    assert "NUMBA_CACHE_DIR" in caplog.text
    assert ahead.is_kept(double)  # nothing could be compiled ahead


def test_what_is_not_to_be_compiled_is_left_as_it_is(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    assert keeping(nogil=True)(blas_threads) is blas_threads
    with pytest.raises(ValueError, match="NUMBA_DISABLE_JIT keeps Numba from compiling: unset it"):
        select_backend()


@pytest.mark.parametrize("archive", [None, "kernels.zip"])
def test_a_function_is_compiled_again_where_another_file_changed_that_it_calls(tmp_path, monkeypatch, archive):
    """Numba asks about a function's own file alone: predictions would go on as by the code of yesterday."""
    place = tmp_path if archive is None else tmp_path / archive
    monkeypatch.syspath_prepend(place)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # where Numba keeps what comes from an archive

    def installed(factor):
        head = "from cormorant.backends.compiled import compiled\n"
        called = f"{head}@compiled\ndef scale(x):\n    return {factor} * x\n"
        calling = f"{head}from called_kernel import scale\n@compiled\ndef shifted(x):\n    return scale(x) + 1.0\n"
        for name, text in (("called_kernel", called), ("calling_kernel", calling)):
            (tmp_path / f"{name}.py").write_text(text)
            sys.modules.pop(name, None)
        if archive is not None:
            with zipfile.ZipFile(place, "w") as packed:
                for name in ("called_kernel.py", "calling_kernel.py"):
                    packed.write(tmp_path / name, name)
                    (tmp_path / name).unlink()
        importlib.invalidate_caches()
        digest_of.cache_clear()  # as in another process
        return importlib.import_module("calling_kernel").shifted

    first = installed(2.0)
    assert first(3.0) == 7.0
    if first.stats.cache_path is None:
        pytest.skip("before version 0.61 Numba keeps nothing that comes from an archive")
    again = installed(2.0)
    assert ahead.is_kept(again)
    assert again(3.0) == 7.0
    assert sum(again.stats.cache_hits.values()) == 1
    changed = installed(5.0)
    assert not ahead.is_kept(changed)
    assert changed(3.0) == 16.0
    assert sum(changed.stats.cache_hits.values()) == 0
