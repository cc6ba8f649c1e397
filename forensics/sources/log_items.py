"""A line as literal text and fields by turns, and the pattern that reads it.

Format strings (log_formats.py) and layouts found in a sample (log_layout.py) both come here, so that a line described
and a line recognised are read by the same pattern.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from forensics.sources.log_fields import Field

BARE = r"[^\s\"]\S*?(?:(?:, | : )\S+?)*?"
"""One word, or the list nginx makes of several tries: `502, 201`, `0.1, 0.2 : 0.3`."""
_QUOTED = r'(?:[^"\\]|\\.)*'
_QUOTED_PLAIN = r'[^"]*'


@dataclass(frozen=True, slots=True)
class Item:
    """A field where it stands in the line, or literal text (`field` is None)."""

    text: str
    """Literal text; for fields the kind of surrounding: bare, quoted, bracketed, user."""
    field: Field | None = None


Items = tuple[Item, ...]


def pattern(items: Sequence[Item], *, escapes: bool, optional_from: int | None = None, loose_end: bool = False) -> str:
    """The pattern of a whole line, one group a field.

    Args:
        items: the line.
        escapes: a quote inside a field is written as backslash and quote (Apache); else it never occurs (nginx).
        optional_from: the items from this index on may be missing, all of them together.
        loose_end: more words may follow, which are read past.
    """
    parts: list[str] = []
    for index, item in enumerate(items):
        if index == optional_from:
            parts.append("(?:")
        parts.append(re.escape(item.text).replace(r"\ ", " ") if item.field is None else _group(item, escapes))
    if optional_from is not None:
        parts.append(")?")
    return "^" + "".join(parts) + (r"(?: .*)?\s*$" if loose_end else r"\s*$")


def _group(item: Item, escapes: bool) -> str:
    if item.text == "quoted":
        return f"({_QUOTED if escapes else _QUOTED_PLAIN})"
    if item.text == "bracketed":
        return r"([^\]]*)"
    if item.text == "user":  # the only bare field with spaces of its own
        return "(.*?)"
    return f"({BARE})"


def fields(items: Sequence[Item]) -> tuple[Field, ...]:
    """The fields in order of the groups."""
    return tuple(item.field for item in items if item.field is not None)


def segments(items: Sequence[Item]) -> tuple[tuple[int, ...], ...]:
    """Where each field is once the line is cut at its quotes; () when it cannot be cut so.

    Returns:
        One tuple a piece, outside and inside quotes by turns. A piece inside holds one field. A piece outside holds
        the words between single spaces, each a field index or -1; the first piece (address, user, [time]) is special:
        client first, time last.
    """
    pieces: list[list[int]] = [[]]
    inside = False
    number = -1
    for item in items:
        if item.field is not None:
            number += 1
            if (item.text == "quoted") != inside:
                return ()
            pieces[-1].append(number)
            continue
        for position, literal in enumerate(item.text.split('"')):
            if position:
                inside = not inside
                pieces.append([])
            if literal.strip(" []-") or (inside and literal):
                return ()  # labels and the like: leave it to the pattern
    head, rest = pieces[0], pieces[1:]
    well_formed = not inside and bool(head) and all(len(p) == 1 for p in rest[::2])
    return tuple(tuple(p) for p in (head, *rest)) if well_formed else ()
