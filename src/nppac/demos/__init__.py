"""Demonstrations: load them from any common format, validate, describe, record and save them."""

from nppac.demos.data import Demos
from nppac.demos.describe import describe
from nppac.demos.embedded import embedded_names, load_embedded
from nppac.demos.formats.npz import save_demos
from nppac.demos.load import convert, is_embedded, load_demos
from nppac.demos.record import demos_from_episodes
from nppac.demos.relabel import relabel, relabel_by_replay, task_rewards
from nppac.demos.validate import validate

__all__ = [
    "Demos",
    "convert",
    "demos_from_episodes",
    "describe",
    "embedded_names",
    "is_embedded",
    "load_demos",
    "load_embedded",
    "relabel",
    "relabel_by_replay",
    "save_demos",
    "task_rewards",
    "validate",
]
