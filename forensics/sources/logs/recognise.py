"""Which format a log is in, from a sample of its lines.

Every candidate is measured by the share of lines it reads; the most telling of the best wins. Lines that a collector
wrapped (syslog, container runtimes) are unwrapped first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from forensics.sources.logs import added as log_added
from forensics.sources.logs import layout as log_layout
from forensics.sources.logs import named as log_named
from forensics.sources.logs import w3c as log_w3c
from forensics.sources.logs.catalogue import Catalogue, LogFormat, Wrapper, built_in
from forensics.sources.logs.readers import COLOUR
from forensics.sources.logs.strings import stamp_notes

_LONGEST = 6000  # characters; patterns are not tried on longer sample lines


@dataclass(frozen=True, slots=True)
class LogRecognition:
    """The format of a log, and how sure that is."""

    format: LogFormat
    share: float
    """Of the sample's lines, those that the format reads, 0 to 1."""
    why: str
    runner_up: tuple[str, float] | None
    """Id and share of the next best format; None when no other reads a line."""


def recognise(
    sample: Sequence[str], only: str | None = None, catalogue: Catalogue | None = None, least: float = 0.5
) -> LogRecognition | None:
    """The format that reads most of the sample.

    Args:
        sample: up to about a thousand lines; the first may be torn, any may be garbage.
        only: id of the format, where the user says it; then one line that it reads is enough.
        catalogue: formats to choose among, and no others; None: the built-in ones, and what any line tells of itself.
        least: share of the lines that a format must read.

    Returns:
        The recognition; None when no format reads that share of the lines that are not blank. Its format has no
        `stamp` when nothing dates the lines: then they cannot be read.
    """
    lines = _clean(sample)
    if not lines:
        return None
    find = _candidates if catalogue is None else partial(_described, catalogue)
    ranked = sorted(_seen_through(find, lines, catalogue), key=_order)
    if only is not None:
        ranked = [c for c in ranked if c[0].id == only]
    if not ranked or (ranked[0][1] < least and only is None):
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

    def shares(inner: Sequence[str], _: bool) -> Iterator[_Candidate]:
        for each in formats:
            yield each, (_json_share if each.reader == "json" else _share)(each, inner)

    ranked = sorted(_seen_through(shares, lines, None), key=lambda c: (*_order(c), -len(c[0].fields))) if lines else []
    if not ranked or ranked[0][1] == 0 or ranked[0][1] < least:
        return None
    found, share = ranked[0]
    rest = [(f.id, other) for f, other in ranked[1:] if other > 0 and f.id != found.id]
    why = f"{found.product}: reads {share:.0%} of {len(lines)} sample lines"
    return LogRecognition(found, share, why, rest[0] if rest else None)


def _clean(sample: Sequence[str]) -> list[str]:
    """The lines that are not blank, without their ends and without giants."""
    lines = [line.strip("\r\n\x00\ufeff") for line in sample if line.strip("\x00\ufeff \t\r\n")]
    return [line for line in lines if len(line) <= _LONGEST] or [line[:_LONGEST] for line in lines]


_Candidate = tuple[LogFormat, float]


def _order(candidate: _Candidate) -> tuple[float, bool]:
    """Formats by the share they read; of equals those that say when a line was written."""
    return -round(candidate[1], 2), candidate[0].stamp is None


def _seen_through(
    find: Callable[[Sequence[str], bool], Iterator[_Candidate]], lines: Sequence[str], catalogue: Catalogue | None
) -> list[_Candidate]:
    """Candidates for the lines as they stand, and where those read little, for what a collector or terminal wrapped.

    Args:
        find: (lines, whether a collector dates them) -> candidates.
        lines: cleaned.
        catalogue: has wrappers to try before the built-in ones.
    """
    found = list(_plain(find, lines, dated=False))
    if max((share for candidate, share in found if candidate.stamp is not None), default=0.0) < 0.9:
        for wrapper in (*(catalogue.wrappers if catalogue else ()), *built_in().wrappers):
            found += _wrapped(find, lines, wrapper)
    return found


def _plain(
    find: Callable[[Sequence[str], bool], Iterator[_Candidate]], lines: Sequence[str], *, dated: bool
) -> Iterator[_Candidate]:
    """Candidates for the lines without the colours of a terminal."""
    if 2 * sum(1 for line in lines if "\x1b[" in line) <= len(lines):
        yield from find(lines, dated)
        return
    for found, share in find([re.sub(COLOUR, "", line) for line in lines], dated):
        yield replace(found, coloured=True), share


def _described(catalogue: Catalogue, lines: Sequence[str], dated: bool) -> Iterator[_Candidate]:
    """The formats of a catalogue that read a line, with the share they read."""
    if catalogue.json and any(line.startswith("{") for line in lines):
        json_format = log_named.json_log(lines, catalogue.json, dated=dated)
        if json_format is not None and any(json_format.id == shape.id for shape in catalogue.json):
            yield json_format, _json_share(json_format, lines)
    for text_format in catalogue.text:
        special = log_added.specialised(text_format, lines)
        share = _share(special, lines)
        if share > 0:
            yield special, share


def _candidates(lines: Sequence[str], dated: bool) -> Iterator[_Candidate]:
    """Every format that reads a line, with the share it reads; the more telling first."""
    w3c = log_w3c.w3c_log(lines)
    if w3c is not None:
        yield w3c, _row_share(w3c, lines)
    if any(line.startswith("{") for line in lines):
        json_format = log_named.json_log(lines, built_in().json, dated=dated)
        if json_format is not None:
            yield json_format, _json_share(json_format, lines)
    yield from _described(replace(built_in(), json=()), lines, dated)
    common = log_layout.common_log(lines)
    if common is not None:
        yield common, _share(common, lines)
    if sum(1 for line in lines if "=" in line or "\t" in line) * 2 >= len(lines):
        labels = log_named.label_log(lines, dated=dated)
        if labels is not None:
            yield labels, _label_share(labels, lines)


def _wrapped(
    find: Callable[[Sequence[str], bool], Iterator[_Candidate]], lines: Sequence[str], wrapper: Wrapper
) -> Iterator[_Candidate]:
    """Formats that read the lines once what a collector put around them is taken off."""
    inner = _unwrapped(lines, wrapper)
    if 2 * sum(1 for line in inner if line is not None) < len(lines):
        return
    texts = [line if inside is None else inside for line, inside in zip(lines, inner, strict=True)]
    for found, share in _plain(find, texts, dated=wrapper.time is not None):
        inside = replace(found, wrapper=wrapper)
        notes = [f"{wrapper.id.replace('_', ' ')} prefix taken off each line"]
        if found.stamp is None and wrapper.time is not None:
            inside = replace(inside, time_is="end")
            notes[0] += ": its stamp is the time, for the line has none"
            notes += stamp_notes(inside.fields, "end")
        yield replace(inside, notes=(*(n for n in found.notes if n not in notes), *notes)), share


def _unwrapped(lines: Sequence[str], wrapper: Wrapper) -> list[str | None]:
    """What stands inside; None for a line that is not wrapped so."""
    if not wrapper.line:
        test = _compiled(wrapper.pattern)
        return [test.sub("", line, count=1) if test.match(line) else None for line in lines]
    objects = [log_named.parsed(line) if line.startswith("{") else None for line in lines]
    found = [record.get(wrapper.line) if record else None for record in objects]
    return [text.rstrip("\r\n") if isinstance(text, str) else None for text in found]


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
