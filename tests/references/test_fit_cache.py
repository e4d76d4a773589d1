import os
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from nppac.references import GPConfig, fitting
from nppac.references.fit_cache import cache_directory, fit_key, forget_oldest, kept_fit
from nppac.references.fitting import fitted_reference, load_reference
from nppac.references.fixed import UniformReference
from nppac.utils.errors import UserError
from references import small

GP = GPConfig(kernel="rbf", max_steps=2, fit_points=30)
DATA = small.make_data()


@pytest.fixture
def fits(monkeypatch):
    """The names of what is really fitted."""
    made, fit = [], fitting.fit_named_reference

    def counted(name, *data, **how):
        made.append(name)
        return fit(name, *data, **how)

    monkeypatch.setattr(fitting, "fit_named_reference", counted)
    return made


def fitted(name="gp", data=DATA, **how):
    return fitted_reference(name, *data, **{"gp": GP, "network": small.CONFIG, **how})


@pytest.mark.parametrize("name", ["gp", "network", "mixed:gp+network"])
def test_the_same_is_fitted_once_and_answers_the_same_bits(fits, capsys, name):
    first, second = fitted(name), fitted(name)
    assert fits == [name]
    assert "taken from the cache; --refit fits it again" in capsys.readouterr().err
    assert first.summary() == second.summary()
    for one, two in zip(first(DATA[0]), second(DATA[0]), strict=True):
        np.testing.assert_array_equal(one, two)
    fitted(name, refit=True)
    assert fits == [name] * 2


def test_whatever_changes_the_fit_is_fitted_anew(fits):
    obs, actions = DATA
    changed = obs.copy()
    changed[0, 0] = np.nextafter(changed[0, 0], 9)
    for how in (
        {},
        {"seed": 1},
        {"gp": replace(GP, neighbours=7)},
        {"data": (changed, actions)},
        {"data": (obs, actions.astype(np.float32))},
        {"name": "constant"},
    ):
        fitted(**how)
    assert len(fits) == 6
    fitted(network=replace(small.CONFIG, max_epochs=9))  # a GP has no network
    fitted(gp=replace(GP, seed=1))  # another way to say the same seed
    assert len(fits) == 6


def test_the_number_of_threads_is_part_of_the_key(monkeypatch):
    keys = set()
    for threads in ("1", "2"):
        monkeypatch.setenv("NPROC", threads)
        keys.add(fit_key("gp", {}, *DATA))
    assert len(keys) == 2


@pytest.mark.parametrize("harm", ["bit", "empty", "foreign"])
def test_a_damaged_file_is_made_again_with_a_note(fits, fit_cache, capsys, harm):
    fitted()
    (path,) = fit_cache.glob("*.npz")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    if harm == "foreign":
        np.savez(path, something=np.zeros(3))
    else:
        path.write_bytes(bytes(content) if harm == "bit" else b"")
    fitted()
    assert "A fit in the cache is of no use and is made again." in capsys.readouterr().err
    fitted()
    assert len(fits) == 2
    assert [entry.name for entry in fit_cache.iterdir()] == [path.name]


def test_a_cache_that_cannot_be_written_is_done_without(fits, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NPPAC_CACHE", str(tmp_path / "file"))
    assert cache_directory() is None
    fitted()
    fitted()
    assert len(fits) == 2
    monkeypatch.setenv("NPPAC_CACHE", str(tmp_path / "full"))

    def full(self, path):
        raise UserError(f"Cannot write {path}: No space left on device.")

    monkeypatch.setattr("nppac.references.gp.posterior.GPReference.save", full)
    fitted()
    assert "The fit is not kept in the cache. Cannot write" in capsys.readouterr().err


def test_the_directory_is_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("NPPAC_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "nppac" / "fits"


def test_those_unused_the_longest_are_forgotten_first(tmp_path):
    for i, name in enumerate(["old.npz", "older.npz", "new.npz"]):
        (tmp_path / name).write_bytes(bytes(100))
        os.utime(tmp_path / name, (1000 - i, 1000 - i))
    newest = tmp_path / "new.npz"
    forget_oldest(tmp_path, newest, most=300)
    assert len(list(tmp_path.iterdir())) == 3
    forget_oldest(tmp_path, newest, most=250)
    assert {path.name for path in tmp_path.iterdir()} == {"old.npz", "new.npz"}
    forget_oldest(tmp_path, newest, most=50)
    assert {path.name for path in tmp_path.iterdir()} == {"new.npz"}


def test_of_several_who_ask_at_once_one_fits(capsys):
    made, begun, go_on = [], threading.Event(), threading.Event()

    def fit():
        made.append(1)
        begun.set()
        assert go_on.wait(60)
        return UniformReference(2)

    def ask():
        kept_fit("key", fit, load_reference)

    first, second = threading.Thread(target=ask), threading.Thread(target=ask)
    first.start()
    assert begun.wait(60)
    second.start()
    second.join(0.3)
    assert second.is_alive()
    go_on.set()
    first.join(60)
    second.join(60)
    assert made == [1]
    assert "Another process fits the same reference: waiting for it." in capsys.readouterr().err


KILLED = """
import os
from nppac.references.fit_cache import kept_fit
kept_fit("key", lambda: os._exit(7), lambda path: None)
"""


def test_a_process_that_died_while_it_fitted_is_not_waited_for(fit_cache):
    died = subprocess.run([sys.executable, "-c", KILLED], timeout=120)
    assert died.returncode == 7
    assert (fit_cache / "key.lock").exists()
    assert kept_fit("key", lambda: UniformReference(2), load_reference).action_dim == 2
    assert [path.name for path in fit_cache.iterdir()] == ["key.npz"]
