"""Short runs of five methods end with the numbers that were recorded when they were first made.

The recorded numbers guard against changes of results by mistake. They are bit-identical on the
machine that made them; XLA orders sums by the processor's vector width, so that another processor
may differ in the last bits of float32. The anchored policy's evaluation is not among them: its
candidates' noise is drawn from the bits of the observation, so that the last one decides.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nppac.agents.anchored_actor_critic import Anchored
from nppac.agents.awac import AWAC
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.references import UniformReference
from toy_run import Watched, recorded, run
from toy_task import ACTION_DIM, SCHEDULE, metrics_of

RECORDED = json.loads(Path(__file__).with_name("regression.json").read_text())
SMALL = {"policy_hidden": (8,), "critic_hidden": (8,)}
TUNED = {"temperature": 1.0, "tune_temperature": True}

AGENTS = {
    "nppac": KLActorCritic(head="normal", **SMALL),
    "nppac-anchored": Anchored(
        utd_ratio=2,
        critic_warmup_updates=20,
        policy_ema_updates=10,
        n_step=2,
        candidates=2,
        temperature_in_q_units=True,
        **SMALL,
    ),
    "sac": KLActorCritic(**TUNED, **SMALL),
    "awac": AWAC(**SMALL),
    "rlpd": KLActorCritic(
        num_qs=4,
        num_min_qs=2,
        policy_value="mean",
        layer_norm=True,
        entropy_target=-0.5,
        utd_ratio=3,
        offline_ratio=0.5,
        **TUNED,
        **SMALL,
    ),
}
SCHEDULES = {
    "nppac": replace(SCHEDULE, pretrain_epochs=2, pretrain_copies=1),
    "awac": replace(SCHEDULE, demos_in_replay=True, offline_updates=10),
}


@pytest.mark.parametrize("name", AGENTS)
def test_a_run_ends_with_the_recorded_numbers(name, tmp_path):
    to_expert = name.startswith("nppac")
    run(
        tmp_path,
        SCHEDULES.get(name, SCHEDULE),
        agent=AGENTS[name],
        reference=Watched() if to_expert else UniformReference(ACTION_DIM),
        demos=recorded() if name in ("nppac", "awac", "rlpd") else (),
    )
    header, *_, last = metrics_of(tmp_path)
    numbers = {key: float(text) for key, text in zip(header, last, strict=True) if text}
    kept = {key: numbers[key] for key in RECORDED[name]}  # columns may be added, never changed
    assert kept == pytest.approx(RECORDED[name], rel=1e-5)
