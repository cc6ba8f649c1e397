"""What names a business act: the user's columns, or the candidate that the ledger itself speaks for.

The order number is taken where it names at least half of the effects, because a person, a provider and a log know an
act by it. It is dangerous alone where one number stands for several acts (amendments, part payments, wallets), so what
it repeats with other amounts is told, and so are the runners-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from forensics.amounts import many
from forensics.errors import UsageError
from forensics.model import BusinessKey, KeyCandidate, Source
from forensics.model.business_key import DEFAULT_KEY, KEY_COLUMNS
from forensics.runner import Runner

MOST_COLUMNS = 4
_ENOUGH_NAMED = 0.5
_CROWDED = 20
_PREFERRED = (
    DEFAULT_KEY,
    ("sender", "message_no"),
    ("sender", "message_no", "day"),
    ("message_no",),
    ("provider_ref",),
)


def parse_key(text: str) -> tuple[str, ...]:
    """The columns of a key as the user writes them: 'sender,message_no,day'.

    Raises:
        UsageError: a column that the ledger does not have, one named twice, more than four, or the day alone.
    """
    return check_key(tuple(part.strip() for part in text.split(",")), f"--key {text}")


def check_key(columns: tuple[str, ...], said: str) -> tuple[str, ...]:
    """The columns, if they can name an act. `said`: how a refusal names the place where they were given.

    Raises:
        UsageError: they cannot.
    """
    hint = f"columns that may be named: {', '.join(KEY_COLUMNS)}; another heading is named by --map message_no=HEADING"
    unknown = next((c for c in columns if c not in KEY_COLUMNS), None)
    if unknown is not None:
        raise UsageError(f"{said}: {unknown!r} is no column that can name a business act", hint)
    if len(set(columns)) < len(columns):
        raise UsageError(f"{said}: expected each column once", hint)
    if not 1 <= len(columns) <= MOST_COLUMNS or columns == ("day",):
        raise UsageError(f"{said}: expected one to {MOST_COLUMNS} columns, and the day only beside another", hint)
    return columns


def settle_key(runner: Runner, sources: Sequence[Source], given: tuple[str, ...], zone: str | None) -> BusinessKey:
    """Choose what names an act, and let the runner group by it from here on.

    Args:
        given: the user's columns; empty: measure the candidates and choose.
        zone: where days are cut; None: where the ledger's times were read, else UTC.

    Raises:
        UsageError: the user's columns name no row of the ledger.
    """
    day_zone = zone or next((s.zone for s in sources if s.kind == "payments" and s.zone), "UTC")
    offset_us, moves = _day_offset(sources, day_zone)
    candidates = measure_candidates(runner, offset_us)
    columns = given or choose(candidates)
    if columns != DEFAULT_KEY:
        parts = {f"part_{n}": column for n, column in enumerate(columns, 1)}
        runner.rekey(**parts, day_offset_us=offset_us)
    chosen = next((c for c in candidates if c.columns == columns), None) or _measure(runner, columns)
    if given and not chosen.named:
        raise UsageError(
            f"the business key {','.join(columns)} names no effect of the ledger: no row has all of these columns",
            "see 'forensics sources' for what was read as which column, and --map",
        )
    others = tuple(c for c in candidates if c.columns != columns)
    cautions = _cautions(chosen)
    if "day" in columns:
        cautions += (f"days are cut at midnight of {day_zone}: a repeat across midnight counts as another act",)
        cautions += (f"the clocks of {day_zone} change within the ledger; one offset is used",) if moves else ()
    return BusinessKey(
        columns=columns,
        given=bool(given),
        why="given by the user" if given else _why(chosen, others),
        cautions=cautions,
        candidates=(chosen, *others),
        day_zone=day_zone if "day" in columns else None,
    )


def measure_candidates(runner: Runner, day_offset_us: int = 0) -> tuple[KeyCandidate, ...]:
    """The candidates that name any effect, in order of preference."""
    effects = _effects(runner)
    found = {
        tuple(record.pop("candidate").split(",")): record
        for record in runner.run("keys/key_candidates", day_offset_us=day_offset_us).records()
    }
    return tuple(KeyCandidate(c, effects, **found[c]) for c in _PREFERRED if c in found)


def choose(candidates: Sequence[KeyCandidate]) -> tuple[str, ...]:
    """The preferred candidate that names enough effects, else the one that names most; the order number if none does.

    A message number without its sender is taken only where no sender is known, and the day joins them where it takes
    away at least half of the repeats: numbers that start again every day.
    """
    by_columns = {c.columns: c for c in candidates}
    enough = [c for c in candidates if c.coverage >= _ENOUGH_NAMED]
    best = enough[0] if enough else max(candidates, key=lambda c: c.named, default=None)
    if best is None:
        return DEFAULT_KEY
    daily = by_columns.get((*best.columns, "day"))
    if daily is not None and best.repeats and 2 * daily.repeats <= best.repeats:
        return daily.columns
    return best.columns


def _effects(runner: Runner) -> int:
    return int(runner.run("duplicates/ledger").records()[0]["effects"])


def _measure(runner: Runner, columns: tuple[str, ...]) -> KeyCandidate:
    return KeyCandidate(columns, _effects(runner), **runner.run("keys/chosen_key").records()[0])


def _day_offset(sources: Sequence[Source], zone: str) -> tuple[int, bool]:
    """How far the zone is ahead of UTC over the ledger, in microseconds, and whether that changes within it."""
    moments = [m for s in sources if s.kind == "payments" for m in (s.first_at, s.last_at) if m is not None]
    place = ZoneInfo(zone)
    offsets = [moment.astimezone(place).utcoffset() for moment in moments or [datetime(1970, 1, 1, tzinfo=UTC)]]
    ahead = [round(offset.total_seconds() * 1e6) for offset in offsets if offset is not None]
    return ahead[0], min(ahead) != max(ahead)


def _why(chosen: KeyCandidate, others: Sequence[KeyCandidate]) -> str:
    if chosen.columns[-1] == "day":
        return "the numbers of a sender come again on other days, and the day takes most of these repeats away"
    if chosen.coverage < _ENOUGH_NAMED:
        return "no column names half of the effects, and this one names most"
    if chosen.columns == DEFAULT_KEY:
        return "orders are what people, providers and logs know an act by" if others else "nothing else names an act"
    return "no order number names half of the effects"


def _cautions(chosen: KeyCandidate) -> tuple[str, ...]:
    said = []
    if chosen.columns == DEFAULT_KEY and chosen.other_amounts:
        said.append(
            f"{many(chosen.other_amounts, 'order number')} with effects of different amounts: one number may stand for "
            "several acts (amendments, part payments, shipments), so only equal amounts are held against each other"
        )
    if chosen.most >= _CROWDED:
        said.append(
            f"one name stands for {chosen.most:,} effects: it may be a wallet, a series or a stand-in, and not one act"
        )
    if chosen.columns == ("provider_ref",):
        said.append(
            "a provider's reference usually names one movement of money: what was charged twice then bears two, and is "
            "not seen as a repeat"
        )
    if chosen.columns[0] in ("message_no", "sender") and "day" not in chosen.columns and chosen.repeated:
        said.append(
            "numbers that start again make other acts look repeated; --key sender,message_no,day tells them apart"
        )
    if chosen.named < chosen.effects:
        rest = chosen.effects - chosen.named
        said.append(f"{many(rest, 'effect')} without it: counted, never grouped with one another, and not compared")
    return tuple(said)
