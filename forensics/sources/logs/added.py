"""Fields an operator added to a product's own line: HAProxy's captured headers, what Envoy or ingress-nginx append.

A pattern of the catalogue has a mark where they stand. What stands there in the sample tells their number, and their
values tell their roles.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from forensics.sources.logs import fields as log_fields
from forensics.sources.logs import guess as log_guess
from forensics.sources.logs import items as log_items
from forensics.sources.logs.catalogue import LogFormat
from forensics.sources.logs.layout import words


@dataclass(frozen=True, slots=True)
class _Mark:
    """How the fields at a mark are found: by a pattern for all of them, then cut into cells of a shape."""

    text: str
    probe: str
    cut: Callable[[str], tuple[tuple[str, ...], tuple[str, ...]]]
    """Text at the mark -> (shape, one word a cell; values)."""
    pattern: Callable[[tuple[str, ...]], str]
    """Shape -> pattern with one group a cell."""
    where: str
    open_end: bool
    """The last cells may be missing."""


def _cut_captures(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """`{a|b} {c} ` -> shape ("first", "next", "first"): where braces open, where a bar parts; none for empty braces."""
    shape: list[str] = []
    values: list[str] = []
    for group in re.findall(r"\{([^}]*)\}", text):
        parts = group.split("|") if group else []
        shape += ["first" if i == 0 else "next" for i in range(len(parts))]
        values += parts
    return tuple(shape), tuple(values)


def _captures_pattern(shape: tuple[str, ...]) -> str:
    """Any of the brace groups may be missing or empty: HAProxy writes none for what was not captured."""
    sizes: list[int] = []
    for cell in shape:
        if cell == "first":
            sizes.append(0)
        sizes[-1] += 1
    groups = (r"(?:\{(?:" + r"\|".join([r"([^|}]*)"] * size) + r")?\} )?" for size in sizes)
    return "".join(groups) + r"(?:\{\} )?"


def _cut_extras(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found = words(text)
    return tuple(f"{w.kind} {w.label}" for w in found), tuple(w.text for w in found)


def _extras_pattern(shape: tuple[str, ...]) -> str:
    inner = {"quoted": r'"((?:[^"\\]|\\.)*)"', "bracketed": r"\[([^\]]*)\]", "bare": f"({log_items.BARE})"}
    parts = []
    for cell in shape:
        kind, _, label = cell.partition(" ")
        parts.append(" " + re.escape(label) + inner[kind])
    return "(?:" + "".join(parts) + ")?"


_MARKS = (
    _Mark("@captures@", r"((?:\{[^}]*\} ){0,2})", _cut_captures, _captures_pattern, "captured header", True),
    _Mark("@extras@", r"((?: .*)?)", _cut_extras, _extras_pattern, "appended field", False),
)


def without_marks(pattern: str) -> str:
    """The pattern with each mark as whatever may stand there, which is no field."""
    for mark in _MARKS:
        pattern = pattern.replace(mark.text, mark.probe.replace("((", "(?:(", 1))
    return pattern


def specialised(text_format: LogFormat, lines: Sequence[str]) -> LogFormat:
    """The format with its mark, if it has one, replaced by the fields found in its place."""
    for mark in _MARKS:
        if mark.text in text_format.pattern:
            return _filled(text_format, lines, mark)
    return text_format


def _filled(text_format: LogFormat, lines: Sequence[str], mark: _Mark) -> LogFormat:
    before = re.compile(text_format.pattern[: text_format.pattern.index(mark.text)]).groups
    test = re.compile(text_format.pattern.replace(mark.text, mark.probe), re.ASCII)
    matches = [m for line in lines if (m := test.match(line))]
    cuts = [mark.cut(m[before + 1]) for m in matches]
    shapes = Counter(shape for shape, _ in cuts if shape)
    if not shapes:
        return replace(text_format, pattern=without_marks(text_format.pattern))
    common = max(shapes, key=lambda s: (shapes[s], len(s)))
    # Response headers are captured behind the request's, in braces that are left out when nothing was.
    shape = max((s for s in shapes if s[: len(common)] == common and mark.open_end), key=len, default=common)
    rows = [
        (m, (*values, *[""] * (len(shape) - len(own))))
        for m, (own, values) in zip(matches, cuts, strict=True)
        if own == shape or (mark.open_end and own == shape[: len(own)])
    ]
    columns = [
        log_guess.Column(
            where=f"{mark.where} {i + 1}",
            values=tuple(values[i] for _, values in rows),
            methods=tuple(_of(text_format, m, "request", before).split(" ")[0] for m, _ in rows),
            statuses=tuple(_of(text_format, m, "status", before) for m, _ in rows),
            bare=shape[i].startswith("bare"),
            label=shape[i].partition(" ")[2].strip(" :="),
        )
        for i in range(len(shape))
    ]
    guessed, why = log_guess.guess(columns, has_duration=text_format.field("duration") is not None)
    fields = (*text_format.fields[:before], *guessed, *text_format.fields[before:])
    return replace(
        text_format,
        fields=log_fields.settled(fields),
        pattern=text_format.pattern.replace(mark.text, mark.pattern(shape)),
        notes=(*text_format.notes, *why),
    )


def _of(text_format: LogFormat, match: re.Match[str], role: str, before: int) -> str:
    """The text of a role in a line matched with the probe, which is one more group."""
    found = text_format.field(role)
    if found is None:
        return ""
    index = found[0]
    return match[index + 1 if index < before else index + 2] or ""
