from __future__ import annotations

import pytest

from calc.job import Job
from calc.profile import NotTraced, attention, nearest, point, setting
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
    told = r"with checkpointing wrapper; .*: checkpointing block, checkpointing none$"
    with pytest.raises(NotTraced, match=told):
        point(Job(checkpointing="wrapper"), profile())


def test_a_way_is_named_in_the_words_of_the_inputs() -> None:
    with pytest.raises(NotTraced) as raised:
        point(Job(checkpointing="wrapper", precision="bf16"), profile())
    assert "amp" not in str(raised.value)
    assert "激活检查点 wrapper" in render(raised.value.message, "zh")


@pytest.mark.parametrize(
    "job",
    [Job(frames=8), Job(frames=96, size=448), Job(checkpointing="wrapper", precision="bf16"),
     Job(model="custom", trainable="head", checkpointing="block", frames=64, precision="tf32")],
)  # fmt: skip
def test_the_nearest_settings_were_traced(job: Job) -> None:
    changes = nearest(job, profile())
    assert 1 <= len(changes) <= 3
    for change in changes:
        assert point(job.replace(**change), profile())
    assert not any(
        one.items() < other.items() for one in changes for other in changes
    )  # fmt: skip


def test_the_nearest_frames_come_first() -> None:
    assert nearest(Job(frames=64), profile())[0] == {"frames": 32}
    assert nearest(Job(frames=8), profile())[0] == {"frames": 16}
