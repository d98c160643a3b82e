"""References within a schema: where they lead, and which of them lead back to themselves."""

from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["NOWHERE", "follow", "recursive_references"]

NOWHERE = object()


def follow(root: Any, pointer: str) -> Any:
    """What `#/…` points to, or NOWHERE."""
    found = root
    start, *steps = pointer.split("/")
    if start != "#":
        return NOWHERE
    for step in steps:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        elif isinstance(found, dict) and step in found:
            found = found[step]
        else:
            return NOWHERE
    return found


def recursive_references(root: Any, charge: Callable[[], None]) -> frozenset[str]:
    """The references that can be followed without end. `charge` is called for each value looked at."""
    graph: dict[str, set[str]] = {}
    pending = list(_references(root, charge))
    while pending:
        pointer = pending.pop()
        if pointer not in graph:
            graph[pointer] = set(_references(follow(root, pointer), charge))
            pending += graph[pointer]
    return frozenset(_without_dead_ends(_turned_round(_without_dead_ends(graph))))


def _references(value: Any, charge: Callable[[], None]) -> Iterator[str]:
    pending = [value]
    while pending:
        charge()
        match pending.pop():
            case dict() as holder:
                pending += holder.values()
                if isinstance(holder.get("$ref"), str):
                    yield holder["$ref"]
            case list() as items:
                pending += items


def _turned_round(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    turned: dict[str, set[str]] = {pointer: set() for pointer in graph}
    for pointer, targets in graph.items():
        for target in targets & graph.keys():
            turned[target].add(pointer)
    return turned


def _without_dead_ends(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The graph less all that leads nowhere in the end: what is left is on a circle, or leads to one."""
    sources = _turned_round(graph)
    ways = {pointer: len(targets & graph.keys()) for pointer, targets in graph.items()}
    ends = [pointer for pointer, count in ways.items() if count == 0]
    for end in ends:  # which grows on the way
        for source in sources[end]:
            ways[source] -= 1
            if ways[source] == 0:
                ends.append(source)
    dead = set(ends)
    return {pointer: targets - dead for pointer, targets in graph.items() if pointer not in dead}
