"""Imports point down, and only where they may."""

import ast
import re
from pathlib import Path

import pytest

from dragoman.providers import PROVIDERS
from dragoman.wire import WIRES
from dragoman.wire.embeddings import SHAPES

SOURCE = Path(__file__).parent.parent / "src" / "dragoman"

# Lowest first: a module imports only what stands before it.
LAYERS = [
    "version",
    # vocabulary: frozen data
    "errors", "limits", "nesting", "surrogates", "media", "effort", "usage", "secrets", "http",
    "arguments", "messages", "exchange", "embedding", "events", "target",
    # translation: pure functions between data and bytes
    "wire", "families", "rules", "providers", "detection", "resolve", "auth",
    # programs: nothing imports these
    "__main__",
]  # fmt: skip
PROGRAMS = {"__main__"}

WIRE_LAYERS = [
    "thinking", "ids", "dialects", "reading", "arguments", "framing", "inline", "scribe", "failure", "decoder",
    "schema",
    # the formats, none of which knows another
    "openai_chat", "openai_responses", "anthropic_messages", "gemini", "bedrock_converse", "ollama",
    "options", "history", "", "embeddings", "mirror",
]  # fmt: skip

# Everything a pure module may need from outside; nothing here waits, reads a clock or opens a thing.
PURE = {
    "array", "base64", "binascii", "collections", "difflib", "email", "functools", "hashlib", "importlib",
    "itertools", "json", "math", "msgspec", "re", "struct", "sys", "typing", "urllib", "zlib",
}  # fmt: skip


def modules(folder: Path = SOURCE) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def layer_of(name: str) -> str:
    """`dragoman.wire.gemini` is in the room `wire`."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""


def dotted(path: Path) -> str:
    return ".".join(("dragoman", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


def imports(path: Path) -> set[str]:
    """Every module that a file imports, relative ones spelled out."""
    here = dotted(path).split(".")
    package = here if path.name == "__init__.py" else here[:-1]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            # `from . import x` names modules, `from .x import y` names their contents.
            names = {f"{module}.{alias.name}" for alias in node.names}
            found |= (
                names
                if node.module is None or (SOURCE / module.replace("dragoman.", "").replace(".", "/")).is_dir()
                else {module}
            )
    return found


def test_every_module_has_a_place_in_the_order():
    assert {layer_of(dotted(path)) for path in modules()} - {""} == set(LAYERS)
    in_wire = {
        dotted(path).removeprefix("dragoman.wire").lstrip(".").split(".")[0] for path in modules(SOURCE / "wire")
    }
    assert in_wire == set(WIRE_LAYERS)


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_imports_point_down(path):
    room = layer_of(dotted(path))
    for imported in imports(path):
        if imported.startswith("dragoman.") and room and layer_of(imported) != room:
            assert LAYERS.index(layer_of(imported)) < LAYERS.index(room), f"{dotted(path)} imports {imported}"


@pytest.mark.parametrize("path", modules(SOURCE / "wire"), ids=dotted)
def test_imports_point_down_inside_wire(path):
    here = dotted(path).removeprefix("dragoman.wire").lstrip(".").split(".")[0]
    for imported in imports(path):
        if imported.startswith("dragoman.wire."):
            there = imported.removeprefix("dragoman.wire.").split(".")[0]
            if there in WIRE_LAYERS and there != here:
                assert WIRE_LAYERS.index(there) < WIRE_LAYERS.index(here), f"{dotted(path)} imports {imported}"


CODECS = set(WIRES.values())


@pytest.mark.parametrize("path", modules(SOURCE / "wire"), ids=dotted)
def test_codecs_do_not_know_each_other(path):
    own = dotted(path).split(".")[2:3]
    if set(own) & CODECS:
        known = {name.split(".")[2] for name in imports(path) if name.startswith("dragoman.wire.")}
        assert not known & (CODECS - set(own))


@pytest.mark.parametrize("path", [path for path in modules() if path.stem not in PROGRAMS], ids=dotted)
def test_nothing_can_reach_the_world(path):
    """No module of these layers imports anything that waits, reads a clock, or opens something."""
    outside = {name.split(".")[0] for name in imports(path) if not name.startswith("dragoman")}
    assert outside <= PURE
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"open", "print", "input", "exec", "eval", "breakpoint", "__import__"}


# A format bears its owner's name, so these may appear in wire/ as the names of formats.
OWNERS = {"openai", "anthropic", "gemini", "bedrock", "ollama", "cohere"}


@pytest.mark.parametrize("path", modules(SOURCE / "wire"), ids=dotted)
def test_no_providers_name_stands_in_a_codec(path):
    """The moment a codec asks who it is talking to, it has become two codecs."""
    words = set(re.findall(r"[a-z0-9_.-]+", path.read_text().lower()))
    assert not words & (set(PROVIDERS) - OWNERS - {"together"}), "name the quirk, not the provider"
    strings = {
        node.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    shapes = set(SHAPES) if "embeddings" in path.parts else set()
    assert not strings & (set(PROVIDERS) - set(WIRES) - shapes)
