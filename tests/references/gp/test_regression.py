"""A small fit ends with the numbers that were recorded when it was first made.

The tolerance allows for another processor's LAPACK; a change of method would miss it by far.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from nppac.references import GPConfig, fit_gp
from nppac.references.gp import posterior
from references.small import make_data

RECORDED = json.loads(Path(__file__).with_name("regression.json").read_text())
KINDS = ("exact", "neighbours", "iterative")
NEAR_ZERO = {"exact": 1e-8, "neighbours": 1e-8, "iterative": 1e-5}
"""Absolute differences that are allowed. Conjugate gradients stop at a residual of 3e-4, so that
means close to zero have few digits that every processor agrees on."""
FIT = {"kernel": "matern52", "fit_points": 60, "max_steps": 12, "neighbours": 16}


def fit_numbers(kind: str) -> dict[str, list[float]]:
    """Hyper-parameters, and predictions on and off the data."""
    obs, actions = make_data(n=120)
    variance = "exact" if kind == "exact" else "neighbours"
    reference = fit_gp(obs, actions, GPConfig(variance=variance, **FIT))
    mean, predicted = reference.mean_and_variance(np.concatenate([obs[:2], obs[:2] + 3.0]))
    numbers = {**reference.params._asdict(), "loc": mean, "variance": predicted}
    return {name: np.ravel(value).tolist() for name, value in numbers.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_small_fit_gives_the_recorded_numbers(kind, monkeypatch):
    if kind == "iterative":
        monkeypatch.setattr(posterior, "DIRECT_POINTS", 10)
    numbers = fit_numbers(kind)
    assert numbers.keys() == RECORDED[kind].keys()
    for name, values in numbers.items():
        expected = pytest.approx(RECORDED[kind][name], rel=1e-4, abs=NEAR_ZERO[kind])
        assert values == expected, name
