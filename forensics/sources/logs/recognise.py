"""Which format a log is in, from a sample of its lines.

Every candidate is measured by the share of lines it reads; the most telling of the best wins. Lines that a collector
wrapped (syslog, container runtimes) are unwrapped first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from forensics.sources.logs import added as log_added
from forensics.sources.logs import layout as log_layout
from forensics.sources.logs import named as log_named
from forensics.sources.logs import w3c as log_w3c
from forensics.sources.logs.catalogue import LogFormat, text_formats, wrappers

_LONGEST = 6000  # characters; patterns are not tried on longer sample lines


@dataclass(frozen=True, slots=True)
class LogRecognition:
    """The format of a log, and how sure that is."""

    format: LogFormat
    share: float
    """Of the sample's lines, those that the format reads: 0.5 to 1."""
    why: str
    runner_up: tuple[str, float] | None
    """Id and share of the next best format; None when no other reads a line."""


def recognise(sample: Sequence[str], only: str | None = None) -> LogRecognition | None:
    """The format that reads most of the sample.

    Args:
        sample: up to about a thousand lines; the first may be torn, any may be garbage.
        only: id of the format, where the user says it; then one line that it reads is enough.

    Returns:
        The recognition; None when no format reads at least half of the lines that are not blank.
    """
    lines = _clean(sample)
    if not lines:
        return None
    ranked = sorted(_candidates(lines), key=lambda c: -round(c[1], 2))
    if not ranked or ranked[0][1] < 0.9:
        ranked = sorted([*ranked, *_wrapped(lines)], key=lambda c: -round(c[1], 2))
    if only is not None:
        ranked = [c for c in ranked if c[0].id == only]
    if not ranked or (ranked[0][1] < 0.5 and only is None):
        return None
    (found, share), rest = ranked[0], [c for c in ranked[1:] if c[0].id != ranked[0][0].id and c[1] > 0]
    why = f"{found.product}: reads {share:.0%} of {len(lines)} sample lines"
    return LogRecognition(found, share, why, (rest[0][0].id, rest[0][1]) if rest else None)


def recognise_among(formats: Sequence[LogFormat], sample: Sequence[str], least: float = 0.5) -> LogRecognition | None:
    """Of formats that a configuration defines, the one that reads most of the sample, of equals that with most fields.

    Returns:
        The recognition; None when none reads a line, or at least that share of the lines.
    """
    lines = _clean(sample)
    shares = [((_json_share if f.reader == "json" else _share)(f, lines), len(f.fields), f) for f in formats if lines]
    ranked = sorted(shares, key=lambda s: (-s[0], -s[1]))
    if not ranked or ranked[0][0] == 0 or ranked[0][0] < least:
        return None
    share, _, found = ranked[0]
    rest = [(f.id, other) for other, _, f in ranked[1:] if other > 0]
    why = f"{found.product}: reads {share:.0%} of {len(lines)} sample lines"
    return LogRecognition(found, share, why, rest[0] if rest else None)


def _clean(sample: Sequence[str]) -> list[str]:
    """The lines that are not blank, without their ends and without giants."""
    lines = [line.strip("\r\n\x00\ufeff") for line in sample if line.strip("\x00\ufeff \t\r\n")]
    return [line for line in lines if len(line) <= _LONGEST] or [line[:_LONGEST] for line in lines]


def _candidates(lines: Sequence[str]) -> Iterator[tuple[LogFormat, float]]:
    """Every format that reads a line, with the share it reads; the more telling first."""
    w3c = log_w3c.w3c_log(lines)
    if w3c is not None:
        yield w3c, _row_share(w3c, lines)
    if any(line.startswith("{") for line in lines):
        json_format = log_named.json_log(lines)
        if json_format is not None:
            yield json_format, _json_share(json_format, lines)
    for text_format in text_formats():
        special = log_added.specialised(text_format, lines)
        share = _share(special, lines)
        if share > 0:
            yield special, share
    common = log_layout.common_log(lines)
    if common is not None:
        yield common, _share(common, lines)
    if sum(1 for line in lines if "=" in line or "\t" in line) * 2 >= len(lines):
        labels = log_named.label_log(lines)
        if labels is not None:
            yield labels, _label_share(labels, lines)


def _wrapped(lines: Sequence[str]) -> Iterator[tuple[LogFormat, float]]:
    """Formats that read the lines once what a collector wrote before them is taken off."""
    for wrapper, pattern in wrappers().items():
        test = re.compile(pattern, re.ASCII)
        if 2 * sum(1 for line in lines if test.match(line)) < len(lines):
            continue
        if wrapper == "docker":
            inner = [str((log_named.parsed(line) or {}).get("log", line)).rstrip("\r\n") for line in lines]
        else:
            inner = [test.sub("", line) for line in lines]
        for found, share in _candidates(inner):
            note = f"{wrapper.replace('_', ' ')} prefix taken off each line"
            yield (
                replace(found, wrapper="docker" if wrapper == "docker" else pattern, notes=(*found.notes, note)),
                share,
            )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def _share(log_format: LogFormat, lines: Sequence[str]) -> float:
    test = _compiled(log_format.pattern)
    return sum(1 for line in lines if test.match(line)) / len(lines) if lines else 0.0


def _row_share(log_format: LogFormat, lines: Sequence[str]) -> float:
    """Of the lines that are no directives, those with a cell for every name."""
    names, read, rows = 0, 0, 0
    for line in lines:
        if line.startswith("#"):
            names = len(line.split()) - 1 if line.startswith("#Fields:") else names
            continue
        rows += 1
        read += names > 0 and len(_compiled(log_format.pattern).findall(line)) >= names
    return read / rows if rows else 0.0


def _json_share(log_format: LogFormat, lines: Sequence[str]) -> float:
    needed = [f.path for f in log_format.fields if f.role in ("time", "request", "method", "target")]
    read = 0
    for line in lines:
        record = log_named.parsed(line) if line.startswith("{") else None
        read += record is not None and all(_has(record, path) for path in needed)
    return read / len(lines)


def _has(record: object, path: str) -> bool:
    for key in re.findall(r'"([^"]*)"', path):
        if not isinstance(record, dict) or key not in record:
            return False
        record = record[key]
    return record is not None and record != ""


def _label_share(log_format: LogFormat, lines: Sequence[str]) -> float:
    needed = [f.path for f in log_format.fields if f.role in ("time", "request", "method", "target")]
    tests = [_compiled(log_format.pattern.replace("@label@", re.escape(label))) for label in needed]
    return sum(1 for line in lines if all(t.search(line) for t in tests)) / len(lines)
