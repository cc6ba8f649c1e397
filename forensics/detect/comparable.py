"""Which gaps may be a retry's, and what the groups they belong to are labelled with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from forensics.analysis.causes import Clues
from forensics.analysis.cohorts import GapGroup
from forensics.detect.clues import Where
from forensics.detect.copies import ONE_MOMENT_US
from forensics.detect.rows import Judged, LedgerRow

LONGEST_GAP_US = 12 * 3600 * 1_000_000


def comparable_gaps(judged: Sequence[Judged], clues: Mapping[Where, Clues]) -> list[GapGroup]:
    """The gaps of each group that may be a retry's, in order; a gap that cannot be one breaks the chain."""
    groups: list[GapGroup] = []
    chain: list[int] = []
    labels = labels_of(judged)
    group_id = ""
    for item in judged:
        mine = clues.get(where_of(item))
        fits = (
            mine is not None
            and item.gap_us is not None
            and not _speaks_against_retry(mine)
            and not mine.other_gaps_s
            and item.gap_us <= LONGEST_GAP_US
        )
        if item.role in ("kept", "legitimate") or (mine is not None and not fits):
            if chain:
                groups.append(GapGroup(tuple(chain), labels[group_id]))
            chain = []
        elif fits and item.gap_us is not None:
            chain.append(item.gap_us)
            group_id = item.group_id
    if chain:
        groups.append(GapGroup(tuple(chain), labels[group_id]))
    return groups


def labels_of(judged: Sequence[Judged]) -> dict[str, dict[str, str]]:
    """For each group what its effects agree on: channel, sender and how they use keys."""
    found: dict[str, dict[str, str]] = {}
    for group_id, items in groupby(judged, key=lambda j: j.group_id):
        effects = [j.row for j in items if j.row.is_effect]
        named: dict[str, set[str | None]] = {
            "channel": {r.channel for r in effects},
            "sender": {r.sender for r in effects},
            "keys": {_key_use(effects)},
        }
        agreed = {label: values.pop() for label, values in named.items() if len(values) == 1}
        found[group_id] = {label: value for label, value in agreed.items() if value}
    return found


def _key_use(effects: Sequence[LedgerRow]) -> str:
    keys = [r.idempotency_key for r in effects if r.idempotency_key]
    if not keys:
        return "none"
    return "one for the act" if len(set(keys)) == 1 else "one for each attempt"


def _speaks_against_retry(clues: Clues) -> bool:
    return (
        clues.attempt == 1
        or clues.by_hand is True
        or clues.same_call is False
        or clues.other_key is True
        or clues.in_block is True
        or clues.two_schedulers
        or _made_at_once(clues)
        or clues.redelivered is True
        or clues.published_again is True
        or clues.half_price
        or clues.previous_lost is False
    )


def _made_at_once(clues: Clues) -> bool:
    """Whether it is one of the copies of all acts, so close that its gap shows no schedule."""
    close = clues.gap_s <= max(ONE_MOMENT_US / 1e6, clues.resolution_s)
    return clues.fanned_out and close and clues.attempt is None and not clues.previous_lost


def where_of(item: Judged) -> Where:
    """File and line of a row."""
    return item.row.source_id, item.row.line_no
