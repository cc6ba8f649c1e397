"""Bank statements as SWIFT messages (MT940, MT942): each statement line (:61:) with what follows it as a flat row.

The fields of a statement line are read by the library mt-940, which knows how banks deviate from the standard; the
message is cut into lines here, so that one line that nobody can read costs one row.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

_TAG = re.compile(r"^(?:\{.*\{4:)?:(\d{2}[A-Z]?|NS):(.*)$")
_END = re.compile(r"^-\}?|^\{5:")
_NO_REFERENCE = ("", "NONREF", "NOTPROVIDED", "NOREF", "KEINE REFERENZ")
_WORDS = re.compile(
    r"(EREF|KREF|MREF|CRED|DEBT|SVWZ|ABWA|ABWE)\+(.*?)(?=\s*(?:EREF|KREF|MREF|CRED|DEBT|SVWZ|ABWA|ABWE)\+|$)"
)
_SLASHES = re.compile(r"/(EREF|KREF|MREF|REMI)/(.*?)(?=/(?:EREF|KREF|MREF|REMI|[A-Z]{4})/|$)")
_LONGEST = 2000
"""Characters of a field. The standard allows 390; what is longer is no text for expressions that look ahead."""

Row = dict[str, str | None]


def is_swift(head: str) -> bool:
    """Whether a text begins like a statement: tags at the beginning of lines, among them a balance or a line."""
    tags = {found[1] for line in head.split("\n")[:60] if (found := _TAG.match(line.rstrip("\r")))}
    return bool(tags & {"60F", "60M", "61", "62F", "34F"}) and (len(tags) > 1 or "61" in tags)


def read_lines(path: Path) -> Iterator[Row]:
    """One row a statement line; one that cannot be read has its text for an amount, and no mark.

    Raises:
        ImportError: the library is not there.
    """
    parse = _parser()
    around: dict[str, str] = {}
    line: str | None = None
    for tag, text in _tags(path):
        if line is not None:
            yield _row(parse(line), line, text if tag == "86" else "", around)
            line = None
        if tag == "61":
            line = text
        elif tag in ("60F", "60M", "62F", "62M", "34F"):
            currency = re.search(r"[A-Z]{3}(?=[\dDC ])", text[7:] if tag != "34F" else text)
            around["currency"] = currency[0] if currency else around.get("currency", "")
        elif tag in ("20", "25", "28C", "28"):
            around[tag[:2]] = text.strip()
    if line is not None:
        yield _row(parse(line), line, "", around)


def _parser() -> Callable[[str], Mapping[str, str | None] | None]:
    from mt940.models import Transactions
    from mt940.tags import Statement

    tag, transactions = Statement(), Transactions()

    def parse(line: str) -> Mapping[str, str | None] | None:
        try:
            return tag.parse(transactions, line[:_LONGEST])
        except (RuntimeError, ValueError):
            return None

    return parse


def _tags(path: Path) -> Iterator[tuple[str, str]]:
    """Tag and text, lines that go on included."""
    tag, lines = "", list[str]()
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        for raw in file:
            line = raw.rstrip("\r\n")
            found = _TAG.match(line)
            if found or _END.match(line):
                if tag:
                    yield tag, "\n".join(lines)
                tag, lines = (found[1], [found[2]]) if found else ("", [])
            elif tag:
                lines.append(line)
    if tag:
        yield tag, "\n".join(lines)


def _row(found: Mapping[str, str | None] | None, line: str, details: str, around: Mapping[str, str]) -> Row:
    words, purpose = _details(details)
    row: Row = {
        ":61: amount": line[:60],
        ":61: mark": None,
        ":60F: currency": around.get("currency") or None,
        "entry date": None,
        "value date": None,
        "bank reference": None,
        "customer reference": None,
        "EREF": _reference(words.get("EREF")),
        "KREF": _reference(words.get("KREF")),
        "purpose": purpose or None,
        ":28C: statement": around.get("28"),
        ":25: account": around.get("25"),
        ":20: reference": around.get("20"),
    }
    if found is None:
        return row
    amount = (found.get("amount") or "").replace(",", ".").rstrip(".")
    value = _day(found.get("year"), found.get("month"), found.get("day"))
    return {
        **row,
        ":61: amount": amount,
        ":61: mark": found.get("status"),
        "value date": value,
        "entry date": _entry_day(value, found.get("entry_month"), found.get("entry_day")) or value,
        "bank reference": _reference(found.get("bank_reference")),
        "customer reference": _reference(found.get("customer_reference")),
    }


def _reference(text: str | None) -> str | None:
    text = " ".join((text or "").split())
    return None if text.upper() in _NO_REFERENCE else text


def _details(text: str) -> tuple[dict[str, str], str]:
    """The words of :86: and its purpose: lines of 27 characters are put together again before words are looked for."""
    text = text[:_LONGEST]
    flat = text.replace("\n", "")
    fields = re.findall(r"\?(\d\d)([^?]*)", flat)
    purpose = "".join(cell for number, cell in fields if "20" <= number <= "29" or "60" <= number <= "63")
    words = dict(_WORDS.findall(purpose or flat)) | dict(_SLASHES.findall(flat))
    return words, " ".join((words.get("SVWZ") or words.get("REMI") or purpose or text).split())


def _day(year: str | None, month: str | None, day: str | None) -> str | None:
    """A day of this century. Banks reckon with months of thirty days: the 30th of February is its last."""
    if not (year and month and day and 1 <= int(month) <= 12):
        return None
    last = calendar.monthrange(2000 + int(year), int(month))[1]
    return f"20{year}-{month}-{min(int(day), last):02}"


def _entry_day(value: str | None, month: str | None, day: str | None) -> str | None:
    """The day of the entry, which names no year: that of the value date, or the next to it around new year."""
    if not (value and month and day and month.strip() and day.strip()):
        return None
    year = int(value[2:4]) + {(12, 1): 1, (1, 12): -1}.get((int(value[5:7]), int(month)), 0)
    return _day(f"{year:02}", month, day)
