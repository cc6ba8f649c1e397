"""Find duplicate payments, say how much must go back, and name the retry policy that made them.

from forensics import Case

with Case("case.duckdb") as case:
    case.load(["payments.csv", "access.log.gz"])
    case.query("duplicates/repeated_orders").records()
    scan = case.scan()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["Case", "ForensicsError", "Options", "ScanOptions", "__version__", "match_gaps"]

if TYPE_CHECKING:
    from forensics.analysis.match import match_gaps
    from forensics.case import Case
    from forensics.detect.options import ScanOptions
    from forensics.errors import ForensicsError
    from forensics.sources.options import Options

_HOMES = {
    "Case": "forensics.case",
    "ScanOptions": "forensics.detect.options",
    "Options": "forensics.sources.options",
    "ForensicsError": "forensics.errors",
    "match_gaps": "forensics.analysis.match",
}


def __getattr__(name: str) -> object:
    """Import the public names when they are first used: the command line must not pay for what it does not need."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'forensics' has no attribute {name!r}")
