"""Every codec module keeps the contract; the type checker says so."""

from dragoman.wire import (
    CountingWire,
    Wire,
    anthropic_messages,
    bedrock_converse,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)

WIRES: tuple[Wire, ...] = (openai_chat, openai_responses, anthropic_messages, gemini, bedrock_converse, ollama)
COUNTING: tuple[CountingWire, ...] = (openai_responses, anthropic_messages, gemini, bedrock_converse)
