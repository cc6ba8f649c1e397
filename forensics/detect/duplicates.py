"""Which business acts took effect more than once, and how much money that is: the sums and the findings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from forensics.amounts import many, money_words
from forensics.model import (
    Amounts,
    BusinessKey,
    CauseTotal,
    EvidenceRow,
    Finding,
    PaymentsSummary,
    RepeatRow,
)
from forensics.model.business_key import DEFAULT_KEY
from forensics.runner import Runner

REFUND_PROBABILITY = 0.95
"""Default of --refund-confidence: at most one in twenty of the listed payments may be wrong before a person checks."""
EVIDENCE_CAP = 200
_NOTHING_LAWFUL = "nothing in the rows that makes it lawful"


def sum_by_currency(rows: Iterable[RepeatRow]) -> Amounts:
    """Exact sums of amounts by currency, in order of currency."""
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for row in rows:
        sums[row.currency] += row.amount
    return {currency: sums[currency] for currency in sorted(sums)}


def is_refundable(row: RepeatRow, threshold: float = REFUND_PROBABILITY) -> bool:
    """Whether finance may act on the row: excess, not yet given back, and beyond doubt."""
    return row.role == "excess" and row.held_back is None and (row.excess_probability or 0.0) >= threshold


def needs_review(row: RepeatRow, threshold: float = REFUND_PROBABILITY) -> bool:
    """Whether a person must judge the row: an excess that is not beyond doubt, or a repeat read as lawful by weight."""
    if row.role == "excess":
        return row.held_back is None and not is_refundable(row, threshold)
    return row.role == "legitimate" and bool(row.alternatives)


def hold_back_refused(rows: Sequence[RepeatRow], refused: Collection[tuple[int, int]]) -> tuple[RepeatRow, ...]:
    """The rows, with those marked for which the provider holds no money.

    Args:
        refused: (source_id, line_no) of effects that the provider's settlement does not have. Where it lacks the kept
            one, one excess that it does have stands in its place.
    """
    kept_missing = Counter(r.group_id for r in rows if r.role == "kept" and (r.source_id, r.line_no) in refused)
    marked = []
    for row in rows:
        why = None
        if row.role == "excess" and (row.source_id, row.line_no) in refused:
            why = "the provider did not settle it: no money to give back"
        elif row.role == "excess" and kept_missing[row.group_id]:
            kept_missing[row.group_id] -= 1
            why = "the provider settled it in place of the first, which it does not have"
        marked.append(replace(row, held_back=why, why=f"{row.why}; {why}") if why else row)
    return tuple(marked)


def summarise(runner: Runner, rows: Sequence[RepeatRow], threshold: float) -> PaymentsSummary:
    """The ledger as a whole."""
    ledger = runner.run("duplicates/ledger").records()[0]
    gross = [r for r in rows if r.role in ("excess", "refunded")]
    given_back = [r for r in rows if r.role == "refunded"]
    refunds = [r for r in rows if is_refundable(r, threshold)]
    refused = [r for r in rows if r.held_back]
    return PaymentsSummary(
        rows=ledger["rows"],
        orders=ledger["orders"],
        effects=ledger["effects"],
        without_order=ledger["without_order"],
        unknown_status=ledger["unknown_status"],
        duplicate_orders=len({r.business_key for r in rows}),
        orders_with_excess=len({r.business_key for r in gross}),
        excess_rows=len(gross),
        excess_amount=sum_by_currency(gross),
        already_refunded_rows=len(given_back),
        already_refunded_amount=sum_by_currency(given_back),
        recorded_twice_rows=sum(r.role == "recorded_twice" for r in rows),
        legitimate_rows=sum(r.role == "legitimate" for r in rows),
        review_rows=len(gross) - len(given_back) - len(refunds) - len(refused),
        refund_rows=len(refunds),
        refund_amount=sum_by_currency(refunds),
        refused_rows=len(refused),
        refused_amount=sum_by_currency(refused),
    )


def sum_causes(rows: Sequence[RepeatRow]) -> tuple[CauseTotal, ...]:
    """Excess rows and money by cause, most rows first."""
    by_cause: dict[str, list[RepeatRow]] = defaultdict(list)
    for row in rows:
        if row.cause is not None:
            by_cause[row.cause].append(row)
    totals = (CauseTotal(cause, len(found), sum_by_currency(found)) for cause, found in by_cause.items())
    return tuple(sorted(totals, key=lambda t: (-t.rows, t.cause)))


def evidence_of(rows: Sequence[RepeatRow]) -> tuple[EvidenceRow, ...]:
    """The first rows as evidence, capped."""
    return tuple(EvidenceRow("payments", r.source_id, r.line_no, r.role) for r in rows[:EVIDENCE_CAP])


def find_duplicates(summary: PaymentsSummary, rows: Sequence[RepeatRow], key: BusinessKey) -> tuple[Finding, ...]:
    """What the ledger says: excess, rows recorded twice, rows that name no act, statuses no one can read."""
    found = (_excess(summary, rows, key), _recorded_twice(rows), _unnamed(summary, key), _unknown_status(summary))
    return tuple(finding for finding in found if finding is not None)


def _excess(summary: PaymentsSummary, rows: Sequence[RepeatRow], key: BusinessKey) -> Finding | None:
    gross = [r for r in rows if r.role in ("excess", "refunded")]
    if not gross:
        return None
    sure = sum(r.excess_probability or 0.0 for r in gross) / len(gross)
    causes = Counter(r.cause for r in gross)
    first, last = min(r.created_at for r in gross), max(r.created_at for r in gross)
    back = (
        f"; {money_words(summary.already_refunded_amount)} of it was already given back"
        if summary.already_refunded_rows
        else ""
    )
    lawful = many(summary.legitimate_rows, "row")
    if summary.refused_rows:
        back += f"; the provider never settled {money_words(summary.refused_amount)} of it"
    return Finding(
        id="excess-payments",
        rule="duplicates/excess",
        title=f"{many(summary.orders_with_excess, key.noun)} paid more than once",
        severity="high",
        confidence=round(sure, 4),
        statement=(
            f"{many(summary.excess_rows, 'payment')} of {many(summary.orders_with_excess, key.noun)} took effect once "
            f"too often: {money_words(summary.excess_amount)}{back}. "
            f"Beyond doubt, in refunds.csv: {many(summary.refund_rows, 'payment')}, "
            f"{money_words(summary.refund_amount)}; for a person to judge: {summary.review_rows:,}."
        ),
        why=(
            f"same {key.named}, amount, currency and (where known) instrument, and {_NOTHING_LAWFUL}",
            f"between {first:%Y-%m-%d %H:%M:%S} and {last:%Y-%m-%d %H:%M:%S} UTC",
            f"{lawful} of repeated {key.noun}s read as lawful, from the rows alone, and left out",
        ),
        alternatives=tuple((str(c), round(n / len(gross), 4)) for c, n in causes.most_common()),
        numbers={"orders": summary.orders_with_excess, "rows": summary.excess_rows, "review_rows": summary.review_rows},
        money={"excess": summary.excess_amount, "refund_now": summary.refund_amount},
        query="duplicates/rows_of_repeated_orders",
        parameters={},
        evidence=evidence_of(gross),
        evidence_total=len(gross),
        next_steps=(
            "check refunds.csv with a second pair of eyes, then give the money back once, by a refund key of its own",
            "look through review.csv: payments below the threshold and repeats read as lawful, with both readings",
        ),
    )


def _note(rule: str, title: str, statement: str, numbers: Mapping[str, int], evidence: Sequence[RepeatRow]) -> Finding:
    return Finding(
        id=rule.rsplit("/", 1)[-1].replace("_", "-"),
        rule=rule,
        title=title,
        severity="low",
        confidence=1.0,
        statement=statement,
        why=(),
        alternatives=(),
        numbers=dict(numbers),
        money={},
        query="duplicates/ledger" if not evidence else "duplicates/rows_of_repeated_orders",
        parameters={},
        evidence=evidence_of(evidence),
        evidence_total=len(evidence),
        next_steps=(),
    )


def _recorded_twice(rows: Sequence[RepeatRow]) -> Finding | None:
    twice = [r for r in rows if r.role == "recorded_twice"]
    if not twice:
        return None
    return _note(
        "duplicates/recorded_twice",
        f"{many(len(twice), 'ledger row')} {'repeats' if len(twice) == 1 else 'repeat'} a payment already recorded",
        f"{many(len(twice), 'row')} with the id of a payment already seen: recorded twice, paid once, no money moved "
        "twice. Counted apart and never refunded.",
        {"rows": len(twice)},
        twice,
    )


def _unnamed(summary: PaymentsSummary, key: BusinessKey) -> Finding | None:
    if not summary.without_order:
        return None
    lacking = "an order number" if key.columns == DEFAULT_KEY else key.words
    return _note(
        "duplicates/without_order",
        f"{many(summary.without_order, 'ledger row')} without {lacking}",
        f"{summary.without_order:,} of {many(summary.rows, 'row')} without {lacking}: they are not grouped with "
        "one another, so duplicates among them are not seen.",
        {"rows": summary.without_order},
        (),
    )


def _unknown_status(summary: PaymentsSummary) -> Finding | None:
    if not summary.unknown_status:
        return None
    return _note(
        "duplicates/unknown_status",
        f"{many(summary.unknown_status, 'ledger row')} with a status in no list",
        f"{many(summary.unknown_status, 'row')} with a status that is in no list, counted as no effect; say what it "
        "means with --status WORD=captured.",
        {"rows": summary.unknown_status},
        (),
    )
