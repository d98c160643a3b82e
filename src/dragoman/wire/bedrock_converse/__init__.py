"""Bedrock Converse: one request for every maker's models, answered whole or as an AWS event stream.

Converse says the common things itself and leaves the rest to each model's maker
(`fields.py`); messages are made of blocks with one key each (`blocks.py`). In a
stream the usage comes last, after the message has stopped, so that is where an answer ends.
"""

from .answer import chat_decoder, decode_chat, decode_count, decode_error
from .request import encode_chat, encode_count

__all__ = ["chat_decoder", "decode_chat", "decode_count", "decode_error", "encode_chat", "encode_count"]
