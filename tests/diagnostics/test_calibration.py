import numpy as np
import pytest

from nppac.diagnostics.calibration import calibrate, half_width
from nppac.types import ReferenceStats


def test_half_widths():
    assert half_width("normal", 0.95) == pytest.approx(1.959964)
    assert half_width("laplace", 0.5) == pytest.approx(np.log(2))
    assert half_width("uniform", 0.8) == 0.8


@pytest.mark.parametrize(("family", "draw"), [("normal", "normal"), ("laplace", "laplace")])
def test_a_true_model_covers_what_it_says(family, draw):
    rng = np.random.default_rng(0)
    actions = getattr(rng, draw)(0.5, 0.3, (5000, 2))
    stats = ReferenceStats(np.full((5000, 2), 0.5, np.float32), np.full((5000, 2), 0.3, np.float32))
    found = calibrate(family, stats, actions, held_out=True, episodes=5)
    assert list(found.coverage) == ["50%", "80%", "95%"]
    np.testing.assert_allclose(list(found.coverage.values()), [0.5, 0.8, 0.95], atol=0.015)
    assert found.states == 5000


def test_likelihood_and_error_by_hand():
    stats = ReferenceStats(np.zeros((1, 2), np.float32), np.ones((1, 2), np.float32))
    found = calibrate("normal", stats, np.array([[1.0, 0.0]]), held_out=False, episodes=1)
    assert found.log_likelihood == pytest.approx(-0.5 - np.log(2 * np.pi))
    assert found.rmse == pytest.approx(np.sqrt(0.5))
    assert found.coverage["50%"] == 0.5
