from __future__ import annotations

import pytest

from calc.job import Job
from calc.profile import NotTraced, attention, point, setting
from calc.words import render
from tests.calc.samples import profile


def test_precisions_that_take_the_same_bytes_share_a_trace() -> None:
    words = ("fp32", "tf32", "fp16", "bf16")
    keys = {word: setting(Job(precision=word), profile()).precision for word in words}
    assert keys == {"fp32": "fp32", "tf32": "fp32", "fp16": "amp", "bf16": "amp"}
    assert setting(Job(precision="bf16-pure"), profile()).precision == "bf16-pure"


def test_the_only_attention_of_a_library_is_used() -> None:
    eager = profile(attention=("eager",))
    assert attention(Job(attention="sdpa"), eager) == "eager"
    assert point(Job(attention="sdpa"), eager) is eager.points[setting(Job(), eager)]
    assert attention(Job(attention="eager"), profile()) == "eager"


def test_a_shape_that_was_not_traced_names_those_that_were() -> None:
    told = r"Round .* 8 frames of 224 px; .* 16 x 224, 32 x 224"
    with pytest.raises(NotTraced, match=told) as raised:
        point(Job(frames=8), profile())
    assert "16 x 224、32 x 224" in render(raised.value.message, "zh")


def test_a_way_that_was_not_traced_names_those_that_were() -> None:
    with pytest.raises(NotTraced, match=r"amp/wrapper/sdpa/full .* amp/block/sdpa/full"):
        point(Job(checkpointing="wrapper"), profile())
