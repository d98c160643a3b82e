import json

import pytest

from dragoman.errors import InvalidOption, Misuse
from dragoman.exchange import McpTool, Options, ProviderTool, Request, ToolSpec
from dragoman.messages import Message, Text, ToolCall, ToolResult
from dragoman.resolve import resolve
from dragoman.wire import encode
from dragoman.wire.options import fit_options, options_from, thinks

TOOL = ToolSpec("look")


def fit(model, *, wire=None, tools=(), tool_choice="auto", **options):
    target = resolve(model, wire=wire, environ={})
    request = Request(
        model=target.model,
        messages=(Message.user("hi"),),
        tools=tools,
        tool_choice=tool_choice,
        options=Options(**options),
    )
    notes = []
    return fit_options(request, target, notes), [str(note) for note in notes]


REFUSED = [
    ("openai:gpt-5", {"temperature": 0.5}, "temperature"),
    ("openai:gpt-4o", {"top_k": 3}, "top_k"),
    ("openai:gpt-4o", {"seed": 3}, "seed"),
    ("openai:gpt-4o", {"stop": "x"}, "stop"),
    ("openai:gpt-4o", {"effort": "high"}, "effort"),
    ("openai:o3", {"effort": "none"}, "effort"),
    ("anthropic:claude-opus-4-8", {"temperature": 0.1}, "temperature"),
    ("anthropic:claude-sonnet-4-5", {"seed": 1}, "seed"),
    ("anthropic:claude-sonnet-4-5", {"effort": "high", "temperature": 0.1}, "temperature"),
    ("anthropic:claude-sonnet-4", {"response_schema": {"type": "object"}}, "response_schema"),
    ("anthropic:claude-opus-5-5", {"effort": "none"}, "effort"),
    ("gemini:gemini-2.0-flash", {"effort": "low"}, "effort"),
    ("gemini:gemini-2.5-pro", {"effort": "none"}, "effort"),
    ("gemini:gemini-3.8-flash", {"top_k": 4}, "top_k"),
    ("bedrock:meta.llama3-1-8b-instruct-v1:0", {"top_k": 4}, "top_k"),
    ("ollama:qwen3:8b", {"metadata": {"a": "b"}}, "metadata"),
    ("moonshot:kimi-k3", {"temperature": 0.3}, "temperature"),
]


@pytest.mark.parametrize(("model", "options", "name"), REFUSED)
def test_an_option_the_model_does_not_take_is_refused_before_sending(model, options, name):
    with pytest.raises(InvalidOption) as caught:
        fit(model, **options)
    assert (caught.value.option, caught.value.model) == (name, model.partition(":")[2])
    assert caught.value.remedy


@pytest.mark.parametrize(("model", "options", "name"), REFUSED)
def test_it_is_left_out_and_noted_when_asked_for(model, options, name):
    request, notes = fit(model, ignore_invalid_options=True, **options)
    assert getattr(request.options, name) == getattr(Options(), name)
    assert any(note.startswith(f"dropped {name}") for note in notes)


ACCEPTED = [
    ("openai:gpt-5.4", {"temperature": 0.5}),
    ("openai:gpt-5.6", {"temperature": 0.5, "effort": "none"}),
    ("openai:gpt-5", {"effort": "high"}),
    ("anthropic:claude-sonnet-4-5", {"temperature": 0.1, "top_k": 3}),
    ("gemini:gemini-2.5-flash", {"effort": "none", "seed": 4}),
    ("openrouter:meta-llama/llama-3", {"top_k": 3, "seed": 4}),
    ("bedrock:anthropic.claude-sonnet-4-5-v1:0", {"top_k": 4}),
    ("ollama:whatever", {"top_k": 4, "seed": 4}),
    ("openrouter:someone/never-heard-of", {"effort": "high", "temperature": 1.0}),
]


@pytest.mark.parametrize(("model", "options"), ACCEPTED)
def test_what_the_model_takes_passes_untouched(model, options):
    request, notes = fit(model, **options)
    assert (request.options, notes) == (Options(**options), [])


FORCED = [
    ("anthropic:claude-opus-5-5", None, {}, "required"),
    ("anthropic:claude-sonnet-4-5", None, {"effort": "low"}, "look"),
    ("deepseek:deepseek-v4-pro", None, {}, "required"),
    ("moonshot:kimi-k2.6", None, {}, "required"),
    ("llamacpp:any", None, {}, "look"),
    ("ollama:qwen3", None, {}, "required"),
]


