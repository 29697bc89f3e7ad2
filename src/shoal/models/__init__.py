"""The models: privacy requirements judged on equivalence classes, one file each.

A file's name, with hyphens, is the model's name in text. ``rule`` reads text, ``str`` writes it,
and ``registry`` finds the files.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import shlex
from collections.abc import Iterable
from dataclasses import MISSING, Field, fields
from functools import cache
from typing import Any

from shoal.core.errors import UsageError
from shoal.core.model import All, Model, Rule, split_rule

WRAPS = "rule"
"""The parameter of a model that wraps another one."""
WRAPPED = 'write for example "m-privacy m=2 (k-anonymity k=5 & distinct-diversity l=3)".'
MAX_LENGTH, MAX_DEPTH = 20_000, 11
"""The most characters of a rule, and how deeply it may nest: no meaningful rule has more."""
EXAMPLE = 'write for example "k-anonymity k=10 & t-closeness t=0.2 on=diagnosis".'


def registry() -> dict[str, type[Any]]:
    """Every model of the room by its name in text.

    >>> registry()["k-anonymity"](5)
    KAnonymity(k=5)
    """
    return dict(_find_models())


@cache
def _find_models() -> dict[str, type[Any]]:
    models: dict[str, type[Any]] = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        members = vars(importlib.import_module(module.name)).values()
        models |= {
            member.name(): member
            for member in members
            if isinstance(member, type)
            and issubclass(member, Rule)
            and member.__module__ == module.name
        }
    return models


def rule(text: str | Model | Iterable[str | Model]) -> Model:
    """Return the model that a text describes.

    Parameters
    ----------
    text : str, Model, or an iterable of these
        A model's name with its settings; several, or ``&`` inside one, are a conjunction. A rule
        in brackets belongs to the model before it, which wraps it.

    Returns
    -------
    Model
        One model, or the conjunction of several.

    Raises
    ------
    UsageError
        Where the text names no model, or one with a wrong or missing setting.

    Examples
    --------
    >>> print(rule("k-anonymity k=10 & t-closeness t=0.2 on=diagnosis distance=ordered"))
    k-anonymity k=10 & t-closeness t=0.2 on=diagnosis distance=ordered
    >>> rule("m-privacy m=2 (k-anonymity k=5)").rule
    KAnonymity(k=5)
    """
    if isinstance(text, Model):
        return text
    if isinstance(text, str):
        return _parse_conjunction(_split_words(text))
    models = [model for part in text for model in split_rule(rule(part))]
    if not models:
        raise UsageError("The rule is empty.", EXAMPLE)
    return models[0] if len(models) == 1 else All(tuple(models))


Words = list["str | Words"]
"""The words of a rule; what stands in brackets is a list of its own."""


def _split_words(text: str) -> Words:
    if len(text) > MAX_LENGTH:
        raise UsageError(f"The rule is longer than {MAX_LENGTH:,} characters.", EXAMPLE)
    reader = shlex.shlex(text, posix=True, punctuation_chars="&()")
    reader.whitespace_split, reader.commenters = True, ""
    levels: list[Words] = [[]]
    try:
        for word in reader:
            for mark in word if set(word) <= set("&()") else [word]:
                if mark == "(":
                    levels.append([])
                    if len(levels) > MAX_DEPTH:
                        raise UsageError(
                            f"The rule has more than {MAX_DEPTH - 1} brackets in one another.",
                            WRAPPED,
                        )
                elif mark == ")" and len(levels) > 1:
                    inside = levels.pop()
                    levels[-1].append(inside)
                else:
                    levels[-1].append(mark)
    except ValueError as error:
        raise UsageError("A quote in the rule is not closed.", EXAMPLE) from error
    if len(levels) > 1 or ")" in levels[0]:
        raise UsageError("A bracket in the rule has no partner.", WRAPPED)
    return levels[0]


def _parse_conjunction(words: Words) -> Model:
    models: list[Words] = [[]]
    for word in words:
        if word == "&":
            models.append([])
        else:
            models[-1].append(word)
    if not all(models):
        raise UsageError("The rule lacks a model beside an '&', or is empty.", EXAMPLE)
    joined = [model for part_words in models for model in split_rule(_parse_model(part_words))]
    return joined[0] if len(joined) == 1 else All(tuple(joined))


def _parse_model(words: Words) -> Model:
    inside = [word for word in words if isinstance(word, list)]
    name, *settings = [word for word in words if isinstance(word, str)] or [""]
    if not name and len(inside) == 1:
        return _parse_conjunction(inside[0])
    if name not in registry():
        raise UsageError(f"There is no model {name!r}.", _suggest(name, registry()))
    kind = registry()[name]
    parameters: dict[str, Any] = _parse_settings(name, kind, settings)
    wraps = any(field.name == WRAPS for field in fields(kind))
    if len(inside) > wraps:
        raise UsageError(
            f"{name} has no use for so many rules in brackets.",
            f'{_usage(name, kind)} A name that has brackets goes in quotes: on="…".',
        )
    if inside:
        parameters[WRAPS] = _parse_conjunction(inside[0])
    missing = [f.name for f in fields(kind) if f.default is MISSING and f.name not in parameters]
    if missing:
        raise UsageError(f"{name} lacks {' and '.join(missing)}.", _usage(name, kind))
    model: Model = kind(**parameters)
    return model


def _parse_settings(name: str, kind: type[Any], settings: Iterable[str]) -> dict[str, Any]:
    names = [field.name for field in fields(kind) if field.name != WRAPS]
    parameters: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"{setting!r} is not a parameter of {name}.", _usage(name, kind))
        if key not in names:
            raise UsageError(f"{name} has no parameter {key!r}.", _suggest(key, names))
        if key in parameters:
            raise UsageError(f"{name} is given {key} twice.", _usage(name, kind))
        parameters[key] = value
    return parameters


def _suggest(word: str, names: Iterable[str]) -> str:
    names = list(names)
    close = difflib.get_close_matches(word, names, n=1)
    guess = f"did you mean {close[0]}? " if close else ""
    return f"{guess}Known: {', '.join(names)}."


def _usage(name: str, kind: type[Any]) -> str:
    return f"write {name} {' '.join(_setting(field) for field in fields(kind))}."


def _setting(field: Field[Any]) -> str:
    if field.name == WRAPS:
        return "(…)"
    return f"{field.name}=…" if field.default is MISSING else f"[{field.name}=…]"
