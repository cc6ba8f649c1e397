"""Which files are meant: a folder's files and those that match a pattern, rotated logs oldest first."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path

from forensics.errors import EvidenceError, ForensicsError, UsageError
from forensics.model import Refused
from forensics.sources.stdin import STDIN
from forensics.sources.urls import Url, is_url

_NO_EVIDENCE = ("readme*", "license*", "*.md", "truth.*", "*.duckdb", "*.duckdb.wal", "forensics.toml", "decisions.csv")
"""Files of a folder that are passed over: words about the evidence, cases, settings and decisions."""
_PACKED = re.compile(r"\.(gz|bz2|xz|zst|zip)$", re.IGNORECASE)
_ROTATED = re.compile(r"(?P<base>.*?)[.-](?:(?P<number>\d{1,4})|(?P<day>\d{4}-?\d{2}-?\d{2}(?:[-T.]?\d+)?))")


def gather(
    given: Sequence[Path | Url | str], progress: Callable[[str], None] = lambda _: None
) -> tuple[list[Path | Url | str], list[Refused]]:
    """What was given, folders and patterns replaced by their files; and those that give none, with the reason.

    Raises:
        UsageError: standard input is given twice.
    """
    if sum(str(one) == str(STDIN) for one in given) > 1:
        raise UsageError("- is given twice: standard input can be read once", "save one of the two to a file")
    found: list[Path | Url | str] = []
    refused: list[Refused] = []
    for one in given:
        try:
            found += [one] if isinstance(one, Url) or is_url(str(one)) else _files(Path(one), progress)
        except ForensicsError as exc:
            refused.append(Refused(str(one), exc.message, exc.hint))
    return found, refused


def in_time_order(paths: Iterable[Path]) -> list[Path]:
    """Name order, but rotated logs oldest first: access.log.2.gz, access.log.1, access.log."""
    return sorted(paths, key=_age)


def _age(path: Path) -> tuple[str, bool, str, int, str]:
    """Folder and name without rotation; then dated by day, numbered from the highest, and last the current one."""
    name = _PACKED.sub("", path.name)
    rotated = _ROTATED.fullmatch(name)
    base = str(path.with_name(rotated["base"] or name if rotated else name))
    if rotated is None:
        return base, True, "", 0, path.name
    return base, False, rotated["day"] or "", -int(rotated["number"] or 0), path.name


def _files(path: Path, progress: Callable[[str], None]) -> list[Path]:
    """The files meant by one path; a path that is neither folder nor pattern means itself."""
    try:
        if path.is_dir():
            return _of_folder(path, progress)
        if path == STDIN or path.exists() or not glob.has_magic(str(path)):
            return [path]
        # Path.glob takes no absolute pattern, and a pattern is typed as a whole
        matches = [p for p in map(Path, glob.glob(str(path), recursive=True)) if p.is_file()]  # noqa: PTH207
    except PermissionError as exc:
        raise EvidenceError(f"{path}: no permission to look into the folder", "check the folder's permissions") from exc
    except (OSError, ValueError):  # a name that no file can have: told where it is read
        return [path]
    if not matches:
        raise EvidenceError(
            f"{path}: no file matches the pattern", "see what is there with ls; * stands for any part of one name"
        )
    return in_time_order(matches)


def _of_folder(folder: Path, progress: Callable[[str], None]) -> list[Path]:
    shown = [p for p in folder.iterdir() if not p.name.startswith(".")]
    taken = [p for p in shown if p.is_file() and not any(fnmatch(p.name.casefold(), form) for form in _NO_EVIDENCE)]
    others = sorted(p.name + "/" * p.is_dir() for p in shown if p not in taken)
    if not taken:
        inside = f" (only {', '.join(others)[:200]})" if others else ""
        raise EvidenceError(
            f"{folder}: the folder holds no file of evidence{inside}", "name the files, or the folder they are in"
        )
    if others:
        progress(f"in {folder} not read: {', '.join(others)[:400]}")
    return in_time_order(taken)
