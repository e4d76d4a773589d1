import time

import pytest

from nppac.utils.errors import UserError
from nppac.utils.json_reader import parse_json


@pytest.mark.parametrize("start", ['{"a": "', '"', '{"a": ["'])
def test_quotes_without_end_take_no_longer_than_they_are(start):
    began = time.process_time()
    with pytest.raises(UserError, match="cannot be read as JSON"):
        parse_json(start + '\\"' * 50_000 + "[" * 100, "x")
    assert time.process_time() - began < 1


def test_brackets_in_texts_are_no_levels():
    text = '["' + "[{" * 100 + '\\"[", "' + "[" * 100 + '"]'
    assert parse_json(text, "x") == ["[{" * 100 + '"[', "[" * 100]
    for deep in ("[" * 65 + "]" * 65, '["a\\\\",' * 65 + "1" + "]" * 65):
        with pytest.raises(UserError, match="nested more than 64"):
            parse_json(deep, "x")
