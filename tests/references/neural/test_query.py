import numpy as np
import pytest

from nppac.references.neural.query import in_chunks, standardiser
from nppac.utils.errors import UserError
from references import small


def test_constant_entries_count_in_their_own_unit():
    obs, _ = small.make_data()
    units = standardiser(obs)
    np.testing.assert_allclose(units.spread[2], 1.0)
    x = units(obs)
    assert x.dtype == np.float32
    np.testing.assert_allclose(x.mean(0), 0.0, atol=1e-5)
    np.testing.assert_allclose(x.std(0), [1.0, 1.0, 0.0], atol=1e-5)


@pytest.mark.parametrize("n", [0, 1, 16, 17, 1025])
def test_chunks_cover_every_state_once(n):
    sizes = []

    def double(x):
        sizes.append(len(x))
        return 2.0 * x, x[:, :1]

    x = np.arange(3 * n, dtype=np.float32).reshape(n, 3)
    doubled, first = in_chunks(double, x)
    np.testing.assert_array_equal(doubled, 2.0 * x)
    np.testing.assert_array_equal(first, x[:, :1])
    assert set(sizes) <= {16, 1024}


@pytest.mark.parametrize(
    ("obs", "message"),
    [
        (np.zeros((2, 4)), r"observations of 3 numbers.*\(2, 4\)"),
        (np.zeros(3), r"shape \(3,\)"),
        (np.array([[0.0, 0.0, 0.0], [0.0, np.nan, 0.0]]), "observation 1, which is not finite"),
    ],
)
def test_bad_states_are_named(obs, message):
    with pytest.raises(UserError, match=message):
        standardiser(small.make_data()[0])(obs)
