"""Other engines: is a query within the portable subset, what does it read, and how is it said elsewhere.

The only user of sqlglot. A translation is given only where it is known to be true: what cannot be said truly in
another engine is refused, because SQL that runs and means something else is worse than none.
"""

from __future__ import annotations

from forensics.dialects.portable import check_portable
from forensics.dialects.rendering import DIALECTS, render
from forensics.dialects.trees import tables_read

__all__ = ["DIALECTS", "check_portable", "render", "tables_read"]
