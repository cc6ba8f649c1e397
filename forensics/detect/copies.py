"""Which repeats were made by two creators in the code: all acts k times at once, or two schedulers at one offset."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from forensics.analysis.copies import FEWEST_ACTS, ActCount, FanOut, Step, TwinCreators, fan_outs, twin_creators
from forensics.detect.rows import Judged, LedgerRow
from forensics.runner import Runner

Where = tuple[int, int]
Scope = tuple[str, str | None]
AT_ONCE_US = 5_000_000
ONE_MOMENT_US = 200_000
"""Copies of all acts this close are no schedule of waits; further apart their gaps may show one."""
CREATORS = ("channel", "operator", "sender")
EVERYWHERE: Scope = ("", None)
_MINUTE_S = 60
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def fanned_out(runner: Runner, rows: Sequence[Judged], clock_us: int) -> set[Where]:
    """Repeats of acts that took effect as often as nearly all acts then did (of the case, a channel or a sender).

    Where hardly any act lies outside such a run, the file may be a list of duplicates: then only copies of one moment
    count, for a client that waits would leave the others alike. `clock_us`: how coarse the stamps are.
    """
    quick = [j for j in rows if _is_repeat(j) and (j.gap_us or 0) <= AT_ONCE_US]
    if len(quick) < FEWEST_ACTS:
        return set()
    runs = fan_out_runs(runner)
    if not runs:
        return set()
    acts = runner.run("duplicates/ledger").records()[0]["orders"]
    effects = [j.row for j in rows if j.row.is_effect]
    copies = Counter(_act(row) for row in effects)
    firsts: dict[tuple[object, ...], datetime] = {}
    for row in effects:
        firsts[_act(row)] = min(row.created_at, firsts.get(_act(row), row.created_at))
    return {
        (j.row.source_id, j.row.line_no)
        for j in quick
        if any(
            _in_run(firsts[_act(j.row)], copies[_act(j.row)], run)
            and (acts - run.acts >= FEWEST_ACTS or _at_one_moment(j, clock_us))
            for run in _runs_of(j.row, runs)
        )
    }


def fan_out_runs(runner: Runner) -> dict[Scope, tuple[FanOut, ...]]:
    """Runs of minutes in which nearly all acts took effect k times at once, by (column, value) or EVERYWHERE."""
    scoped: dict[Scope, list[ActCount]] = defaultdict(list)
    for record in runner.run("duplicates/acts_by_multiplicity", at_once_us=AT_ONCE_US).records():
        count = ActCount(*(record[k] for k in ("minute_no", "effects", "acts", "at_once")))
        scoped[EVERYWHERE].append(count)
        for column in ("channel", "sender"):
            if record[column]:
                scoped[column, record[column]].append(count)
    found = {scope: fan_outs(counts) for scope, counts in scoped.items()}
    return {scope: runs for scope, runs in found.items() if runs}


def _at_one_moment(item: Judged, clock_us: int) -> bool:
    return (item.gap_us or 0) <= max(ONE_MOMENT_US, clock_us)


def _runs_of(row: LedgerRow, runs: Mapping[Scope, Iterable[FanOut]]) -> Iterable[FanOut]:
    for scope in (EVERYWHERE, ("channel", row.channel), ("sender", row.sender)):
        yield from runs.get(scope, ())


def _act(row: LedgerRow) -> tuple[object, ...]:
    return row.business_key, row.currency, row.amount


def _in_run(first_at: datetime, copies: int, run: FanOut) -> bool:
    """Code goes live within a minute: those about a run, which hold acts of before or after too, may be of it."""
    minute = (first_at - _EPOCH).total_seconds() // _MINUTE_S
    return copies == run.effects and run.first_minute - 1 <= minute <= run.last_minute + 1


def by_two_schedulers(runner: Runner, rows: Sequence[Judged]) -> set[Where]:
    """Repeats by another creator than the effect before them, at the one offset that this pair of creators keeps."""
    named = ((column, _creators(j, column), j) for j in rows if _is_repeat(j) for column in CREATORS)
    pairs = [(column, creators, j) for column, creators, j in named if creators is not None]
    if len(pairs) < FEWEST_ACTS:
        return set()
    twins = creators_at_one_offset(runner)
    return {
        (j.row.source_id, j.row.line_no)
        for column, (before, mine), j in pairs
        if any(pair.covers(before, mine, (j.gap_us or 0) / 1e6) for pair in twins.get(column, ()))
    }


def _is_repeat(item: Judged) -> bool:
    return item.role in ("excess", "refunded") and item.previous is not None


def _creators(item: Judged, column: str) -> tuple[str, str] | None:
    """Who made the effect before and who this one, where the column names two."""
    before, mine = getattr(item.previous, column), getattr(item.row, column)
    return (before, mine) if before and mine and before != mine else None


def creators_at_one_offset(runner: Runner) -> dict[str, tuple[TwinCreators, ...]]:
    """Pairs of creators that both make nearly every act, by the column that names them."""
    steps: dict[str, list[Step]] = defaultdict(list)
    for record in runner.run("duplicates/offsets_by_creators").records():
        step = Step(*(record[k] for k in ("creator", "next_by", "hour_no", "offset_s", "acts")))
        steps[record["named_by"]].append(step)
    return {column: twin_creators(found) for column, found in steps.items()}
