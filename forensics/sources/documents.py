"""A JSON document (one list, or an object that holds one list) as JSON lines, which the readers below take.

The text is cut, not parsed and written again: digits of an amount stay as they were. At most one object is in memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from forensics.errors import EvidenceError
from forensics.sources.evidence import Evidence
from forensics.sources.json_types import plain_writer

_BLOCK = 1 << 18
_LONGEST = 64 << 20
"""Characters of one object; what is longer is no list of rows."""
_SPACE = re.compile(r"[ \t\r\n]*")
_NO_ROWS = ("links", "_links", "errors", "warnings", "facets")
"""Lists of objects that stand beside the rows in many APIs."""
_NAMES_OF_ROWS = frozenset(
    (
        *("id", "amount", "totalamount", "amountmoney", "orderid", "paymentid", "paymentkey"),
        *("messageid", "jid", "reason", "queue", "error", "payload", "body"),
    )
)
_NAMES_OF_LISTS = frozenset(
    (
        *("data", "items", "results", "records", "rows", "list", "value", "values", "content", "entries", "elements"),
        *("transactions", "transaction_details", "payments", "refunds", "charges", "orders", "settlements", "payouts"),
        *("disputes", "balance_transactions", "events", "messages"),
    )
)
_DEEPEST = 3


def unfold(evidence: Evidence, workdir: Path) -> Evidence:
    """The evidence with each object of its document on a line; as it is where the text is no JSON document.

    Line numbers then count the objects of the list, from 1.

    Raises:
        EvidenceError: a document that is cut off or broken, that holds several lists of objects, or none.
    """
    if evidence.container != "text":
        return evidence
    with evidence.readable.open(encoding="utf-8", errors="replace") as file:
        head = file.read(_BLOCK).lstrip()
    form, plain = _form(head), plain_writer(head) if head[:1] in "[{" else None
    if form is None:
        return _plain_lines(evidence, plain, workdir) if plain else evidence
    target = workdir / f"{evidence.sha256[:16]}.objects.jsonl"
    with (
        evidence.readable.open(encoding="utf-8", errors="replace") as file,
        target.open("w", encoding="utf-8", newline="\n") as out,
    ):
        try:
            written = _Unfolding(evidence, _Text(file), out, plain or str).run(form)
        except (ValueError, RecursionError) as exc:
            raise EvidenceError(
                f"{evidence.path}: the JSON document cannot be read: {exc}", "export it again; it may be cut off"
            ) from exc
    note = f"lines are the objects of {written.where or 'the file'}, numbered from 1"
    return replace(evidence, readable=target, lines=written.objects, notes=(*evidence.notes, note))


def _plain_lines(evidence: Evidence, plain: Callable[[str], str], workdir: Path) -> Evidence:
    """JSON lines without the types around their values; lines stay where they are."""
    target = workdir / f"{evidence.sha256[:16]}.plain.jsonl"
    with (
        evidence.readable.open(encoding="utf-8", errors="replace", newline="\n") as file,
        target.open("w", encoding="utf-8") as out,
    ):
        out.writelines(plain(line.rstrip("\r\n")) + "\n" for line in file)
    return replace(evidence, readable=target)


def _form(head: str) -> str | None:
    """What the text is: `list`, `envelope` (an object around the list), `rows` (objects one after another); None for
    JSON lines and for all that is no JSON."""
    if head.startswith("["):
        return "list" if re.match(r"\[\s*[\[{\]]", head) else None
    if not re.match(r"\{\s*[\"}]", head):
        return None
    try:
        found, end = json.JSONDecoder().raw_decode(head)
    except (ValueError, RecursionError):
        # Lines of a log may be cut off; the objects of a list have commas behind them, but for the last.
        return None if sum(map(_is_object, head.split("\n"))) > 1 else "envelope"
    lines, rest = "\n" in head[:end], head[end:].lstrip()
    if rest:
        return "rows" if lines and rest.startswith("{") else None
    if not _is_row(found) and _holds_rows(found):
        return "envelope"
    return "rows" if lines else None


def _is_object(line: str) -> bool:
    try:
        return line.startswith("{") and isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _is_row(found: Mapping[str, object]) -> bool:
    """Whether an object with such names is a row itself, whatever lists it holds."""
    return bool(_NAMES_OF_ROWS & {re.sub(r"[^a-z]", "", name.lower()) for name in found})


def _holds_rows(found: Mapping[str, object], depth: int = 1) -> bool:
    """Whether a list in an object is the rows: by its name, or because several objects stand in it at the top."""
    for name, value in found.items():
        if isinstance(value, list) and value and isinstance(value[0], dict) and name not in _NO_ROWS:
            if name.lower() in _NAMES_OF_LISTS or (depth == 1 and len(value) > 1):
                return True
        elif isinstance(value, dict) and depth < _DEEPEST and _holds_rows(value, depth + 1):
            return True
    return False


@dataclass(slots=True)
class _Written:
    where: str | None = None
    """The list, as people call it; None when the rows stand in none."""
    objects: int = 0


class _Text:
    """A text that is read as far as it is needed."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._decoder = json.JSONDecoder()
        self.buffer = ""
        self.at = 0

    def peek(self) -> str:
        """The next character that is not blank; '' at the end."""
        while True:
            match = _SPACE.match(self.buffer, self.at)
            self.at = match.end() if match else self.at
            if self.at < len(self.buffer):
                return self.buffer[self.at]
            if not self._more():
                return ""

    def take(self, wanted: str) -> str:
        """The next character, which must be one of those wanted.

        Raises:
            ValueError: it is not.
        """
        seen = self.peek()
        if not seen or seen not in wanted:
            raise ValueError(f"{seen or 'the end'!r} where {' or '.join(wanted)} was expected")
        self.at += 1
        return seen

    def value(self) -> tuple[object, str]:
        """The next value, and its text.

        Raises:
            ValueError: no value stands there, or it is too long.
        """
        self.peek()
        size = _BLOCK
        while True:
            try:
                found, end = self._decoder.raw_decode(self.buffer, self.at)
            except ValueError:
                if len(self.buffer) - self.at > _LONGEST:
                    raise
                # Twice as much each time: an object is not parsed again for each block that it goes over.
                if not self._more(size):
                    raise
                size *= 2
                continue
            if end == len(self.buffer) and self._more():
                continue  # a number may go on in the next block
            text = self.buffer[self.at : end]
            self.at = end
            return found, text

    def _more(self, size: int = _BLOCK) -> bool:
        block = self._file.read(size)
        self.buffer = self.buffer[self.at :] + block
        self.at = 0
        return bool(block)


