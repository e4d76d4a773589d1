import numpy as np
import pytest

from nppac.utils.parallel import map_chunks, map_threads


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
