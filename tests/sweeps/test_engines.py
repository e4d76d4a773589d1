"""Sweeps that lose a machine or their driver: nothing is done twice, and no bit differs."""

import pytest

from toy_task import assert_same_run

from .sweep_processes import (
    finish,
    finished,
    kill_driver_and_finish,
    ray_cluster,
    start_sweep,
    wait_until,
    whats,
    write_plan,
)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def test_the_local_engine_survives_a_killed_driver(tmp_path, demos):
    kill_driver_and_finish(write_plan(tmp_path, demos, "0..2"), tmp_path / "out", 6)


def test_the_ray_engine_survives_a_killed_driver(tmp_path, demos):
    plan = write_plan(tmp_path, demos, "0..2")
    with ray_cluster(2) as cluster:
        flags = ("--engine", "ray", "--address", cluster.address)
        kill_driver_and_finish(plan, tmp_path / "out", 6, *flags)


def test_a_cluster_that_loses_a_node_makes_the_runs_of_the_local_engine(tmp_path, demos):
    plan, out, local = write_plan(tmp_path, demos, "0..5"), tmp_path / "ray", tmp_path / "local"
    with ray_cluster(3) as cluster:
        driver = start_sweep(plan, out, "--engine", "ray", "--address", cluster.address)
        wait_until(lambda: 2 <= len(finished(out)) < 10, driver, out)
        cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)
        assert len(finished(out)) < 12
        finish(driver, out)
    finish(start_sweep(plan, local), local)
    assert len(finished(out)) == len(finished(local)) == 12
    for name in finished(out):
        assert whats(out, name).count("finished") == 1
        assert_same_run(out / name, local / name)
    assert any("lost" in whats(out, name) for name in finished(out))
