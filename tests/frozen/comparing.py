"""Documents of several runs as one, and the differences between two documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

VARIES = "<varies>"
ABSENT = "<absent>"


def merge(first: Any, second: Any) -> Any:
    """What two runs have in common; what differs is ``<varies>``, as few words as possible."""
    if isinstance(first, dict) and isinstance(second, dict):
        names = [*first, *(name for name in second if name not in first)]
        merged = {
            name: merge(first[name], second[name]) if name in first and name in second else VARIES
            for name in names
        }
        if merged.get("sha256") == VARIES and "first rows" in merged:
            merged["first rows"] = VARIES  # a table that is drawn: some cells agree by chance
        return merged
    if isinstance(first, list) and isinstance(second, list):
        if len(first) != len(second):
            return VARIES
        return [merge(*pair) for pair in zip(first, second, strict=True)]
    if isinstance(first, str) and isinstance(second, str) and first != second:
        words = first.split(), second.split()
        if len(words[0]) == len(words[1]):
            return " ".join(a if a == b else VARIES for a, b in zip(*words, strict=True))
    same = first == second and type(first) is type(second)
    return first if same else VARIES


def keep_varying(kept: Any, seen: Any) -> Any:
    """What is seen, but ``<varies>`` where that was kept: runs may agree by chance."""
    if kept == VARIES:
        return VARIES
    if isinstance(kept, dict) and isinstance(seen, dict):
        return {
            name: keep_varying(kept[name], inside) if name in kept else inside
            for name, inside in seen.items()
        }
    if isinstance(kept, list) and isinstance(seen, list) and len(kept) == len(seen):
        return [keep_varying(*pair) for pair in zip(kept, seen, strict=True)]
    if isinstance(kept, str) and VARIES in kept and _fits(kept, seen):
        return kept
    return seen


def differences(kept: Any, seen: Any, at: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Each place where what is seen is not what was kept: the way there and both values."""
    if kept == VARIES:
        return
    if isinstance(kept, dict) and isinstance(seen, dict):
        for name in [*kept, *(name for name in seen if name not in kept)]:
            here = f"{at} › {name}" if at else name
            if name not in seen and kept[name] == VARIES:
                continue
            yield from differences(kept.get(name, ABSENT), seen.get(name, ABSENT), here)
    elif isinstance(kept, list) and isinstance(seen, list):
        yield from _differences_of_lists(kept, seen, at)
    elif not _fits(kept, seen):
        yield at, kept, seen


def _differences_of_lists(kept: list[Any], seen: list[Any], at: str) -> Iterator[Any]:
    if len(kept) == len(seen):
        for place, pair in enumerate(zip(kept, seen, strict=True), 1):
            yield from differences(*pair, f"{at} [{place}]")
        return
    start = 0
    while start < min(len(kept), len(seen)) and not any(differences(kept[start], seen[start])):
        start += 1
    end = 0
    shared = min(len(kept), len(seen)) - start
    while end < shared and not any(differences(kept[-1 - end], seen[-1 - end])):
        end += 1
    yield (
        f"{at} [{start + 1}…]",
        kept[start : len(kept) - end] or ABSENT,
        seen[start : len(seen) - end] or ABSENT,
    )


def _fits(kept: Any, seen: Any) -> bool:
    if isinstance(kept, str) and isinstance(seen, str) and VARIES in kept:
        words = kept.split(), seen.split()
        return len(words[0]) == len(words[1]) and all(
            a in (b, VARIES) for a, b in zip(*words, strict=True)
        )
    return bool(kept == seen) and isinstance(kept, bool) == isinstance(seen, bool)


def count_varying(value: Any) -> int:
    """How many values differ from run to run."""
    if isinstance(value, dict):
        return sum(map(count_varying, value.values()))
    if isinstance(value, list):
        return sum(map(count_varying, value))
    return int(isinstance(value, str) and VARIES in value)
