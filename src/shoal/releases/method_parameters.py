"""A method's own parameters: named, and of the kinds that its signature states.

On the command line they are text; text is read as the kind that the parameter has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any

from shoal.core.errors import UsageError
from shoal.methods import find_method, list_method_names

OURS = {"tally", "model", "rng", "progress", "hold_back"}
"""What every method is given; the rest are its parameters."""
YES, NO = frozenset({"yes", "true", "1"}), frozenset({"no", "false", "0"})


def parse_method_parameters(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as the method takes them; refuses a method or a parameter there is not.

    >>> texts = {"measure": "height", "nodes": "200", "minimal": "no"}
    >>> parse_method_parameters("full-domain", texts)
    {'measure': 'height', 'nodes': 200, 'minimal': False}
    """
    if name not in list_method_names():
        raise UsageError(
            f"There is no method {name!r}.", f"the methods are: {', '.join(list_method_names())}."
        )
    own = {
        p.name: p for p in signature(find_method(name)).parameters.values() if p.name not in OURS
    }
    if unknown := sorted(set(settings) - set(own)):
        raise UsageError(
            f"{name} has no parameter {unknown[0]!r}.",
            f"its parameters are: {', '.join(sorted(own))}." if own else "leave it out.",
        )
    return {key: _read(own[key], value) for key, value in settings.items()}


def _read(parameter: Parameter, value: Any) -> Any:
    kind = str(parameter.annotation).removesuffix(" | None")
    if kind not in KINDS or (value is None and parameter.default is None):
        return value
    read, meant, example = KINDS[kind]
    try:
        return read(value)
    except (ValueError, TypeError, OverflowError):
        hint = f"write for example {parameter.name}={example}."
        raise UsageError(f"{parameter.name} is {meant}.", hint) from None


def _truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = _text(value).lower()
    if word not in YES | NO:
        raise ValueError
    return word in YES


def _whole(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and value != int(value)):
        raise ValueError
    return int(value)


def _number(value: Any) -> float:
    number = float(value)
    if isinstance(value, bool) or not math.isfinite(number):
        raise ValueError
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


KINDS: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "bool": (_truth, "yes or no", "yes"),
    "int": (_whole, "a whole number", "10"),
    "float": (_number, "a number", "0.1"),
    "str": (_text, "a text", '"…"'),
}
"""How a parameter of each annotation is read, and what it is called where it cannot be."""
