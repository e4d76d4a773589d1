import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nppac.demos import Demos, load_demos, save_demos
from nppac.utils.errors import UserError

from ..samples import assert_same, make_demos, make_episode, write_npz


@pytest.mark.parametrize("extra", [0, 1])
def test_reads_with_and_without_last_observations(tmp_path, extra):
    demos = make_demos(extra)
    found = load_demos(write_npz(tmp_path / "d.npz", demos))
    assert_same(found, demos)
    assert found.source == str(tmp_path / "d.npz")


@pytest.mark.parametrize("extra", [0, 1])
def test_saves_what_it_reads(tmp_path, extra):
    successes = make_episode(4, 0, extra, successes=np.array([0, 1, 1, 0], bool), terminated=True)
    metadata = {"env_id": "Ant-v5", "env_kwargs": {"a": False}, "provenance": {"seed": 3}}
    metadata["actions"] = "normalised"
    demos = Demos((successes, replace(successes, terminated=False)), "x", metadata)
    save_demos(tmp_path / "d.npz", demos)
    found = load_demos(tmp_path / "d.npz")
    assert_same(found, demos)
    assert found.metadata == metadata


def test_saved_arrays_are_float32_and_compressed(tmp_path):
    episode = make_episode(500, observations=np.zeros((501, 3), np.float32))
    save_demos(tmp_path / "d.npz", Demos((episode,)))
    with np.load(tmp_path / "d.npz", allow_pickle=False) as arrays:
        assert {arrays[k].dtype.name for k in ("observations", "actions", "rewards")} == {"float32"}
    assert (tmp_path / "d.npz").stat().st_size < 501 * 3 * 4 + 500 * 3 * 4


def test_rewards_known_to_some_are_left_out(tmp_path):
    save_demos(tmp_path / "d.npz", Demos((make_episode(), make_episode(rewards=None))))
    assert not load_demos(tmp_path / "d.npz").has_rewards


def test_last_observations_known_to_some_are_left_out(tmp_path):
    save_demos(tmp_path / "d.npz", Demos((make_episode(4), make_episode(4, extra=0))))
    assert [len(e.observations) for e in load_demos(tmp_path / "d.npz").episodes] == [4, 4]


def test_missing_rewards_are_not_saved_as_if_whole(tmp_path):
    with pytest.raises(UserError, match="Episode 0 has 2 rewards for 4 actions"):
        save_demos(tmp_path / "d.npz", Demos((make_episode(rewards=np.zeros(2, np.float32)),)))
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    target = tmp_path / "d.npz"
    save_demos(target, make_demos())
    before = target.read_bytes()

    def fail(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(UserError, match="No space left"):
        save_demos(target, make_demos(extra=0))
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]


def test_saving_onto_a_directory_is_the_users_error(tmp_path):
    with pytest.raises(UserError, match="Cannot write"):
        save_demos(tmp_path, make_demos())


def test_saving_no_episodes_is_the_users_error(tmp_path):
    with pytest.raises(UserError, match="no episodes"):
        save_demos(tmp_path / "d.npz", Demos(()))


def refuse(path: Path, *parts: str) -> None:
    with pytest.raises(UserError) as caught:
        load_demos(path)
    for part in (str(path), *parts):
        assert part in str(caught.value)


def test_missing_arrays(tmp_path):
    np.savez(tmp_path / "d.npz", states=np.zeros(3))
    refuse(tmp_path / "d.npz", "without observations, actions, episode_lengths", "holds states")


@pytest.mark.parametrize("key", ["observations", "actions", "rewards"])
def test_rows_that_do_not_add_up(tmp_path, key):
    path = write_npz(tmp_path / "d.npz", make_demos(), **{key: np.zeros((5, 2), np.float32)})
    refuse(path, f"'{key}' has 5 rows", "adds up to 7")


@pytest.mark.parametrize("lengths", [[[7]], [3.5, 3.5], [9, -2]])
def test_odd_lengths(tmp_path, lengths):
    path = write_npz(tmp_path / "d.npz", make_demos(), episode_lengths=np.array(lengths))
    refuse(path, "'episode_lengths' must be a list of whole numbers")


def test_terminated_for_another_number_of_episodes(tmp_path):
    path = write_npz(tmp_path / "d.npz", make_demos(), terminated=np.zeros(3, bool))
    refuse(path, "'terminated' has 3 entries for 2 episodes")


@pytest.mark.parametrize(
    ("text", "part"), [("{", "cannot be read as JSON"), ("[1]", "must be a JSON object")]
)
def test_odd_metadata(tmp_path, text, part):
    path = write_npz(tmp_path / "d.npz", make_demos(), env_kwargs=np.array(text))
    refuse(path, "env_kwargs", part)


def test_metadata_as_the_published_files_have_it(tmp_path):
    kwargs = {"include_cfrc_ext_in_observation": False}
    path = write_npz(
        tmp_path / "d.npz",
        make_demos(),
        env_id=np.array("Ant-v5"),
        env_kwargs=np.array(json.dumps(kwargs)),
    )
    assert load_demos(path).metadata == {"env_id": "Ant-v5", "env_kwargs": kwargs}


def test_pickled_arrays_are_refused(tmp_path):
    path = write_npz(tmp_path / "d.npz", make_demos(), actions=np.array([{}] * 7, dtype=object))
    refuse(path, "'actions' is refused: it holds Python objects")


def test_no_episodes_load_and_are_for_validation_to_refuse(tmp_path):
    empty = {"observations": np.zeros((0, 3)), "actions": np.zeros((0, 2))}
    with (tmp_path / "d.npz").open("wb") as file:
        np.savez(file, **empty, episode_lengths=np.zeros(0, np.int64))
    assert len(load_demos(tmp_path / "d.npz")) == 0
