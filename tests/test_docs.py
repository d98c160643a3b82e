"""Every Python block in the README and the docs runs, and what the README shows is what comes out."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}:{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_of_the_docs_runs(block, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    exec(compile(block, "docs", "exec"), {})


def test_the_first_command_prints_what_the_readme_shows(capsys, monkeypatch):
    from dragoman.__main__ import main

    monkeypatch.chdir(ROOT)
    shown = re.search(r"^```json\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert main(["read", "examples/replies/thinking_and_a_call.sse", "--model", "anthropic:claude-sonnet-4-5"]) == 0
    assert capsys.readouterr().out.strip() == shown[1].strip()


def test_a_request_is_shown_and_an_error_is_one_line(capsys):
    from dragoman.__main__ import main

    assert main(["request", "hi", "--model", "ollama:qwen3"]) == 0
    assert '"url": "http://localhost:11434/api/chat"' in capsys.readouterr().out
    assert main(["request", "hi", "--model", "nobody"]) == 1
    assert capsys.readouterr().err.startswith("dragoman: no provider is known for 'nobody'")
    assert main(["read", "no/such/file", "--model", "ollama:qwen3"]) == 1


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_the_package_runs_as_a_program():
    done = subprocess.run([sys.executable, "-m", "dragoman", "--help"], capture_output=True, text=True, check=True)
    assert "read" in done.stdout


def test_every_row_is_in_the_list_of_providers():
    from dragoman.providers import PROVIDERS

    page = (ROOT / "docs" / "providers.md").read_text()
    assert all(name in page for name in PROVIDERS)
    assert f"{len(PROVIDERS)} rows" in (ROOT / "README.md").read_text()
