import numpy as np

from nppac.references.gp.parametrise import units_of


def test_constant_observations_count_in_their_own_unit():
    rounded = np.nextafter(np.float32(0.1), [0, 1, 0, 1], dtype=np.float32)
    obs = np.stack([np.arange(4.0), rounded, np.zeros(4)], axis=1)
    units = units_of(obs, np.zeros((4, 1)))
    np.testing.assert_allclose(units.obs / 3**0.5, [np.arange(4.0).std(), 1.0, 1.0])
    np.testing.assert_allclose(units.action, 0.01)
