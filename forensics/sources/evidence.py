"""From a path to bytes that a reader can take: what the container is, its digest, and clean text.

Text readers above this module see one thing only: an uncompressed UTF-8 file without byte order mark. What had to
be done to get there (unzipped, transcoded) is remembered and told.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from forensics.errors import EvidenceError, UnrecognisedError
from forensics.sources import zstandard
from forensics.sources.encodings import legacy_encoding
from forensics.sources.urls import Url

_BLOCK = 1 << 20
_SAMPLE = 1 << 18

SHEETS = ("xlsx", "ods")
_ODS = b"application/vnd.oasis.opendocument.spreadsheet"
_HOLE = re.compile(r"(^|\n)\x00+")
_REFUSED_MAGIC = (
    (b"%PDF", "a PDF document", "export the table behind it as CSV"),
    (b"\x89PNG", "a PNG picture", "give the table or log itself, not a picture of it"),
    (b"\xff\xd8\xff", "a JPEG picture", "give the table or log itself, not a picture of it"),
    (b"SQLite format 3", "a SQLite database", "say which table of it: --table payments"),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word file", "save it as .xlsx or CSV"),
    (b"\x7fELF", "a program", "give a table or a log"),
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One file as given, and the form in which it is read."""

    path: Path | Url
    """As given."""
    name: str
    """Base name."""
    sha256: str
    """Of the bytes on disk; for a database, of its rows."""
    container: str
    """text | parquet | xlsx | ods | camt.053 | mt940 | postgresql | mysql | sqlite."""
    readable: Path
    """What a reader opens: `path` itself, or a temporary clean copy."""
    encoding: str | None
    """Encoding of the original text; None for binary containers."""
    lines: int
    """Line ends in the clean text, the last line counted whether or not it is ended; 0 for binary containers."""
    has_quotes: bool
    """Whether a double quote occurs in the text."""
    notes: tuple[str, ...]
    """What was done to read it."""


def prepare(path: Path, workdir: Path) -> Evidence:
    """Look at a file and make it readable.

    Args:
        path: the file as given.
        workdir: where a clean copy may be written; the caller removes it.

    Raises:
        EvidenceError: missing, empty, unreadable.
        UnrecognisedError: a container that is no table and no log.
    """
    _check_is_file(path)
    try:
        with path.open("rb") as file:
            head = file.read(16)
        if not head:
            raise EvidenceError(f"{path}: the file is empty", "check the export; an empty file is evidence of nothing")
        if head.startswith(b"PAR1"):
            return Evidence(path, path.name, _digest(path), "parquet", path, None, 0, False, ())
        if head.startswith(b"PK\x03\x04") and (workbook := _workbook(path)):
            return Evidence(path, path.name, _digest(path), workbook, path, None, 0, False, ())
        for magic, what, todo in _REFUSED_MAGIC:
            if head.startswith(magic):
                raise UnrecognisedError(f"{path}: this is {what}; expected a table or an access log", todo)
        with ThreadPoolExecutor(max_workers=1) as pool:  # the other core is idle while the text is looked over
            digest = pool.submit(_digest, path)
            return _prepare_text(path, head, digest, workdir)
    except PermissionError as exc:
        raise EvidenceError(
            f"{path}: no permission to read the file", f"chmod u+r {path.name}, or ask its owner"
        ) from exc
    except RuntimeError as exc:  # zipfile: encrypted, or packed in a way it does not know
        raise EvidenceError(
            f"{path}: the archive cannot be opened: {exc}", "unpack it and name the file in it"
        ) from exc
    except (OSError, EOFError, zipfile.BadZipFile, lzma.LZMAError, zlib.error) as exc:
        raise EvidenceError(
            f"{path}: the file cannot be read to its end: {exc}", "copy it again; it may be cut off"
        ) from exc


def _check_is_file(path: Path) -> None:
    try:
        if not path.exists():
            near = _nearest(path)
            raise EvidenceError(f"{path}: there is no such file", f"did you mean {near}?" if near else "check the path")
    except PermissionError as exc:
        raise EvidenceError(f"{path}: no permission to look at the file", "check the folder's permissions") from exc


