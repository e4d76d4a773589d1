"""What BRAC adds to N-PPAC: the KL averaged over several samples, against a network's density."""

import dataclasses

import jax
import numpy as np
import pytest
from scipy.stats import norm

from compiled import Compiled
from method_runs import ACTION_DIM, BATCH, OBS_DIM, make_batch, stacked
from nppac.training.presets import preset
from nppac.types import ReferenceStats

KEY = jax.random.key(0)
SIZES = {"policy_hidden": (8,), "critic_hidden": (8,)}


def small_brac(**settings) -> Compiled:
    agent = preset("door", "brac", "paper").agent
    return Compiled(dataclasses.replace(agent, **SIZES, **settings))


def referenced_batch():
    """A minibatch whose reference differs between states, and between s and s'."""
    batch, rng = make_batch(), np.random.default_rng(0)
    stats = [
        ReferenceStats(
            rng.normal(0.0, 0.3, (BATCH, ACTION_DIM)).astype(np.float32),
            rng.uniform(0.3, 0.9, (BATCH, ACTION_DIM)).astype(np.float32),
        )
        for _ in range(2)
    ]
    return batch._replace(reference=stats[0], next_reference=stats[1])


def forward(network, inputs):
    """A perceptron with one hidden layer, in NumPy."""
    (first, last), (bias, last_bias) = (
        [np.asarray(array, np.float64) for array in arrays]
        for arrays in (network.weights, network.biases)
    )
    return np.maximum(inputs @ first + bias, 0.0) @ last + last_bias


def least_value(critic, obs, action):
    """min_i Q_i(s, a), and every Q_i."""
    inputs = np.concatenate([obs, action], axis=1)
    members = [jax.tree.map(lambda leaf, i=i: leaf[i], critic.members) for i in range(2)]
    values = np.stack([forward(member, inputs)[:, 0] for member in members])
    return values.min(0), values


def first_action_and_kl(policy, squashed, obs, reference, key, samples):
    """a_1, and K̂L = (1/K) Σ_k [log π(a_k|s) - log π_b(a_k|s)], in NumPy."""
    raw_loc, log_scale = np.split(forward(policy.trunk, obs), 2, axis=1)
    loc, scale = (raw_loc if squashed else np.tanh(raw_loc)), np.exp(log_scale)
    actions, ratios = [], []
    for k in range(samples):
        noise = jax.random.normal(jax.random.fold_in(key, k) if k else key, loc.shape)
        unsquashed = loc + scale * np.asarray(noise)
        action = np.tanh(unsquashed) if squashed else unsquashed
        log_prob = norm.logpdf(unsquashed, loc, scale).sum(1)
        if squashed:
            log_prob -= np.log(1.0 - action**2 + 1e-6).sum(1)
        actions.append(action)
        ratios.append(log_prob - norm.logpdf(action, *reference).sum(1))
    return actions[0], np.mean(ratios, axis=0)


@pytest.mark.parametrize("samples", [1, 4])
@pytest.mark.parametrize("head", ["normal", "tanh_normal"])
def test_an_update_reports_the_losses_computed_by_hand(head, samples):
    """Y = r + γ m (min Q̄(s', a'_1) - α K̂L(s')), J_π = E[α K̂L(s) - min Q(s, a_1)]."""
    agent = small_brac(head=head, kl_samples=samples, temperature=0.7)
    squashed, batch = head == "tanh_normal", referenced_batch()
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    after, info = agent.update(state, stacked(batch), KEY, "normal")
    critic_key, policy_key = jax.random.split(KEY)

    obs, action, reward, next_obs, mask = (np.asarray(column, np.float64) for column in batch[:5])
    next_action, next_kl = first_action_and_kl(
        state.policy, squashed, next_obs, batch.next_reference, critic_key, samples
    )
    next_q, _ = least_value(state.target_critic, next_obs, next_action)
    target = reward + 0.99 * mask * (next_q - 0.7 * next_kl)
    _, values = least_value(state.critic, obs, action)
    critic_loss = ((values - target) ** 2).mean(1).sum()
    assert float(info["critic_loss"]) == pytest.approx(critic_loss, rel=1e-4)

    own_action, kl = first_action_and_kl(
        state.policy, squashed, obs, batch.reference, policy_key, samples
    )
    q, _ = least_value(after.critic, obs, own_action)  # the critics step first
    assert float(info["kl"]) == pytest.approx(kl.mean(), rel=1e-4)
    assert float(info["policy_loss"]) == pytest.approx((0.7 * kl - q).mean(), rel=1e-4)


def test_its_settings_are_n_ppacs_but_for_the_reference_and_the_samples():
    for task in ("door", "halfcheetah"):
        for name in ("default", "paper"):
            brac, nppac = preset(task, "brac", name), preset(task, "nppac", name)
            assert (brac.reference, brac.agent.kl, brac.agent.kl_samples) == (
                "network-entropy",
                "sample",
                4,
            )
            agent = dataclasses.replace(nppac.agent, kl="sample", kl_samples=4)
            assert (brac.agent, brac.schedule, brac.gp) == (agent, nppac.schedule, nppac.gp)


@pytest.mark.parametrize("samples", [1, 4])
def test_the_kl_to_the_policy_itself_is_zero(samples):
    brac = small_brac(kl_samples=samples)
    state, batch = brac.init(KEY, OBS_DIM, ACTION_DIM), make_batch()
    itself = ReferenceStats(*state.policy.loc_scale(batch.obs))
    _, ratio = brac.agent.act_with_log_ratio(state.policy, batch.obs, itself, KEY, "normal")
    np.testing.assert_array_equal(ratio, np.zeros(BATCH))
