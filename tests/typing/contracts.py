"""Every codec, embedding shape and mirror keeps its contract; the type checker says so."""

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
from dragoman.wire.embeddings import EmbeddingWire
from dragoman.wire.embeddings import bedrock as bedrock_embeddings
from dragoman.wire.embeddings import cohere as cohere_embeddings
from dragoman.wire.embeddings import gemini as gemini_embeddings
from dragoman.wire.embeddings import ollama as ollama_embeddings
from dragoman.wire.embeddings import openai as openai_embeddings
from dragoman.wire.mirror import Mirror
from dragoman.wire.mirror import anthropic_messages as served_messages
from dragoman.wire.mirror import openai_chat as served_chat
from dragoman.wire.mirror import openai_responses as served_responses

WIRES: tuple[Wire, ...] = (openai_chat, openai_responses, anthropic_messages, gemini, bedrock_converse, ollama)
COUNTING: tuple[CountingWire, ...] = (openai_responses, anthropic_messages, gemini, bedrock_converse)
EMBEDDING: tuple[EmbeddingWire, ...] = (
    openai_embeddings,
    gemini_embeddings,
    bedrock_embeddings,
    ollama_embeddings,
    cohere_embeddings,
)
SERVED: tuple[Mirror, ...] = (served_chat, served_responses, served_messages)