@dataclass(slots=True)
class _Unfolding:
    evidence: Evidence
    text: _Text
    out: IO[str]
    plain: Callable[[str], str]
    written: _Written = field(default_factory=_Written)

    def run(self, form: str) -> _Written:
        """Write the objects of a document of that form.

        Raises:
            ValueError: broken JSON.
            EvidenceError: no list of objects, or several.
        """
        if form == "list":
            self._list("the list")
        elif form == "envelope":
            self._object((), 1)
        while form == "rows" and self.text.peek():
            self._write(self.text.value()[1])
        if self.text.peek():
            raise ValueError(f"{self.text.peek()!r} behind the document")
        if not self.written.objects:
            raise EvidenceError(
                f"{self.evidence.path}: the JSON document holds no list of objects", "give the export that has the rows"
            )
        return self.written

    def _list(self, where: str) -> None:
        """Write the objects of a list; other values of a list of objects stand as they are and are rejected below."""
        self.text.take("[")
        if self.text.peek() == "]":
            self.text.take("]")
            return
        others = self.text.peek() != "{"
        if not others and self.written.where:
            raise EvidenceError(
                f"{self.evidence.path}: the JSON document holds several lists of objects, {self.written.where} and "
                f"{where}; expected one",
                "cut out the one with the rows: jq -c '.NAME[]' FILE > FILE.jsonl",
            )
        self.written.where = self.written.where if others else where
        while True:
            _, text = self.text.value()
            if not others or where == "the list":
                self._write(text)
            if self.text.take(",]") == "]":
                return

    def _object(self, path: tuple[str, ...], depth: int) -> None:
        """Look for the list in an object: among its values, and in objects among them."""
        self.text.take("{")
        if self.text.peek() == "}":
            self.text.take("}")
            return
        while True:
            name, _ = self.text.value()
            if not isinstance(name, str):
                raise ValueError(f"{name!r} where a name was expected")
            self.text.take(":")
            here = (*path, name)
            if self.text.peek() == "[" and name not in _NO_ROWS:
                self._list(".".join(here))
            elif self.text.peek() == "{" and depth < _DEEPEST:
                self._object(here, depth + 1)
            else:
                self.text.value()
            if self.text.take(",}") == "}":
                return

    def _write(self, text: str) -> None:
        self.out.write(re.sub(r"[\r\n]+\s*", " ", self.plain(text)) + "\n")
        self.written.objects += 1
