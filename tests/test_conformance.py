"""Every recorded exchange says to us what it says to readers we did not write.

The recordings are not part of this repository. Point DRAGOMAN_CORPUS at their folder, or put it
beside the checkout as `../shared/corpus`; without it only the judges themselves are tested here.
"""

import json
import os
from pathlib import Path

import pytest

from tests.conformance.__main__ import main
from tests.conformance.corpus import load
from tests.conformance.report import describe, unexplained
from tests.conformance.requests.gaps import ABSENT, gaps
from tests.conformance.requests.judge import TABLES, judge_request
from tests.conformance.requests.rules import NOTHING_SAID
from tests.conformance.verdict import judge

FOLDER = Path(os.environ.get("DRAGOMAN_CORPUS") or Path(__file__).parents[2] / "shared" / "corpus")
FILES = sorted(FOLDER.glob("*.jsonl"))
JUDGES = Path(__file__).parent / "conformance"


@pytest.mark.skipif(not FILES, reason=f"no recordings in {FOLDER}: set DRAGOMAN_CORPUS to their folder")
@pytest.mark.parametrize("path", FILES or [FOLDER], ids=lambda path: path.stem)
def test_a_recording_is_read_as_the_judges_read_it(path):
    verdicts = [judge(exchange) for exchange in load(path)]

    differing = [describe(verdict, difference) for verdict in verdicts for difference in unexplained(verdict)]
    assert not differing, "\n".join(differing)


@pytest.mark.skipif(not FILES, reason=f"no recordings in {FOLDER}: set DRAGOMAN_CORPUS to their folder")
@pytest.mark.parametrize("path", FILES or [FOLDER], ids=lambda path: path.stem)
def test_a_recorded_request_means_the_same_when_it_is_written_again(path):
    verdicts = [result.verdict for result in map(judge_request, load(path)) if result is not None]

    differing = [describe(verdict, difference) for verdict in verdicts for difference in unexplained(verdict)]
    assert not differing, "\n".join(differing)


def test_the_judges_know_nothing_of_us():
    sources = [JUDGES / "facts.py", JUDGES / "corpus.py", JUDGES / "complaints.py"]
    sources += [*(JUDGES / "jsonfacts").glob("*.py"), *(JUDGES / "oracles").glob("*.py")]

    assert len(sources) > 10
    assert [path.name for path in sources if "dragoman" in path.read_text(encoding="utf-8")] == []


def recorded(folder, answer, request=None):
    """A folder with one exchange in it."""
    exchange = {
        "id": "openai-chat-0",
        "provider": "lyrebird",
        "protocol": "openai_chat",
        "features": [],
        "request": {
            "method": "POST",
            "url": "https://lyrebird.example/v1/chat",
            "json": {"model": "owl-2"} | (request or {}),
        },
        "response": {"status": 200, "headers": {}, "text": json.dumps(answer)},
    }
    (folder / "openai_chat.jsonl").write_text(json.dumps(exchange) + "\n", encoding="utf-8")
    return str(folder)


def test_a_run_without_differences_succeeds(tmp_path, capsys):
    said = {"index": 0, "message": {"role": "assistant", "content": "hoot"}, "finish_reason": "stop"}

    assert main([recorded(tmp_path, {"choices": [said]})]) == 0
    assert "0 differences not explained" in capsys.readouterr().out


def test_a_run_with_a_difference_fails_and_names_the_exchange(tmp_path, capsys):
    assert main([recorded(tmp_path, {"choices": []})]) == 1
    assert "openai-chat-0  decoded error" in capsys.readouterr().out


ANSWER = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "hoot"}, "finish_reason": "stop"}]}


def test_a_request_that_differs_only_in_spelling_is_counted_under_its_rule(tmp_path, capsys):
    asked = {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "stream": False}

    assert main([recorded(tmp_path, ANSWER, asked), "--requests"]) == 0
    said = capsys.readouterr().out
    assert "| 1 | 1 | **equal in meaning, after the rules below** |" in said
    assert "| 1 | 1 | stream: false |" in said
    assert "| 1 | 1 | text as a list |" in said


def test_a_change_that_is_noted_is_counted_under_its_note(tmp_path, capsys):
    said = [{"role": "user", "content": ""}, {"role": "user", "content": "hi"}]

    assert main([recorded(tmp_path, ANSWER, {"messages": said}), "--requests"]) == 0
    assert "| 0 | 1 | *note:* dropped an empty user message |" in capsys.readouterr().out


def test_a_request_that_cannot_be_read_fails_and_is_named(tmp_path, capsys):
    assert main([recorded(tmp_path, ANSWER, {"messages": "hi"}), "--requests"]) == 1
    assert "openai-chat-0  read request" in capsys.readouterr().out


def test_what_is_lost_is_a_gap_with_its_place():
    before = {"messages": [{"role": "user", "content": "hi", "mood": "merry"}, {"role": "user"}], "n": 1}
    after = {"messages": [{"role": "user", "content": "hi"}], "n": True}

    assert [(gap.path, gap.recorded, gap.ours) for gap in gaps(before, after)] == [
        ("messages[0].mood", "merry", ABSENT),
        ("messages[1]", {"role": "user"}, ABSENT),
        ("n", 1, True),
    ]


SAID = {"role": "user", "content": "hi"}
ASKED = {"model": "owl-2", "messages": [SAID], "input": [SAID], "temperature": 1, "tools": [{"name": "look"}]}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize(
    "other",
    [
        {"messages": [SAID | {"content": "ho"}]},
        {"input": [SAID | {"content": "ho"}]},
        {"tools": [{"name": "see"}]},
        {"temperature": 0},
        {"seed": 7},
    ],
)
def test_no_rule_hides_another_text_tool_or_option(table, other):
    recorded, ours = ASKED | other, ASKED
    for rule in table:
        recorded, ours = rule.apply(recorded, ours)

    assert list(gaps(recorded, ours))


def test_a_null_inside_arguments_is_no_absent_field():
    (rule,) = (rule for rule in NOTHING_SAID if rule.name == "null")
    call = {"type": "tool_use", "input": {"city": None}, "cache_control": None}

    assert rule.apply(call, {})[0] == {"type": "tool_use", "input": {"city": None}}


def test_an_empty_folder_is_not_a_success(tmp_path):
    assert main([str(tmp_path)]) == 2
