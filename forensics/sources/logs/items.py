"""A line as literal text and fields by turns, and the pattern that reads it.

Format strings (log_formats.py) and layouts found in a sample (log_layout.py) both come here, so that a line described
and a line recognised are read by the same pattern.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from forensics.sources.logs.fields import Field

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
        One tuple a piece, outside and inside quotes by turns. A piece inside is one field. A piece outside is words
        between single spaces: the index of a field, or -1 for a hyphen that stands there in every line.
    """
    marked: list[str] = []
    kinds: list[Item] = []
    for item in items:
        marked.append(item.text if item.field is None else f"\x02{len(kinds)}\x03")
        kinds += [item] if item.field is not None else []
    pieces = "".join(marked).split('"')
    found: list[tuple[int, ...]] = []
    for number, piece in enumerate(pieces):
        inside = number % 2 == 1
        words = [piece] if inside else _trimmed(piece, number == 0, number == len(pieces) - 1)
        cut = [_word(word, kinds, inside) for word in words]
        if None in cut or len(pieces) % 2 == 0:
            return ()
        found.append(tuple(index for index in cut if index is not None))
    return tuple(found) if len(found) > 1 else ()


def _trimmed(piece: str, first: bool, last: bool) -> list[str]:
    """The words of a piece without the spaces that part it from the quotes; a word no field is when one is missing."""
    words = piece.split(" ")
    edges = ([words.pop(0)] if not first else []) + ([words.pop()] if not last and words else [])
    if piece == "" and first != last:
        return []
    return words if not any(edges) and (words or piece == " ") else ["?"]


def _word(word: str, kinds: Sequence[Item], inside: bool) -> int | None:
    """The field a word is, -1 for a hyphen, None for anything else."""
    if word == "-" and not inside:
        return -1
    bracketed = word.startswith("[") and word.endswith("]")
    mark = re.fullmatch("\x02(\\d+)\x03", word[1:-1] if bracketed else word)
    if mark is None:
        return None
    item = kinds[int(mark[1])]
    stamp = item.field is not None and item.field.unit == "clf"  # the one field of two words
    wanted = "quoted" if inside else "bracketed" if bracketed else item.text
    fits = item.text == wanted and item.text in ("quoted", "bracketed", "bare", "user")
    return int(mark[1]) if fits and bracketed == stamp and (inside or item.text != "quoted") else None
