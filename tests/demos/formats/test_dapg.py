import pickle
from dataclasses import replace

import numpy as np
import pytest

from nppac.demos import load_demos, validate
from nppac.utils.errors import UserError

from ..samples import assert_same, dapg_paths, make_demos, write_dapg


@pytest.mark.parametrize("protocol", range(6))
def test_reads_a_list_of_dicts_of_arrays(tmp_path, protocol):
    found = load_demos(write_dapg(tmp_path / "d.pickle", make_demos(), protocol))
    assert_same(found, make_demos(extra=0))
    assert found.obs.dtype == np.float32
    assert type(found.episodes[0].observations) is np.ndarray


def test_success_and_termination_where_the_file_knows(tmp_path):
    paths = dapg_paths(make_demos())
    paths[0]["env_infos"] = {"goal_achieved": np.array([0, 0, 1, 0])}
    paths[1]["terminated"] = True
    (tmp_path / "d.pickle").write_bytes(pickle.dumps(paths))
    first, second = load_demos(tmp_path / "d.pickle").episodes
    assert first.successes is not None
    assert first.successes.tolist() == [False, False, True, False]
    assert (first.terminated, second.terminated) == (False, True)


def test_actions_beyond_the_range_are_left_to_validation(tmp_path):
    paths = dapg_paths(make_demos())
    paths[0]["actions"][0, 0] = 1.25
    (tmp_path / "d.pickle").write_bytes(pickle.dumps(paths))
    demos = load_demos(tmp_path / "d.pickle")
    assert demos.actions[0, 0] == 1.25
    assert validate(demos)[0].actions[0, 0] == 1.25  # nobody said what its units are
    known = replace(demos, metadata={"actions": "normalised"})
    assert validate(known)[0].actions[0, 0] == 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": 1}, "holds a dict; expected a list of dicts"),
        ([1], "episode 0 is a int; expected a dict"),
        ([{"actions": [[1]]}], "episode 0 has no 'observations': it holds actions"),
        ([{"observations": [[1.0]]}], "has no 'actions'"),
        ([{"observations": 3, "actions": [[1]]}], "'observations' is a int"),
        ([{"observations": ["x"], "actions": [[1]]}], "not an array of numbers"),
        ([{"observations": [[1], [1, 2]], "actions": [[1]]}], "not an array of numbers"),
        ([{"observations": np.array(1.0), "actions": [[1]]}], "'observations' is an array"),
        ([{"observations": [{"image": 1}], "actions": [[1]]}], "is a dict of image"),
        ([{"observations": [[1]], "actions": [[1]], "terminals": [[1], [1, 2]]}], "'terminals'"),
        ([{"observations": [[1]], "actions": 4, "next_observations": [[1]]}], "'actions' is a sin"),
    ],
)
def test_other_structures_are_the_users_error(tmp_path, value, message):
    (tmp_path / "d.pickle").write_bytes(pickle.dumps(value, protocol=2))
    with pytest.raises(UserError) as caught:
        load_demos(tmp_path / "d.pickle")
    assert message in str(caught.value)
    assert "d.pickle" in str(caught.value)
