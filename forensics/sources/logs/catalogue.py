"""What a log format is, and the catalogue of known ones (data/log_formats.toml)."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from forensics.sources.logs.fields import Field


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
    wrapper: str = ""
    """Pattern of what a collector writes before the line (syslog, container runtime): taken off; "docker" for the line
    inside a JSON object."""
    segments: tuple[tuple[int, ...], ...] = ()
    """quotes: the indices of the fields between the quotes, outside and inside by turns; -1 is a part read past."""
    hangup: str = ""
    """Pattern on `flags`: a status below 100 is then 499, the caller hung up first."""

    @property
    def has_offset(self) -> bool:
        """False when stamps carry no offset, so that the zone must be known from elsewhere."""
        return not any(f.role == "time" and f.unit in ("clf_local", "iso_local") for f in self.fields)

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


@cache
def _data() -> dict[str, Any]:
    text = files("forensics.sources").joinpath("data/log_formats.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def text_formats() -> tuple[LogFormat, ...]:
    """Products with a line of their own, in order of preference."""
    return tuple(_text_format(r) for r in _data()["text"])


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


@cache
def json_shapes() -> tuple[JsonShape, ...]:
    """Products whose JSON keys are known."""
    return tuple(
        JsonShape(
            id=r["id"],
            product=r["product"],
            needs=tuple(r["needs"]),
            fields=tuple(
                Field(f["role"], f["path"], f.get("unit", ""), path=f["path"], base=f.get("counts_from"))
                for f in r["fields"]
            ),
            time_is=r["time_is"],
            notes=tuple(r.get("notes", ())),
            hangup=r.get("hangup", ""),
        )
        for r in _data()["json"]
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


@cache
def wrappers() -> dict[str, str]:
    """What collectors write before a line: id -> pattern."""
    return {r["id"]: r["pattern"] for r in _data()["wrapper"]}


@cache
def samples() -> tuple[Sample, ...]:
    """Every sample line of the catalogue."""
    return tuple(
        Sample(r["format"], r["line"], r["expect"], tuple(r.get("sample", (r["line"],)))) for r in _data()["sample"]
    )
