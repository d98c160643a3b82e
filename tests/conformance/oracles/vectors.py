"""Embeddings as the makers' SDKs read them, with the clients of the chat oracles."""

from ..corpus import Exchange
from ..facts import Vectors

__all__ = ["read_gemini", "read_ollama", "read_openai"]


def read_openai(exchange: Exchange) -> Vectors:
    """By the openai SDK, which undoes base64 itself."""
    from .openai_chat import client, tape

    tape.insert(exchange)
    answer = client.embeddings.create(model="m", input="?")
    items = sorted(answer.data, key=lambda item: item.index)
    return Vectors([item.embedding for item in items], answer.usage.prompt_tokens)


def read_gemini(exchange: Exchange) -> Vectors:
    """By the google-genai SDK."""
    from .gemini import client, tape

    tape.insert(exchange)
    answer = client.models.embed_content(model="m", contents="?")
    usage = answer.usage_metadata
    return Vectors([item.values for item in answer.embeddings], usage.prompt_token_count if usage else None)


def read_ollama(exchange: Exchange) -> Vectors:
    """By the ollama client."""
    from .ollama_native import client, tape

    tape.insert(exchange)
    answer = client.embed(model="m", input="?")
    return Vectors([list(vector) for vector in answer.embeddings], answer.prompt_eval_count)
