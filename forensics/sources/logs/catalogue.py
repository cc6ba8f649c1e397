"""What a log format is, and the catalogue of known ones (data/log_formats.toml)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

from forensics.sources.logs.fields import Field


@dataclass(frozen=True, slots=True)
class Wrapper:
    """What a collector (syslog, a container runtime, a log service) puts around a line."""

    id: str
    pattern: str = ""
    """Of the text before the line, with one group where it holds a time; read as formats' patterns are."""
    line: str = ""
    """For a collector that makes an object of each line: the key of the line."""
    time: Field | None = None
    """The stamp it adds: of the moment the line was written. For objects its path is a key."""


@dataclass(frozen=True, slots=True)
class LogFormat:
    """How one line of a log is read, and what its fields mean."""

    id: str
    """nginx_combined, haproxy_http, ..."""
    product: str
    """Who writes it, in words."""
    reader: str
    """How the text of the fields is had.

    regex    `pattern`, one group a field
    quotes   cut at the double quotes, `pattern` where that does not do: for products that never write a quote inside
             a field, and the fastest
    json     an object a line
    labels   `label:value` or `key=value`; `pattern` with @label@ in it
    columns  cells found by `pattern`, named by the #Fields line above
    """
    fields: tuple[Field, ...]
    """For regex and quotes in the order of the groups of `pattern`."""
    pattern: str = ""
    """Read by Python's re and by RE2 alike: no look-around, no back-references."""
    time_is: str = "end"
    """start | end: which moment of the request the stamp is."""
    notes: tuple[str, ...] = ()
    """What a reader of the rows should know."""
    wrapper: Wrapper | None = None
    """What a collector put around the line: taken off, and its stamp used where the line has none of its own."""
    coloured: bool = False
    """Lines hold the escape sequences of a terminal, which are taken out first."""
    latest: datetime | None = None
    """For stamps without a year: the local time that none of them is after."""
    segments: tuple[tuple[int, ...], ...] = ()
    """quotes: the indices of the fields between the quotes, outside and inside by turns; -1 is a part read past."""
    hangup: str = ""
    """Pattern on `flags`: a status below 100 is then 499, the caller hung up first."""

    @property
    def stamp(self) -> Field | None:
        """The time of a line: its own stamp or date, else its collector's stamp; None when nothing dates it."""
        own = next((f for f in self.fields if f.role in ("time", "date")), None)
        return own or (self.wrapper.time if self.wrapper else None)

    @property
    def has_offset(self) -> bool:
        """False when stamps carry no offset, so that the zone must be known from elsewhere."""
        unit = self.stamp.unit if self.stamp else ""
        return not (unit in ("clf_local", "iso_local", "no_year") or (unit.startswith("%") and "%z" not in unit))

    def field(self, role: str) -> tuple[int, Field] | None:
        """Index and field of that role; None when the format has none."""
        for index, field in enumerate(self.fields):
            if field.role == role:
                return index, field
        return None


@dataclass(frozen=True, slots=True)
class JsonShape:
    """A product's JSON line: recognised by keys it must have, read by the paths it is known to write."""

    id: str
    product: str
    needs: tuple[str, ...]
    """Dotted paths that lines of it have."""
    fields: tuple[Field, ...]
    time_is: str
    notes: tuple[str, ...]
    hangup: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """A line of a format and what must come out of it; the test suite reads them all."""

    format_id: str
    line: str
    expect: dict[str, Any]
    sample: tuple[str, ...]
    """The lines it is recognised from; the line alone when the format is told at sight."""
    latest: datetime | None = None
    """For stamps without a year: the moment that none of them is after."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Formats described as data, in order of preference."""

    text: tuple[LogFormat, ...]
    """Products with a line of their own."""
    json: tuple[JsonShape, ...]
    """Products whose JSON keys are known."""
    wrappers: tuple[Wrapper, ...]
    samples: tuple[Sample, ...]


@cache
def _data() -> dict[str, Any]:
    text = files("forensics.sources").joinpath("data/log_formats.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def built_in() -> Catalogue:
    """The formats of data/log_formats.toml."""
    return catalogue_of(_data())


def catalogue_of(data: Mapping[str, Any]) -> Catalogue:
    """The formats of a file of that shape, whose records are in order."""
    return Catalogue(
        text=tuple(_text_format(r) for r in data.get("text", ())),
        json=tuple(_json_shape(r) for r in data.get("json", ())),
        wrappers=tuple(_wrapper(r) for r in data.get("wrapper", ())),
        samples=tuple(_sample(r) for r in data.get("sample", ())),
    )


def _text_format(record: dict[str, Any]) -> LogFormat:
    """A pattern's named groups are its fields; `units` and `bases` add what the name does not say."""
    units: dict[str, str] = record.get("units", {})
    names: dict[str, str] = record.get("names", {})
    pattern: str = record["pattern"]
    fields = tuple(
        Field(role, names.get(role, role), units.get(role, ""))
        for role in re.findall(r"\(\?P<(\w+)>", pattern)
    )  # fmt: skip
    return LogFormat(
        id=record["id"],
        product=record["product"],
        reader="regex",
        fields=fields,
        pattern=re.sub(r"\(\?P<\w+>", "(", pattern),
        time_is=record["time_is"],
        notes=tuple(record.get("notes", ())),
        hangup=record.get("hangup", ""),
    )


def _json_shape(record: dict[str, Any]) -> JsonShape:
    return JsonShape(
        id=record["id"],
        product=record["product"],
        needs=tuple(record["needs"]),
        fields=tuple(
            Field(f["role"], f["path"], f.get("unit", ""), path=f["path"], base=f.get("counts_from"))
            for f in record["fields"]
        ),
        time_is=record["time_is"],
        notes=tuple(record.get("notes", ())),
        hangup=record.get("hangup", ""),
    )


@cache
def json_keys() -> dict[str, Field]:
    """Keys operators choose, folded -> meaning."""
    return _dictionary("json_keys")


@cache
def variables(product: str) -> dict[str, Field]:
    """`nginx` variables without their $, or `apache` directives without their %."""
    return _dictionary(product)


def _dictionary(table: str) -> dict[str, Field]:
    """Rows of `name = "role"` or `name = "role unit"`."""
    found: dict[str, Field] = {}
    for name, meaning in _data()[table].items():
        role, _, unit = meaning.partition(" ")
        found[name] = Field(role, name, unit)
    return found


def _wrapper(record: dict[str, Any]) -> Wrapper:
    """A group named time is its stamp; an object names the keys of line and time."""
    pattern: str = record.get("pattern", "")
    unit = record.get("time_unit", "")
    path = record.get("time", "")
    return Wrapper(
        id=record["id"],
        pattern=pattern.replace("(?P<time>", "("),
        line=record.get("line", ""),
        time=Field("time", f"{record['id']} stamp", unit, path=path) if path or "(?P<time>" in pattern else None,
    )


def _sample(record: dict[str, Any]) -> Sample:
    return Sample(
        record["format"],
        record["line"],
        record["expect"],
        tuple(record.get("sample", (record["line"],))),
        datetime.fromisoformat(record["latest"]) if "latest" in record else None,
    )
