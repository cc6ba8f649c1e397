"""forensics.toml: what the users say once for all runs, so that the command line need not.

What the command line says counts more than the file, and a table under [[files]] more than the top of the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from forensics import schema
from forensics.amounts import many
from forensics.analysis.catalogue import load_catalogue
from forensics.detect.business_key import check_key
from forensics.errors import UsageError
from forensics.model import CatalogueEntry, Decision
from forensics.settings.decisions import FIELDS as DECISION_FIELDS
from forensics.settings.decisions import decision_of, read_decisions
from forensics.settings.fields import Field, Place, read_table, tables_of
from forensics.settings.policies import read_policy
from forensics.sources.options import Options, check

SETTINGS_NAME = "forensics.toml"
DECISIONS_NAME = "decisions.csv"

_EVIDENCE = {
    "zone": Field(str, 'an IANA zone such as "Asia/Seoul"'),
    "currency": Field(str, 'an ISO 4217 code such as "KRW"'),
    "unit": Field(str, '"minor" or "major"', ("minor", "major")),
    "status": Field(dict, 'words and what they mean, such as PAID_PARTIAL = "captured"'),
}
_FILE = {
    "pattern": Field(str, 'a name or pattern such as "export-*.csv"', required=True),
    "kind": Field(str, "the name of a canonical table", tuple(t.name for t in schema.EVIDENCE_TABLES)),
    "format": Field(str, "csv, jsonl or the id of a log format"),
    "log_format": Field(str, "nginx's or Apache's format string"),
    "map": Field(dict, 'columns and their headings, such as order_id = "주문번호"'),
    **_EVIDENCE,
}
_TOP = {
    **_EVIDENCE,
    "key": Field(list, 'columns of the ledger, such as ["sender", "message_no"]'),
    "holidays": Field(list, 'local days such as ["2026-12-25", "2027-01-01"]'),
    "timeout_s": Field(float, "seconds, zero or more", least=0),
    "refund_confidence": Field(float, "a number from 0 to 1", least=0),
    "decisions": Field(str, 'the path of a decisions file, such as "decisions.csv"'),
}
_LISTS = {"files": ("file pattern",), "policy": ("policy", "policies"), "decision": ("decision",)}
"""Lists of tables, and what one of each is called."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a settings file says."""

    file: str
    """Its name, as shown."""
    evidence: Options
    """For every file of evidence; in it what [[files]] says of some."""
    key: tuple[str, ...]
    """Columns that name a business act; empty where it says none."""
    timeout_s: float | None
    refund_confidence: float | None
    policies: tuple[CatalogueEntry, ...]
    decisions: tuple[Decision, ...]
    holidays: tuple[date, ...]
    """Days whose traffic is not compared with that of others."""
    decisions_file: Path | None
    """Where it says that decisions stand; None where it says none."""
    said: tuple[str, ...]
    """The keys that it holds, in order."""


def find_settings(given: Path | None, folder: Path) -> Settings | None:
    """The settings in the file given, else in the folder's forensics.toml; None where there is none.

    Raises:
        UsageError: the file cannot be read, or holds what it should not.
    """
    path = given or folder / SETTINGS_NAME
    if given is None and not path.is_file():
        return None
    return read_settings(path)


def read_settings(path: Path) -> Settings:
    """The settings of one file.

    Raises:
        UsageError: it cannot be read, or holds what it should not.
    """
    name = path.name
    content = _content(path)
    top = Place(name)
    lists = {key: tables_of(top, key, content.pop(key)) for key in _LISTS if key in content}
    values = read_table(top, _days_as_text(content), _TOP)
    if values.get("refund_confidence", 0) > 1:
        raise top.refuse("refund_confidence", values["refund_confidence"], "a number from 0 to 1")
    by_file = tuple(_of_files(place, table) for place, table in lists.get("files", ()))
    return Settings(
        file=name,
        evidence=_options(top, values, by_file),
        key=check_key(tuple(values["key"]), f"{name}: key") if "key" in values else (),
        timeout_s=values.get("timeout_s"),
        refund_confidence=values.get("refund_confidence"),
        policies=_policies(lists.get("policy", ())),
        decisions=tuple(_decision(place, table) for place, table in lists.get("decision", ())),
        holidays=tuple(_day(top, text) for text in values.get("holidays", ())),
        decisions_file=path.parent / values["decisions"] if "decisions" in values else None,
        said=(*values, *(many(len(found), *_LISTS[key]) for key, found in lists.items())),
    )


def find_decisions(given: Path | None, settings: Settings | None, folder: Path) -> tuple[Decision, ...]:
    """All decisions: those of the settings, and of the file given, else named there, else the folder's decisions.csv.

    Raises:
        UsageError: a file cannot be read, or holds what it should not.
    """
    own = settings.decisions if settings else ()
    named = given or (settings.decisions_file if settings else None)
    if named is not None:
        return (*own, *read_decisions(named))
    path = folder / DECISIONS_NAME
    return (*own, *read_decisions(path)) if path.is_file() else own


def _content(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise UsageError(f"{path}: the settings cannot be read: {exc.strerror}", "check the path of --config") from exc
    except UnicodeDecodeError as exc:
        raise UsageError(f"{path}: expected TOML in UTF-8, found other bytes at {exc.start}") from exc
    except tomllib.TOMLDecodeError as exc:
        raise UsageError(f"{path}: expected TOML: {exc}", "see https://toml.io") from exc


def _of_files(place: Place, table: object) -> tuple[str, Options]:
    values = read_table(place, table, _FILE)
    return values["pattern"], _options(place, values, ())


def _options(place: Place, values: Mapping[str, Any], by_file: tuple[tuple[str, Options], ...]) -> Options:
    options = Options(
        kind=values.get("kind"),
        mapping=values.get("map", {}),
        zone=values.get("zone"),
        format=values.get("format"),
        log_format=values.get("log_format"),
        unit=values.get("unit"),
        currency=values.get("currency"),
        status=values.get("status", {}),
        by_file=by_file,
    )
    try:
        check(options)
    except UsageError as exc:
        raise UsageError(f"{place}: {exc.message.removeprefix('--')}", exc.hint) from exc
    return options


def _days_as_text(content: dict[str, Any]) -> dict[str, Any]:
    """The top of a file with its holidays as text; a day may be written as TOML's own or as text."""
    days = content.get("holidays")
    if not isinstance(days, list):
        return content
    return {**content, "holidays": [str(day) if type(day) is date else day for day in days]}


def _day(place: Place, text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as exc:
        raise place.refuse("holidays", text, _TOP["holidays"].expected) from exc


def _decision(place: Place, table: object) -> Decision:
    """A decision; a day may be written as TOML's own or as text."""
    if isinstance(table, Mapping):
        table = {key: str(value) if type(value) is date else value for key, value in table.items()}
    return decision_of(str(place), read_table(place, table, DECISION_FIELDS))


def _policies(tables: Any) -> tuple[CatalogueEntry, ...]:
    taken = {entry.id for entry in load_catalogue()}
    found = []
    for place, table in tables:
        found.append(read_policy(place, table, taken))
        taken.add(found[-1].id)
    return tuple(found)
