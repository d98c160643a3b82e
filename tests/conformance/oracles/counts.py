"""Token counts as the makers' SDKs read them, with the clients of the chat oracles."""

from typing import Any

from ..corpus import Exchange

__all__ = ["read_anthropic", "read_bedrock", "read_gemini", "read_openai"]


def read_openai(exchange: Exchange) -> Any:
    """By the openai SDK."""
    from .openai_responses import client, tape

    tape.insert(exchange)
    return client.responses.input_tokens.count(model="m", input="?").input_tokens


def read_anthropic(exchange: Exchange) -> Any:
    """By the anthropic SDK."""
    from .anthropic_messages import client, tape

    tape.insert(exchange)
    return client.messages.count_tokens(model="m", messages=[{"role": "user", "content": "?"}]).input_tokens


def read_gemini(exchange: Exchange) -> Any:
    """By the google-genai SDK."""
    from .gemini import client, tape

    tape.insert(exchange)
    return client.models.count_tokens(model="m", contents="?").total_tokens


def read_bedrock(exchange: Exchange) -> Any:
    """By botocore."""
    from .bedrock import client, insert

    insert(exchange)
    question = {"converse": {"messages": [{"role": "user", "content": [{"text": "?"}]}]}}
    return client.count_tokens(modelId="m", input=question)["inputTokens"]
