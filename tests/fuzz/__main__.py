"""Throw bytes at every decoder until the time is up: `python -m tests.fuzz --seconds 60`.

What must hold for any bytes: nothing is raised but errors of ours, a decoder ends with exactly one
terminal event, and two cuts of the same bytes give the same events. The run starts from the replies
of the law tests; a finding is written to a file and ends the run with a failure.
"""

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["dragoman"]):
    from dragoman.errors import DragomanError
    from dragoman.events import Event, Failed, Finished, fold
    from dragoman.http import HttpResponse
    from dragoman.limits import Limits
    from dragoman.messages import ToolCall
    from dragoman.wire import WIRES, wire_named

    for name in WIRES:  # imported on first use otherwise, and then not seen by the fuzzer
        wire_named(name)

from tests.wire.replies import REPLIES, target_on

SMALL = Limits(body_bytes=64 * 1024, event_bytes=8 * 1024)
TARGETS = {wire: target_on(wire, limits=SMALL) for wire in WIRES}
NAMES = list(WIRES)


def stream(wire: str, *chunks: bytes) -> list[Event]:
    decoder = wire_named(wire).chat_decoder(TARGETS[wire])
    events = [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.close()
    endings = [event for event in events if isinstance(event, Finished | Failed)]
    assert endings == [events[-1]], "a stream ends once"
    return events


def told(events: list[Event]) -> list[object]:
    return [(type(event.error), str(event.error)) if isinstance(event, Failed) else event for event in events]


def one_input(data: bytes) -> None:
    """The first byte picks the wire, the second where the stream is cut."""
    if len(data) < 2:
        return
    wire, cut, data = NAMES[data[0] % len(NAMES)], data[1], data[2:]
    events = stream(wire, data)
    at = len(data) * cut // 256
    assert told(stream(wire, data[:at], data[at:])) == told(events), "the cut shows"
    if isinstance(events[-1], Finished):
        for call in fold(events).tool_calls:
            read_arguments(call)
    with contextlib.suppress(DragomanError):
        wire_named(wire).decode_chat(data, TARGETS[wire])
    wire_named(wire).decode_error(HttpResponse(status=500, body=data), TARGETS[wire])


def read_arguments(call: ToolCall) -> None:
    with contextlib.suppress(DragomanError):
        call.parse_arguments()


def write_seeds(folder: Path) -> None:
    for number, reply in enumerate(REPLIES):
        first = bytes([NAMES.index(reply.wire), 128])
        (folder / f"{number}-stream").write_bytes(first + reply.stream_bytes())
        (folder / f"{number}-body").write_bytes(first + reply.body_bytes())


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=int, default=60)
    arguments.add_argument("--replay", type=Path, help="run one finding again")
    given = arguments.parse_args()
    if given.replay:
        one_input(given.replay.read_bytes())
        return
    with tempfile.TemporaryDirectory() as folder:
        write_seeds(Path(folder))
        options = [f"-max_total_time={given.seconds}", "-max_len=16384", "-timeout=10", "-rss_limit_mb=2048"]
        atheris.Setup([sys.argv[0], *options, folder], one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
