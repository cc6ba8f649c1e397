"""Everything this package raises on purpose.

ForensicsError            base; carries the one sentence and the one hint that the terminal prints
├── UsageError            the call itself is wrong: exit code 2
├── EvidenceError         a file, line or value could not be used: exit code 1
│   └── UnrecognisedError no reader knows what the file is
├── CaseError             the case file cannot be opened, is of another version, or is held by another process: exit 1
└── QueryError            a query file is malformed or failed; a failed query is never "nothing found": exit 1
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process says to the shell."""

    OK = 0
    EVIDENCE = 1
    USAGE = 2
    FINDINGS = 3
    INTERRUPTED = 130


class ForensicsError(Exception):
    """One sentence saying where, what was seen and what was expected; and a hint saying what to do."""

    exit_code = ExitCode.EVIDENCE

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(ForensicsError):
    """The command or call cannot mean anything."""

    exit_code = ExitCode.USAGE


class EvidenceError(ForensicsError):
    """Evidence that could not be used."""


class UnrecognisedError(EvidenceError):
    """A file of no known kind."""


class CaseError(ForensicsError):
    """The case file could not be opened or is not ours."""


class QueryError(ForensicsError):
    """A query file is malformed, was given wrong parameters, or failed in the engine."""
