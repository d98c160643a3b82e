"""The same answers in every format, whole and streamed: material for the laws.

Each reply is what a provider could send, written small. `body` and `stream` say the same; `stream`
is a list of payloads that `framed` turns into the bytes of its wire.
"""

import json
import struct
import zlib
from typing import Any

from msgspec import Struct

from dragoman.rules import family_of
from dragoman.target import Target

JsonObject = dict[str, Any]


class Reply(Struct, frozen=True):
    """One answer: what it says, as a body and as a stream."""

    wire: str
    name: str
    body: JsonObject
    stream: list[Any]

    def body_bytes(self) -> bytes:
        return json.dumps(self.body, ensure_ascii=False).encode()

    def stream_bytes(self) -> bytes:
        return framed(self.wire, self.stream)


def target_on(wire: str, **more: Any) -> Target:
    return Target(
        provider="lyrebird",
        model="owl-2",
        wire=wire,
        base_url="https://x.example",
        family=family_of("owl-2", wire),
        **more,
    )


def compact(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    # Half a character can only be written escaped.
    return text if text.isprintable() else json.dumps(value, separators=(",", ":"))


def framed(wire: str, payloads: list[Any]) -> bytes:
    return FRAMINGS[wire](payloads)


def _sse(payloads: list[Any]) -> bytes:
    return "".join(f"data: {compact(payload)}\n\n" for payload in payloads).encode()


def _sse_named(payloads: list[Any]) -> bytes:
    # A name that a mutation has spoiled is left out; the payload still comes.
    names = (
        f"event: {payload['type']}\n" if isinstance(payload, dict) and isinstance(payload.get("type"), str) else ""
        for payload in payloads
    )
    return "".join(f"{name}data: {compact(payload)}\n\n" for name, payload in zip(names, payloads, strict=True)).encode(
        "utf-8", "replace"
    )


def _lines(payloads: list[Any]) -> bytes:
    return "".join(f"{compact(payload)}\n" for payload in payloads).encode()


def _event_stream(payloads: list[Any]) -> bytes:
    return b"".join(
        _message(name, payload) for entry in payloads if isinstance(entry, dict) for name, payload in entry.items()
    )


def _message(name: str, payload: Any) -> bytes:
    kind = "exception" if name.endswith("Exception") else "event"
    headers = b"".join(_header(key, value) for key, value in ((f":{kind}-type", name), (":message-type", kind)))
    data = compact(payload).encode()
    prelude = struct.pack("!II", len(headers) + len(data) + 16, len(headers))
    whole = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + data
    return whole + struct.pack("!I", zlib.crc32(whole))


def _header(name: str, value: str) -> bytes:
    return bytes([len(name)]) + name.encode() + b"\x07" + struct.pack("!H", len(value)) + value.encode()


FRAMINGS = {
    "openai-chat": lambda payloads: _sse(payloads) + b"data: [DONE]\n\n",
    "openai-responses": _sse_named,
    "anthropic-messages": _sse_named,
    "gemini": _sse,
    "bedrock-converse": _event_stream,
    "ollama": _lines,
}

# ── Chat Completions ──

_CHAT = {"id": "chatcmpl-1", "model": "owl-2-0101"}
_CHAT_USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 40,
    "total_tokens": 140,
    "prompt_tokens_details": {"cached_tokens": 64},
    "completion_tokens_details": {"reasoning_tokens": 20},
}


def _chat_body(message: JsonObject, finish: str) -> JsonObject:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return _CHAT | {"object": "chat.completion", "choices": [choice], "usage": _CHAT_USAGE}


def _chat_chunks(deltas: list[JsonObject], finish: str) -> list[JsonObject]:
    def chunk(delta: JsonObject, reason: str | None = None) -> JsonObject:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return _CHAT | {"object": "chat.completion.chunk", "choices": [choice], "usage": None}

    first = chunk({"role": "assistant", "content": ""})
    return [first, *map(chunk, deltas), chunk({}, finish), _CHAT | {"choices": [], "usage": _CHAT_USAGE}]


