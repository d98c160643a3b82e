"""Chat completions as the openai SDK reads and accumulates them."""

from typing import Any

import httpx2
import openai
from openai.lib.streaming.chat import ChatCompletionStreamState

from ..corpus import Exchange
from ..facts import Call, Counts, Facts, call, finish_of, split_thinking
from .tape import Silent, Tape

__all__ = ["client", "read", "tape"]

tape = Tape(httpx2)
client: Any = openai.OpenAI(api_key="none", base_url="http://recorded.invalid", http_client=tape.client, max_retries=0)

# Reasoning in fields the SDK has no word for: then tags in the text are just text.
_CHANNELS = ("reasoning_content", "reasoning", "reasoning_details")


def read(exchange: Exchange) -> Facts:
    """The first choice of the completion. The SDK knows nothing of thinking, other than in the text."""
    tape.insert(exchange)
    completion = _streamed() if exchange.streamed else client.chat.completions.create(model="m", messages=[])
    choice = next(choice for choice in completion.choices if not choice.index)
    message = choice.message
    calls = _calls(message)
    text, thinking = _prose(message)
    return Facts(
        text=text + (message.refusal or ""),
        thinking=thinking,
        calls=calls,
        finish=finish_of(choice.finish_reason, called=bool(calls), refused=bool(message.refusal)),
        usage=_usage(completion.usage),
    )


def _streamed() -> Any:
    state = ChatCompletionStreamState()
    for chunk in client.chat.completions.create(model="m", messages=[], stream=True):
        if any(isinstance(choice.delta.content, list) for choice in chunk.choices or ()):
            raise Silent("it has no word for content in chunks")
        if chunk.choices is not None:
            state.handle_chunk(chunk)
    return state.current_completion_snapshot


def _prose(message: Any) -> tuple[str, str | None]:
    content: Any = message.content
    if isinstance(content, list):
        return "".join(chunk["text"] for chunk in content if chunk["type"] == "text"), None
    if any((message.model_extra or {}).get(channel) for channel in _CHANNELS):
        return content or "", None
    return split_thinking(content or "")


def _calls(message: Any) -> tuple[Call, ...]:
    if message.tool_calls:
        return tuple(_call(each) for each in message.tool_calls)
    legacy = message.function_call
    return (call(None, legacy.name, legacy.arguments),) if legacy and legacy.name else ()


def _call(each: Any) -> Call:
    function = getattr(each, "function", None)
    if function is not None:
        return call(each.id, function.name, function.arguments)
    return call(each.id, each.custom.name, each.custom.input)


def _usage(usage: Any) -> Counts | None:
    """Only the counts the format's owner defines; imitators' own words are left to the other judge."""
    if usage is None:
        return None
    read, written = usage.prompt_tokens_details, usage.completion_tokens_details
    if any(name in (usage.model_extra or {}) for name in _IMITATED):
        return None
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    cached, reasoning = getattr(read, "cached_tokens", None), getattr(written, "reasoning_tokens", None)
    if cached and cached > prompt:
        prompt += cached
    if reasoning and usage.total_tokens == prompt + completion + reasoning:
        completion += reasoning
    return Counts(
        input=prompt,
        output=completion,
        cache_read=cached,
        cache_creation=getattr(read, "cache_write_tokens", None),
        reasoning=reasoning,
    )


_IMITATED = (
    "prompt_cache_hit_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "cached_tokens",
    "num_cached_tokens",
    "reasoning_tokens",
)
