from dataclasses import replace

import numpy as np

from nppac.deploy.config import DistillConfig
from nppac.deploy.dataset import labelled_states
from nppac.deploy.student import error, fit_student, fresh_student, plain

CONFIG = DistillConfig(hidden=(64, 64), epochs=30, batch_size=64, learning_rate=3e-3)
UNITS = np.float32([1e-3, 1.0, 1e3])


def smooth(obs):
    """A teacher that is not linear, and whose inputs are of very different sizes."""
    x = (obs - 5 * UNITS) / UNITS
    return 0.8 * np.stack([np.tanh(x[:, 0] - x[:, 1]), np.sin(x[:, 2])], axis=1)


def lessons(count, seed):
    obs = UNITS * np.random.default_rng(seed).uniform(3, 7, (count, 3)).astype(np.float32)
    return labelled_states(obs, smooth(obs))


def test_a_student_imitates_a_smooth_teacher_at_states_it_never_saw():
    known = lessons(3000, 0)
    fresh = fresh_student(known, CONFIG)
    student = fit_student(fresh, known, CONFIG, np.random.default_rng(0))
    unseen = lessons(1000, 1)
    assert error(plain(fresh, "task"), unseen) > 0.5
    assert error(plain(student, "task"), unseen) < 0.03


def test_fewer_lessons_than_a_minibatch_are_learned_too():
    few = lessons(10, 0)
    config = replace(CONFIG, epochs=300)
    student = fit_student(fresh_student(few, config), few, config, np.random.default_rng(0))
    assert error(plain(student, "task"), few) < 0.03


def test_an_entry_that_never_changes_has_no_units_however_many_lessons():
    obs = np.random.default_rng(0).normal(size=(60_000, 2)).astype(np.float32)
    obs[:, 1] = 0.3
    units = fresh_student(labelled_states(obs, obs), CONFIG).units
    np.testing.assert_allclose((units.centre[1], units.spread[1]), (0.3, 1.0), rtol=1e-6)


def test_an_entry_that_never_changes_does_no_harm():
    known = lessons(200, 0)
    known.obs[:, 0] = 1.0
    policy = plain(fresh_student(known, CONFIG), "task")
    assert np.isfinite(policy(known.obs + 1.0)).all()


def test_the_error_is_the_root_of_the_mean_square():
    known = lessons(50, 0)
    policy = plain(fresh_student(known, CONFIG), "task")
    expected = np.sqrt(np.square(policy(known.obs) - known.actions).mean())
    np.testing.assert_allclose(error(policy, known), expected, rtol=1e-6)