def _nearest(path: Path) -> str | None:
    from difflib import get_close_matches

    siblings = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    near = get_close_matches(path.name, siblings, n=1)
    return str(path.parent / near[0]) if near else None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _workbook(path: Path) -> str | None:
    """xlsx or ods, by the members of a zip archive; None for any other archive."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if any(name.startswith("xl/") for name in names):
            return "xlsx"
        if "mimetype" in names and "content.xml" in names:
            with archive.open("mimetype") as file:
                return "ods" if file.read(60).startswith(_ODS) else None
    return None


@contextmanager
def _open_uncompressed(path: Path, head: bytes) -> Iterator[tuple[IO[bytes], str | None]]:
    """The bytes of a text file, and the name of the compression they were in."""
    if head.startswith(b"\x1f\x8b"):
        with gzip.open(path) as file:
            yield cast(IO[bytes], file), "gzip"
    elif head.startswith(b"BZh"):
        with bz2.open(path) as file:
            yield cast(IO[bytes], file), "bzip2"
    elif head.startswith(b"\xfd7zXZ"):
        with lzma.open(path) as file:
            yield cast(IO[bytes], file), "xz"
    elif head.startswith(zstandard.MAGIC):
        with zstandard.open_zstd(path) as file:
            yield file, "zstd"
    elif head.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.namelist() if not m.endswith("/") and not m.startswith("__MACOSX/")]
            if len(members) != 1:
                raise EvidenceError(
                    f"{path}: a zip archive with {len(members)} files, expected one", "unpack it and name the files"
                )
            with archive.open(members[0]) as member:
                yield member, "zip"
    else:
        with path.open("rb") as file:
            yield file, None


def _prepare_text(path: Path, head: bytes, digest: Future[str], workdir: Path) -> Evidence:
    with _open_uncompressed(path, head) as (file, compression):
        sample = file.read(_SAMPLE)
    if not sample:
        raise EvidenceError(f"{path}: the file is empty once unpacked", "check the export")
    encoding = _encoding(sample, path)
    notes = [f"unpacked from {compression}"] if compression else []
    survey = None
    if encoding == "utf-8":
        with _open_uncompressed(path, head) as (file, _):
            survey = _survey_utf8(file)
        if survey.odd_block:
            encoding = legacy_encoding(survey.odd_block) or "cp1252"
    old_mac = b"\r" in sample and b"\n" not in sample
    bare = compression is None and not old_mac and not sample.startswith(codecs.BOM_UTF8)
    readable = path
    if not bare or survey is None or survey.replaced or survey.odd_block:
        readable = workdir / f"{digest.result()[:16]}.txt"
        with _open_uncompressed(path, head) as (file, _):
            survey = _transcode(file, encoding, readable, old_mac)
        if survey.replaced:
            notes.append(f"{survey.replaced} characters that no {encoding} text has are shown as U+FFFD")
    shown = "utf-8-sig" if encoding == "utf-8" and sample.startswith(codecs.BOM_UTF8) else encoding
    return Evidence(
        path, path.name, digest.result(), "text", readable, shown, survey.lines, survey.has_quotes, tuple(notes)
    )


@dataclass(frozen=True, slots=True)
class _Survey:
    lines: int
    has_quotes: bool
    replaced: int
    """Characters shown as U+FFFD in the clean copy (or that will have to be)."""
    odd_block: bytes = b""
    """The first block that is no UTF-8, if any; the survey ends there."""


def _encoding(sample: bytes, path: Path) -> str:
    """utf-8, utf-16 or a legacy encoding, decided on the first quarter of a megabyte.

    Raises:
        UnrecognisedError: the bytes are no text.
    """
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    head = re.sub(_HOLE.pattern.encode(), rb"\1", sample)[:400]
    if head.count(0) > len(head) // 5 or not head:
        raise UnrecognisedError(
            f"{path}: binary data, expected a table (CSV, JSON, Parquet, xlsx, ods) or an access log",
            "export it in one of these forms",
        )
    decoder: Any = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(sample)
    except UnicodeDecodeError:
        return legacy_encoding(sample) or "utf-8"
    return "utf-8"


def _survey_utf8(file: IO[bytes]) -> _Survey:
    """Count lines, look for quotes and for bytes that have no place in text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    lines, quotes, odd, last = 0, False, 0, b"\n"
    while True:
        block = file.read(_BLOCK)
        try:
            if not block.isascii() or decoder.getstate()[0]:  # most texts are; a letter may be cut by the block's end
                decoder.decode(block, final=not block)
        except UnicodeDecodeError:
            return _Survey(0, False, 0, block)
        if not block:
            return _Survey(lines + (last != b"\n"), quotes, odd)
        lines += block.count(b"\n")
        quotes = quotes or b'"' in block
        # To look for a byte is ten times as fast as to count it, and most texts hold none.
        odd += sum(block.count(byte) for byte in (b"\x00", b"\x1f") if byte in block)
        last = block[-1:]


def _transcode(file: IO[bytes], encoding: str, target: Path, old_mac: bool) -> _Survey:
    """Write the text as UTF-8 without byte order mark.

    Bytes that are not of the encoding become U+FFFD, and so do NUL and the unit separator: readers below use the
    latter as the one character that no line contains. Lines that end in a carriage return alone get line feeds. The
    NULs before a line are the hole that a rotation left in a file still being written to (copytruncate): no text.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)(errors="replace")
    lines, quotes, replaced, last = 0, False, 0, "\n"
    with target.open("w", encoding="utf-8", newline="") as out:
        while True:
            block = file.read(_BLOCK)
            text = _HOLE.sub(r"\1", decoder.decode(block, final=not block))
            text = text.replace("\x00", "\ufffd").replace("\x1f", "\ufffd")
            text = text.replace("\r", "\n") if old_mac else text
            out.write(text)
            lines += text.count("\n")
            quotes = quotes or '"' in text
            replaced += text.count("\ufffd")
            last = text[-1:] or last
            if not block:
                return _Survey(lines + (last != "\n"), quotes, replaced)
