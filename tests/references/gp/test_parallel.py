import os

import numpy as np
import pytest

from nppac.references.gp.parallel import map_chunks, map_threads, thread_count
from nppac.utils.errors import UserError


@pytest.mark.parametrize(("n", "sizes"), [(0, []), (1, [1]), (3, [4]), (10, [4, 4, 4])])
def test_every_row_is_in_one_chunk_of_a_known_size(n, sizes):
    seen, used = np.zeros(n), []

    def fill(chunk, size):
        assert chunk.stop - chunk.start <= size
        seen[chunk] += 1
        used.append(size)

    map_chunks(n, (1, 4), fill)
    np.testing.assert_array_equal(seen, 1)
    assert used == sizes


def test_an_error_in_a_chunk_is_raised():
    def fail(chunk, size):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        map_chunks(10, (4,), fail)


def test_results_keep_the_order_of_their_items():
    assert list(map_threads(lambda i: i * i, range(50))) == [i * i for i in range(50)]


def test_threads_are_the_cores_of_this_process_or_fewer(monkeypatch):
    monkeypatch.delenv("NPPAC_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 3, 5}, raising=False)
    assert thread_count() == 3
    for limit, expected in (("2", 2), ("8", 3), ("", 3)):
        monkeypatch.setenv("NPPAC_THREADS", limit)
        assert thread_count() == expected
    monkeypatch.setenv("NPPAC_THREADS", "")
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert thread_count() == 1


@pytest.mark.parametrize("limit", ["0", "-1", "two", "1.5"])
def test_a_limit_that_is_no_number_is_named(monkeypatch, limit):
    monkeypatch.setenv("NPPAC_THREADS", limit)
    with pytest.raises(UserError, match=f"NPPAC_THREADS is '{limit}'"):
        thread_count()
