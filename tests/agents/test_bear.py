import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from compiled import Compiled
from method_runs import ACTION_DIM, BATCH, OBS_DIM, make_batch, train_on_demos
from nppac.agents.bear import BEAR
from nppac.agents.common.cvae import CVAE, cvae_loss
from nppac.agents.common.discrepancy import mmd
from nppac.agents.common.losses import lagrangian
from nppac.agents.common.optimise import gradient_step
from nppac.agents.common.sampling import best_action, best_value, unsquashed_samples
from nppac.training.presets import preset
from nppac.types import DemoBatch
from nppac.utils.errors import UserError

KEY = jax.random.key(0)


def small_agent(**settings):
    sizes = {"policy_hidden": (16,), "critic_hidden": (16,), "cvae_hidden": (16,)}
    agent = BEAR(**{**sizes, "mmd_samples": 4, "target_samples": 3, **settings})
    return Compiled(agent, "mmd_limit")


def test_the_target_takes_the_best_of_mixed_values():
    q = jnp.array([[[1.0, 0.0], [2.0, 3.0]], [[5.0, 0.0], [2.0, -1.0]]])  # critic, sample, state
    # State 0: max(.75·1 + .25·5, 2) = 2; state 1: max(0, .75·(-1) + .25·3) = 0.
    np.testing.assert_allclose(best_value(q, 0.75), [2.0, 0.0], atol=1e-6)


def test_the_lagrangian_by_hand():
    value = lagrangian(jnp.array([1.0, 3.0]), jnp.array([0.1, 0.3]), jnp.log(2.0), 0.05)
    assert float(value) == pytest.approx(-2.0 + 2.0 * 0.15, abs=1e-6)


def test_the_autoencoders_loss_by_hand():
    one = jnp.ones((1, 2))
    loss = cvae_loss(jnp.array([[0.5]]), jnp.array([[0.0]]), one, 2.0 * one)
    kl = -0.5 * (1 + np.log(4.0) - 1 - 4)
    assert float(loss) == pytest.approx(0.25 + 0.5 * kl, rel=1e-6)


def test_a_multiplier_in_units_of_the_values_hardly_heeds_their_size():
    batch = make_batch()
    for in_units, same in ((True, True), (False, False)):
        agent = small_agent(multiplier_in_q_units=in_units)
        state = agent.init(KEY, OBS_DIM, ACTION_DIM)
        last = 1e3 * state.critic.members.weights[-1]
        biases = 1e3 * state.critic.members.biases[-1]
        raised = eqx.tree_at(
            lambda s: (s.critic.members.weights[-1], s.critic.members.biases[-1]),
            state,
            (last, biases),
        )
        losses = [agent.update_policy(s, batch, KEY)[1]["policy_loss"] for s in (state, raised)]
        assert (float(losses[0]) == pytest.approx(float(losses[1]), rel=1e-3)) == same


def test_pretraining_fits_the_mode_and_the_behaviour_model():
    agent, batch = small_agent(), make_batch()
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    shown = DemoBatch(batch.obs, batch.action, batch.reference)
    after, info = agent.pretrain_step(state, shown, KEY, "uniform")
    squared = (np.asarray(state.policy.mode(batch.obs)) - np.asarray(batch.action)) ** 2
    assert float(info["pretrain_loss"]) == pytest.approx(squared.mean(), rel=1e-5)
    old, new = (s.cvae.loss(batch.obs, batch.action, KEY) for s in (state, after))
    assert float(new) < float(old)


def test_the_behaviour_model_sees_observations_in_the_demonstrations_units():
    agent, batch = small_agent(standardise_obs=True), make_batch()
    obs, plain = 3.0 * np.asarray(batch.obs) + 1.0, small_agent()
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    state = agent.agent.with_demo_units(state, obs, np.asarray(batch.action))
    cvae, raw = state.cvae, plain.init(KEY, OBS_DIM, ACTION_DIM).cvae
    seen = jnp.asarray((obs - obs.mean(0)) / obs.std(0))
    for ours, theirs in zip(
        cvae.encode(jnp.asarray(obs), batch.action), raw.encode(seen, batch.action), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    latent = jnp.ones((BATCH, 2 * ACTION_DIM))
    decoded = cvae.decode(jnp.asarray(obs), latent)
    np.testing.assert_allclose(decoded, raw.decode(seen, latent), atol=1e-5)


def test_latents_are_twice_the_actions_and_stay_within_their_limit():
    batch = make_batch()

    @jax.jit
    def computed():
        cvae = CVAE(KEY, OBS_DIM, ACTION_DIM, (16,))
        drawn = jax.random.normal(KEY, (5, BATCH, 2 * ACTION_DIM))
        expected = cvae.decode(batch.obs, jnp.clip(drawn, -0.5, 0.5)[2])
        return cvae.encode(batch.obs, batch.action), cvae.sample(batch.obs, KEY, 5), expected

    (loc, scale), sampled, expected = computed()
    assert loc.shape == scale.shape == (BATCH, 2 * ACTION_DIM)
    np.testing.assert_allclose(sampled[2], expected, atol=1e-6)


def test_the_autoencoder_learns_both_modes_of_each_state():
    """In state 1 the action is ±.9, in state -1 it is ±.6: one Gaussian would say 0."""
    rng, optimiser = np.random.default_rng(0), optax.adam(3e-3)
    obs = rng.choice([-1.0, 1.0], (256, 1)).astype(np.float32)
    action = np.where(obs > 0, 0.9, 0.6) * rng.choice([-1.0, 1.0], (256, 1))
    action = action.astype(np.float32)

    def step(carry, key):
        *carry, value = gradient_step(
            lambda cvae: cvae.loss(obs, action, key), carry[0], optimiser, carry[1]
        )
        return tuple(carry), value

    @jax.jit
    def learned():
        cvae = CVAE(KEY, 1, 1, (32, 32))
        carry = cvae, optimiser.init(cvae)
        (cvae, _), _ = jax.lax.scan(step, carry, jax.random.split(KEY, 1000))
        decoded = cvae.decode(obs, cvae.encode(obs, action)[0])
        return jnp.tanh(decoded), jnp.tanh(cvae.sample(obs, KEY, 10))

    decoded, sampled = map(np.asarray, learned())
    assert np.mean((decoded - action) ** 2) < 0.1  # 0.58 if it knew one mode only
    assert 0.3 < np.mean(sampled > 0) < 0.7
    wider = np.std(sampled[:, obs[:, 0] > 0]) / np.std(sampled[:, obs[:, 0] < 0])
    assert wider > 1.1


def test_the_multiplier_rises_while_the_discrepancy_is_too_large():
    for limit, rises in ((0.0, True), (100.0, False)):
        agent = small_agent(mmd_limit=limit)
        state = agent.init(KEY, OBS_DIM, ACTION_DIM)
        after, info = agent.update(state, make_batch(), KEY, "uniform")
        assert float(info["mmd"]) > 0
        moved = float(after.log_multiplier - state.log_multiplier)
        assert moved == pytest.approx(1e-3 if rises else -1e-3, rel=1e-3)


@pytest.mark.parametrize(("start", "limit"), [(-5.0, 100.0), (10.0, 0.0)])
def test_the_multiplier_stays_within_its_bounds(start, limit):
    agent = small_agent(mmd_limit=limit)
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)._replace(log_multiplier=jnp.float32(start))
    after, _ = agent.update(state, make_batch(), KEY, "uniform")
    assert float(after.log_multiplier) == start