@pytest.mark.parametrize(("model", "wire", "options", "choice"), FORCED)
def test_a_forced_choice_is_refused_where_the_model_would_refuse_it(model, wire, options, choice):
    with pytest.raises(InvalidOption, match="tool_choice"):
        fit(model, wire=wire, tools=(TOOL,), tool_choice=choice, **options)
    request, _ = fit(model, wire=wire, tools=(TOOL,), tool_choice=choice, ignore_invalid_options=True, **options)
    assert request.tool_choice == "auto"


def test_tools_on_chat_need_a_model_that_does_not_think_there():
    with pytest.raises(InvalidOption, match='wire="openai-responses", or pass effort="none"'):
        fit("openai:gpt-5.6", wire="openai-chat", tools=(TOOL,))
    request, _ = fit("openai:gpt-5.6", wire="openai-chat", tools=(TOOL,), effort="none")
    assert request.tools == (TOOL,)


def test_tools_on_chat_may_be_free_text_or_go_through_a_gateway():
    custom = ProviderTool({"type": "custom", "custom": {"name": "sql"}})

    assert fit("openai:gpt-5.6", wire="openai-chat", tools=(custom,))[0].tools == (custom,)
    assert fit("openrouter:openai/gpt-5.6", tools=(TOOL,))[0].tools == (TOOL,)
    given = {"tools": (TOOL, custom), "tool_choice": "look"}
    left, _ = fit("openai:gpt-5.6", wire="openai-chat", ignore_invalid_options=True, **given)
    assert (left.tools, left.tool_choice) == ((custom,), "auto")


def test_after_a_call_every_turn_of_a_model_that_wants_its_reasoning_back_carries_some():
    call, result = Message.assistant(ToolCall("a", "look")), Message.tool(ToolResult("a", "a bird"))
    messages = (Message.user("hi"), call, result, Message.assistant("A bird."), Message.user("Which?"))
    target = resolve("deepseek:deepseek-v4-pro", environ={})

    sent = json.loads(encode(Request(model="x", messages=messages, tools=(TOOL,)), target).http.body)["messages"]

    assert [wire.get("reasoning_content") for wire in sent if wire["role"] == "assistant"] == ["", ""]


def test_whether_a_schema_is_held_to_depends_on_who_serves_the_model():
    schema = {"type": "object"}

    with pytest.raises(InvalidOption, match="deepseek has no schema mode"):
        fit("deepseek:deepseek-v4-pro", response_schema=schema)
    request, _ = fit("fireworks:accounts/fireworks/models/deepseek-v4-pro", response_schema=schema)
    assert request.options.response_schema == schema


def test_a_schema_and_tools_together_only_where_both_are_taken():
    with pytest.raises(InvalidOption, match="fireworks takes a schema or tools, not both"):
        fit("fireworks:accounts/fireworks/models/glm-5p3", tools=(TOOL,), response_schema={"type": "object"})
    with pytest.raises(InvalidOption, match="a schema or tools, not both"):
        fit("gemini:gemini-2.5-flash", tools=(TOOL,), response_schema={"type": "object"})


def test_an_mcp_server_is_called_only_by_providers_that_call_one():
    with pytest.raises(InvalidOption, match="mcp_tools"):
        fit("gemini:gemini-3-pro", tools=(McpTool("https://x/mcp", "x"),))
    request, _ = fit("anthropic:claude-sonnet-4-5", tools=(McpTool("https://x/mcp", "x"),))
    assert request.tools


def test_deferred_tools_are_shown_where_no_search_exists():
    request, notes = fit("groq:llama-3.3-70b-versatile", tools=(ToolSpec("look", deferred=True),))
    assert not request.tools[0].deferred
    assert "all shown" in notes[0]


def test_a_cache_mark_is_noted_where_caching_cannot_be_marked():
    _request, notes = fit("openai:gpt-4o", cache=True)
    assert "caching" in notes[0]
    assert fit("anthropic:claude-sonnet-4-5", cache=True)[1] == []


@pytest.mark.parametrize(
    ("model", "noted"),
    [
        ("openai:gpt-5", True),
        ("openrouter:anthropic/claude-opus-4.6", False),
        ("openai:gpt-5.6", False),
        ("anthropic:claude-opus-4-6", False),
    ],
)
def test_marks_on_parts_are_noted_where_they_cannot_be_sent(model, noted):
    target = resolve(model, environ={})
    request = Request(model="x", messages=(Message.user(Text("a long book", cache="1h")),))

    notes = [str(note) for note in encode(request, target).notes]
    assert notes == (["dropped cache marks: prompts cannot be marked for caching here"] if noted else [])


def test_no_parallel_switch_without_tools():
    _, notes = fit("openai:gpt-4o", parallel_tool_calls=False)
    assert notes == ["dropped parallel_tool_calls: there are no tools"]


