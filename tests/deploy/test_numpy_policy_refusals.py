"""Policies and observations that no motor should follow."""

import re
from dataclasses import replace

import numpy as np
import pytest

from edited import edited_copies
from nppac.deploy.numpy_policy import load_numpy_policy
from nppac.utils.errors import UserError
from nppac.utils.files import read_arrays, write_arrays

from .students import OBS_DIM, bounds


def damaged(name, value):
    """A float32 array of the policy with one number replaced."""

    def change(arrays):
        array = arrays[name].copy()
        array.flat[1] = value
        return {name: array}

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (damaged("weight_1", np.nan), "'weight_1' holds numbers that are not finite"),
        (damaged("bias_0", np.inf), "'bias_0' holds numbers that are not finite"),
        (damaged("centre", -np.inf), "'centre' holds numbers that are not finite"),
        (damaged("spread", np.nan), "'spread' holds numbers that are not finite"),
        (damaged("spread", 0.0), "'spread' is 0 somewhere; it must be positive"),
        (damaged("spread", -1.0), "'spread' is -1 somewhere; it must be positive"),
        (lambda a: {"bias_0": a["bias_0"].astype(np.float64)}, "'bias_0' is of type float64"),
        (lambda a: {"centre": a["centre"].astype(">f4")}, "'centre' is of type >f4"),
        (lambda a: {"spread": a["spread"].astype(np.int32)}, "'spread' is of type int32"),
        (lambda a: {"weight_0": a["weight_0"].astype(str)}, "'weight_0' is of type <U"),
        (lambda a: {"layers": np.array([1, 2])}, "does not hold a complete policy"),
        (lambda a: {"layers": np.array("three")}, "does not hold a complete policy"),
    ],
)
def test_numbers_that_no_motor_should_follow_are_refused(saved, change, message):
    arrays = read_arrays(saved)
    write_arrays(saved, {**arrays, **change(arrays)})
    with pytest.raises(UserError, match=re.escape(message)):
        load_numpy_policy(saved)


@pytest.mark.parametrize("value", [3e38, -3e38, 1e39, 1e300])
def test_an_observation_that_overflows_is_refused(saved, value):
    policy = load_numpy_policy(saved)
    for obs in (np.full(OBS_DIM, value), np.full((2, OBS_DIM), value), [value] * OBS_DIM):
        with pytest.raises(UserError, match=r"overflows|not finite"):
            policy(obs)


@pytest.mark.parametrize("obs", [["a"] * OBS_DIM, None, [[1.0], [2.0, 3.0]], [{}] * OBS_DIM])
def test_what_is_no_number_is_refused(saved, obs):
    with pytest.raises(UserError, match="The policy"):
        load_numpy_policy(saved)(obs)


def test_edited_policies_are_refused(saved):
    low, high = bounds(-2, 2).values()
    replace(load_numpy_policy(saved), low=low, high=high).save(saved)
    load_numpy_policy(saved)
    copies = [copy for seed in range(4) for copy in edited_copies(saved, seed)]
    assert len(copies) >= 100
    for what, contents in copies:
        saved.write_bytes(contents)
        with pytest.raises(UserError, match=r"policy\.npz"):
            pytest.fail(f"{what}: {load_numpy_policy(saved)}")


def test_100_flipped_bytes_are_noticed(saved):
    rng, whole = np.random.default_rng(0), saved.read_bytes()
    for place in rng.choice(len(whole), 100, replace=False):
        edited = bytearray(whole)
        edited[place] ^= 0x10
        saved.write_bytes(edited)
        with pytest.raises(UserError, match=r"policy\.npz"):
            load_numpy_policy(saved)
