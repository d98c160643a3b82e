"""Embeddings and token counts, straight from their JSON."""

import base64
import struct
from typing import Any

from ..corpus import Exchange
from ..facts import Vectors

__all__ = ["read", "read_count"]


def read(exchange: Exchange) -> Vectors:
    """Every vector of the answer, in order, and the tokens read, whatever shape they are in."""
    body = exchange.json
    counts = [
        body.get("usage", {}).get("prompt_tokens"),
        body.get("usageMetadata", {}).get("promptTokenCount"),
        body.get("inputTextTokenCount"),
        body.get("prompt_eval_count"),
        body.get("meta", {}).get("billed_units", {}).get("input_tokens"),
    ]
    return Vectors(_vectors(exchange, body), next((count for count in counts if count is not None), None))


def _vectors(exchange: Exchange, body: dict[str, Any]) -> list[list[float]]:
    if "data" in body:
        size = exchange.request.get("dimensions") if isinstance(exchange.request, dict) else None
        return [_floats(item["embedding"], size) for item in sorted(body["data"], key=lambda item: item["index"])]
    if "embedding" in body:
        return [_floats(body["embedding"])]
    found = body["embeddings"]
    return [_floats(item) for item in (found["float"] if isinstance(found, dict) else found)]


def _floats(vector: Any, size: int | None = None) -> Any:
    """A list as it is; base64 as 32-bit floats, or as signed bytes where only then the size is what was asked for."""
    match vector:
        case {"values": values} | {"embedding": values}:
            return values
        case str():
            data = base64.b64decode(vector)
            return list(struct.unpack(f"{size}b" if len(data) == size else f"<{len(data) // 4}f", data))
        case _:
            return vector


def read_count(exchange: Exchange) -> Any:
    """The answer to "how many tokens would that be"."""
    body = exchange.json
    return next(body[name] for name in ("input_tokens", "totalTokens", "inputTokens") if name in body)
