"""What our own code or schedulers made more than once, as findings: since when, how many of all acts, by whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from forensics.amounts import many
from forensics.analysis.copies import FanOut, TwinCreators
from forensics.analysis.words import seconds
from forensics.detect.copies import EVERYWHERE, creators_at_one_offset, fan_out_runs
from forensics.detect.duplicates import evidence_of, sum_by_currency
from forensics.model import BusinessKey, Finding, RepeatRow
from forensics.runner import Runner

_MOST_NAMED = 4
_GOES_LIVE = "a consumer or hook registered twice, a trigger that fires per row, a join that doubles rows"
_GOES_LIVE = "a consumer or hook registered twice, a trigger that fires per row, a join that doubles rows"
_MONEY = "see in the provider's settlement whether money moved as often: two systems may write down one payment each"


def find_made_twice(runner: Runner, rows: Sequence[RepeatRow], key: BusinessKey) -> tuple[Finding, ...]:
    """A finding for each of the two causes that rows have: fan_out, two_schedulers."""
    fanned = [r for r in rows if r.cause == "fan_out"]
    scheduled = [r for r in rows if r.cause == "two_schedulers"]
    found = []
    if fanned:
        found.append(_fanned_out(runner, fanned, key))
    if scheduled:
        found.append(_two_schedulers(runner, scheduled, key))
    return tuple(found)


def _fanned_out(runner: Runner, rows: Sequence[RepeatRow], key: BusinessKey) -> Finding:
    scoped = fan_out_runs(runner)
    if EVERYWHERE in scoped:
        scoped = {EVERYWHERE: scoped[EVERYWHERE]}
    runs = [(*scope, run) for scope, found in scoped.items() for run in found]
    whose = ", ".join(f"{column} {value}" for column, value in list(scoped)[:_MOST_NAMED] if column)
    first, last = min(r.created_at for r in rows), max(r.created_at for r in rows)
    return _finding(
        "fan_out",
        rows,
        f"Nearly every {key.noun}{' of ' if whose else ''}{whose} took effect more than once, at once",
        f"{many(len(rows), 'payment')} too many, {first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC. "
        f"No failure picks every {key.noun}: our own code made them.",
        tuple(_run_words(column, value, run, key) for column, value, run in runs[:_MOST_NAMED]),
        "duplicates/acts_by_multiplicity",
        (f"look for what went live about {first:%Y-%m-%d %H:%M} UTC: {_GOES_LIVE}", _MONEY),
    )


def _run_words(column: str, value: str | None, run: FanOut, key: BusinessKey) -> str:
    start, end = _minute(run.first_minute), _minute(run.last_minute + 1)
    whose = f"{column} {value}: " if column else ""
    return (
        f"{whose}{run.fanned:,} of {many(run.acts, key.noun)} took effect {run.effects} times at once, "
        f"{start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"
    )


def _minute(minute_no: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(minutes=minute_no)


def _two_schedulers(runner: Runner, rows: Sequence[RepeatRow], key: BusinessKey) -> Finding:
    pairs = [(column, pair) for column, found in creators_at_one_offset(runner).items() for pair in found]
    return _finding(
        "two_schedulers",
        rows,
        f"Two creators both made {many(len(rows), key.noun)}, at one offset",
        f"{many(len(rows), 'payment')} too many: the same work ran under two names, again and again at one offset.",
        tuple(_pair_words(column, pair, key) for column, pair in pairs[:_MOST_NAMED]),
        "duplicates/offsets_by_creators",
        ("switch one of the two off, or give them one lock that lasts for a whole run", _MONEY),
    )


def _pair_words(column: str, pair: TwinCreators, key: BusinessKey) -> str:
    middle = (pair.low_s + pair.high_s + 1) / 2
    first, second = (pair.first, pair.second) if middle >= 0 else (pair.second, pair.first)
    after = f"{seconds(abs(middle))} after" if abs(middle) > 1 else "at the time of"
    return f"{column} {second} made {many(pair.acts, key.noun)} about {after} {first}"


def _finding(
    cause: str,
    rows: Sequence[RepeatRow],
    title: str,
    statement: str,
    why: tuple[str, ...],
    query: str,
    next_steps: tuple[str, ...],
) -> Finding:
    return Finding(
        id=cause.replace("_", "-"),
        rule=f"duplicates/{cause}",
        title=title,
        severity="high",
        confidence=round(sum(r.confidence for r in rows) / len(rows), 4),
        statement=statement,
        why=why,
        alternatives=tuple(_others(rows)),
        numbers={"rows": len(rows)},
        money={"excess": sum_by_currency(rows)},
        query=query,
        parameters={},
        evidence=evidence_of(rows),
        evidence_total=len(rows),
        next_steps=next_steps,
    )


def _others(rows: Sequence[RepeatRow]) -> Iterator[tuple[str, float]]:
    """The two other causes with the most weight."""
    weight: dict[str, float] = {}
    for row in rows:
        for cause, p in row.alternatives:
            weight[cause] = weight.get(cause, 0.0) + p
    for cause in sorted(weight, key=lambda c: (-weight[c], c))[:2]:
        yield cause, round(weight[cause] / len(rows), 4)
