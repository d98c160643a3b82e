from typing import Any

import pytest

from dragoman.embedding import EmbedRequest
from dragoman.errors import Misuse


def test_a_single_text_may_stand_alone():
    assert EmbedRequest(model="m", texts="hello").texts == ("hello",)  # type: ignore[arg-type]
    assert EmbedRequest(model="m", texts=["a", "b"]).texts == ("a", "b")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"texts": ()}, "nothing to embed"),
        ({"texts": ("a", "")}, "text 1 is empty"),
        ({"texts": ("a", 3)}, "text 1 is a int"),
        ({"kind": "passage"}, "unknown kind 'passage'"),
        ({"dimensions": 0}, "at least 1"),
        ({"dimensions": True}, "whole number"),
        ({"dimensions": 1.5}, "whole number"),
    ],
)
def test_what_cannot_be_embedded_is_said_before_anything_is_sent(wrong: dict[str, Any], said: str):
    with pytest.raises(Misuse, match=said):
        EmbedRequest(**({"model": "m", "texts": ("a",)} | wrong))
