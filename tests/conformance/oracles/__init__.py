"""The first judge: the makers' own SDKs, fed the recorded bytes through a transport that only plays them back.

They are needed for this run alone. One that is not installed is absent, not a failure.
"""

import importlib
import warnings
from typing import Any

from ..corpus import Exchange
from .tape import Silent

__all__ = ["READERS", "Silent", "read"]

# What was asked and on which wire, to the module and function that read the answer. Where no SDK does
# (Cohere's vectors; any vectors through Bedrock, whose SDK hands over the bare body) there is no row.
READERS = {
    ("chat", "openai_chat"): ("openai_chat", "read"),
    ("chat", "openai_responses"): ("openai_responses", "read"),
    ("chat", "anthropic_messages"): ("anthropic_messages", "read"),
    ("chat", "gemini"): ("gemini", "read"),
    ("chat", "bedrock_converse"): ("bedrock", "read"),
    ("chat", "ollama"): ("ollama_native", "read"),
    ("embed", "embeddings.openai"): ("vectors", "read_openai"),
    ("embed", "embeddings.gemini"): ("vectors", "read_gemini"),
    ("embed", "embeddings.ollama"): ("vectors", "read_ollama"),
    ("count", "openai_responses"): ("counts", "read_openai"),
    ("count", "anthropic_messages"): ("counts", "read_anthropic"),
    ("count", "gemini"): ("counts", "read_gemini"),
    ("count", "bedrock_converse"): ("counts", "read_bedrock"),
}


def read(exchange: Exchange) -> Any:
    """What the SDK makes of the exchange; None where there is no SDK, Silent where it cannot read it."""
    if (exchange.task, exchange.wire) not in READERS:
        return None
    module, function = READERS[exchange.task, exchange.wire]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(importlib.import_module(f"{__name__}.{module}"), function)(exchange)
    except ImportError:
        return None
    except Silent:
        raise
    except Exception as refusal:  # an SDK may fail in any way it likes; then it is no judge of this one
        raise Silent(f"{type(refusal).__name__}: {str(refusal)[:80]}") from refusal
