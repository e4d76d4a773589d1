from nppac.utils.provenance import provenance


def test_the_command_is_recorded_as_it_can_be_typed_again(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/somewhere/nppac", "train", "--out", "my runs/a"])
    assert provenance()["command"] == "nppac train --out 'my runs/a'"


def test_the_number_of_threads_is_recorded(monkeypatch):
    monkeypatch.setenv("NPPAC_THREADS", "1")
    assert provenance()["threads"] == 1