def _chat_call(index: int, id: str, name: str, arguments: str) -> JsonObject:
    return {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


CHAT = [
    Reply(
        "openai-chat",
        "text",
        _chat_body({"content": "Grüß dich ☃ 😀"}, "stop"),
        _chat_chunks([{"content": "Grüß "}, {"content": "dich ☃ 😀"}], "stop"),
    ),
    Reply(
        "openai-chat",
        "cut short",
        _chat_body({"content": "Once"}, "length"),
        _chat_chunks([{"content": "Once"}], "length"),
    ),
    Reply(
        "openai-chat",
        "reasoning and parallel calls",
        _chat_body(
            {
                "reasoning_content": "Two places to look.",
                "content": "Looking.",
                "tool_calls": [_chat_call(0, "call_a", "look", '{"city":"Kyiv"}'), _chat_call(1, "call_b", "look", "")],
            },
            "tool_calls",
        ),
        _chat_chunks(
            [
                {"reasoning_content": "Two places "},
                {"reasoning_content": "to look."},
                {"content": "Looking."},
                {"tool_calls": [_chat_call(0, "call_a", "look", "")]},
                {"tool_calls": [{"index": 0, "function": {"arguments": '{"city":'}}]},
                {"tool_calls": [_chat_call(1, "call_b", "look", "")]},
                {"tool_calls": [{"index": 0, "function": {"arguments": '"Kyiv"}'}}]},
            ],
            "tool_calls",
        ),
    ),
    Reply(
        "openai-chat",
        "reasoning details",
        _chat_body(
            {
                "content": "Hi",
                "reasoning": "hm hm",
                "reasoning_details": [
                    {"type": "reasoning.text", "text": "hm hm", "signature": "s", "index": 0, "format": "f"}
                ],
            },
            "stop",
        ),
        _chat_chunks(
            [
                {
                    "reasoning": "hm ",
                    "reasoning_details": [{"type": "reasoning.text", "text": "hm ", "index": 0, "format": "f"}],
                },
                {
                    "reasoning": "hm",
                    "reasoning_details": [{"type": "reasoning.text", "text": "hm", "signature": "s", "index": 0}],
                },
                {"content": "Hi"},
            ],
            "stop",
        ),
    ),
    Reply(
        "openai-chat",
        "inline thinking",
        _chat_body({"content": "<think>hm</think>\n\nHi"}, "stop"),
        _chat_chunks([{"content": piece} for piece in ("<th", "ink>h", "m</thi", "nk>\n", "\nHi")], "stop"),
    ),
    Reply(
        "openai-chat",
        "refusal",
        _chat_body({"content": None, "refusal": "I cannot."}, "stop"),
        _chat_chunks([{"refusal": "I "}, {"refusal": "cannot."}], "stop"),
    ),
]

# ── Responses ──

_RESPONSE = {"id": "resp_1", "object": "response", "model": "owl-2-0101", "error": None, "incomplete_details": None}
_RESPONSE_USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 64},
    "output_tokens": 40,
    "output_tokens_details": {"reasoning_tokens": 20},
    "total_tokens": 140,
}
_REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "First this."}, {"type": "summary_text", "text": "Then that."}],
    "encrypted_content": "c2VjcmV0",
}
_SAID = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Grüß dich ☃", "annotations": []}],
}
_CALL = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_a",
    "name": "look",
    "arguments": '{"city":"Kyiv"}',
}
_SEARCH = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "owl"}}


def _response_body(output: list[JsonObject], **more: Any) -> JsonObject:
    return _RESPONSE | {"status": "completed", "output": output, "usage": _RESPONSE_USAGE} | more


def _response_events(body: JsonObject, items: list[JsonObject]) -> list[JsonObject]:
    begun = _RESPONSE | {"status": "in_progress", "output": [], "usage": None}
    terminal = {"completed": "response.completed", "incomplete": "response.incomplete"}[body["status"]]
    events = [{"type": "response.created", "response": begun}, *items, {"type": terminal, "response": body}]
    return [event | {"sequence_number": number} for number, event in enumerate(events)]


def _item(index: int, item: JsonObject, begun: JsonObject, *events: JsonObject) -> list[JsonObject]:
    inner = [{"output_index": index, "item_id": item["id"], **event} for event in events]
    added = {"type": "response.output_item.added", "output_index": index, "item": item | begun}
    return [added, *inner, {"type": "response.output_item.done", "output_index": index, "item": item}]


