import numpy as np
import pytest

from nppac.references import load_reference
from nppac.utils.errors import UserError
from nppac.utils.files import write_arrays


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"kind": np.asarray("uniforme")}, "Did you mean 'uniform'"),
        ({"something": np.zeros(2)}, "holds no reference"),
        ({"kind": np.asarray("gp")}, "not hold a complete reference"),
    ],
)
def test_bad_files_are_named(tmp_path, arrays, message):
    write_arrays(tmp_path / "file.npz", arrays)
    with pytest.raises(UserError, match=message):
        load_reference(tmp_path / "file.npz")


def test_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"absent\.npz"):
        load_reference(tmp_path / "absent.npz")
