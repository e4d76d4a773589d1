import sys
from dataclasses import replace
from typing import get_args

import pytest

from nppac.agents.common.paper_settings import PAPER
from nppac.agents.registry import METHODS
from nppac.demos import embedded_names
from nppac.tasks import TASKS, registry
from nppac.training.presets import Preset, default_method, preset
from nppac.utils.errors import UserError

BASELINES = sorted(METHODS.keys() - {"nppac", "nppac-anchored", "brac"})


def test_the_papers_settings_are_the_papers():
    door, cheetah = preset("door", name="paper"), preset("halfcheetah", name="paper")
    assert (door.agent.head, door.agent.temperature) == ("normal", 0.5)
    assert (door.gp.kernel, door.schedule.batch_size) == ("matern12", 1024)
    assert (door.schedule.steps, door.schedule.pretrain_epochs) == (100_000, 400)
    assert (cheetah.agent.head, cheetah.agent.temperature) == ("tanh_normal", 0.1)
    assert (cheetah.gp.kernel, cheetah.schedule.batch_size) == ("rbf", 256)
    assert preset("walker2d", name="paper").agent.temperature == 0.2
    assert preset("pen", name="paper").gp.kernel == "matern52"


def test_every_task_of_the_paper_has_its_own():
    assert PAPER.keys() == TASKS.keys()


@pytest.mark.parametrize("name", get_args(Preset))
@pytest.mark.parametrize("task", [*PAPER, "Hopper-v5"])
def test_each_preset_says_what_it_is(task, name):
    config = preset(task, name=name)
    mixed = (task, name) == ("halfcheetah", "default")
    assert (config.task, config.method) == (task, "nppac")
    assert config.reference == ("mixed:ensemble+gp" if mixed else "gp")
    assert config.demos == (task if task in embedded_names() else None)


@pytest.mark.parametrize("task", [*PAPER, "Hopper-v5"])
def test_sac_needs_no_demonstrations(task):
    config = preset(task, "sac")
    assert (config.method, config.reference, config.demos) == ("sac", "uniform", None)
    assert config.agent.tune_temperature
    assert config.schedule.pretrain_epochs == 0
    assert config.agent.policy_hidden == preset(task).agent.policy_hidden


def test_dapgs_cloning_is_finished_by_default():
    assert preset("ant", "dapg").schedule.pretrain_epochs == 100
    assert preset("ant", "dapg", "paper").schedule.pretrain_epochs == 5


@pytest.mark.parametrize(
    ("method", "offline_updates"),
    [("awac", 10_000), ("sac-bc", 0), ("bear", 5_000), ("abm", 5_000)],
)
def test_a_rivals_policy_starts_as_a_finished_clone_on_locomotion(method, offline_updates):
    config = preset("ant", method)
    assert (config.schedule.pretrain_epochs, config.schedule.pretrain_batch_size) == (100, 64)
    assert config.agent.standardise_obs
    assert config.agent.clip_actions
    assert (config.agent.weight_decay, config.agent.policy_ema_updates) == (0.0, 2_000)
    assert config.agent.policy_hidden == (256, 256, 256, 256)
    assert config.schedule.offline_updates == offline_updates
    for other in (preset("door", method), preset("ant", method, "paper")):
        assert other.schedule.pretrain_epochs == 0
        assert not other.agent.standardise_obs
        assert not other.agent.clip_actions
        assert other.agent.policy_ema_updates == 0


