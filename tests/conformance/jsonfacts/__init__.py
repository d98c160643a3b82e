"""The second judge: facts read with the json module alone, for what no SDK has a word for."""

from collections.abc import Callable

from ..corpus import Exchange
from ..facts import Facts
from . import anthropic, bedrock, chat, gemini, ollama, responses
from .vectors import read as read_vectors
from .vectors import read_count

__all__ = ["READERS", "read_count", "read_vectors"]

READERS: dict[str, Callable[[Exchange], Facts]] = {
    "openai_chat": chat.read,
    "openai_responses": responses.read,
    "anthropic_messages": anthropic.read,
    "gemini": gemini.read,
    "bedrock_converse": bedrock.read,
    "ollama": ollama.read,
}
