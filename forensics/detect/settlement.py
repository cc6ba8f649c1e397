"""The ledger against the provider's settlement: what is on both sides, and why the sums differ, to the last unit.

Definitions, the same for any provider, and per currency:

- ledger_total: all effects less what was given back, over the whole ledger; a payment recorded twice counts once.
- provider_total: the net amounts of the settlement (gross less fee), less what it gave back; payout lines count not.
- fees: gross less net over all rows of the settlement, matched or not; and rows that are fees themselves.
- explained_by_duplicates: duplicates of the ledger that the provider did not settle (it refused them: the repeats of an
  act, or the payment that stands where a repeat was settled in its place), less rows that only the provider has beside
  an equal one of the same order or reference that the ledger has too. A duplicate on both sides makes no difference.
- cutoff: movements booked when the settlement cannot hold them yet or any more, less movements settled when the ledger
  cannot hold them. A duplicate is a duplicate wherever it lies in the ledger; what only the provider has outside the
  ledger's time is cut-off first.
- other: movements within the time that both cover and only one side has, and amounts that differ.

Duplicates are judged before anything is matched, so a doubled row that matches a doubled row stays a duplicate.
Matching and sums are SQL (queries/settlement); only sums and exceptions come here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from forensics.analysis.cutoff import find_cut
from forensics.model import Amounts, RepeatRow, Settlement
from forensics.runner import Runner

PARTS = ("explained_by_duplicates", "fees", "cutoff", "other")
COUNTS = (
    *("matched_ledger_rows", "matched_provider_rows", "by_reference", "by_order", "split", "amount_differs"),
    *("ledger_only", "refused_duplicates", "cutoff_ledger", "missing_at_provider", "recorded_twice"),
    *("provider_only", "provider_duplicates", "cutoff_provider", "missing_in_ledger", "settled_without_effect"),
    *("settled_duplicates", "fee_rows"),
)
_TIGHT_S = 3600
"""Lags that scatter less say when a movement must have been settled; else what was matched says it."""
_TAIL = 0.005
_OUTSIDE = ("before", "after")
_Where = tuple[int, int]
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Window:
    """A time within which movements of one side must stand on the other."""

    first: datetime | None
    last: datetime | None

    def parameters(self) -> dict[str, datetime]:
        """As the queries take it, naive UTC; what is not known has no bound."""
        bounds = {"covered_from": self.first, "covered_to": self.last}
        return {name: at.replace(tzinfo=None) for name, at in bounds.items() if at is not None}


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A movement that only the ledger has, and what it is."""

    row: Record
    """Of settlement/unsettled_rows."""
    label: str
    """refused_duplicate | recorded_twice | cutoff | missing_at_provider."""


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The settlement, and the exceptions behind it."""

    settlement: Settlement
    unsettled: tuple[Unsettled, ...]
    unbooked: tuple[Record, ...]
    """Of settlement/unbooked_rows: the largest of each class."""
    differing: tuple[Record, ...]
    """Of settlement/differing: the largest."""
    unsettled_window: Window
    unbooked_window: Window

    @property
    def refused(self) -> frozenset[_Where]:
        """Effects of repeated orders that the provider does not have."""
        return frozenset(
            _where(u.row) for u in self.unsettled if u.label == "refused_duplicate" and u.row["direction"] == 1
        )


def measure_settlement(runner: Runner, rows: Sequence[RepeatRow], zones: Sequence[str]) -> Reconciled | None:
    """Match ledger and settlement and account for the difference; None when the settlement has no rows of movements.

    Args:
        rows: the judged rows of repeated orders.
        zones: IANA names in which the provider may close its payouts, the likeliest first.
    """
    for view in ("written_again", "settlement_pairs", "unsettled", "unbooked"):
        runner.keep(view)
    periods = runner.run("settlement/periods").records()[0]
    if not periods["settled_rows"]:
        return None
    lags = [(row["lag_s"], row["pairs"]) for row in runner.run("settlement/lags").records()]
    booked, paid = _windows(periods, lags)
    unsettled = _label(runner.run("settlement/unsettled_rows", **booked.parameters()).records(), rows)
    matched = runner.run("settlement/matched").records()
    only_ledger = runner.run("settlement/unsettled_sums", **booked.parameters()).records()
    only_provider = runner.run("settlement/unbooked_sums", **paid.parameters()).records()
    doubled = sum(r.role in ("excess", "refunded") for r in rows) - sum(
        u.label == "refused_duplicate" and u.row["amount"] > 0 for u in unsettled
    )
    counts = _count(matched, only_ledger, only_provider, unsettled)
    counts.update({"settled_duplicates": max(0, doubled), "recorded_twice": periods["recorded_twice"]})
    payouts = runner.run("settlement/payouts").records()
    cut = find_cut(_spans(payouts), zones)
    settlement = Settlement(
        **_sum(matched, only_ledger, only_provider, unsettled),
        counts={name: counts[name] for name in COUNTS},
        cut=cut.words() if cut else None,
        covered_from=booked.first,
        covered_to=booked.last,
        beside_share=_beside(lags),
    )
    return Reconciled(
        settlement,
        tuple(unsettled),
        tuple(runner.run("settlement/unbooked_rows", **paid.parameters()).records()),
        tuple(runner.run("settlement/differing").records()),
        booked,
        paid,
    )


# The time that both cover ---------------------------------------------------------------------------------------


def _windows(periods: Record, lags: Sequence[tuple[int, int]]) -> tuple[Window, Window]:
    """When a ledger row must have been settled, and when a settled row must have been booked."""
    if not lags:
        return Window(None, None), Window(None, None)
    low, high = _quantile(lags, _TAIL), _quantile(lags, 1 - _TAIL) + 1
    if high - low > _TIGHT_S:
        return (
            Window(periods["booked_first"], periods["booked_last"]),
            Window(periods["paid_first"], periods["paid_last"]),
        )
    soonest, latest = timedelta(seconds=low), timedelta(seconds=high)
    return (
        Window(periods["provider_first"] - soonest, periods["provider_last"] - latest),
        Window(periods["ledger_first"] + latest, periods["ledger_last"] + soonest),
    )


def _quantile(counted: Sequence[tuple[int, int]], share: float) -> int:
    """The value below which that share of the counted values lies; values come in order."""
    left = share * sum(n for _, n in counted)
    for value, n in counted:
        left -= n
        if left <= 0:
            return value
    return counted[-1][0]


def _beside(lags: Sequence[tuple[int, int]]) -> float | None:
    if not lags:
        return None
    usual = _quantile(lags, 0.5)
    return sum(n for lag, n in lags if abs(lag - usual) <= _TIGHT_S) / sum(n for _, n in lags)


def _spans(payouts: Iterable[Record]) -> list[tuple[datetime, datetime]]:
    """First and last row of each payout, whatever its currencies."""
    spans: dict[str, tuple[datetime, datetime]] = {}
    for row in payouts:
        if row["payout"] and row["first_at"]:
            first, last = spans.get(row["payout"], (row["first_at"], row["last_at"]))
            spans[row["payout"]] = min(first, row["first_at"]), max(last, row["last_at"])
    return list(spans.values())


# What only the ledger has ---------------------------------------------------------------------------------------


def _label(unsettled: Sequence[Record], rows: Sequence[RepeatRow]) -> list[Unsettled]:
    """What each unsettled movement is; the judgement of duplicates comes before the cut-off."""
    judged: dict[_Where, RepeatRow] = {(r.source_id, r.line_no): r for r in rows}
    open_effects = {_where(u) for u in unsettled if u["direction"] == 1}
    settled_repeats = Counter(
        r.group_id for r in rows if r.role in ("excess", "refunded") and (r.source_id, r.line_no) not in open_effects
    )
    refused: Counter[tuple[str, Decimal]] = Counter()
    labelled = []
    for movement in sorted(unsettled, key=lambda u: (-u["direction"], _where(u))):
        label = "missing_at_provider" if movement["place"] == "within" else "cutoff"
        row = judged.get(_where(movement))
        if row and row.role == "recorded_twice":
            label = "recorded_twice"
        elif row and movement["direction"] == 1:
            stood_in = row.role == "kept" and settled_repeats[row.group_id] > 0
            if stood_in or row.role in ("excess", "refunded"):
                label = "refused_duplicate"
                refused[row.group_id, movement["amount"]] += 1
                settled_repeats[row.group_id] -= stood_in
        elif row and refused[row.group_id, -movement["amount"]]:
            label = "refused_duplicate"  # given back in the ledger alone, like the payment that it gives back
            refused[row.group_id, -movement["amount"]] -= 1
        labelled.append(Unsettled(movement, label))
    return labelled


def _where(row: Record) -> _Where:
    return row["source_id"], row["line_no"]


# Sums -----------------------------------------------------------------------------------------------------------


def _sum(
    matched: Sequence[Record],
    only_ledger: Sequence[Record],
    only_provider: Sequence[Record],
    unsettled: Sequence[Unsettled],
) -> dict[str, Amounts]:
    """The totals and each part of the difference from its own rows, by currency."""
    sums: dict[str, dict[str, Decimal]] = {
        name: defaultdict(Decimal) for name in ("ledger_total", "provider_total", *PARTS)
    }
    for row in matched:
        sums["ledger_total"][row["ledger_currency"]] += row["ledger_amount"]
        sums["other"][row["ledger_currency"]] += row["ledger_amount"]
        sums["other"][row["provider_currency"]] -= row["gross"]
        sums["provider_total"][row["provider_currency"]] += row["net"]
        sums["fees"][row["provider_currency"]] += row["gross"] - row["net"]
    for row in only_ledger:
        sums["ledger_total"][row["currency"]] += row["amount"]
        sums["cutoff" if row["place"] in _OUTSIDE else "other"][row["currency"]] += row["amount"]
    for row in only_provider:
        part = {"duplicate": "explained_by_duplicates", "before": "cutoff", "after": "cutoff"}
        sums[part.get(row["class"], "other")][row["currency"]] -= row["gross"]
        sums["provider_total"][row["currency"]] += row["net"]
        sums["fees"][row["currency"]] += row["gross"] - row["net"]
    for found in unsettled:
        if found.label in ("refused_duplicate", "recorded_twice"):
            currency, amount = found.row["currency"], found.row["amount"]
            sums["cutoff" if found.row["place"] in _OUTSIDE else "other"][currency] -= amount
            name = "explained_by_duplicates" if found.label == "refused_duplicate" else "ledger_total"
            sums[name][currency] += amount if found.label == "refused_duplicate" else -amount
    currencies = sorted({currency for by_currency in sums.values() for currency in by_currency})
    total = {name: {c: by_currency[c] for c in currencies} for name, by_currency in sums.items()}
    return {**total, "difference": {c: total["ledger_total"][c] - total["provider_total"][c] for c in currencies}}


def _count(
    matched: Sequence[Record],
    only_ledger: Sequence[Record],
    only_provider: Sequence[Record],
    unsettled: Sequence[Unsettled],
) -> Counter[str]:
    """Rows of each class."""
    counts: Counter[str] = Counter()
    for row in matched:
        counts["matched_ledger_rows"] += row["ledger_rows"]
        counts["matched_provider_rows"] += row["provider_rows"]
        counts["split" if row["how"] == "split" else f"by_{row['how']}"] += row["ledger_rows"]
        counts["amount_differs"] += row["differing_rows"]
    for row in only_ledger:
        counts["ledger_only"] += row["members"]
        counts["cutoff_ledger" if row["place"] in _OUTSIDE else "missing_at_provider"] += row["members"]
    for found in unsettled:
        if found.label in ("refused_duplicate", "recorded_twice"):
            counts["cutoff_ledger" if found.row["place"] in _OUTSIDE else "missing_at_provider"] -= 1
            counts["refused_duplicates" if found.label == "refused_duplicate" else "recorded_twice"] += 1
    counts["ledger_only"] -= counts["recorded_twice"]
    names = {"duplicate": "provider_duplicates", "before": "cutoff_provider", "after": "cutoff_provider"}
    names |= {"not_an_effect": "settled_without_effect", "unknown": "missing_in_ledger"}
    for row in only_provider:
        if row["class"] != "fee":
            counts["provider_only"] += row["members"]
            counts[names[row["class"]]] += row["members"]
    counts["fee_rows"] = sum(row["fee_rows"] for row in (*matched, *only_provider))
    return counts
