"""Gemini's generateContent: contents made of parts, and a stream of the same answer in pieces.

A part is a small object whose fields say what it is. Text and thoughts are merged while they
stream; a part that carries a signature is never merged and goes back exactly as it came, in its
own place. Parts that only their issuer understands are kept whole. A stream has no end of its
own: it is complete when a finish reason was seen and the connection closes.
"""

from .answer import chat_decoder, decode_chat, decode_count, decode_error
from .request import encode_chat, encode_count

__all__ = ["chat_decoder", "decode_chat", "decode_count", "decode_error", "encode_chat", "encode_count"]