def _summary(index: int, *deltas: str) -> list[JsonObject]:
    text = "".join(deltas)
    part = {"type": "summary_text", "text": ""}
    return [
        {"type": "response.reasoning_summary_part.added", "summary_index": index, "part": part},
        *(
            {"type": "response.reasoning_summary_text.delta", "summary_index": index, "delta": delta}
            for delta in deltas
        ),
        {"type": "response.reasoning_summary_text.done", "summary_index": index, "text": text},
        {"type": "response.reasoning_summary_part.done", "summary_index": index, "part": part | {"text": text}},
    ]


_SAID_EVENTS = [
    {
        "type": "response.content_part.added",
        "content_index": 0,
        "part": {"type": "output_text", "text": "", "annotations": []},
    },
    {"type": "response.output_text.delta", "content_index": 0, "delta": "Grüß "},
    {"type": "response.output_text.delta", "content_index": 0, "delta": "dich ☃"},
    {"type": "response.output_text.done", "content_index": 0, "text": "Grüß dich ☃"},
    {"type": "response.content_part.done", "content_index": 0, "part": _SAID["content"][0]},  # type: ignore[index]
]
_CALL_EVENTS = [
    {"type": "response.function_call_arguments.delta", "delta": '{"city":'},
    {"type": "response.function_call_arguments.delta", "delta": '"Kyiv"}'},
    {"type": "response.function_call_arguments.done", "arguments": '{"city":"Kyiv"}'},
]
_OUTPUT = [_REASONING, _SEARCH, _SAID, _CALL]
_FULL = _response_body(_OUTPUT)
_CUT = _response_body([_SAID], status="incomplete", incomplete_details={"reason": "max_output_tokens"})

RESPONSES = [
    Reply(
        "openai-responses",
        "text",
        _response_body([_SAID]),
        _response_events(_response_body([_SAID]), _item(0, _SAID, {"content": []}, *_SAID_EVENTS)),
    ),
    Reply(
        "openai-responses", "cut short", _CUT, _response_events(_CUT, _item(0, _SAID, {"content": []}, *_SAID_EVENTS))
    ),
    Reply(
        "openai-responses",
        "reasoning, search, words and a call",
        _FULL,
        _response_events(
            _FULL,
            [
                *_item(
                    0,
                    _REASONING,
                    {"summary": [], "encrypted_content": "cGFydA"},
                    *_summary(0, "First ", "this."),
                    *_summary(1, "Then that."),
                ),
                *_item(1, _SEARCH, {"status": "in_progress"}),
                *_item(2, _SAID, {"content": []}, *_SAID_EVENTS),
                *_item(3, _CALL, {"arguments": "", "status": "in_progress"}, *_CALL_EVENTS),
            ],
        ),
    ),
]

# ── Anthropic Messages ──

_MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "owl-2-0101"}
_MESSAGE_USAGE = {
    "input_tokens": 30,
    "cache_creation_input_tokens": 6,
    "cache_read_input_tokens": 64,
    "output_tokens": 40,
}


def _message_body(content: list[JsonObject], stop: str) -> JsonObject:
    return _MESSAGE | {"content": content, "stop_reason": stop, "stop_sequence": None, "usage": _MESSAGE_USAGE}


def _block(index: int, begun: JsonObject, *deltas: JsonObject) -> list[JsonObject]:
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _message_events(blocks: list[JsonObject], stop: str) -> list[JsonObject]:
    usage = _MESSAGE_USAGE | {"output_tokens": 1}
    begun = _MESSAGE | {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    return [
        {"type": "message_start", "message": begun},
        {"type": "ping"},
        *blocks,
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": {"output_tokens": 40},
        },
        {"type": "message_stop"},
    ]


_USED = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "owl"}}
_FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "url": "https://x.example"}],
}

