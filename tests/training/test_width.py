"""References that are too narrow are told of, or refused, before they spoil a run."""

from dataclasses import replace

import numpy as np
import pytest

from nppac.references import CustomReference
from nppac.training.runs import start_run
from nppac.training.width import LARGEST_KL, watching
from nppac.utils.errors import UserError
from toy_task import ACTION_DIM, SCHEDULE, make_config, write_demos


def constant(variance):
    """A reference of one variance, or of one for each action dimension."""
    scale = np.sqrt(np.broadcast_to(variance, ACTION_DIM))

    def answer(obs):
        return np.zeros((len(obs), ACTION_DIM)), np.tile(scale, (len(obs), 1))

    return CustomReference(answer, "own:answer")


@pytest.mark.parametrize("with_demos", [False, True])
def test_a_variance_of_1e_8_is_refused_with_the_diagnosis(tmp_path, with_demos):
    demos = str(write_demos(tmp_path / "demos.npz")) if with_demos else None
    with pytest.raises(UserError) as caught:
        start_run(make_config(demos=demos), tmp_path / "run", reference=constant(1e-8))
    message = str(caught.value)
    for words in ("1e-08", "Proposition 1", "gradient of 1e+07", "nppac doctor", "floor"):
        assert words in message
    assert not (tmp_path / "run").exists()


def test_one_narrow_dimension_is_told_of(tmp_path, capsys):
    config = make_config(schedule=replace(SCHEDULE, steps=20))
    start_run(config, tmp_path / "run", reference=constant([1e-5, 0.1]))
    noted = [line for line in capsys.readouterr().err.splitlines() if "Note:" in line]
    assert len(noted) == 1
    assert "variance of only 1e-05" in noted[0]


def test_a_kl_that_explodes_is_told_of_once_and_rows_are_passed_on(capsys):
    rows = []
    call = watching(rows.append)
    for step, kl in enumerate([None, 3.0, 2 * LARGEST_KL, 3 * LARGEST_KL]):
        call({"env_steps": step, "kl": kl, "policy_gradient": 7.0})
    assert len(rows) == 4
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1
    assert told[0].startswith("Note: at step 2 the KL to the reference is 2e+05 nats")
    assert "Proposition 1" in told[0]


def test_a_usual_run_hears_nothing(capsys):
    watching(None)({"env_steps": 20, "kl": 100.0})
    assert capsys.readouterr().err == ""
