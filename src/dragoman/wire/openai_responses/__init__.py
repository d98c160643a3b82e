"""OpenAI Responses, spoken without state: the whole conversation is sent each time.

Nothing is stored with the provider (`store: false`), reasoning travels encrypted, and what the
model said goes back item by item in the order it came (`items.py`). A whole body is read
as a stream that says only how each item ended.
"""

from .answer import chat_decoder, decode_chat, decode_count, decode_error
from .request import encode_chat, encode_count

__all__ = ["chat_decoder", "decode_chat", "decode_count", "decode_error", "encode_chat", "encode_count"]
