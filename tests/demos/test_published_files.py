"""The published files themselves, where a checkout has them beside it; the rest is synthetic."""

from pathlib import Path

import numpy as np
import pytest

from nppac.demos import describe, load_demos, validate

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"

# episodes, shortest, longest, observation size, action size, mean return, notes
FACTS = {
    "door-v0_demos.pickle": (25, 223, 300, 39, 28, 794.1, ["Clipped 10595 of 188412"]),
    "pen2_sparse.npy": (25, 199, 199, 45, 24, -101.08, ["Dropped the last of the rewards in 25"]),
    "halfcheetah-expert.npz": (15, 1000, 1000, 17, 6, 10647.7, []),
    "walker2d-expert.npz": (15, 1000, 1000, 17, 6, 4420.57, []),
    "ant-expert.npz": (15, 1000, 1000, 27, 8, 4345.36, []),
}
PRESENT = [name for name in FACTS if (DATA / name).is_file()]


def check(name: str) -> None:
    episodes, shortest, longest, obs_dim, action_dim, mean_return, expected = FACTS[name]
    demos, notes = validate(load_demos(DATA / name), obs_dim=obs_dim, action_dim=action_dim)
    found = describe(demos)
    assert found["episodes"] == episodes
    assert (found["lengths"]["min"], found["lengths"]["max"]) == (shortest, longest)
    assert found["returns"]["mean"] == pytest.approx(mean_return, abs=0.05)
    assert [note.startswith(part) for note, part in zip(notes, expected, strict=True)] == [
        True
    ] * len(expected)
    assert demos.obs.dtype == demos.actions.dtype == np.float32
    assert np.abs(demos.actions).max() <= 1


if PRESENT:  # a parameter set without members would be reported as a skipped test

    @pytest.mark.parametrize("name", PRESENT)
    def test_published_file(name):
        check(name)
