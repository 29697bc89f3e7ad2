"""The models: privacy requirements judged on classes, one file each.

A file here is a model: its name, with hyphens, is the model's name in text. ``rule`` reads text,
``str`` writes it, and ``registry`` finds the files.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import shlex
from collections.abc import Iterable
from dataclasses import MISSING, fields
from functools import cache
from typing import Any

from shoal.errors import UsageError
from shoal.model import All, Model, Rule, parts

EXAMPLE = 'write for example "k-anonymity k=10 & t-closeness t=0.2 on=diagnosis".'


def registry() -> dict[str, type[Any]]:
    """Every model of the room by its name in text.

    >>> registry()["k-anonymity"](5)
    KAnonymity(k=5)
    """
    return dict(_found())


@cache
def _found() -> dict[str, type[Any]]:
    models = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        members = vars(importlib.import_module(module.name)).values()
        for member in members:
            if (
                isinstance(member, type)
                and issubclass(member, Rule)
                and (member.__module__ == module.name)
            ):
                models[member.name()] = member
    return models


def rule(text: str | Model | Iterable[str | Model]) -> Model:
    """The model that a text describes; several texts, or ``&`` inside one, are a conjunction.

    >>> print(rule("k-anonymity k=10 & t-closeness t=0.2 on=diagnosis distance=ordered"))
    k-anonymity k=10 & t-closeness t=0.2 on=diagnosis distance=ordered
    """
    if isinstance(text, Model):
        return text
    if isinstance(text, str):
        models = [_model(words) for words in _split(text)]
    else:
        models = [model for one in text for model in parts(rule(one))]
    if not models:
        raise UsageError("The rule is empty.", EXAMPLE)
    return models[0] if len(models) == 1 else All(tuple(models))


def _split(text: str) -> list[list[str]]:
    """The words of each model, unquoted."""
    reader = shlex.shlex(text, posix=True, punctuation_chars="&")
    reader.whitespace_split, reader.commenters = True, ""
    models: list[list[str]] = [[]]
    try:
        for word in reader:
            if word == "&":
                models.append([])
            else:
                models[-1].append(word)
    except ValueError as error:
        raise UsageError("A quote in the rule is not closed.", EXAMPLE) from error
    if not all(models):
        raise UsageError("The rule lacks a model beside an '&', or is empty.", EXAMPLE)
    return models


def _model(words: list[str]) -> Model:
    name, *settings = words
    if name not in registry():
        raise UsageError(f"There is no model {name!r}.", _closest(name, registry()))
    kind = registry()[name]
    known = [field.name for field in fields(kind)]
    given: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"{setting!r} is not a parameter of {name}.", _usage(name, kind))
        if key not in known:
            raise UsageError(f"{name} has no parameter {key!r}.", _closest(key, known))
        if key in given:
            raise UsageError(f"{name} is given {key} twice.", _usage(name, kind))
        given[key] = value
    missing = [f.name for f in fields(kind) if f.default is MISSING and f.name not in given]
    if missing:
        raise UsageError(f"{name} lacks {' and '.join(missing)}.", _usage(name, kind))
    model: Model = kind(**given)
    return model


def _closest(word: str, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(word, known, n=1)
    guess = f"did you mean {close[0]}? " if close else ""
    return f"{guess}Known: {', '.join(known)}."


def _usage(name: str, kind: type[Any]) -> str:
    settings = (f"{f.name}=…" if f.default is MISSING else f"[{f.name}=…]" for f in fields(kind))
    return f"write {name} {' '.join(settings)}."
