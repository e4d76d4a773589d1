from dataclasses import replace

import numpy as np
import pytest

from nppac.references.neural.batches import MemberSplit, kept_units
from nppac.utils.errors import UserError
from references import small


def test_split_is_a_tenth_and_each_members_own():
    splits = [MemberSplit(100, small.CONFIG, k) for k in range(2)]
    for split in splits:
        assert len(split.validation) == 10
        assert set(split.training) | set(split.validation) == set(range(100))
    assert set(splits[0].validation) != set(splits[1].validation)
    same = MemberSplit(100, small.CONFIG, 0)
    np.testing.assert_array_equal(same.validation, splits[0].validation)


def test_epochs_differ_in_order_only():
    split = MemberSplit(100, replace(small.CONFIG, batch_size=40), 0)
    first, second = split.epoch(), split.epoch()
    assert first.rows.shape == (2, 40)
    assert (first.rows != second.rows).any()
    for batches in (first, second):
        assert len(set(batches.rows.ravel())) == 80
        assert not set(batches.rows.ravel()) & set(split.validation)


@pytest.mark.parametrize("n", [2, 3])
def test_few_steps_still_split(n):
    split = MemberSplit(n, small.CONFIG, 0)
    assert len(split.validation) == 1
    assert split.epoch().rows.shape == (1, n - 1)


def test_one_step_is_too_few():
    with pytest.raises(UserError, match="at least 2"):
        MemberSplit(1, small.CONFIG, 0)


def test_dropout_keeps_its_share_of_units():
    first, second = kept_units(np.random.default_rng(0), [(400, 101), (400, 7)], 0.1)
    assert (first.shape, second.shape) == ((400, 101), (400, 7))
    assert first.mean() == pytest.approx(0.9, abs=0.01)
    np.testing.assert_allclose(first.mean(0), 0.9, atol=0.08)


def test_dropout_is_drawn_anew_in_every_epoch():
    split = MemberSplit(100, small.CONFIG, 0, dropout=0.5)
    first, second = split.epoch().kept, split.epoch().kept
    assert [mask.shape for mask in first] == [(2, 32, 8), (2, 32, 8)]
    assert (first[0] != second[0]).any()
    assert MemberSplit(100, small.CONFIG, 0).epoch().kept is None
