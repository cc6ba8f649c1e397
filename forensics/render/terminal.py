"""The answer at the terminal: ten lines that an engineer reads at two in the morning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from forensics.amounts import money_words
from forensics.analysis.words import policy_words, seconds
from forensics.model import CatalogueEntry, KeyHabit, MatchResult, RankedPolicy, Scan, Source
from forensics.model.business_key import DEFAULT_KEY
from forensics.render.again import render_second_checkouts
from forensics.render.balance import render_settlement
from forensics.render.conduct import render_conduct, render_letters

_BAR = 40
_MOST_SENDERS = 3


def render_summary(scan: Scan, report: Path | None) -> str:
    """The whole scan in about ten labelled lines."""
    lines = [
        ("read", _read(scan)),
        ("happened", _happened(scan)),
        *_key(scan),
        ("money", _money(scan)),
        *_decided(scan),
        *_checkouts(scan),
        ("why", _why(scan)),
        ("causes", _causes(scan)),
        ("traffic", _traffic(scan)),
        *_retries(scan),
        ("keys", _keys(scan)),
        *_conduct(scan),
        *([("settlement", render_settlement(scan.settlement))] if scan.settlement else []),
        ("sure", _sure(scan)),
        ("unexamined", _not_asked(scan)),
    ]
    failed = [f"{e.question}: {e.why}" for e in scan.examined if e.status == "failed"]
    if failed:
        lines.append(("FAILED", "; ".join(failed)))
    if scan.settings:
        lines.append(("settings", f"{scan.settings.file}: {', '.join(scan.settings.says)}"))
    if report:
        lines.append(("report", str(report)))
    return "\n".join(f"{label:<10} {text}" for label, text in lines)


def _conduct(scan: Scan) -> list[tuple[str, str]]:
    """Broken rules of retrying and dead letters, where there is something to say."""
    broken = render_conduct(scan.conduct) if scan.conduct else ""
    letters = render_letters(scan.dead_letters) if scan.dead_letters else ""
    return [line for line in (("conduct", broken), ("letters", letters)) if line[1]]


def _plural(n: int, one: str, many: str | None = None) -> str:
    return f"{n:,} {one if n == 1 else (many or one + 's')}"


def _read(scan: Scan) -> str:
    rows = sum(s.rows_read for s in scan.sources)
    rejected = sum(s.rows_rejected for s in scan.sources)
    text = f"{_plural(len(scan.sources), 'file')}, {_plural(rows, 'row')}, {rejected:,} rejected"
    if scan.refused:
        text += f"; {_plural(len(scan.refused), 'file')} could not be used"
    if rows and rejected > 0.01 * rows:
        text += " - MORE THAN 1 % REJECTED: see 'forensics sources'"
    return text


def _happened(scan: Scan) -> str:
    p = scan.payments
    if p is None:
        return _unasked(scan, "duplicates")
    gross = [r for r in scan.rows if r.role in ("excess", "refunded")]
    noun = scan.business_key.noun if scan.business_key else "order"
    if not gross:
        return f"no {noun} of {p.orders:,} was paid more than once ({p.effects:,} effects in {p.rows:,} rows)"
    first, last = min(r.created_at for r in gross), max(r.created_at for r in gross)
    return (
        f"{p.orders_with_excess:,} of {p.orders:,} {noun}s were paid more than once: "
        f"{_plural(p.excess_rows, 'payment')} too many, {_span(first, last)}"
    )


def _key(scan: Scan) -> list[tuple[str, str]]:
    """What acts are told apart by, where that is not the order number of every row."""
    key, p = scan.business_key, scan.payments
    if key is None or p is None or (key.columns == DEFAULT_KEY and not p.without_order and not key.given):
        return []
    unnamed = f"; {_plural(p.without_order, 'row')} without it" if p.without_order else ""
    return [("acts", f"told apart by the {key.words}: {key.why}{unnamed}")]


def _span(first: datetime, last: datetime) -> str:
    same_day = first.date() == last.date()
    return f"{first:%Y-%m-%d %H:%M:%S} to {last:{'%H:%M:%S' if same_day else '%Y-%m-%d %H:%M:%S'}} UTC"


def _money(scan: Scan) -> str:
    p = scan.payments
    if p is None:
        return _unasked(scan, "duplicates")
    if not p.excess_rows:
        return "nothing must go back"
    text = f"{money_words(p.excess_amount)} too much"
    if p.already_refunded_rows:
        text += f", of which {money_words(p.already_refunded_amount)} went back already"
    if p.refused_rows:
        text += f"; never settled by the provider: {money_words(p.refused_amount)}"
    text += f"; beyond doubt: {money_words(p.refund_amount)} (refunds.csv)"
    return text + (f"; {_plural(p.review_rows, 'payment')} for a person to judge" if p.review_rows else "")


def _decided(scan: Scan) -> list[tuple[str, str]]:
    """What people's decisions changed, and those that were not applied; nothing where there are none."""
    if not scan.decisions:
        return []
    applied = [o for o in scan.decisions if o.status == "applied"]
    out = sum(o.rows for o in applied if not o.decision.is_duplicate)
    sure = sum(o.rows for o in applied if o.decision.is_duplicate)
    text = f"{len(applied)} of {_plural(len(scan.decisions), 'decision')} applied"
    text += f": {_plural(out, 'payment')} taken out of the excess, {sure:,} called duplicates" if applied else ""
    left = Counter(o.status for o in scan.decisions if o.status != "applied")
    return [("decided", text + "".join(f"; {n} {status}" for status, n in sorted(left.items())))]