@pytest.mark.parametrize(
    "options",
    [{"temperature": float("nan")}, {"top_p": float("inf")}, {"temperature": "hot"}, {"max_tokens": 0}, {"seed": True}],
)
def test_a_number_that_is_none_is_refused(options):
    with pytest.raises(Misuse, match=next(iter(options))):
        fit("openai:gpt-4o", **options)


def test_an_unknown_option_gets_a_suggestion():
    with pytest.raises(Misuse, match="unknown option 'temprature': did you mean 'temperature'"):
        options_from({"temprature": 1})
    assert options_from({"top_p": 0.5}) == Options(top_p=0.5)


def test_whether_a_model_thinks():
    gpt, old = resolve("openai:gpt-5", environ={}).family, resolve("openai:gpt-4o", environ={}).family
    assert thinks(gpt, Options())
    assert not thinks(old, Options())
    assert not thinks(resolve("openai:gpt-5.6", environ={}).family, Options(effort="none"))


@pytest.mark.parametrize(
    ("tools", "choice", "says"),
    [
        ((ToolSpec("bad name"),), "auto", "tool name 'bad name' is not accepted by openai: it must match"),
        ((TOOL, TOOL), "auto", "two tools are named 'look'"),
        ((TOOL,), "lok", "tool_choice 'lok' is no tool of this request: look"),
        ((), "required", "tool_choice 'required' needs tools"),
    ],
)
def test_tools_that_cannot_be_sent_are_named(tools, choice, says):
    target = resolve("openai:gpt-4o", environ={})
    with pytest.raises(Misuse, match=says):
        encode(Request(model="gpt-4o", messages=(Message.user("x"),), tools=tools, tool_choice=choice), target)


def test_nothing_to_say_is_an_error():
    target = resolve("openai:gpt-4o", environ={})
    with pytest.raises(Misuse, match="nothing to send"):
        encode(Request(model="gpt-4o", messages=(Message.user(""),)), target)


def test_the_system_option_leads_the_conversation():
    target = resolve("openai:gpt-4o", wire="openai-chat", environ={})
    encoded = encode(Request(model="gpt-4o", messages=(Message.user("x"),), options=Options(system="be brief")), target)
    assert b'{"role":"system","content":"be brief"}' in encoded.http.body


def test_an_effort_the_family_has_no_word_for_is_sent_as_the_nearest_and_noted():
    _, notes = fit("moonshot:kimi-k3", effort="medium")
    assert notes == ["changed effort: sent as 'low', the nearest the kimi-k3 family has"]
    assert fit("openai:gpt-5.6", effort="ultra")[1] == []
    assert "'high'" in fit("openai:gpt-5", effort="ultra")[1][0]


def test_a_word_that_the_provider_takes_and_maps_itself_is_sent_as_it_is():
    assert fit("deepseek:deepseek-v4-pro", effort="medium")[1] == []


def test_the_temperature_that_a_model_has_anyway_is_let_through():
    assert fit("anthropic:claude-sonnet-4-5", effort="low", temperature=1)[1] == []
    assert fit("openai:gpt-5", temperature=1.0)[1] == []
    assert fit("moonshot:kimi-k3", temperature=1)[1] == []
    with pytest.raises(InvalidOption):
        fit("anthropic:claude-opus-4-8", temperature=1)


@pytest.mark.parametrize(
    "model",
    [
        "deepseek:deepseek-v4-pro",
        "openai:gpt-5.6",
        "anthropic:claude-opus-4-6",
        "gemini:gemini-3-pro",
        "bedrock:amazon.nova-pro",
        "ollama:qwen3",
    ],
)
def test_what_is_extra_of_a_tool_is_sent_with_it(model):
    target = resolve(model, environ={})
    tool = ToolSpec("look", extra={"x_hint": 7})
    body = encode(Request(model="x", messages=(Message.user("hi"),), tools=(tool,)), target).http.body
    assert b'"x_hint":7' in body


def test_a_breakpoint_is_written_only_for_families_that_take_one():
    marked = Request(model="x", messages=(Message.user(Text("a long book", cache="5m"), Text("so?")),))
    for wire in ("openai-chat", "openai-responses"):
        new, old = (resolve(f"openai:{model}", wire=wire, environ={}) for model in ("gpt-5.6", "gpt-5.1"))
        assert b'"prompt_cache_breakpoint":{"mode":"explicit"}' in encode(marked, new).http.body
        assert b"prompt_cache_breakpoint" not in encode(marked, old).http.body


def test_an_effort_that_is_left_out_takes_nothing_else_with_it():
    request, notes = fit("claude-3-haiku-20240307", effort="high", temperature=0.5, ignore_invalid_options=True)
    assert request.options.temperature == 0.5
    assert [note.split(":")[0] for note in notes] == ["dropped effort"]
