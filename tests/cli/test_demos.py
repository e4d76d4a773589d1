import json
from pathlib import Path

import numpy as np

from nppac.cli import demos as demos_commands
from nppac.cli.main import main
from nppac.demos import load_demos
from nppac.deploy.acting import Acting
from toy_task import ACTION_DIM, TASK, write_demos

from .mistakes import fails


def test_from_a_policy_to_demonstrations_to_a_policy(tmp_path, capsys):
    small = ["--policy-hidden", "8", "--critic-hidden", "8", "--batch-size", "16"]
    small += ["--epoch-steps", "50", "--eval-every", "100", "--checkpoint-every", "100"]
    small += ["--warmup-steps", "50", "--eval-episodes", "1", "--updates-per-step", "0.1"]
    hopper = ["--task", "Hopper-v5", *small]
    main(["train", *hopper, "--method", "sac", "--steps", "100", "--out", "expert"])
    main(["demos", "record", "--policy", "expert", "--out", "hops.npz", "--episodes", "2"])
    recorded = load_demos("hops.npz")
    assert (len(recorded), recorded.obs_dim, recorded.action_dim) == (2, 11, 3)
    assert recorded.metadata["env_id"] == "Hopper-v5"
    main(["demos", "inspect", "hops.npz", "--task", "Hopper-v5"])
    assert "nothing prevents training" in capsys.readouterr().out
    fit = ["--pretrain-epochs", "0", "--gp.kernel", "rbf", "--gp.max-steps", "3"]
    main(
        [
            "train",
            *hopper,
            *fit,
            "--demos",
            "hops.npz",
            "--out",
            "run",
            "--steps",
            "100",
            "--challenge-episodes",
            "2",
        ]
    )
    main(["evaluate", "run", "--episodes", "2", "--json", "result.json"])
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["task"], len(result["returns"])) == ("Hopper-v5", 2)
    assert "return_mean" in capsys.readouterr().out


def test_only_successes_are_recorded_where_asked(finished, monkeypatch, capsys):
    def never(*_, **__):
        return Acting(lambda rows: np.ones((len(rows), ACTION_DIM)), TASK, "ones")

    monkeypatch.setattr(demos_commands, "acting_policy", never)
    record = ["demos", "record", "--policy", str(finished), "--out", "d.npz", "--episodes", "1"]
    assert fails([*record, "--only-successes"], capsys).startswith("Only 0 of 20 episodes were")
    assert fails([*record, "--min-return", "1e9"], capsys).startswith("Only 0 of 20 episodes were")
    assert not Path("d.npz").exists()
    main(record)
    assert len(load_demos("d.npz")) == 1


def test_what_a_conversion_mended_is_said(tmp_path, capsys):
    write_demos(tmp_path / "wild.npz", act=lambda rows: 3 + np.zeros((len(rows), ACTION_DIM)))
    main(["demos", "convert", "wild.npz", "tame.npz"])
    assert "Clipped" in capsys.readouterr().out
    assert np.abs(load_demos("tame.npz").actions).max() == 1.0


def test_demonstrations_are_relabelled_by_replay_and_by_the_rule(tmp_path, finished, capsys):
    main(["demos", "record", "--policy", str(finished), "--out", "d.npz", "--episodes", "3"])
    capsys.readouterr()
    main(["demos", "relabel", "d.npz", "new.npz", "--task", TASK])
    out = capsys.readouterr().out
    assert "0 sd" in out
    assert "3 episodes" in out
    old, new = load_demos("d.npz"), load_demos("new.npz")
    np.testing.assert_array_equal(new.stack("rewards"), old.stack("rewards"))
    assert new.metadata["provenance"]["rewards"]["by"] == "replay"
    assert (
        new.metadata["provenance"]["episode_seeds"] == old.metadata["provenance"]["episode_seeds"]
    )
    main(["demos", "relabel", "door", "open.npz", "--task", "door"])
    out = capsys.readouterr().out
    assert "25 episodes, 5000 steps, 25 with a success." in out
    assert set(load_demos("open.npz").stack("rewards").tolist()) == {0.0, 1.0}


def test_only_a_screen_of_relabelled_episodes_is_shown(demos, monkeypatch, capsys):
    monkeypatch.setattr(demos_commands, "SCREEN", 2)
    main(["demos", "convert", demos, "plain.npz"])
    with np.load("plain.npz") as archive:
        seeds = {"provenance": np.array(json.dumps({"episode_seeds": [0, 1, 2, 3]}))}
        np.savez(
            "seeded.npz", **{**{k: archive[k] for k in archive.files if k != "checksum"}, **seeds}
        )
    main(["demos", "relabel", "seeded.npz", "new.npz", "--task", TASK, "--by", "replay"])
    assert "... and 2 more." in capsys.readouterr().out
