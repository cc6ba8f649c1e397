"""What every database driver here does, so that the rest need not know which one it is."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import Literal, Protocol

from forensics.errors import EvidenceError
from forensics.sources.urls import Url

Kind = Literal["instant", "naive", "date", "integer", "decimal", "float", "boolean", "text"]
"""What a column holds: instant is a time with its zone settled, naive a time without; anything else is text."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the database describes it."""

    heading: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Since:
    """Only rows from a moment on."""

    column: Column
    instant: datetime
    """UTC, without tzinfo."""
    local: datetime
    """The same moment on the wall clock of columns that carry no offset."""

    @property
    def epoch_s(self) -> float:
        """Seconds since 1970."""
        return self.instant.replace(tzinfo=UTC).timestamp()


class Driver(Protocol):
    """One read-only session; everything it raises is an EvidenceError in our words, without the password."""

    def find(self, table: str) -> str:
        """What to select from to read a table: its name, found in the catalogue and quoted.

        Raises:
            EvidenceError: there is none; the nearest names are in the hint.
        """

    def tables(self) -> list[str]:
        """The names of the tables and views that --table takes."""

    def describe(self, select: str) -> tuple[Column, ...]:
        """The columns of a SELECT, without reading its rows."""

    def records(self, select: str, since: Since | None) -> Generator[bytes, None, None]:
        """The rows as CSV records: every cell quoted, NULL as nothing at all; pieces may hold part of a record.

        Kinds that only the rows tell (SQLite) are in `kinds` once the last is read.
        """

    def kinds(self) -> Mapping[str, Kind]:
        """What reading has told about columns c0, c1, ... beyond `describe`."""

    def close(self) -> None:
        """End the session, also in the middle of the rows."""


def record(cells: Sequence[bytes | None]) -> bytes:
    """One CSV record, told apart: an empty text is "", NULL is nothing."""
    return b",".join([b"" if c is None else b'"' + c.replace(b'"', b'""') + b'"' for c in cells]) + b"\n"


def hexadecimal(cell: bytes) -> bytes:
    """Binary data as text, as PostgreSQL shows it: \\x00ff."""
    return b"\\x" + cell.hex().encode()


def import_driver(url: Url, module: str, extra: str) -> ModuleType:
    """A driver's library.

    Raises:
        EvidenceError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as exc:
        raise EvidenceError(
            f"{url}: the library that reads {url.engine} databases, {module}, is not installed",
            f"pip install 'payment-forensics[{extra}]'",
        ) from exc


def no_such_table(url: Url, table: str, names: Sequence[str], qualified: str = "") -> EvidenceError:
    """The error that names what is near.

    Args:
        qualified: what the server hides, where it does not tell absent from forbidden.
    """
    by_fold = {n.casefold(): n for n in names}
    by_fold |= {n.rpartition(".")[2].casefold(): n for n in names}
    near = [by_fold[n] for n in get_close_matches(table.casefold(), list(by_fold), n=3)]
    if near:
        hint = f"did you mean {' or '.join(dict.fromkeys(near))}?"
    else:
        hint = f"it has: {', '.join(names[:20])}" if names else "the user sees no tables there"
    return EvidenceError(f"{url}: there is no table {table!r}{qualified}", hint)


def reworded(url: Url, exc: Exception) -> str:
    """What a driver says, in one line and without the password (or that of a TLS key)."""
    text = " ".join(str(exc).split()) or type(exc).__name__
    for secret in (url.password, *(v for k, v in url.parameters.items() if "password" in k)):
        text = text.replace(secret, "***") if secret else text
    return text
