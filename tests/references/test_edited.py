"""Files of references that were edited: a changed value, a lost array, a removed checksum."""

from functools import partial

import numpy as np
import pytest

from edited import edited_copies
from nppac.references import (
    ConstantVarianceReference,
    MixedReference,
    UniformReference,
    condition,
    load_reference,
)
from nppac.references.checks import saved_json
from nppac.references.saved_file import SavedFile
from nppac.utils.errors import UserError
from nppac.utils.files import write_arrays
from references import dense
from references.neural.test_saved import made


def make_references():
    params, obs, actions = dense.make_problem()
    gp = condition(params, "rbf", obs, actions)
    return {
        "gp": gp,
        **{kind: made(kind) for kind in ("network", "ensemble", "dropout")},
        "mixed": MixedReference(gp, made("network")),
        "constant": ConstantVarianceReference(UniformReference(2), 0.01),
        "uniform": UniformReference(2),
    }


def test_every_edited_reference_is_refused(tmp_path):
    path, refused = tmp_path / "reference.npz", 0
    for kind, reference in make_references().items():
        reference.save(path)
        load_reference(path)
        for what, contents in list(edited_copies(path)):
            path.write_bytes(contents)
            with pytest.raises(UserError, match=r"reference\.npz"):
                pytest.fail(f"{kind}: {what}: {load_reference(path)}")
            refused += 1
    assert refused >= 150


@pytest.mark.parametrize("arrays", [{"kind": "x" * 10**6}, {"kind": "custom", "name": "x" * 10**6}])
def test_a_name_without_end_is_not_shown_in_full(tmp_path, arrays):
    write_arrays(tmp_path / "r.npz", {name: np.array(text) for name, text in arrays.items()})
    with pytest.raises(UserError) as caught:
        load_reference(tmp_path / "r.npz")
    assert len(str(caught.value)) < 1000


def test_a_report_of_millions_of_lists_is_not_built():
    arrays = {"report": np.array('{"a":[' + "[]," * 6_000_000 + "[]]}")}
    for read in (SavedFile(arrays, "network").json, partial(saved_json, arrays)):
        with pytest.raises(UserError, match="'report' is not JSON"):
            read("report")


@pytest.mark.parametrize("kind", ["dropout", "ensemble"])
def test_no_file_has_copies_of_a_network_without_end(tmp_path, kind):
    arrays = {**made(kind).arrays(), "kind": np.array(kind)}
    tiled = {
        name: np.tile(array[:1], (1001,) + (1,) * (array.ndim - 1))
        for name, array in arrays.items()
        if name.startswith("kept_" if kind == "dropout" else ("weight", "bias", "variance"))
    }
    write_arrays(tmp_path / "r.npz", {**arrays, **tiled})
    with pytest.raises(UserError, match="damaged"):
        load_reference(tmp_path / "r.npz")
