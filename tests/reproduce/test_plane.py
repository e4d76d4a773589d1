import numpy as np

from nppac.references import UniformReference
from nppac.reproduce.plane import Plane, variance_map

RNG = np.random.default_rng(0)
OBS = RNG.normal(size=(200, 2)) @ np.array([[3.0, 0, 1, 0], [0, 0.5, 0, 0]]) + [1, 2, 3, 4]


def test_a_point_of_the_plane_is_found_again():
    plane = Plane.of(OBS)
    points = RNG.normal(size=(7, 2))
    np.testing.assert_allclose(plane.project(plane.states(points)), points, atol=1e-5)
    np.testing.assert_allclose(plane.states(np.zeros((1, 2))), [OBS.mean(0)], rtol=1e-5)
    np.testing.assert_allclose(plane.explained.sum(), 1.0)  # these data are of two dimensions


def test_the_map_reaches_beyond_the_data_and_has_the_second_axis_in_rows():
    plane = Plane.of(OBS)
    first, second = plane.axes(OBS, 5)
    shown = plane.project(OBS)
    assert first[0] < shown[:, 0].min()
    assert first[-1] > shown[:, 0].max()
    found = variance_map(UniformReference(3), plane, (first, second[:2]))
    np.testing.assert_allclose(found, np.full((2, 5), 1 / 3), rtol=1e-6)
