import sys

import numpy as np
import pytest

from nppac.cli import main
from nppac.references import REFERENCES, load_reference
from toy_task import ACTION_DIM, FLAGS, OBS_DIM, TASK, assert_same_run

from .own import BAD

DATA = ["--task", TASK, "--demos", "demos.npz"]
SMALL = [
    "--kernel",
    "rbf",
    "--max-steps",
    "2",
    "--network.hidden",
    "8",
    "--network.max-epochs",
    "2",
]


def mistake(args, capsys):
    with pytest.raises(SystemExit) as exit:
        main(args)
    assert exit.value.code == 1
    error = capsys.readouterr().err
    assert error.count("error: ") == 1
    return error


@pytest.mark.parametrize("name", [*REFERENCES, "mixed:gp+dropout"])
def test_every_reference_is_fitted_described_on_one_screen_and_saved(own, capsys, name):
    main(["fit", *DATA, *SMALL, "--reference", name])
    out, _ = capsys.readouterr()
    assert out.startswith(name)
    assert "Saved to reference.npz" in out
    assert len(out.splitlines()) <= 50
    assert "[" not in out
    stats = load_reference("reference.npz")(np.ones((3, OBS_DIM), np.float32))
    assert stats.loc.shape == (3, ACTION_DIM)


def test_the_seed_is_that_of_networks_too(own):
    def mean(*seed):
        main(["fit", *DATA, *SMALL, "--reference", "network", *seed])
        return load_reference("reference.npz").mean(np.ones((1, OBS_DIM), np.float32))

    first, other = mean("--seed", "1"), mean("--seed", "2")
    assert (first != other).any()
    np.testing.assert_array_equal(first, mean("--network.seed", "1"))


def test_ones_own_function_is_checked_and_its_file_never_runs_it(own, capsys):
    main(["fit", *DATA, "--reference", "my_robot:growing"])
    assert "elsewhere give --reference my_robot:growing" in capsys.readouterr().out
    sys.modules.pop("my_robot")
    for command in (
        ["evaluate", "reference.npz", "--task", TASK],
        ["train", *FLAGS, "--reference"],
    ):
        args = command if "evaluate" in command else [*command, "reference.npz"]
        assert "--reference my_robot:growing" in mistake(args, capsys)
    assert "my_robot" not in sys.modules
    for function in (*BAD, "narrow"):
        message = BAD.get(function, "answers with 1 actions where the demonstrations have 2")
        assert message in mistake(["fit", *DATA, "--reference", f"my_robot:{function}"], capsys)


def test_a_bad_function_is_named_by_training_before_anything_is_written(own, capsys):
    for function in (*BAD, "narrow"):
        message = BAD.get(function, "which has 3 observations and 2 actions")
        reference = ["--demos", "demos.npz", "--reference", f"my_robot:{function}", "--out", "run"]
        error = mistake(["train", *FLAGS, *reference], capsys)
        assert f"The reference 'my_robot:{function}'" in error
        assert message in error
    assert not (own / "run").exists()


def test_a_run_with_ones_own_function_is_resumed_and_says_what_it_imports(own, capsys):
    reference = ["--reference", "my_robot:growing", "--demos", "demos.npz"]
    main(["train", *FLAGS, *reference, "--out", "run"])
    sys.modules.pop("my_robot")
    main(["resume", "run", "--steps", "120"])
    assert "Imported my_robot:growing, which run names." in capsys.readouterr().err


def test_an_anchored_run_with_ones_own_function_is_evaluated_too(own, capsys):
    reference = ["--reference", "my_robot:growing", "--demos", "demos.npz"]
    anchored = ["--method", "nppac-anchored", "--head", "anchored", "--kl", "mean"]
    main(["train", *FLAGS, *anchored, "--pretrain-epochs", "0", *reference, "--out", "run"])
    sys.modules.pop("my_robot")
    capsys.readouterr()
    main(["evaluate", "run", "--episodes", "1"])
    out, err = capsys.readouterr()
    assert "Imported my_robot:growing, which run names." in err
    assert "return_mean" in out


def test_mistakes_in_a_name_are_named_first(own, capsys):
    for name in ("netwrk", "mixed:gp+netwrk"):
        for command in ("train", "fit", "doctor"):
            args = [command, *DATA, "--reference", name, "--out", "there"]
            assert "Did you mean 'network'?" in mistake(args, capsys)
    assert not (own / "there").exists()


def test_the_catalogue_is_listed(capsys):
    main(["references"])
    out, _ = capsys.readouterr()
    for name, entry in REFERENCES.items():
        assert name in out
        assert entry.description in out
    assert "module:function" in out


def test_a_reference_is_fitted_evaluated_and_trained_against(tmp_path, demos, capsys):
    main(["fit", "--task", TASK, "--demos", demos, "--kernel", "rbf", "--max-steps", "5"])
    out, _ = capsys.readouterr()
    assert "Saved to reference.npz" in out
    assert "lengthscales" in out
    main(["evaluate", "reference.npz", "--task", TASK, "--episodes", "2"])
    main(["train", *FLAGS, "--demos", demos, "--reference", "reference.npz", "--out", "run"])
    assert (tmp_path / "run" / "reference.npz").exists()


def test_training_takes_what_fit_made_and_learns_the_same(tmp_path, demos, capsys, fit_cache):
    data = ["--task", TASK, "--demos", demos, "--seed", "3"]
    settings = {"kernel": "rbf", "max-steps": "2", "variance": "exact", "neighbours": "9"}
    same = [word for name, value in settings.items() for word in (f"--{name}", value)]
    config = [word for name, value in settings.items() for word in (f"--gp.{name}", value)]
    main(["fit", *data, *same])
    fitted = {path.name for path in fit_cache.iterdir()}
    train = ["train", *FLAGS, *data, *config, "--reference", "gp"]
    capsys.readouterr()
    main([*train, "--out", "cached"])
    assert "taken from the cache" in capsys.readouterr().err
    main([*train, "--out", "fresh", "--refit"])
    assert "taken from the cache" not in capsys.readouterr().err
    assert {path.name for path in fit_cache.iterdir()} == fitted
    assert_same_run(tmp_path / "cached", tmp_path / "fresh")
    cached, fresh = (tmp_path / run / "reference.npz" for run in ("cached", "fresh"))
    assert cached.read_bytes() == fresh.read_bytes()
