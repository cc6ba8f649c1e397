"""The log formats that an nginx configuration defines: its `log_format` directives, as nginx itself reads them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from forensics.errors import UsageError
from forensics.sources.logs.catalogue import LogFormat
from forensics.sources.logs.strings import from_log_format

_MOST_BYTES = 16 << 20
_START = re.compile(r"^(?:[^#'\"\n]*[;{}])?[ \t]*log_format(?=\s)", re.MULTILINE)
_TOKEN = re.compile(
    r"\s*(?:#[^\n]*|(?P<end>;)|'(?P<single>(?:[^'\\]|\\.)*)'|\"(?P<double>(?:[^\"\\]|\\.)*)\"|(?P<bare>[^\s;'\"#][^\s;]*))",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\([\"'\\])")


def read_nginx_conf(path: Path, name: str | None = None) -> tuple[LogFormat, ...]:
    """The formats of a configuration that can be read: with a time and a request in them.

    Args:
        name: the one that is wanted, if it is known which.

    Raises:
        UsageError: no such file, no log_format in it, none of that name, none that can be read.
    """
    found = directives(_text(path))
    if not found:
        raise UsageError(
            f"--nginx-conf {path}: no log_format directive in it",
            "name the file that holds it: grep -r log_format /etc/nginx",
        )
    if name is not None and name not in found:
        raise UsageError(
            f"--log-format {name[:80]}: {path} defines no log_format of that name", f"it defines {', '.join(found)}"
        )
    formats: list[LogFormat] = []
    why: UsageError | None = None
    for each, (escape, body) in found.items():
        if name not in (None, each):
            continue
        try:
            described = from_log_format(body, escapes=escape == "json")
        except UsageError as exc:
            why = exc
            continue
        formats.append(replace(described, product=f"nginx, by log_format {each} of {path.name}"))
    if not formats and why is not None:
        raise UsageError(f"--nginx-conf {path}: no log_format of it can be used; {why.message}", why.hint)
    return tuple(formats)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else exc
        raise UsageError(f"--nginx-conf {path}: the file cannot be read: {why}", "check the path") from exc


def directives(text: str) -> dict[str, tuple[str, str]]:
    """Name -> (escape, format) of every log_format directive; the strings of a format joined as nginx joins them."""
    found: dict[str, tuple[str, str]] = {}
    for start in _START.finditer(text):
        words = _words(text, start.end())
        if len(words) < 2:
            continue
        name, *strings = words
        escape = strings.pop(0).removeprefix("escape=") if strings[0].startswith("escape=") else "default"
        found[name] = escape, "".join(strings)
    return found


def _words(text: str, at: int) -> list[str]:
    """The words of a directive up to its semicolon, without their quotes; none when it is not ended."""
    words: list[str] = []
    while match := _TOKEN.match(text, at):
        at = match.end()
        if match["end"]:
            return words
        word = next((match[kind] for kind in ("single", "double", "bare") if match[kind] is not None), None)
        if word is not None:
            words.append(_ESCAPED.sub(r"\1", word))
    return []