def test_what_keeps_a_rivals_clone():
    awac, sac_bc, abm, bear = (preset("ant", m).agent for m in ("awac", "sac-bc", "abm", "bear"))
    assert (awac.standardise_advantage, awac.advantage_scale) == (True, 3.0)
    assert (sac_bc.head, sac_bc.imitation_in_q_units) == ("constant_scale", True)
    assert sac_bc.normalise_values
    assert (abm.normalise_values, abm.kl_limit) == (True, 0.01)
    assert bear.multiplier_in_q_units
    assert bear.mmd_squashed
    assert (bear.mmd_limit, bear.multiplier_rate, bear.warmup_updates) == (0.06, 1e-2, 4_000)
    papers = {m: preset("ant", m, "paper").agent for m in ("awac", "sac-bc", "abm", "bear")}
    assert (papers["awac"].advantage_scale, papers["awac"].weight_decay) == (2.0, 1e-4)
    assert not papers["awac"].standardise_advantage
    assert papers["sac-bc"].head == "tanh_normal"
    assert not papers["sac-bc"].imitation_in_q_units
    assert (papers["abm"].normalise_values, papers["abm"].kl_limit) == (False, 0.1)
    assert (papers["bear"].mmd_limit, papers["bear"].multiplier_rate) == (0.05, 1e-3)
    assert not papers["bear"].multiplier_in_q_units
    assert not papers["bear"].mmd_squashed


@pytest.mark.parametrize("name", get_args(Preset))
@pytest.mark.parametrize(("task", "epoch"), [("door", 40_000), ("pen", 20_000), ("ant", 10_000)])
def test_dapg_is_on_policy(task, epoch, name):
    schedule = preset(task, "dapg", name).schedule
    assert schedule.epoch_steps == schedule.replay_capacity == epoch
    assert schedule.warmup_steps == 0
    assert schedule.steps % epoch == 0


def test_awr_starts_with_the_demonstrations_in_a_short_replay():
    config = preset("ant", "awr", "paper")
    assert config.schedule.demos_in_replay
    assert (config.schedule.replay_capacity, config.schedule.warmup_steps) == (50_000, 0)
    assert (config.agent.scale, preset("door", "awr").agent.scale) == (0.2, 0.4)


def test_another_task_takes_the_locomotion_settings():
    assert preset("Hopper-v5").agent == preset("ant").agent


def test_by_default_the_policy_starts_as_its_reference():
    config = preset("door", default_method("default"))
    assert (config.method, config.agent.head) == ("nppac-anchored", "anchored")
    assert config.schedule.pretrain_epochs == 0
    assert default_method("paper") == "nppac"


@pytest.mark.parametrize("method", ["nppac", "nppac-anchored"])
def test_both_methods_act_with_the_lengthscales_that_were_measured(method):
    assert preset("walker2d", method).gp.lengthscale_multiplier == 2.2
    assert preset("ant", method).gp.lengthscale_multiplier == 1
    assert preset("walker2d", "nppac", "paper").gp.lengthscale_multiplier == 1


def test_what_holds_on_runners_is_the_rivals_too():
    ours, rivals = preset("ant", "nppac").agent, preset("ant", "brac").agent
    assert (ours.kl, rivals.kl) == ("closed", "sample")
    assert replace(ours, kl="sample", kl_samples=4) == rivals
    assert ours.normalise_values
    assert not ours.backup_kl
    paper = preset("ant", "nppac", "paper").agent
    assert paper.backup_kl
    assert (paper.normalise_values, paper.critic_warmup_updates, paper.lost_ratio) == (False, 0, 0)
    assert (ours.num_min_qs, ours.policy_value) == (1, "mean")
    assert (paper.num_min_qs, paper.policy_value) == (None, "min")


def test_a_cloned_policy_searches_where_its_reference_says_that_it_is_lost():
    for task in ("halfcheetah", "walker2d", "Hopper-v5"):
        agent = preset(task, "nppac").agent
        assert (agent.lost_ratio, agent.lost_scale) == (0.87, 0.0)
    assert preset("door", "nppac").agent.lost_ratio == 0


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(UserError, match=r"Unknown method 'nppc'\. Did you mean 'nppac'\?"):
        preset("door", "nppc")
    with pytest.raises(UserError, match=r"Unknown preset 'papper'\. Did you mean 'paper'\?"):
        preset("door", name="papper")
    assert {"nppac", "sac"} <= set(METHODS)


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("task", PAPER)
def test_a_baseline_keeps_the_papers_budget_and_evaluation(name, task):
    ours, papers = preset(task, name, "paper").schedule, PAPER[task].schedule
    assert ours.eval_episodes == papers.eval_episodes
    if name == "dapg":  # on-policy: in whole iterations, and evaluated after each
        assert papers.steps <= ours.steps < papers.steps + ours.epoch_steps
        assert ours.eval_every == ours.epoch_steps == ours.replay_capacity
    else:
        assert (ours.steps, ours.eval_every) == (papers.steps, papers.eval_every)


