import numpy as np

from nppac.references import ConstantVarianceReference, UniformReference
from nppac.references.files import nested, nested_reference, unnested


def test_nesting_by_hand():
    arrays = nested("inner_", UniformReference(3))
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "inner_kind": "uniform",
        "inner_action_dim": 3,
    }
    assert unnested("inner_", {**arrays, "other": np.ones(1)}).keys() == {"kind", "action_dim"}


def test_nested_references_nest():
    whole = ConstantVarianceReference(ConstantVarianceReference(UniformReference(2), 0.1), 0.2)
    again = nested_reference("x_", nested("x_", whole))
    assert again.summary() == whole.summary()
