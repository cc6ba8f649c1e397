"""Standard input as evidence: kept in a temporary file, because evidence is looked at more than once."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

from forensics.errors import EvidenceError, ForensicsError
from forensics.sources.evidence import Evidence, prepare

STDIN = Path("-")
"""How standard input is given and shown."""


def prepare_stdin(workdir: Path) -> Evidence:
    """Read standard input to its end and make it readable, under the path - and the name stdin.

    Args:
        workdir: where the copy is written; the caller removes it.

    Raises:
        EvidenceError: it is closed, empty or breaks off.
        UnrecognisedError: it is no table and no log.
    """
    spooled = workdir / "stdin"
    try:
        if sys.stdin is None:
            raise EvidenceError("-: there is no standard input", "pipe the evidence in, or name a file")
        with spooled.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
    except OSError as exc:
        raise EvidenceError(f"-: standard input cannot be read: {exc.strerror}", "name a file instead") from exc
    try:
        found = prepare(spooled, workdir)
    except ForensicsError as exc:
        raise type(exc)(exc.message.replace(str(spooled), str(STDIN)), exc.hint) from exc
    return replace(found, path=STDIN)
