"""What it costs to turn a stream's bytes into events, against the bare floor in the same run.

The floor splits the same bytes into frames and lets msgspec decode each into a minimal typed
Struct: no framing rules, no events, no checks. Run: `python -m benchmarks.decode`
"""

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from dragoman.events import Event, fold
from dragoman.rules import family_of
from dragoman.target import Target
from dragoman.wire import wire_named

CHUNKS = 2_000
FRAGMENTS = 100_000
READ_BYTES = 65_536


def sse(payloads: list[dict[str, Any]], *, named: bool = False, tail: bytes = b"") -> bytes:
    frames = []
    for payload in payloads:
        name = f"event: {payload['type']}\n" if named else ""
        frames.append(f"{name}data: {json.dumps(payload, separators=(',', ':'))}\n\n".encode())
    return b"".join(frames) + tail


def chat_stream() -> bytes:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1_760_000_000,
            "model": "owl-2",
            "system_fingerprint": "fp_1",
            "choices": [choice],
            "usage": None,
        }

    words = [chunk({"content": f" word{n}"}) for n in range(CHUNKS)]
    return sse([chunk({"role": "assistant", "content": ""}), *words, chunk({}, "stop")], tail=b"data: [DONE]\n\n")


def anthropic_stream() -> bytes:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "owl-2",
        "stop_reason": None,
    }
    words = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f" word{n}"}}
        for n in range(CHUNKS)
    ]
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": CHUNKS}}
    payloads = [
        {"type": "message_start", "message": message | {"usage": {"input_tokens": 9, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *words,
        {"type": "content_block_stop", "index": 0},
        end,
        {"type": "message_stop"},
    ]
    return sse(payloads, named=True)


def gemini_stream() -> bytes:
    def chunk(text: str, finish: str | None = None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}
        if finish:
            candidate["finishReason"] = finish
        usage = {"promptTokenCount": 9, "candidatesTokenCount": 5, "totalTokenCount": 14}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "owl-2", "responseId": "r1"}

    return sse([*(chunk(f" word{n}") for n in range(CHUNKS)), chunk("", "STOP")])


class ChatDelta(msgspec.Struct, gc=False):
    content: str | None = None


class ChatChoice(msgspec.Struct, gc=False):
    delta: ChatDelta
    finish_reason: str | None = None


class ChatChunk(msgspec.Struct, gc=False):
    choices: list[ChatChoice]


class AnthropicDelta(msgspec.Struct, gc=False):
    text: str | None = None


class AnthropicEvent(msgspec.Struct, gc=False):
    type: str
    index: int = 0
    delta: AnthropicDelta | None = None


class GeminiPart(msgspec.Struct, gc=False):
    text: str | None = None


class GeminiContent(msgspec.Struct, gc=False):
    parts: list[GeminiPart] = []


class GeminiCandidate(msgspec.Struct, gc=False):
    content: GeminiContent | None = None


class GeminiChunk(msgspec.Struct, gc=False):
    candidates: list[GeminiCandidate] = []


SHAPES: dict[str, tuple[str, Callable[[], bytes], type]] = {
    "chat": ("openai-chat", chat_stream, ChatChunk),
    "anthropic": ("anthropic-messages", anthropic_stream, AnthropicEvent),
    "gemini": ("gemini", gemini_stream, GeminiChunk),
}


def target_on(wire: str) -> Target:
    return Target(provider="bench", model="owl-2", wire=wire, base_url="http://x", family=family_of("owl-2", wire))


def floor(data: bytes, kind: type) -> int:
    """The least that could be done: find each payload and decode it."""
    decode = msgspec.json.Decoder(kind).decode
    count = 0
    for block in data.split(b"\n\n"):
        at = block.find(b"data: ")
        if at >= 0 and block[at + 6 : at + 7] == b"{":
            decode(block[at + 6 :])
            count += 1
    return count


def decoded(reads: list[bytes], wire: str) -> list[Event]:
    decoder = wire_named(wire).chat_decoder(target_on(wire))
    events: list[Event] = []
    for read in reads:
        events += decoder.feed(read)
    return events + decoder.close()


def in_bursts(data: bytes) -> list[bytes]:
    """As a fast upstream is read: much at a time, cut anywhere."""
    return [data[start : start + READ_BYTES] for start in range(0, len(data), READ_BYTES)]


def one_by_one(data: bytes) -> list[bytes]:
    """As a slow upstream is read: an event at a time."""
    return [block + b"\n\n" for block in data.split(b"\n\n")[:-1]]


def best(work: Callable[[], object], rounds: int) -> float:
    """Least CPU seconds of several rounds: noise only adds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def tool_stream(fragments: int) -> bytes:
    def chunk(call: dict[str, Any]) -> dict[str, Any]:
        return {"id": "c", "model": "owl-2", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}

    begin = chunk(
        {"index": 0, "id": "call_1", "type": "function", "function": {"name": "write", "arguments": '{"text":"'}}
    )
    middle = [chunk({"index": 0, "function": {"arguments": "ten bytes "}})] * fragments
    end = chunk({"index": 0, "function": {"arguments": '"}'}})
    finish = {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    return sse([begin, *middle, end, finish], tail=b"data: [DONE]\n\n")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=15)
    rounds = arguments.parse_args().rounds
    print(f"{CHUNKS} small chunks, CPU µs per chunk, best of {rounds}")
    print(f"{'shape':<12}{'floor':>8}{'burst':>8}{'ratio':>8}{'one by one':>12}{'ratio':>8}")
    for name, (wire, make, kind) in SHAPES.items():
        data = make()
        burst, single = in_bursts(data), one_by_one(data)
        times = [
            best(partial(floor, data, kind), rounds),
            best(partial(decoded, burst, wire), rounds),
            best(partial(decoded, single, wire), rounds),
        ]
        least, fast, slow = (seconds * 1e6 / CHUNKS for seconds in times)
        print(f"{name:<12}{least:>8.2f}{fast:>8.2f}{fast / least:>8.2f}{slow:>12.2f}{slow / least:>8.2f}")
    print("\none tool argument in many fragments, decoded and folded, CPU s (best of 3)")
    for count in (FRAGMENTS // 4, FRAGMENTS // 2, FRAGMENTS):
        reads = in_bursts(tool_stream(count))
        print(f"{count:>8} {best(lambda: fold(decoded(reads, 'openai-chat')), 3):.3f}")  # noqa: B023 - called at once


if __name__ == "__main__":
    main()
