"""Anthropic Messages, and those who imitate it.

A conversation is turns of content blocks, and so is an answer; a stream opens, grows and closes
its blocks by index. A block that the vocabulary has a word for becomes that part, and the fields
it has no word for (signatures, citations, callers) become the part's opaque state: going back,
`block == words | state`. Every other block (a server's own tools, compaction, whatever comes
next) is an `OpaquePart` holding the whole block.
"""

from .answer import chat_decoder, decode_chat, decode_count, decode_error
from .request import encode_chat, encode_count

__all__ = ["chat_decoder", "decode_chat", "decode_count", "decode_error", "encode_chat", "encode_count"]
