"""The recorded exchanges, and which wire each one belongs to."""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

__all__ = ["Exchange", "load"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer, as they went over the line."""

    id: str
    provider: str
    protocol: str
    url: str
    request: Any
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    streamed: bool
    chunk_lengths: tuple[int, ...]

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def path(self) -> str:
        return urlsplit(self.url).path

    @property
    def model(self) -> str:
        """The model asked for: from the body, else from the URL."""
        if isinstance(self.request, dict) and isinstance(self.request.get("model"), str):
            return self.request["model"]
        found = _MODEL_IN_PATH.search(self.path)
        return unquote(found["model"]) if found else "unknown"

    @property
    def task(self) -> str:
        """What was asked for: `chat`, `embed`, `count`, or why it is out of scope."""
        for pattern, task in _TASKS:
            if pattern.search(self.protocol + " " + self.path):
                return task
        return "out of scope: nothing we know"

    @property
    def wire(self) -> str:
        """The codec it is for, by the name of its module."""
        for pattern, wire in _WIRES:
            if pattern.search(self.protocol + " " + self.path):
                return wire
        return ""


_MODEL_IN_PATH = re.compile(r"/(?:models?|deployments)/(?P<model>[^/]+?)(?=:[a-zA-Z]+$|/|$)")

_TASKS = [
    (re.compile(r"^cohere "), "out of scope: this chat API is none of the six wires"),
    (re.compile(r"/responses/compact$"), "out of scope: a compaction, not an answer"),
    (re.compile(r"/(models|tags)$"), "out of scope: a list of models"),
    (re.compile(r"^aux .*(count_tokens|input_tokens|:countTokens|/count-tokens)$"), "count"),
    (re.compile(r"^\w+_embed "), "embed"),
    (re.compile(r"^(openai|anthropic|gemini|bedrock|ollama)"), "chat"),
]

_WIRES = [
    (re.compile(r"^cohere_embed "), "embeddings.cohere"),
    (re.compile(r"^bedrock_embed "), "embeddings.bedrock"),
    (re.compile(r"^gemini_embed "), "embeddings.gemini"),
    (re.compile(r"^ollama_embed "), "embeddings.ollama"),
    (re.compile(r"^openai_embed "), "embeddings.openai"),
    (re.compile(r"^(anthropic |aux .*/messages/)"), "anthropic_messages"),
    (re.compile(r"^(gemini |aux .*:countTokens)"), "gemini"),
    (re.compile(r"^(bedrock |aux .*/count-tokens)"), "bedrock_converse"),
    (re.compile(r"^(openai_responses |aux .*/responses/)"), "openai_responses"),
    (re.compile(r"^ollama "), "ollama"),
    (re.compile(r"^(openai_chat|openai_compat/\S*) "), "openai_chat"),
]


def load(path: Path) -> Iterator[Exchange]:
    """The exchanges of one file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield _exchange(json.loads(line))


def _exchange(record: dict[str, Any]) -> Exchange:
    request, response = record["request"], record["response"]
    return Exchange(
        id=record["id"],
        provider=record["provider"],
        protocol=record["protocol"],
        url=request["url"],
        request=request.get("json", request.get("text")),
        status=response["status"],
        headers=tuple(response["headers"].items()),
        body=_body(response),
        streamed="stream" in record["features"],
        chunk_lengths=tuple(response.get("chunk_lengths", ())),
    )


def _body(response: dict[str, Any]) -> bytes:
    if "base64" in response:
        return base64.b64decode(response["base64"])
    return response["text"].encode()
