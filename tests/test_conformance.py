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


def test_the_judges_know_nothing_of_us():
    sources = [JUDGES / "facts.py", JUDGES / "corpus.py", JUDGES / "complaints.py"]
    sources += [*(JUDGES / "jsonfacts").glob("*.py"), *(JUDGES / "oracles").glob("*.py")]

    assert len(sources) > 10
    assert [path.name for path in sources if "dragoman" in path.read_text(encoding="utf-8")] == []


def recorded(folder, answer):
    """A folder with one exchange in it."""
    exchange = {
        "id": "openai-chat-0",
        "provider": "lyrebird",
        "protocol": "openai_chat",
        "features": [],
        "request": {
            "method": "POST",
            "url": "https://lyrebird.example/v1/chat",
            "json": {"model": "owl-2"},
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


def test_an_empty_folder_is_not_a_success(tmp_path):
    assert main([str(tmp_path)]) == 2
