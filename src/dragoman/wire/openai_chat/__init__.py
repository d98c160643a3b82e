"""OpenAI Chat Completions, and everyone who imitates it.

Reads what the imitators really send: reasoning in five places, calls without ids or indexes,
usage in the last chunk or beside it, errors inside a 200. Sends what the owner documents, less
what a provider's quirks take away.
"""

from .answer import chat_decoder, decode_chat, decode_error
from .request import encode_chat

__all__ = ["chat_decoder", "decode_chat", "decode_error", "encode_chat"]
