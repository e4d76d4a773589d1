"""A few seconds of what benchmarks/fuzz_readers.py does for minutes."""

import pytest

import fuzz_readers
from fuzz_readers import DEMO_READERS, fuzz
from nppac.demos.formats import d4rl, minari


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    for module in (d4rl, minari):
        monkeypatch.setattr(module, "read_hdf5", fuzz_readers._in_this_process)


@pytest.mark.parametrize("name", DEMO_READERS)
def test_sound_samples_are_read(name, tmp_path):
    reader = DEMO_READERS[name]
    for i, parts in enumerate(reader.samples()):
        (tmp_path / str(i)).mkdir()
        reader.read(reader.write(tmp_path / str(i), parts))


@pytest.mark.parametrize("name", DEMO_READERS)
def test_damaged_files_raise_nothing_but_the_users_error(name):
    found = fuzz(DEMO_READERS[name], 150, seed=1)
    assert found.others == {}
    assert found.refused > 20
    assert found.slowest < 5


def test_what_else_is_raised_is_counted_and_kept(tmp_path):
    reader = DEMO_READERS["json"]._replace(read=lambda path: 1 / 0)
    found = fuzz(reader, 3, 0, tmp_path)
    assert found.others == {"ZeroDivisionError: division by zero": 3}
    assert len(list(tmp_path.iterdir())) == 1
