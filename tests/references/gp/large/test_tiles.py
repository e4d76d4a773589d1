import numpy as np
import pytest

from nppac.references.gp.kernels import gram
from nppac.references.gp.large import tiles as gp_tiles
from nppac.references.gp.large.tiles import KernelOperator


@pytest.mark.parametrize(("n", "kernel"), [(200, "rbf"), (600, "matern12")])
def test_product_equals_that_with_the_whole_matrix(n, kernel, monkeypatch):
    monkeypatch.setattr(gp_tiles, "TILE", 256)
    rng = np.random.default_rng(0)
    x, v = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
    expected = gram(kernel, x) @ v
    np.testing.assert_allclose(KernelOperator(kernel, x)(v), expected, atol=1e-9)
    rough = KernelOperator(kernel, x, np.float32)(v)
    assert rough.dtype == np.float64
    np.testing.assert_allclose(rough, expected, atol=1e-3)
    assert np.abs(rough - expected).max() > 1e-9


def test_the_diagonal_is_one_even_far_from_the_origin():
    x = np.full((5, 2), 1e4) + 1e5 * np.arange(5)[:, None]
    product = KernelOperator("matern12", x)(np.eye(5))
    np.testing.assert_allclose(product, np.eye(5), atol=1e-9)
