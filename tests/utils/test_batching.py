import numpy as np
import pytest

from nppac.utils.batching import map_in_chunks


@pytest.mark.parametrize("n", [0, 1, 16, 17, 1025])
def test_chunks_cover_every_row_once(n):
    sizes = []

    def double(x):
        sizes.append(len(x))
        return 2.0 * x, x[:, :1]

    x = np.arange(3 * n, dtype=np.float32).reshape(n, 3)
    doubled, first = map_in_chunks(double, x)
    np.testing.assert_array_equal(doubled, 2.0 * x)
    np.testing.assert_array_equal(first, x[:, :1])
    assert set(sizes) <= {16, 1024}
