"""Rows whose time can be read two ways, because clocks showed it twice or never: what their gaps may be as well."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from forensics.detect.rows import Judged, LedgerRow
from forensics.runner import Runner

_SECOND = timedelta(seconds=1)

Where = tuple[int, int]


def other_times(runner: Runner) -> Mapping[Where, datetime]:
    """The other reading of each row that has one, by (source_id, line_no)."""
    if not runner.count("clock_folds"):
        return {}
    records = runner.run("case/clock_folds").records()
    return {(r["source_id"], r["line_no"]): r["other_at"] for r in records}


def other_gaps_s(item: Judged, times: Mapping[Where, datetime]) -> tuple[float, ...]:
    """Seconds between the row and the effect before it by every reading but the one taken, shortest first."""
    if item.previous is None:
        return ()
    mine, theirs = _readings(item.row, times), _readings(item.previous, times)
    gaps = {abs(a - b) for a in mine for b in theirs} - {abs(mine[0] - theirs[0])}
    return tuple(gap.total_seconds() for gap in sorted(gaps))


def _readings(row: LedgerRow, times: Mapping[Where, datetime]) -> tuple[datetime, ...]:
    other = times.get((row.source_id, row.line_no))
    return (row.created_at,) if other is None else (row.created_at, other)


def may_be_one_payment(item: Judged, other_gaps: tuple[float, ...], resolution_s: float) -> bool:
    """Whether row and effect before it are of one moment by some reading, and no ids of their own tell them apart."""
    before = item.previous
    if before is None or not other_gaps or min(other_gaps) > max(resolution_s, _SECOND.total_seconds()):
        return False
    return not (item.row.payment_id and before.payment_id and item.row.payment_id != before.payment_id)
