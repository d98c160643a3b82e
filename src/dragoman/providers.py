"""THE TABLE of providers: who, where, on which wires, with which key, and with which quirks.

A provider that speaks a known wire is one row here and nothing elsewhere.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from .target import Quirks

__all__ = ["PROVIDERS", "Auth", "Provider"]

# How a key is shown: a header's name, or the scheme that makes one.
Auth = Literal["bearer", "x-api-key", "x-goog-api-key", "api-key", "aws", "none"]


class Provider(Struct, frozen=True, kw_only=True):
    """One row: where to talk and as whom.

    `wires` maps each wire served to its address, the preferred one first. `routes` send a family of
    models to another of them. `base_url_env` names the variables that move the preferred address.
    """

    name: str
    wires: Mapping[str, str]
    keys: tuple[str, ...] = ()
    base_url_env: tuple[str, ...] = ()
    auth: Auth = "bearer"
    quirks: Quirks = Quirks()
    quirks_on: Mapping[str, Quirks] = {}  # other quirks on one of its wires
    routes: tuple[tuple[tuple[str, ...], str], ...] = ()
    wire_elsewhere: str = ""  # what to speak when the address is not this provider's own
    is_local: bool = False  # runs on the user's machine: no key needed
    below_base_url: str = ""  # what the variable's address lacks
    needs_address: str = ""  # the address holds a part only the user knows: what to give
    embeddings: str = ""  # the shape of its embeddings, where it has them
    embeddings_url: str = ""  # their address, where it is not that of the preferred wire
    headers: tuple[tuple[str, str], ...] = ()


_IMITATOR = Quirks(max_tokens_field="max_tokens", accepts_strict=False, also_accepts=frozenset({"top_k"}))
_QWEN_ON_MESSAGES = tuple(f"qwen3{minor}-{size}" for minor in ("", ".5", ".6", ".7", ".8") for size in ("plus", "max"))

_ROWS = (
    Provider(
        name="openai",
        wires={"openai-responses": "https://api.openai.com/v1", "openai-chat": "https://api.openai.com/v1"},
        keys=("OPENAI_API_KEY",),
        base_url_env=("OPENAI_BASE_URL",),
        wire_elsewhere="openai-chat",
        embeddings="openai",
        quirks=Quirks(call_id_shape="upto_40", embeddings_base64=True, cache_mark="prompt_cache_breakpoint"),
    ),
    Provider(
        name="anthropic",
        wires={"anthropic-messages": "https://api.anthropic.com"},
        keys=("ANTHROPIC_API_KEY",),
        base_url_env=("ANTHROPIC_BASE_URL",),
        auth="x-api-key",
    ),
    Provider(
        name="gemini",
        wires={
            "gemini": "https://generativelanguage.googleapis.com/v1beta",
            "openai-chat": "https://generativelanguage.googleapis.com/v1beta/openai",
        },
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY", "GEMINI_KEY"),
        base_url_env=("GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"),
        auth="x-goog-api-key",
        embeddings="gemini",
    ),
    Provider(
        name="bedrock",
        wires={"bedrock-converse": "https://bedrock-runtime.{region}.amazonaws.com"},
        keys=("AWS_BEARER_TOKEN_BEDROCK",),
        base_url_env=("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "BEDROCK_BASE_URL"),
        auth="aws",
        embeddings="bedrock",
    ),
    Provider(
        name="ollama",
        wires={
            "ollama": "http://localhost:11434",
            "openai-chat": "http://localhost:11434/v1",
            "openai-responses": "http://localhost:11434/v1",
            "anthropic-messages": "http://localhost:11434",
        },
        keys=("OLLAMA_API_KEY",),
        base_url_env=("OLLAMA_HOST", "OLLAMA_BASE_URL"),
        is_local=True,
        embeddings="ollama",
        quirks=Quirks(
            max_tokens_field="max_tokens",
            accepts_strict=False,
            reasoning_echo="tool turns",
            reasoning_fields=("reasoning",),
            also_accepts=frozenset({"top_k"}),
        ),
    ),
    Provider(
        name="deepseek",
        wires={
            "openai-chat": "https://api.deepseek.com",
            "openai-responses": "https://api.deepseek.com",
            "anthropic-messages": "https://api.deepseek.com/anthropic",
        },
        keys=("DEEPSEEK_API_KEY",),
        base_url_env=("DEEPSEEK_BASE_URL",),
        quirks=Quirks(
            max_tokens_field="max_tokens",
            effort_dialect="thinking_switch",
            accepts_strict=False,
            accepts_json_schema=False,
            reasoning_echo="always",
        ),
        quirks_on={"openai-responses": Quirks(accepts_strict=False, calls_last=True)},
    ),
    Provider(
        name="fireworks",
        wires={"openai-chat": "https://api.fireworks.ai/inference/v1"},
        keys=("FIREWORKS_API_KEY",),
        base_url_env=("FIREWORKS_BASE_URL",),
        quirks=replace(
            _IMITATOR,
            effort_dialect="common_effort",
            accepts_schema_with_tools=False,
            reasoning_echo="tool turns",
        ),
        embeddings="openai",
    ),
    Provider(
        name="together",
        wires={"openai-chat": "https://api.together.ai/v1"},
        keys=("TOGETHER_API_KEY",),
        base_url_env=("TOGETHER_BASE_URL",),
        quirks=Quirks(
            max_tokens_field="max_tokens",
            effort_dialect="reasoning_switch",
            accepts_strict=False,
            reasoning_fields=("reasoning",),
            also_accepts=frozenset({"top_k"}),
        ),
        embeddings="openai",
    ),
    Provider(
        name="opencode",
        wires={
            "openai-chat": "https://opencode.ai/zen/v1",
            "openai-responses": "https://opencode.ai/zen/v1",
            "anthropic-messages": "https://opencode.ai/zen",
            "gemini": "https://opencode.ai/zen/v1",
        },
        keys=("OPENCODE_API_KEY",),
        base_url_env=("OPENCODE_BASE_URL",),
        routes=(
            (("gpt-", "grok-", "muse-"), "openai-responses"),
            (("claude-", *_QWEN_ON_MESSAGES), "anthropic-messages"),
            (("gemini-",), "gemini"),
        ),
        quirks=replace(_IMITATOR, reasoning_echo="tool turns"),
    ),
    Provider(
        name="groq",
        wires={"openai-chat": "https://api.groq.com/openai/v1"},
        keys=("GROQ_API_KEY",),
        base_url_env=("GROQ_BASE_URL",),
        quirks=Quirks(effort_dialect="effort_or_default", accepts_strict=False, reasoning_fields=("reasoning",)),
    ),
    Provider(
        name="mistral",
        wires={"openai-chat": "https://api.mistral.ai/v1"},
        keys=("MISTRAL_API_KEY",),
        base_url_env=("MISTRAL_BASE_URL",),
        quirks=Quirks(
            max_tokens_field="max_tokens",
            seed_field="random_seed",
            required_choice="any",
            accepts_strict=False,
            accepts_stream_options=False,
            call_id_shape="nine",
            embedding_dimensions_field="output_dimension",
            embedding_batch=256,
        ),
        embeddings="openai",
    ),
    Provider(
        name="openrouter",
        wires={"openai-chat": "https://openrouter.ai/api/v1"},
        keys=("OPENROUTER_API_KEY",),
        base_url_env=("OPENROUTER_BASE_URL",),
        quirks=Quirks(
            max_tokens_field="max_tokens",
            effort_dialect="reasoning_object",
            cache_mark="cache_control",
            tools_while_thinking=True,
            accepts_file_urls=True,
            reasoning_echo="always",
            reasoning_fields=("reasoning",),
            also_accepts=frozenset({"top_k"}),
        ),
        embeddings="openai",
    ),
    Provider(
        name="xai",
        wires={"openai-chat": "https://api.x.ai/v1", "openai-responses": "https://api.x.ai/v1"},
        keys=("XAI_API_KEY",),
        base_url_env=("XAI_BASE_URL",),
    ),
    Provider(
        name="cerebras",
        wires={"openai-chat": "https://api.cerebras.ai/v1"},
        keys=("CEREBRAS_API_KEY",),
        base_url_env=("CEREBRAS_BASE_URL",),
        quirks=Quirks(reasoning_fields=("reasoning",)),
    ),
    Provider(
        name="moonshot",
        wires={"openai-chat": "https://api.moonshot.ai/v1", "anthropic-messages": "https://api.moonshot.ai/anthropic"},
        keys=("MOONSHOT_API_KEY", "MOONSHOTAI_API_KEY"),
        base_url_env=("MOONSHOT_BASE_URL",),
        quirks=Quirks(
            max_tokens_field="max_tokens",
            effort_dialect="thinking_switch",
            accepts_strict=False,
            required_choice="",
            reasoning_echo="tool turns",
        ),
    ),
    Provider(
        name="zai",
        wires={"openai-chat": "https://api.z.ai/api/paas/v4", "anthropic-messages": "https://api.z.ai/api/anthropic"},
        keys=("ZAI_API_KEY",),
        base_url_env=("ZAI_BASE_URL",),
        quirks=Quirks(
            max_tokens_field="max_tokens",
            effort_dialect="thinking_switch",
            accepts_strict=False,
            reasoning_echo="tool turns",
            inline_refs=True,
        ),
        embeddings="openai",
    ),
    Provider(
        name="huggingface",
        wires={"openai-chat": "https://router.huggingface.co/v1"},
        keys=("HF_TOKEN",),
        base_url_env=("HF_BASE_URL",),
        quirks=_IMITATOR,
    ),
    Provider(
        name="azure",
        wires={"openai-responses": "", "openai-chat": ""},
        keys=("AZURE_OPENAI_API_KEY",),
        base_url_env=("AZURE_OPENAI_ENDPOINT",),
        below_base_url="/openai/v1",
        needs_address="https://<resource>.openai.azure.com/openai/v1",
        auth="api-key",
        quirks=Quirks(call_id_shape="upto_40", embeddings_base64=True, cache_mark="prompt_cache_breakpoint"),
        embeddings="openai",
    ),
    Provider(
        name="perplexity",
        wires={"openai-responses": "https://api.perplexity.ai/v1"},
        keys=("PERPLEXITY_API_KEY",),
        base_url_env=("PERPLEXITY_BASE_URL",),
        quirks=Quirks(embedding_packing="int8"),
        embeddings="openai",
    ),
    Provider(
        name="cohere",
        wires={},
        keys=("COHERE_API_KEY", "CO_API_KEY"),
        base_url_env=("COHERE_BASE_URL",),
        embeddings="cohere",
        embeddings_url="https://api.cohere.com",
    ),
    Provider(
        name="vllm",
        wires={
            "openai-chat": "http://localhost:8000/v1",
            "openai-responses": "http://localhost:8000/v1",
            "anthropic-messages": "http://localhost:8000",
        },
        keys=("VLLM_API_KEY",),
        base_url_env=("VLLM_BASE_URL",),
        is_local=True,
        quirks=Quirks(
            max_tokens_field="max_tokens",
            effort_dialect="template_switch",
            accepts_strict=False,
            reasoning_fields=("reasoning", "reasoning_content"),
            also_accepts=frozenset({"top_k"}),
        ),
        embeddings="openai",
    ),
    Provider(
        name="lmstudio",
        wires={
            "openai-chat": "http://localhost:1234/v1",
            "openai-responses": "http://localhost:1234/v1",
            "anthropic-messages": "http://localhost:1234",
        },
        keys=("LM_STUDIO_API_KEY",),
        base_url_env=("LM_STUDIO_BASE_URL",),
        is_local=True,
        quirks=_IMITATOR,
        embeddings="openai",
    ),
    Provider(
        name="llamacpp",
        wires={
            "openai-chat": "http://localhost:8080/v1",
            "openai-responses": "http://localhost:8080/v1",
            "anthropic-messages": "http://localhost:8080",
        },
        keys=("LLAMACPP_API_KEY",),
        base_url_env=("LLAMACPP_BASE_URL",),
        is_local=True,
        quirks=Quirks(
            max_tokens_field="max_tokens",
            effort_dialect="template_switch",
            accepts_strict=False,
            accepts_named_choice=False,
            also_accepts=frozenset({"top_k"}),
        ),
        embeddings="openai",
    ),
    Provider(
        name="openai-compatible",
        wires={"openai-chat": "", "openai-responses": "", "anthropic-messages": ""},
        keys=("OPENAI_COMPATIBLE_API_KEY",),
        base_url_env=("OPENAI_COMPATIBLE_BASE_URL",),
        needs_address="the server's address, for instance http://localhost:8000/v1",
        quirks=_IMITATOR,
        embeddings="openai",
    ),
)

PROVIDERS: Mapping[str, Provider] = {row.name: row for row in _ROWS}
