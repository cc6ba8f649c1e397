"""What the comparison of ledger and settlement says, in words, with the rows that it leaves unexplained."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from forensics.amounts import money_words
from forensics.detect.duplicates import EVIDENCE_CAP
from forensics.detect.settlement import PARTS, Reconciled
from forensics.model import EvidenceRow, Finding, Settlement

_PART_WORDS = {
    "explained_by_duplicates": "explained by duplicates",
    "fees": "fees",
    "cutoff": "cut-off at the ends of the period",
    "other": "other",
}
_UNEXPLAINED = ("missing_at_provider", "missing_in_ledger", "settled_without_effect", "amount_differs")


def find_settlement(found: Reconciled) -> Finding:
    """The finding."""
    settlement = found.settlement
    counts = settlement.counts
    unexplained = sum(counts[name] for name in _UNEXPLAINED)
    matched = counts["matched_ledger_rows"]
    return Finding(
        id="settlement",
        rule="settlement/difference",
        title=_title(settlement),
        severity=_severity(settlement),
        confidence=round((matched + 1) / (matched + unexplained + 2), 4),
        statement=" ".join(_sentence(settlement, currency) for currency in settlement.difference),
        why=tuple(_why(settlement)),
        alternatives=(),
        numbers=dict(counts),
        money={name: getattr(settlement, name) for name in ("ledger_total", "provider_total", "difference", *PARTS)},
        query="settlement/unsettled_rows",
        parameters={name: f"{at:%Y-%m-%d %H:%M:%S.%f}" for name, at in found.unsettled_window.parameters().items()},
        evidence=tuple(islice(_evidence(found), EVIDENCE_CAP)),
        evidence_total=counts["ledger_only"] + counts["provider_only"] + counts["amount_differs"],
        next_steps=tuple(_next_steps(settlement)),
    )


def _title(settlement: Settlement) -> str:
    apart = {c: amount for c, amount in settlement.difference.items() if amount}
    if not apart:
        return "Ledger and settlement agree"
    return f"Ledger and settlement differ by {money_words(apart)}"


def _sentence(settlement: Settlement, currency: str) -> str:
    """The equation of one currency in words."""
    difference = settlement.difference[currency]
    if not difference and not any(getattr(settlement, name)[currency] for name in PARTS):
        return f"The provider paid what the ledger says, {money_words({currency: settlement.ledger_total[currency]})}."
    apart = money_words({currency: abs(difference)})
    parts = ", ".join(f"{money_words({currency: getattr(settlement, n)[currency]})} {_PART_WORDS[n]}" for n in PARTS)
    return f"The provider paid {apart} {'less' if difference >= 0 else 'more'} than the ledger says: {parts}."


def _severity(settlement: Settlement) -> str:
    """High where money moved that one side does not know of; medium where duplicates make a difference."""
    counts = settlement.counts
    if any(settlement.other.values()) or any(counts[n] for n in (*_UNEXPLAINED, "provider_duplicates")):
        return "high"
    return "medium" if counts["refused_duplicates"] or counts["settled_duplicates"] else "note"


def _why(settlement: Settlement) -> Iterator[str]:
    n = settlement.counts
    yield (
        f"{n['matched_ledger_rows']:,} ledger rows were found in the settlement: {n['by_reference']:,} by reference, "
        f"{n['by_order']:,} by order and amount, {n['split']:,} as one row here and several there"
    )
    if not n["matched_ledger_rows"]:
        yield "no row of one side was found on the other: these files may not belong together"
    yield (
        f"duplicates: {n['refused_duplicates']:,} that the provider did not settle, {n['provider_duplicates']:,} that "
        f"only the provider has; {n['settled_duplicates']:,} more stand on both sides and make no difference here"
    )
    yield f"fees: gross less net of {n['fee_rows']:,} settled rows"
    covered = ""
    if settlement.covered_from and settlement.covered_to:
        begin, end = (f"{t:%Y-%m-%d %H:%M:%S}" for t in (settlement.covered_from, settlement.covered_to))
        covered = f"; the settlement covers what was booked from {begin} to {end} UTC"
    yield (
        f"cut-off: {n['cutoff_ledger']:,} rows booked outside the settlement's time, {n['cutoff_provider']:,} settled "
        f"outside the ledger's{covered}{f'; payouts close at {settlement.cut}' if settlement.cut else ''}"
    )
    yield (
        f"other: {n['missing_at_provider']:,} missing at the provider, {n['missing_in_ledger']:,} missing in the "
        f"ledger, {n['settled_without_effect']:,} settled that the ledger has as failed or voided, "
        f"{n['amount_differs']:,} with amounts that differ"
    )
    if settlement.beside_share is not None and settlement.beside_share < 0.5:
        yield (
            f"only {settlement.beside_share:.0%} of the matched rows were settled within an hour of the usual time "
            "after booking, so the ends of the period are told by the rows matched, not by the clock"
        )


def _evidence(found: Reconciled) -> Iterator[EvidenceRow]:
    """The unexplained first, the largest of each class before the others; then duplicates, then the cut-off."""
    for label in ("missing_at_provider", "refused_duplicate", "cutoff"):
        if label == "refused_duplicate":
            yield from _differing(found)
            yield from (_at("settlements", r, "missing_in_ledger") for r in _of(found, "unknown"))
            yield from (_at("settlements", r, "settled_without_effect") for r in _of(found, "not_an_effect"))
            yield from (_at("settlements", r, "provider_duplicate") for r in _of(found, "duplicate"))
        rows = [u.row for u in found.unsettled if u.label == label]
        ordered = sorted(rows, key=lambda r: (-abs(r["amount"]), r["source_id"], r["line_no"], r["direction"]))
        yield from (_at("payments", row, label) for row in ordered)
    yield from (_at("settlements", r, "cutoff") for r in (*_of(found, "before"), *_of(found, "after")))


def _of(found: Reconciled, name: str) -> list[Any]:
    rows = [r for r in found.unbooked if r["class"] == name]
    return sorted(rows, key=lambda r: (-abs(r["gross"]), r["source_id"], r["line_no"]))


def _at(table: str, row: Any, role: str) -> EvidenceRow:
    return EvidenceRow(table, row["source_id"], row["line_no"], role)


def _differing(found: Reconciled) -> Iterator[EvidenceRow]:
    for row in found.differing:
        yield _at("payments", row, "amount_differs")
        yield EvidenceRow("settlements", row["provider_source_id"], row["provider_line_no"], "amount_differs")


def _next_steps(settlement: Settlement) -> Iterator[str]:
    n = settlement.counts
    if n["missing_at_provider"]:
        yield "ask the provider for the movements that only the ledger has (query settlement/unsettled_rows)"
    if n["missing_in_ledger"] or n["settled_without_effect"] or n["provider_duplicates"]:
        yield (
            "look into what only the provider has (query settlement/unbooked_rows): customers paid that, "
            "and the ledger does not know it"
        )
    if n["amount_differs"]:
        yield "compare the amounts that differ with the orders (query settlement/differing)"
    if n["refused_duplicates"]:
        yield (
            "do not give back what the provider did not settle: correct the ledger instead, and check with the "
            "provider before paying out any line of refunds.csv that the settlement does not hold"
        )
    if n["cutoff_ledger"] or n["cutoff_provider"]:
        yield "look for the cut-off rows in the settlement before and after this one"