def _checkouts(scan: Scan) -> list[tuple[str, str]]:
    text = render_second_checkouts(scan.second_checkouts)
    return [("again", text)] if text else []


def _why(scan: Scan) -> str:
    if scan.payments is None:
        return _unasked(scan, "policies")
    if not scan.policies:
        return next(
            (f.statement for f in scan.findings if f.rule == "policies/gaps"), "no gaps that a retry could have made"
        )
    strongest, ranked = scan.policies[0], scan.policies[0].ranked
    text = f"the gaps fit {policy_words(ranked.policy)}"
    if strongest.of_broker:
        after = f"after {ranked.policy.base_s:g} s" if ranked.policy.base_s else "at once"
        text = f"the broker delivers again {after} what was not acknowledged"
    text += f" (probability {ranked.probability:.2f})"
    if ranked.policy_ids:
        text += f": {', '.join(ranked.policy_ids[:3])}{' ...' if len(ranked.policy_ids) > 3 else ''}"
    return text


def _causes(scan: Scan) -> str:
    if scan.payments is None:
        return _unasked(scan, "duplicates")
    return ", ".join(f"{c.cause} {c.rows}" for c in scan.causes) or "none"


def _traffic(scan: Scan) -> str:
    found = next((f for f in scan.findings if f.rule == "traffic/users_or_retries"), None)
    if scan.traffic is None or found is None:
        return _unasked(scan, "traffic")
    return f"{found.title.lower()}: {found.statement.rstrip('.')}"


def _retries(scan: Scan) -> list[tuple[str, str]]:
    """Layers that multiply and herds that come back: a line each, only where there is something to say."""
    rules = {"layers": "layers/product", "herd": "herd/waves"}
    found = {f.rule: f for f in scan.findings if f.severity != "note"}
    return [(name, found[rule].statement.rstrip(".")) for name, rule in rules.items() if rule in found]


def _unasked(scan: Scan, question: str) -> str:
    return next(
        (f"{e.status.replace('_', ' ')}: {e.why}" for e in scan.examined if e.question == question), "not examined"
    )


def _keys(scan: Scan) -> str:
    if scan.keys is None:
        return _unasked(scan, "keys")
    modes = {mode: n for mode, n in scan.keys.modes.items() if n}
    if len({h.mode for h in scan.keys.habits}) < 2:
        return f"{', '.join(f'{mode} {n:,}' for mode, n in modes.items())} orders" if modes else "no row names an order"
    return f"{', '.join(f'{mode} {n:,}{_who(scan.keys.senders(mode))}' for mode, n in modes.items())} orders"


def _who(senders: Sequence[KeyHabit]) -> str:
    names = list(dict.fromkeys(h.sender for h in senders if h.sender))
    more = ", ..." if len(names) > _MOST_SENDERS else ""
    return f" ({', '.join(names[:_MOST_SENDERS])}{more})" if names else ""


def _sure(scan: Scan) -> str:
    parts = []
    excess = next((f for f in scan.findings if f.rule == "duplicates/excess"), None)
    if excess:
        parts.append(f"excess {excess.confidence:.2f}")
    if scan.policies:
        ranked = scan.policies[0].ranked
        if ranked.cannot_tell_from:
            parts.append(f"policy cannot be told from: {ranked.cannot_tell_from[0]}")
    parts.append("lawful repeats are read from the rows, not from a contract")
    return "; ".join(parts)