ANTHROPIC = [
    Reply(
        "anthropic-messages",
        "text",
        _message_body([{"type": "text", "text": "Grüß dich ☃"}], "end_turn"),
        _message_events(
            _block(
                0,
                {"type": "text", "text": ""},
                {"type": "text_delta", "text": "Grüß "},
                {"type": "text_delta", "text": "dich ☃"},
            ),
            "end_turn",
        ),
    ),
    Reply(
        "anthropic-messages",
        "thinking, search, words and calls",
        _message_body(
            [
                {"type": "thinking", "thinking": "Hm. So.", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "aGlkZGVu"},
                _USED,
                _FOUND,
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "toolu_a", "name": "look", "input": {"city": "Kyiv"}},
                {"type": "tool_use", "id": "toolu_b", "name": "look", "input": {}},
            ],
            "tool_use",
        ),
        _message_events(
            [
                *_block(
                    0,
                    {"type": "thinking", "thinking": "", "signature": ""},
                    {"type": "thinking_delta", "thinking": "Hm. "},
                    {"type": "thinking_delta", "thinking": "So."},
                    {"type": "signature_delta", "signature": "c2ln"},
                ),
                *_block(1, {"type": "redacted_thinking", "data": "aGlkZGVu"}),
                *_block(2, _USED | {"input": {}}, {"type": "input_json_delta", "partial_json": '{"query":"owl"}'}),
                *_block(3, _FOUND),
                *_block(4, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Looking."}),
                *_block(
                    5,
                    {"type": "tool_use", "id": "toolu_a", "name": "look", "input": {}},
                    {"type": "input_json_delta", "partial_json": ""},
                    {"type": "input_json_delta", "partial_json": '{"city":'},
                    {"type": "input_json_delta", "partial_json": '"Kyiv"}'},
                ),
                *_block(6, {"type": "tool_use", "id": "toolu_b", "name": "look", "input": {}}),
            ],
            "tool_use",
        ),
    ),
]

# ── Gemini ──

_GEMINI = {"modelVersion": "owl-2-0101", "responseId": "r1"}
_GEMINI_USAGE = {
    "promptTokenCount": 100,
    "candidatesTokenCount": 20,
    "thoughtsTokenCount": 20,
    "cachedContentTokenCount": 64,
    "totalTokenCount": 140,
}


def _gemini_chunk(parts: list[JsonObject], finish: str | None = None) -> JsonObject:
    candidate: JsonObject = {"content": {"role": "model", "parts": parts}, "index": 0}
    return _GEMINI | {
        "candidates": [candidate | ({"finishReason": finish} if finish else {})],
        "usageMetadata": _GEMINI_USAGE,
    }


_GEMINI_CALLS = [
    {"functionCall": {"id": "fc1", "name": "look", "args": {"city": "Kyiv"}}, "thoughtSignature": "c2ln"},
    {"functionCall": {"id": "fc2", "name": "look", "args": {}}},
]

GEMINI = [
    Reply(
        "gemini",
        "text",
        _gemini_chunk([{"text": "Grüß dich ☃"}], "STOP"),
        [_gemini_chunk([{"text": "Grüß "}]), _gemini_chunk([{"text": "dich ☃"}], "STOP")],
    ),
    Reply(
        "gemini",
        "cut short",
        _gemini_chunk([{"text": "Once"}], "MAX_TOKENS"),
        [_gemini_chunk([{"text": "Once"}]), _gemini_chunk([], "MAX_TOKENS")],
    ),
    Reply(
        "gemini",
        "thoughts, words, code and calls",
        _gemini_chunk(
            [
                {"text": "Two places to look.", "thought": True},
                {"text": "Looking."},
                {"executableCode": {"language": "PYTHON", "code": "1+1"}},
                *_GEMINI_CALLS,
            ],
            "STOP",
        ),
        [
            _gemini_chunk([{"text": "Two places ", "thought": True}]),
            _gemini_chunk([{"text": "to look.", "thought": True}, {"text": "Look"}]),
            _gemini_chunk([{"text": "ing."}, {"executableCode": {"language": "PYTHON", "code": "1+1"}}]),
            _gemini_chunk([_GEMINI_CALLS[0]]),
            _gemini_chunk([_GEMINI_CALLS[1]], "STOP"),
        ],
    ),
]

# ── Bedrock Converse ──

_CONVERSE_USAGE = {
    "inputTokens": 30,
    "cacheReadInputTokens": 64,
    "cacheWriteInputTokens": 6,
    "outputTokens": 40,
    "totalTokens": 140,
}


