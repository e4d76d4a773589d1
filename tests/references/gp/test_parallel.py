import numpy as np
import pytest

from nppac.references.gp.parallel import in_parts


@pytest.mark.parametrize(("n", "sizes"), [(0, []), (1, [1]), (3, [4]), (10, [4, 4, 4])])
def test_every_row_is_in_one_part_of_a_known_size(n, sizes):
    seen, used = np.zeros(n), []

    def answer(part, size):
        assert part.stop - part.start <= size
        seen[part] += 1
        used.append(size)

    in_parts(n, (1, 4), answer)
    np.testing.assert_array_equal(seen, 1)
    assert used == sizes


def test_an_error_in_a_part_is_raised():
    with pytest.raises(ZeroDivisionError):
        in_parts(10, (4,), lambda part, size: 1 // 0)
