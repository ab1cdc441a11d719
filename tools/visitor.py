"""A visitor without a browser: says over the websocket what a browser says, and notes the answers.

Several hundred of them fit on a machine that has room for a few browsers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import connect

LIMIT_S = 60
DONE = (
    ForwardMsg.ScriptFinishedStatus.FINISHED_SUCCESSFULLY,
    ForwardMsg.ScriptFinishedStatus.FINISHED_FRAGMENT_RUN_SUCCESSFULLY,
)
"""Ends of a run after which no other one was asked for by the script itself."""


class Visitor:
    """One session: `await Visitor.open(url, "lang=zh")`, `set_number`, then look at `texts`."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket
        self.texts: dict[tuple[int, ...], str] = {}
        self.fragments: dict[str, str] = {}
        self.states: dict[str, WidgetState] = {}

    @classmethod
    async def open(cls, url: str, query: str = "") -> Visitor:
        """The page as it is after a link was opened."""
        address = url.replace("http", "ws") + "/_stcore/stream"
        visitor = cls(await connect(address, subprotocols=["streamlit"], max_size=None))  # type: ignore[list-item]
        ask = BackMsg()
        ask.rerun_script.query_string = query
        await visitor._run(ask)
        return visitor

    async def set_number(self, key: str, value: float) -> float:
        """Change a number input; ms until the server has sent everything."""
        widget = next(found for found in self.states if found.endswith(f"-{key}"))
        self.states[widget].double_value = value
        ask = BackMsg()
        ask.rerun_script.fragment_id = self.fragments[widget]
        ask.rerun_script.widget_states.widgets.extend(self.states.values())
        started = time.perf_counter()
        await self._run(ask)
        return (time.perf_counter() - started) * 1000

    def headline(self) -> str:
        """The verdict."""
        heads = [text for text in self.texts.values() if text.startswith("### ")]
        assert len(heads) == 1, heads
        return heads[0].removeprefix("### ")

    async def close(self) -> None:
        """Leave the page."""
        await self.socket.close()

    async def _run(self, ask: BackMsg) -> None:
        """Ask for a run and read until the page is complete."""
        await self.socket.send(ask.SerializeToString())
        while True:
            answer = ForwardMsg()
            answer.ParseFromString(await asyncio.wait_for(self.socket.recv(), LIMIT_S))
            self._note(answer)
            if answer.WhichOneof("type") == "script_finished" and answer.script_finished in DONE:
                return

    def _note(self, answer: ForwardMsg) -> None:
        element = answer.delta.new_element
        kind = element.WhichOneof("type")
        if kind in STATES:
            widget = getattr(element, kind)
            self.states[widget.id] = WidgetState(id=widget.id)
            STATES[kind](widget, self.states[widget.id])
            self.fragments[widget.id] = answer.delta.fragment_id
        elif kind == "markdown":
            self.texts[tuple(answer.metadata.delta_path)] = element.markdown.body
        elif kind == "exception":
            raise AssertionError(element.exception.message)


def _number(widget: Any, state: WidgetState) -> None:
    held = "value" if widget.set_value else "default"
    if widget.HasField(held):  # an empty input has neither
        state.double_value = getattr(widget, held)


def _choice(widget: Any, state: WidgetState) -> None:
    state.string_value = (
        widget.raw_value if widget.set_value else widget.options[widget.default]
    )


def _choices(widget: Any, state: WidgetState) -> None:
    names = [getattr(option, "content", option) for option in widget.options]
    chosen = widget.raw_values if widget.set_value else [names[i] for i in widget.default]
    state.string_array_value.data.extend(chosen)


def _flag(widget: Any, state: WidgetState) -> None:
    state.bool_value = widget.value if widget.set_value else widget.default


def _slider(widget: Any, state: WidgetState) -> None:
    state.double_array_value.data.extend(widget.value if widget.set_value else widget.default)


STATES: Mapping[str, Callable[[Any, WidgetState], None]] = {
    "number_input": _number,
    "selectbox": _choice,
    "multiselect": _choices,
    "button_group": _choices,
    "checkbox": _flag,
    "slider": _slider,
}
"""What a browser keeps of each kind of input, and sends with every change."""