def _converse_body(content: list[JsonObject], stop: str) -> JsonObject:
    message = {"role": "assistant", "content": content}
    return {"output": {"message": message}, "stopReason": stop, "usage": _CONVERSE_USAGE, "metrics": {"latencyMs": 9}}


def _converse_stream(blocks: list[JsonObject], stop: str) -> list[JsonObject]:
    return [
        {"messageStart": {"role": "assistant"}},
        *blocks,
        {"messageStop": {"stopReason": stop}},
        {"metadata": {"usage": _CONVERSE_USAGE, "metrics": {"latencyMs": 9}}},
    ]


def _converse_block(index: int, *deltas: JsonObject, start: JsonObject | None = None) -> list[JsonObject]:
    opening = [{"contentBlockStart": {"contentBlockIndex": index, "start": start}}] if start else []
    middle = [{"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}} for delta in deltas]
    return [*opening, *middle, {"contentBlockStop": {"contentBlockIndex": index}}]


BEDROCK = [
    Reply(
        "bedrock-converse",
        "text",
        _converse_body([{"text": "Grüß dich ☃"}], "end_turn"),
        _converse_stream(_converse_block(0, {"text": "Grüß "}, {"text": "dich ☃"}), "end_turn"),
    ),
    Reply(
        "bedrock-converse",
        "reasoning, words and calls",
        _converse_body(
            [
                {"reasoningContent": {"reasoningText": {"text": "Hm. So.", "signature": "c2ln"}}},
                {"text": "Looking."},
                {"toolUse": {"toolUseId": "t_a", "name": "look", "input": {"city": "Kyiv"}}},
                {"toolUse": {"toolUseId": "t_b", "name": "look", "input": {}}},
            ],
            "tool_use",
        ),
        _converse_stream(
            [
                *_converse_block(
                    0,
                    {"reasoningContent": {"text": "Hm. "}},
                    {"reasoningContent": {"text": "So."}},
                    {"reasoningContent": {"signature": "c2ln"}},
                ),
                *_converse_block(1, {"text": "Looking."}),
                *_converse_block(
                    2,
                    {"toolUse": {"input": '{"city":'}},
                    {"toolUse": {"input": '"Kyiv"}'}},
                    start={"toolUse": {"toolUseId": "t_a", "name": "look"}},
                ),
                *_converse_block(3, start={"toolUse": {"toolUseId": "t_b", "name": "look"}}),
            ],
            "tool_use",
        ),
    ),
]

# ── Ollama ──

_OLLAMA = {"model": "owl-2-0101", "created_at": "2026-11-15T00:00:00Z"}
_OLLAMA_END = {"done": True, "done_reason": "stop", "prompt_eval_count": 100, "eval_count": 40, "total_duration": 9}


def _ollama_line(message: JsonObject, **more: Any) -> JsonObject:
    return _OLLAMA | {"message": {"role": "assistant", "content": "", **message}, "done": False} | more


_OLLAMA_CALLS = [
    {"id": "call_a", "function": {"index": 0, "name": "look", "arguments": {"city": "Kyiv"}}},
    {"id": "call_b", "function": {"index": 1, "name": "look", "arguments": {}}},
]

OLLAMA = [
    Reply(
        "ollama",
        "text",
        _ollama_line({"content": "Grüß dich ☃"}, **_OLLAMA_END),
        [_ollama_line({"content": "Grüß "}), _ollama_line({"content": "dich ☃"}), _ollama_line({}, **_OLLAMA_END)],
    ),
    Reply(
        "ollama",
        "thinking, words and calls",
        _ollama_line({"thinking": "Hm. So.", "content": "Looking.", "tool_calls": _OLLAMA_CALLS}, **_OLLAMA_END),
        [
            _ollama_line({"thinking": "Hm. "}),
            _ollama_line({"thinking": "So."}),
            _ollama_line({"content": "Looking."}),
            _ollama_line({"tool_calls": [_OLLAMA_CALLS[0]]}),
            _ollama_line({"tool_calls": [_OLLAMA_CALLS[1]]}),
            _ollama_line({}, **_OLLAMA_END),
        ],
    ),
]

REPLIES = [*CHAT, *RESPONSES, *ANTHROPIC, *GEMINI, *BEDROCK, *OLLAMA]
