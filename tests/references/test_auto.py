"""The mean that predicts unseen demonstrations better is taken, the scale is always the GP's."""

import numpy as np
import pytest

from nppac.references import GPReference, MixedReference, fit_auto, heldout_errors
from nppac.references.registry import REFERENCES, FitSettings
from references.test_registry import GP, NETWORK

SETTINGS = FitSettings(GP, NETWORK)


class Constant:
    """A mean that says the same everywhere."""

    def __init__(self, value):
        self.value = value

    def mean(self, obs):
        return np.full((len(obs), 2), self.value)


def means(monkeypatch, **values):
    """Let each mean be a constant; the sizes of what they are fitted to, in order."""
    sizes = []

    def fit_constant(value):
        return lambda obs, actions, settings, advance: sizes.append(len(obs)) or Constant(value)

    for name, value in values.items():
        kind = REFERENCES[name]._replace(fit=fit_constant(value))
        monkeypatch.setitem(REFERENCES, name, kind)
    return sizes


def test_errors_are_those_of_the_last_fifth_over_the_variance_of_all(monkeypatch):
    sizes = means(monkeypatch, gp=0.5, ensemble=1.0)
    obs = np.zeros((10, 3))
    actions = np.repeat([[0.0, 0.0], [1.0, 1.0]], [8, 2], axis=0)
    errors = heldout_errors(obs, actions, SETTINGS)
    assert sizes == [8, 8]
    assert errors == {"gp": pytest.approx(0.25 / 0.16), "ensemble": 0.0}


def test_actions_that_never_change_are_compared_too(monkeypatch):
    means(monkeypatch, gp=0.0, ensemble=1.0)
    errors = heldout_errors(np.zeros((5, 1)), np.zeros((5, 2)), SETTINGS)
    assert errors["gp"] == 0.0 < errors["ensemble"]


def test_the_ensemble_that_competes_is_small(monkeypatch):
    members = []

    def fit_counted(obs, actions, settings, advance):
        members.append(settings.network.members)
        return Constant(0.0)

    for name in ("gp", "ensemble"):
        monkeypatch.setitem(REFERENCES, name, REFERENCES[name]._replace(fit=fit_counted))
    heldout_errors(np.zeros((5, 1)), np.eye(5)[:, :2], SETTINGS)
    assert members == [5, 5]
    assert SETTINGS.network.members == 15


@pytest.mark.parametrize(("gp", "ensemble"), [(0.9, 0.1), (0.1, 0.9)])
def test_the_better_mean_is_taken_with_the_gps_scale(monkeypatch, capsys, gp, ensemble):
    steps = np.linspace(0.0, 6.0, 40)
    obs = np.stack([np.sin(steps), np.cos(steps)], axis=1)
    errors = {"gp": gp, "ensemble": ensemble}
    monkeypatch.setattr("nppac.references.auto.heldout_errors", lambda *_: errors)
    reference = fit_auto(obs, 0.5 * obs, SETTINGS)
    expected = REFERENCES["gp"].fit(obs, 0.5 * obs, SETTINGS, lambda *_: None)
    np.testing.assert_array_equal(reference(obs).scale, expected(obs).scale)
    if gp < ensemble:
        assert isinstance(reference, GPReference)
        np.testing.assert_array_equal(reference.mean(obs), expected.mean(obs))
    else:
        assert isinstance(reference, MixedReference)
        assert reference.mean_of.kind == "ensemble"
    assert f"{gp} by gp, {ensemble} by ensemble" in capsys.readouterr().err
