"""Tables of a settings file held against what may stand in them: no key is passed over, no type is bent.

Every refusal is one sentence: file, key, what was seen, what is expected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from forensics.errors import UsageError


@dataclass(frozen=True, slots=True)
class Field:
    """One key of a table."""

    kind: type
    """str, float (whole numbers too), int, dict (text to text), or list (of text)."""
    expected: str
    """What should stand there, as a refusal says it."""
    choices: tuple[str, ...] = ()
    least: float | None = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the file a table stands, as a refusal names it."""

    file: str
    table: str = ""
    """'' is the top of the file."""

    def __str__(self) -> str:
        return f"{self.file}: {self.table}" if self.table else self.file

    def refuse(self, key: str, seen: object, expected: str, hint: str | None = None) -> UsageError:
        """The error that a value is, to be raised."""
        return UsageError(f"{self}: {key}: expected {expected}, found {_shown(seen)}", hint)


def read_table(place: Place, table: object, fields: Mapping[str, Field]) -> dict[str, Any]:
    """The values of a table by key; keys that are not there are left out.

    Raises:
        UsageError: the table is none, a key is not known or missing, or a value is not what it should be.
    """
    if not isinstance(table, Mapping):
        raise UsageError(f"{place}: expected a table of keys, found {_shown(table)}")
    for key in table:
        if key not in fields:
            near = get_close_matches(key, fields, n=1)
            raise UsageError(
                f"{place}: unknown key {key!r}; expected one of {', '.join(fields)}",
                f"did you mean {near[0]}?" if near else None,
            )
    for key, field in fields.items():
        if field.required and key not in table:
            raise UsageError(f"{place}: the key {key} is missing; expected {field.expected}")
    return {key: _value(place, key, table[key], fields[key]) for key in table}


def tables_of(place: Place, key: str, value: object) -> list[tuple[Place, object]]:
    """The tables written [[key]], each with its place.

    Raises:
        UsageError: it is no list of tables.
    """
    if not isinstance(value, list):
        raise place.refuse(key, value, f"tables, each under [[{key}]]")
    return [(Place(place.file, f"[[{key}]] {n}"), one) for n, one in enumerate(value, 1)]


def _value(place: Place, key: str, value: Any, field: Field) -> Any:
    fits = {
        str: isinstance(value, str),
        float: isinstance(value, int | float) and not isinstance(value, bool),
        int: isinstance(value, int) and not isinstance(value, bool),
        list: isinstance(value, list) and all(_is_of(one, field) for one in value),
        dict: isinstance(value, dict) and all(isinstance(one, str) for one in value.values()),
    }[field.kind]
    if not fits or (field.choices and value not in field.choices):
        raise place.refuse(key, value, field.expected)
    numbers = value if isinstance(value, list) else [value]
    if field.least is not None and not all(field.least <= n < 1e9 for n in numbers):
        raise place.refuse(key, value, field.expected)
    return value


def _is_of(one: object, field: Field) -> bool:
    """A list holds numbers where a least one is named, else text."""
    return isinstance(one, str) if field.least is None else isinstance(one, int | float) and not isinstance(one, bool)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
