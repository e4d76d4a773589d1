from dataclasses import replace

import pytest

from nppac.training.checkpoint import (
    save_checkpoint,
)
from nppac.training.runs import start_run
from toy_task import (
    SCHEDULE,
    make_config,
    write_demos,
)

from .checkpoints import PROGRESS, ring, trained_state


@pytest.fixture(scope="session")
def demos(tmp_path_factory):
    return str(write_demos(tmp_path_factory.mktemp("demos") / "demos.npz"))


@pytest.fixture(scope="session")
def gp_config(demos):
    return make_config(reference="gp", demos=demos, schedule=replace(SCHEDULE, pretrain_epochs=2))


@pytest.fixture(scope="session")
def finished(tmp_path_factory, gp_config):
    directory = tmp_path_factory.mktemp("runs") / "finished"
    start_run(gp_config, directory)
    return directory


@pytest.fixture
def two(tmp_path):
    """A directory with two generations."""
    for epoch in (1, 2):
        progress = replace(PROGRESS, epoch=epoch)
        save_checkpoint(tmp_path / "checkpoint.npz", progress, trained_state(), ring(8, 5))
    return tmp_path
