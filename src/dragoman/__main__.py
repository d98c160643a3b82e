"""Translate from the command line, until the client can ask by itself: `python -m dragoman --help`."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from .errors import DragomanError
from .events import fold
from .exchange import Request, Response
from .messages import Message
from .resolve import resolve
from .wire import encode, wire_named

_STREAM_PIECE_BYTES = 4096


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 if it worked, 1 for an error of ours, 2 for a wrong call."""
    given = _parser().parse_args(arguments)
    try:
        print(given.run(given))
    except (DragomanError, OSError) as error:
        print(f"dragoman: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dragoman", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    for name, run, help in (
        ("read", _read, "read a provider's recorded reply (whole or streamed) from a file"),
        ("request", _request, "show the HTTP request that would ask a question"),
    ):
        command = commands.add_parser(name, help=help, description=help)
        command.add_argument("subject", help="the file" if run is _read else "the question")
        command.add_argument("--model", required=True, help="who answers, as provider:model")
        command.add_argument("--wire", help="the format, where the provider speaks several")
        command.set_defaults(run=run)
    return parser


def _read(given: argparse.Namespace) -> str:
    target = resolve(given.model, wire=given.wire, environ=os.environ)
    decoder = wire_named(target.wire).chat_decoder(target)
    events = []
    with Path(given.subject).open("rb") as reply:
        while piece := reply.read(_STREAM_PIECE_BYTES):
            events += decoder.feed(piece)
    return _pretty(_facts(fold(events + decoder.close())))


def _facts(response: Response) -> dict[str, Any]:
    return {
        "text": response.text,
        "thinking": response.thinking,
        "tool_calls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in response.tool_calls],
        "finish_reason": response.finish_reason,
        "usage": response.usage,
        "model": response.model,
        "notes": [str(note) for note in response.notes],
    }


def _request(given: argparse.Namespace) -> str:
    target = resolve(given.model, wire=given.wire, environ=os.environ)
    encoded = encode(Request(model=target.model, messages=(Message.user(given.subject),)), target)
    body = msgspec.json.decode(encoded.http.body)
    return _pretty(
        {"method": encoded.http.method, "url": encoded.http.url, "headers": encoded.http.headers, "body": body}
    )


def _pretty(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


if __name__ == "__main__":
    raise SystemExit(main())