def _not_asked(scan: Scan) -> str:
    return (
        ", ".join(e.question for e in scan.examined if e.status == "not_examined")
        or "nothing: every question was asked"
    )


# Sources --------------------------------------------------------------------------------------------------------


def render_source(source: Source) -> str:
    """How one file was read."""
    lines = [
        f"{source.name}: {source.kind}, {source.format}"
        + (f", {source.encoding}" if source.encoding else "")
        + (f", hop {source.hop}" if source.hop else ""),
        f"    rows       {source.rows_read:,} read = {source.rows_loaded:,} loaded + {source.rows_rejected:,} rejected",
    ]
    if source.mapping:
        lines.append("    columns    " + ", ".join(f"{name} <- {why}" for name, why in source.mapping.items()))
    if source.zone:
        lines.append(f"    zone       {source.zone}: {source.zone_reason}")
    if source.first_at and source.last_at:
        lines.append(
            f"    times      {_span(source.first_at, source.last_at)}, clock steps of {_step(source.resolution_us)}"
        )
    lines += [f"    note       {note}" for note in source.notes]
    return "\n".join(map(_one_line, lines))


def render_reject(line_no: int, reason: str, text: str | None) -> str:
    """One rejected row."""
    return _one_line(f"    rejected line {line_no}: {reason}: {(text or '')[:120]}")


def _one_line(text: str) -> str:
    """Names in the evidence may hold line ends, and must not look like lines of ours."""
    return text.replace("\r", " ").replace("\n", " ")


def _step(resolution_us: int | None) -> str:
    return "unknown length" if resolution_us is None else seconds(resolution_us / 1e6)


# Policies -------------------------------------------------------------------------------------------------------


def render_match(found: MatchResult, gaps_s: Sequence[float]) -> str:
    """What gaps typed by hand say, with their picture."""
    lines = [_picture(gaps_s)]
    if found.verdict != "named":
        return "\n".join([*lines, f"no policy: {found.why}"])
    lines.append(found.why)
    for ranked in found.ranked:
        lines.append(_ranked(ranked))
    strongest = found.ranked[0]
    lines += [f"  cannot be told from: {text}" for text in strongest.cannot_tell_from]
    return "\n".join(lines)


def _ranked(ranked: RankedPolicy) -> str:
    mark = "tied " if ranked.tied else ""
    ids = f"  [{', '.join(ranked.policy_ids[:4])}]" if ranked.policy_ids else ""
    return f"{ranked.probability:6.2f}  {mark}{policy_words(ranked.policy)}{ids}"


def _picture(gaps_s: Sequence[float]) -> str:
    """Each gap as a bar to scale."""
    longest = max([*gaps_s, 1e-6])
    return "\n".join(f"{gap:>10.3f} s  {'█' * max(1, round(_BAR * gap / longest))}" for gap in gaps_s[:40])


def render_policy(entry: CatalogueEntry, *, full: bool) -> str:
    """One catalogue entry: a line, or all that is known."""
    waits = ", ".join(f"{w:g}" for w in entry.expected_waits_s[:6])
    waits = f"{waits} s" if waits else "none known"
    line = f"{entry.id:36} {entry.product[:44]:44} waits {waits}"
    if not full:
        return line
    policy = entry.policy
    timeout = policy.timeout_s
    lines = [
        line,
        f"    policy     {policy_words(policy)}; at most {policy.max_attempts or 'unlimited'} attempts",
        f"    gaps       after a fast failure: {waits}; after a lost reply: {_lost(entry, timeout)}",
        f"    POST       sent again by default: {_yes(entry.retries_post)}",
        f"    waits      honours Retry-After: {_yes(entry.honours_retry_after)}",
        f"    keys       {entry.idempotency or 'unknown'}; attempt header: {entry.attempt_header or 'none'}",
        f"    source     {entry.source} ({entry.confidence}, version {entry.version or 'unknown'})",
    ]
    return "\n".join([*lines, f"    note       {entry.note}"] if entry.note else lines)


def _lost(entry: CatalogueEntry, timeout: float | None) -> str:
    if timeout is None:
        return "its timeout plus these waits; it has no timeout of its own"
    return ", ".join(f"{timeout + w:g}" for w in entry.expected_waits_s[:6]) + f" s (timeout {timeout:g} s)"


def _yes(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"
