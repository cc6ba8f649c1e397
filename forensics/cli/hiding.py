"""The command line as other users of the machine see it (`ps`), without the passwords that stand in its URLs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from forensics.sources.urls import secrets

_ARG_START, _ARG_END = 48, 49
"""Fields of /proc/self/stat: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html."""


def hide_passwords(arguments: Sequence[str]) -> None:
    """Overwrite passwords with stars in this process's own argument memory, where the system lets it (Linux).

    Between the start of the process and this line they can be seen: PGPASSWORD, ~/.pgpass and MYSQL_PWD never can.
    """
    hidden = sorted({s.encode() for a in arguments for s in secrets(a)}, key=len, reverse=True)
    if not hidden:
        return
    with suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        start, end = (int(fields[n - 3]) for n in (_ARG_START, _ARG_END))
        with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
            memory.seek(start)
            seen = memory.read(end - start)
            for secret in hidden:
                seen = seen.replace(b":" + secret + b"@", b":" + b"*" * len(secret) + b"@")
                seen = seen.replace(b"=" + secret, b"=" + b"*" * len(secret))
            memory.seek(start)
            memory.write(seen)
