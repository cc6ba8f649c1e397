"""What was rejected of one source, by reason: how many rows, and the first of them as examples."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

EXAMPLES = 3
# What a row held stands in its reason between "expected, '" and "' found", and is no part of the reason itself.
_REASON = "regexp_replace(reason, ' expected, ''.*'' found$', ' expected, something else found', 's')"


@dataclass(frozen=True, slots=True)
class Rejected:
    """The rows of one source that were rejected for one reason."""

    reason: str
    rows: int
    examples: tuple[tuple[int, str, str | None], ...]
    """Line, reason as written for it, and text of the first rows."""


def rejected_by_reason(connection: duckdb.DuckDBPyConnection, source_id: int) -> tuple[Rejected, ...]:
    """The reasons of a source, the most frequent first."""
    rows = connection.execute(
        "SELECT grouped, rows, line_no, reason, text FROM (SELECT *, count(*) OVER (PARTITION BY grouped) AS rows, "
        "row_number() OVER (PARTITION BY grouped ORDER BY line_no, reason, text) AS nth "
        f"FROM (SELECT line_no, reason, text, {_REASON} AS grouped FROM rejects WHERE source_id = $id)) "
        "WHERE nth <= $examples ORDER BY rows DESC, grouped, nth",
        {"id": source_id, "examples": EXAMPLES},
    ).fetchall()
    found: dict[str, Rejected] = {}
    for grouped, count, *example in rows:
        before = found[grouped].examples if grouped in found else ()
        found[grouped] = Rejected(grouped, count, (*before, (example[0], example[1], example[2])))
    return tuple(found.values())
