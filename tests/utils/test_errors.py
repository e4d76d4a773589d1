import pytest

from nppac.utils.errors import UserError, check_seed, nearest_path, unknown_name

NAMES = ["walker2d", "ant", "door"]


@pytest.mark.parametrize(("typed", "meant"), [("dor", "door"), ("walker", "walker2d")])
def test_the_nearest_name_is_suggested(typed, meant):
    message = str(unknown_name("task", typed, NAMES))
    assert message.startswith(f"Unknown task '{typed}'. Did you mean '{meant}'?")


def test_without_a_near_name_all_are_listed_in_order():
    assert str(unknown_name("task", "xyz", iter(NAMES))) == (
        "Unknown task 'xyz'. Known: ant, door, walker2d."
    )


def test_of_many_names_the_nearest_are_listed():
    names = [f"{word}_{i}" for word in ("eval", "batch", "step") for i in range(20)]
    message = str(unknown_name("setting", "stepp_3", names))
    assert message.startswith("Unknown setting 'stepp_3'. Did you mean 'step_3'? Known: step_3, ")
    assert message.endswith(" and 52 more.")
    assert message.count(",") == 7


def test_seeds_are_those_that_every_generator_tells_apart():
    check_seed(0)
    check_seed(2**32 - 1)
    for seed in (-1, 2**32):
        with pytest.raises(UserError, match=f"'seed' is {seed}; it must be at least 0"):
            check_seed(seed)


def test_the_nearest_path_is_suggested_where_one_is_near(tmp_path):
    (tmp_path / "door-seed0").mkdir()
    assert nearest_path(tmp_path / "dor-seed0") == f" Did you mean '{tmp_path / 'door-seed0'}'?"
    assert nearest_path(tmp_path / "xyz") == ""
    (tmp_path / "file").touch()
    assert nearest_path(tmp_path / "file") == " It is a file."
    assert nearest_path(tmp_path / "absent" / "door-seed0") == ""


def test_what_a_terminal_would_obey_is_escaped():
    message = "d.npz: '\x1b[2J\u202e\ud800\n' is none; ü and 中 are."
    assert str(UserError(message)) == (r"d.npz: '\x1b[2J\u202e\ud800\n' is none; ü and 中 are.")
    assert str(UserError(message)).isprintable()