def test_the_anchored_policy_has_one_agent_for_every_task():
    """But for where the return is what counts, and where success is the reward."""
    for name in get_args(Preset):
        runners = {
            preset(task, "nppac-anchored", name).agent
            for task in ("halfcheetah", "walker2d", "ant", "Hopper-v5")
        }
        hands = {preset(task, "nppac-anchored", name).agent for task in ("door", "pen")}
        assert len(runners) == len(hands) == 1
        (runner,), (hand,) = runners, hands
        assert (hand.target_kl_doubling_updates, hand.discount) == (0, 0.99)
        growing = {"target_kl_doubling_updates": 10_000, "target_kl_max_growth": 5.0}
        assert runner == replace(hand, **growing, discount=0.995)


def test_a_task_of_the_users_own_is_known_to_reward_success(tmp_path, monkeypatch):
    """By its plain name, and by the one that also names its module."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "TASKS", dict(registry.TASKS))
    (tmp_path / "rewarded_robots.py").write_text(
        "from nppac.tasks import TaskSpec, register_task\n"
        "register_task(TaskSpec('my-robot', 'Hopper-v5', horizon=5, reward='success'))\n"
    )
    for task in ("rewarded_robots:my-robot", "my-robot"):
        assert preset(task, "nppac-anchored").agent.target_kl_doubling_updates == 0
    sys.modules.pop("rewarded_robots")


def test_the_anchored_recipe():
    agent = preset("walker2d", "nppac-anchored").agent
    assert agent.critic_residuals
    assert (agent.n_step, agent.utd_ratio, agent.noise_ratio) == (3, 4, 1.0)
    assert (agent.lost_scale, agent.lost_ratio, agent.max_lost_steps) == (0.0, 0.87, 25)
    assert (agent.num_qs, agent.num_min_qs, agent.policy_value) == (4, 2, "mean")
    assert agent.clip_actions
    assert agent.normalise_values
    assert not agent.backup_kl
    assert agent.min_unit_ratio == 0.1  # a demonstrator without noise leaves no other
    assert (agent.tune_temperature, agent.target_kl_per_root_action) == (True, 0.1)
    assert (agent.critic_warmup_updates, agent.policy_ema_updates) == (1_000, 2_000)
    assert agent.policy_ema_ratio == 0.2


@pytest.mark.parametrize("task", [*PAPER, "Hopper-v5"])
def test_what_surrounds_the_anchored_agent(task):
    config = preset(task, "nppac-anchored")
    schedule, gp = config.schedule, config.gp
    assert (schedule.steps, schedule.batch_size) == (50_000, 128)
    assert (gp.variance, gp.neighbours) == ("neighbours", 64)
    assert schedule.train_episode_steps is None
    assert config.reference == ("mixed:ensemble+gp" if task == "halfcheetah" else "gp")


@pytest.mark.parametrize(
    ("method", "task", "offline_updates", "batch_size"),
    [("awac", "door", 25_000, 1024), ("abm", "door", 25_000, 1024), ("bear", "pen", 25_000, 256)],
)
def test_the_default_preset_reduces_a_baseline(method, task, offline_updates, batch_size):
    paper, small = (preset(task, method, name).schedule for name in ("paper", "default"))
    assert (paper.offline_updates, paper.batch_size) == (offline_updates, batch_size)
    assert (small.offline_updates, small.batch_size, small.steps) == (25_000, 256, 50_000)