def test_the_critics_are_not_heeded_during_the_warm_up():
    agent, batch = small_agent(warmup_updates=1, learning_rate=1e-3), make_batch()
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    raised = state._replace(critic=jax.tree.map(lambda leaf: 5.0 * leaf, state.critic))
    policies = [agent.update_policy(s, batch, KEY)[0].policy for s in (state, raised)]
    for left, right in zip(*map(jax.tree.leaves, policies), strict=True):
        np.testing.assert_array_equal(left, right)
    state, raised = (s._replace(updates=jnp.array(1, jnp.int32)) for s in (state, raised))
    infos = [agent.update_policy(s, batch, KEY)[1]["policy_gradient"] for s in (state, raised)]
    assert float(infos[0]) != float(infos[1])


def test_updates_are_counted():
    agent = small_agent()
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    for count in (1, 2):
        state, _ = agent.update(state, make_batch(), KEY, "uniform")
        assert int(state.updates) == count


def test_the_policy_loss_recomputed():
    agent, batch = small_agent(), make_batch()
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)._replace(log_multiplier=jnp.float32(0.7))
    _, info = agent.update_policy(state, batch, KEY)
    policy_key, cvae_key = jax.random.split(KEY)

    @jax.jit
    def computed(state):
        x = unsquashed_samples(state.policy, batch.obs, policy_key, 4)
        y = state.cvae.sample(batch.obs, cvae_key, 4)
        q = state.critic(batch.obs, jnp.tanh(x[0])).min(0)
        return jnp.mean(-q + np.exp(0.7) * (mmd(x, y, "laplacian", 50.0) - 0.05))

    assert float(info["policy_loss"]) == pytest.approx(float(computed(state)), abs=1e-5)


def test_an_update_reports_finite_scalars():
    agent = small_agent(mmd_limit=0.0)
    _, info = agent.update(agent.init(KEY, OBS_DIM, ACTION_DIM), make_batch(), KEY, "uniform")
    assert {"mmd", "multiplier", "cvae_loss", "policy_loss", "critic_loss", "q"} <= set(info)
    assert all(value.shape == () and np.isfinite(value) for value in info.values())


def test_the_best_action_by_the_first_critic():
    agent = small_agent(act_samples=6)
    state, obs = agent.init(KEY, OBS_DIM, ACTION_DIM), make_batch().obs
    actions = jax.random.uniform(KEY, (6, BATCH, ACTION_DIM), minval=-1)
    chosen = jax.jit(best_action)(state.critic, obs, actions)
    value = jax.jit(lambda action: state.critic(obs, action)[0])
    values = np.stack([value(action) for action in actions])
    np.testing.assert_allclose(value(chosen), values.max(0), atol=1e-6)
    alone = [agent.mode(state, row[None], None) for row in obs]
    np.testing.assert_allclose(agent.mode(state, obs, None), jnp.concatenate(alone), atol=1e-6)
    assert (
        agent.sample(state, obs, None, KEY).shape
        == agent.mode(state, obs, None).shape
        == chosen.shape
    )


def test_settings_that_cannot_work_are_refused():
    for settings in ({"head": "normal"}, {"cvae_hidden": ()}, {"target_minimum": 2.0}):
        with pytest.raises(UserError, match=next(iter(settings))):
            small_agent(**settings)


def test_a_run_from_demonstrations_with_rewards(tmp_path):
    run, metrics = train_on_demos(small_agent(warmup_updates=5).agent, tmp_path)
    assert int(run.state.updates) == run.progress.updates > 5
    assert np.isfinite(metrics["mmd"][-1])
    assert np.isfinite(metrics["eval_return_mean"]).any()


def test_the_preset_warms_up_for_four_fifths_of_the_offline_updates():
    for name in ("default", "paper"):
        config = preset("door", "bear", name)
        assert config.agent.warmup_updates == 20_000
        assert (config.schedule.offline_updates, config.schedule.demos_in_replay) == (25_000, True)
        assert (config.agent.head, config.reference) == ("tanh_normal", "uniform")
