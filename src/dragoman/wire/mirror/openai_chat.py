"""Chat Completions from the server's side: requests read here, answers written in `chat_replies`.

Understands what our own codec writes and what other clients send. What the vocabulary has no word
for is kept where it stood: parts of an unknown type as opaque parts, tools that are no functions
as provider tools, and every field of the body that is left over in `options.extra`.
"""

import binascii
from base64 import b64decode
from collections.abc import Callable
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from ...effort import HIGH, LOW, MEDIUM, OFF, ULTRA, UNSAID
from ...errors import Misuse
from ...exchange import AnyTool, Options, ProviderTool, Request, ToolSpec
from ...media import media_type_of
from ...messages import (
    Audio,
    CacheMark,
    Document,
    Image,
    Message,
    Opaque,
    OpaquePart,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from ...target import Target
from ..arguments import arguments_text
from ..dialects import EFFORT_DIALECTS
from ..openai_chat.request import MESSAGE_FIELDS, response_format, schema_name
from ..reading import mapping, sequence, string
from ..thinking import effort_level
from .fields import of_kind, read_fields, take
from .openai_chat_replies import StreamEncoder, encode_error, encode_reply

__all__ = ["StreamEncoder", "decode_request", "encode_error", "encode_reply"]

Json = dict[str, Any]

NO_ARGUMENTS: Json = {"type": "object", "properties": {}}
_MEDIA_TYPES = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def decode_request(body: bytes, target: Target) -> Request:
    """The request in a body; Misuse, with the place, where it is none. Opaque state is the target's own."""
    return _RequestReader(read_fields(body, target), target).request()


class _RequestReader:
    """Takes the fields of a request one by one; those left over at the end are `extra`."""

    def __init__(self, fields: Json, target: Target) -> None:
        self._fields = fields
        self._target = target
        self._unanswered: list[str] = []  # calls of the last turn, by id

    def request(self) -> Request:
        model = self._take("model", str) or self._target.model
        messages = self._messages()
        tools = tuple(self._tool(tool, f"tools[{at}]") for at, tool in enumerate(self._take("tools", list) or ()))
        choice = self._tool_choice()
        stream = self._take("stream", bool) or False
        return Request(
            model=model,
            messages=messages,
            tools=tools,
            tool_choice=choice,
            options=self._options(stream),
            stream=stream,
        )

    def _take(self, name: str, kind: type) -> Any:
        """A field's value, or UNSET."""
        return take(self._fields, name, kind)

    # ── options ─────────────────────────────────────────────────────────────────────────────────

    def _options(self, stream: bool) -> Options:
        options: dict[str, Any] = {
            "temperature": self._take("temperature", float),
            "top_p": self._take("top_p", float),
            "top_k": self._take("top_k", int),
            "max_tokens": self._max_tokens(),
            "seed": self._take(self._target.quirks.seed_field, int),
            "stop": self._stop(),
            "effort": self._effort() or UNSET,
            "parallel_tool_calls": self._take("parallel_tool_calls", bool),
            "response_schema": self._response_schema(),
            "metadata": self._metadata(),
            "service_tier": self._take("service_tier", str),
        }
        if stream and self._fields.get("stream_options") == {"include_usage": True}:
            del self._fields["stream_options"]  # what we ask for unasked
        return Options(**options, extra=self._fields or UNSET)

    def _max_tokens(self) -> Any:
        newer, older = self._take("max_completion_tokens", int), self._take("max_tokens", int)
        return older if newer is UNSET else newer

    def _stop(self) -> Any:
        stop = self._fields.pop("stop", UNSET)
        if stop is UNSET or isinstance(stop, str):
            return stop
        return tuple(of_kind(str, word, f"stop[{at}]") for at, word in enumerate(of_kind(list, stop, "stop")))

    def _metadata(self) -> Any:
        metadata = self._take("metadata", dict)
        for name, value in {} if metadata is UNSET else metadata.items():
            of_kind(str, value, f"metadata.{name}")
        return metadata

    def _effort(self) -> int:
        """The level whose fields in this target's dialect are all here, the one its word says first."""
        word = self._fields.get("reasoning_effort") or mapping(self._fields.get("reasoning")).get("effort")
        said = effort_level(word) if isinstance(word, str) else UNSAID
        dialect = EFFORT_DIALECTS[self._target.quirks.effort_dialect]
        for level in (said, OFF, MEDIUM, LOW, HIGH, ULTRA):
            written = dialect(self._target.family, level) if level else {}
            if written and all(self._fields.get(name) == value for name, value in written.items()):
                self._drop(written)
                return level
        if said and "reasoning_effort" in self._fields:
            self._drop({"reasoning_effort": word})
            self._keep_word(string(word), dialect(self._target.family, said))
            return said
        return UNSAID

    def _keep_word(self, word: str, written: Json) -> None:
        """Where the codec would write another word of the same level, `extra` keeps the exact one."""
        placed = mapping(written.get("reasoning")).get("effort")
        if placed is None and written.get("reasoning_effort") != word:
            self._fields["reasoning_effort"] = word
        elif placed not in (None, word):
            self._fields["reasoning"] = {"effort": word}

    def _drop(self, names: Json) -> None:
        for name in names:
            del self._fields[name]

    def _response_schema(self) -> Any:
        """The schema of the answer. A format that is none (plain JSON, text), or that the codec would write
        otherwise (not enforced, say), stays as it is.
        """
        format = mapping(self._fields.get("response_format"))
        if format.get("type") != "json_schema":
            return UNSET
        wrapper = of_kind(dict, format.get("json_schema"), "response_format.json_schema")
        schema = of_kind(dict, wrapper.get("schema"), "response_format.json_schema.schema")
        name, about = string(wrapper.get("name")), string(wrapper.get("description"))
        named = {"title": name} if name and name != schema_name(schema) else {}
        schema = ({"description": about} if about else {}) | schema | named
        try:
            written = response_format(schema, self._target, [])
        except Misuse:
            return UNSET  # only this wire, and not strictly, can be asked for that
        if written == format or not self._target.quirks.accepts_json_schema:
            self._drop({"response_format": format})
        return schema

    # ── tools ───────────────────────────────────────────────────────────────────────────────────

    def _tool(self, tool: Any, where: str) -> AnyTool:
        tool = of_kind(dict, tool, where)
        if tool.get("type", "function") != "function":
            return ProviderTool(tool)
        function = of_kind(dict, tool.get("function"), f"{where}.function")
        schema = function.get("parameters")
        strict = function.get("strict")
        return ToolSpec(
            name=of_kind(str, function.get("name"), f"{where}.function.name"),
            description=string(function.get("description")),
            input_schema=of_kind(dict, NO_ARGUMENTS if schema is None else schema, f"{where}.function.parameters"),
            strict=strict if isinstance(strict, bool) else None,
            cache=_cache(tool),
        )

    def _tool_choice(self) -> str:
        choice = self._fields.get("tool_choice", "auto")
        name = mapping(mapping(choice).get("function")).get("name")
        word = {"any": "required"}.get(choice, choice) if isinstance(choice, str) else name
        if not isinstance(word, str):
            return "auto"  # a choice we have no word for goes with the other fields
        self._fields.pop("tool_choice", None)
        return word

    # ── conversation ────────────────────────────────────────────────────────────────────────────

    def _messages(self) -> tuple[Message, ...]:
        wires = self._take("messages", list)
        if not wires:
            raise Misuse("messages is missing: say something to the model")
        messages: list[Message] = []
        for at, wire in enumerate(wires):
            message = self._message(of_kind(dict, wire, f"messages[{at}]"), f"messages[{at}]")
            if message.role == "tool" and messages and messages[-1].role == "tool":
                message = Message("tool", messages.pop().parts + message.parts)
            messages.append(message)
        return tuple(messages)

    def _message(self, wire: Json, where: str) -> Message:
        role = wire.get("role")
        match role:
            case "system" | "developer":
                return Message("system", _marked(self._content(wire, where), wire) + self._fields_of(wire))
            case "user":
                return Message("user", _marked(self._content(wire, where), wire) + self._fields_of(wire))
            case "assistant":
                said = Message("assistant", self._assistant(wire, where) + self._fields_of(wire))
                self._unanswered = [call.id for call in said.tool_calls]
                return said
            case "tool" | "function":
                return Message("tool", (self._result(wire, where),))
        raise Misuse(f"{where}.role must be system, developer, user, assistant or tool, not {role!r}")

    def _fields_of(self, wire: Json) -> tuple[Part, ...]:
        """What a message says beside the words we know, kept to be sent back."""
        known = _MESSAGE_WORDS | set(self._target.quirks.reasoning_fields)
        fields = {name: value for name, value in wire.items() if name not in known and value is not None}
        return (OpaquePart(MESSAGE_FIELDS, self._opaque(fields)),) if fields else ()

    def _content(self, wire: Json, where: str) -> tuple[Part, ...]:
        content = wire.get("content")
        if content is None:
            return ()
        if isinstance(content, str):
            return (Text(content),)
        parts = of_kind(list, content, f"{where}.content")
        return tuple(self._part(part, f"{where}.content[{at}]") for at, part in enumerate(parts))

    def _part(self, part: Any, where: str) -> Part:
        part = of_kind(dict, part, where)
        kind = of_kind(str, part.get("type"), f"{where}.type")
        read = _PARTS.get(kind)
        if read is None:
            return OpaquePart(kind, self._opaque(part))
        return read(self, part, where)

    def _text(self, part: Json, where: str) -> Part:
        return Text(of_kind(str, part.get("text"), f"{where}.text"), cache=_cache(part))

    def _refusal(self, part: Json, where: str) -> Part:
        return Text(of_kind(str, part.get("refusal"), f"{where}.refusal"), self._opaque({"refusal": True}))

    def _thinking(self, part: Json, where: str) -> Part:
        said = part.get("thinking")
        thoughts = [said] if isinstance(said, str) else [mapping(piece).get("text") for piece in sequence(said)]
        return Thinking("".join(map(string, thoughts)), self._opaque({"chunk": True}))

    def _image(self, part: Json, where: str) -> Part:
        image = part.get("image_url")
        image = {"url": image} if isinstance(image, str) else of_kind(dict, image, f"{where}.image_url")
        source = _source(of_kind(str, image.get("url"), f"{where}.image_url.url"), f"{where}.image_url.url")
        return Image(**source, detail=string(image.get("detail")), cache=_cache(part))

    def _audio(self, part: Json, where: str) -> Part:
        sound = part.get("input_audio")
        sound = {"data": sound} if isinstance(sound, str) else of_kind(dict, sound, f"{where}.input_audio")
        data = _bytes(of_kind(str, sound.get("data"), f"{where}.input_audio.data"), f"{where}.input_audio.data")
        format = string(sound.get("format"))
        kind = _MEDIA_TYPES.get(format) or (f"audio/{format}" if format else media_type_of(data) or "audio/wav")
        return Audio(data, kind, cache=_cache(part))

    def _file(self, part: Json, where: str) -> Part:
        file = of_kind(dict, part.get("file"), f"{where}.file")
        if file.get("file_id"):
            return Document(file_id=of_kind(str, file["file_id"], f"{where}.file.file_id"), cache=_cache(part))
        source = _source(of_kind(str, file.get("file_data"), f"{where}.file.file_data"), f"{where}.file.file_data")
        return Document(**source, name=string(file.get("filename")), cache=_cache(part))

    # ── what the model said, and what its tools answered ────────────────────────────────────────

    def _assistant(self, wire: Json, where: str) -> tuple[Part, ...]:
        parts = [*self._reasoning(wire)]
        parts += self._said(wire, where)
        if wire.get("refusal"):
            parts.append(self._refusal(wire, where))
        if audio := mapping(wire.get("audio")).get("id"):
            parts.append(Audio(file_id=of_kind(str, audio, f"{where}.audio.id"), opaque=self._opaque({"id": audio})))
        for at, call in enumerate(of_kind(list, wire.get("tool_calls") or [], f"{where}.tool_calls")):
            parts.append(self._call(of_kind(dict, call, f"{where}.tool_calls[{at}]"), f"{where}.tool_calls[{at}]"))
        if wire.get("function_call"):
            call = of_kind(dict, wire["function_call"], f"{where}.function_call")
            name = of_kind(str, call.get("name"), f"{where}.function_call.name")
            parts.append(ToolCall(_id_of_older_call(name), name, arguments_text(call.get("arguments"))))
        return tuple(parts)

    def _said(self, wire: Json, where: str) -> list[Part]:
        """The content, less an empty text; what the provider put beside it belongs to its last text."""
        parts = [part for part in self._content(wire, where) if part != Text("")]
        if extra := wire.get("extra_content"):
            last = parts.pop() if parts and isinstance(parts[-1], Text) else Text("")
            parts.append(replace(last, opaque=self._opaque({"extra_content": extra})))
        return parts

    def _reasoning(self, wire: Json) -> list[Part]:
        details = [detail for detail in sequence(wire.get("reasoning_details")) if isinstance(detail, dict)]
        names = (*self._target.quirks.reasoning_fields, "reasoning_content", "reasoning")
        field = next((name for name in names if string(wire.get(name))), "")
        if not details and not field:
            return []
        texts = [string(detail.get("text")) or string(detail.get("summary")) for detail in details]
        state: Json = {"field": field} if field else {}
        state |= {"reasoning_details": details} if details else {}
        return [Thinking(string(wire.get(field)) or "".join(texts), self._opaque(state))]

    def _call(self, wire: Json, where: str) -> ToolCall:
        custom = wire.get("custom")
        said = of_kind(dict, wire.get("function") if custom is None else custom, f"{where}.function")
        state = {} if custom is None else {"custom": True}
        state |= {"extra_content": wire["extra_content"]} if wire.get("extra_content") else {}
        return ToolCall(
            id=of_kind(str, wire.get("id"), f"{where}.id"),
            name=of_kind(str, said.get("name"), f"{where}.function.name"),
            arguments=arguments_text(said.get("arguments" if custom is None else "input")),
            opaque=self._opaque(state) if state else None,
            cache=_cache(wire),
        )

    def _result(self, wire: Json, where: str) -> ToolResult:
        if wire["role"] == "function":
            id = _id_of_older_call(of_kind(str, wire.get("name"), f"{where}.name"))
        elif wire.get("tool_call_id") is None and self._unanswered:
            id = self._unanswered[0]  # some clients leave it out where it can only be the next one
        else:
            id = of_kind(str, wire.get("tool_call_id"), f"{where}.tool_call_id")
        if id in self._unanswered:
            self._unanswered.remove(id)
        blocks = tuple(part for part in self._content(wire, where) if isinstance(part, (Text, Image, Document)))
        texts = [block for block in blocks if isinstance(block, Text)]
        if len(texts) < len(blocks):
            return ToolResult(id, blocks=blocks)
        mark = next((block.cache for block in texts if block.cache), _cache(wire))
        return ToolResult(id, "".join(block.text for block in texts), cache=mark)

    def _opaque(self, data: Json) -> Opaque:
        return Opaque(self._target.issuer, data)


_MESSAGE_WORDS = frozenset(
    {"role", "content", "cache_control", "prompt_cache_breakpoint", "refusal", "tool_calls", "function_call", "audio"}
    | {"extra_content", "reasoning", "reasoning_content", "reasoning_details"}
)

_PARTS: dict[str, Callable[[_RequestReader, Json, str], Part]] = {
    "text": _RequestReader._text,
    "refusal": _RequestReader._refusal,
    "thinking": _RequestReader._thinking,
    "image_url": _RequestReader._image,
    "input_audio": _RequestReader._audio,
    "file": _RequestReader._file,
}


def _id_of_older_call(name: str) -> str:
    """Calls had no ids when they were called functions, and there was one at a time."""
    return f"call_{name}"


def _marked(parts: tuple[Part, ...], wire: Json) -> tuple[Part, ...]:
    """A mark on the whole message is one on its last part."""
    mark = _cache(wire)
    if mark is None or not parts or isinstance(parts[-1], (Thinking, OpaquePart)):
        return parts
    return (*parts[:-1], replace(parts[-1], cache=mark))


def _cache(wire: Json) -> CacheMark | None:
    mark = wire.get("cache_control") or wire.get("prompt_cache_breakpoint")
    if not mark:
        return None
    return "1h" if mapping(mark).get("ttl") == "1h" else "5m"


def _source(url: str, where: str) -> dict[str, Any]:
    """Where a file is: its bytes out of a `data:` URL, or its address."""
    if not url.startswith("data:"):
        return {"url": url}
    head, comma, data = url[len("data:") :].partition(",")
    if not comma or not head.endswith(";base64"):
        raise Misuse(f"{where} is a data: URL without base64 in it")
    found = _bytes(data, where)
    return {"data": found, "media_type": head.partition(";")[0] or media_type_of(found) or "application/octet-stream"}


def _bytes(data: str, where: str) -> bytes:
    try:
        found = b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Misuse(f"{where} is not base64: {error}") from error
    if not found:
        raise Misuse(f"{where} is empty")
    return found
