"""What the dead letters say, as findings: what must not be replayed, what is missing, what went on without an end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forensics.analysis.reasons import family_words
from forensics.detect.duplicates import EVIDENCE_CAP
from forensics.model import DeadLetter, DeadLetters, EvidenceRow, Finding

OLD_S = 30 * 86_400.0
_NAMES = {"first_failed_at": "first failure", "business_key": "order", "original": "message itself"}


def find_letters(found: DeadLetters) -> tuple[Finding, ...]:
    """The findings, gravest first; only those that have something to say."""
    findings = (_unsafe(found), _endless(found), _missing(found), _left_lying(found), _plan(found))
    return tuple(f for f in findings if f is not None)


def _finding(
    name: str,
    words: tuple[str, str, float, str],
    statement: str,
    letters: Sequence[DeadLetter],
    numbers: Mapping[str, float | int | str | None],
    why: tuple[str, ...] = (),
) -> Finding:
    """A finding. `words`: title, severity, confidence, next step."""
    return Finding(
        id=f"dead-letters-{name.replace('_', '-')}",
        rule=f"dead_letters/{name}",
        title=words[0],
        severity=words[1],
        confidence=words[2],
        statement=statement,
        why=why,
        alternatives=(),
        numbers=numbers,
        money={},
        query="dead_letters/letters",
        parameters={},
        evidence=tuple(EvidenceRow("dead_letters", x.source_id, x.line_no, x.verdict) for x in letters[:EVIDENCE_CAP]),
        evidence_total=len(letters),
        next_steps=(words[3],),
    )


def _count(n: int) -> str:
    return f"{n:,} dead letter" + ("" if n == 1 else "s")


def _unsafe(found: DeadLetters) -> Finding | None:
    letters = [x for x in found.letters if x.verdict == "unsafe"]
    if not letters:
        return None
    paid = sum(x.why.startswith("the ledger shows") for x in letters)
    return _finding(
        "unsafe_to_replay",
        (
            "Dead letters that would pay again",
            "high",
            0.95,
            "take these out of the queue and close them by hand; never replay the queue as a whole",
        ),
        f"{_count(len(letters))} of {len(found.letters):,} must not be sent again: {paid:,} took effect although they "
        f"failed, the others repeat a letter or say themselves that they are done.",
        letters,
        {"unsafe": len(letters), "paid": paid, "records": len(found.letters)},
        ("a letter is unsafe when the ledger shows an effect of its order, or of a request with its message id",),
    )


def _endless(found: DeadLetters) -> Finding | None:
    letters = [x for x in found.letters if x.over_cap]
    if not letters:
        return None
    most = max(x.attempts or 0 for x in letters)
    return _finding(
        "attempts_over_cap",
        (
            "Consumers that try without an end",
            "medium",
            0.9,
            "set a delivery limit on every consumer of the queue, not on some",
        ),
        f"{_count(len(letters))} were tried more often than the {found.cap} times at which the queue gives up, "
        f"up to {most:,} times.",
        letters,
        {"over_cap": len(letters), "cap": found.cap, "most_attempts": most},
        ("the cap is the highest number of attempts that a tenth of the letters of a queue share",),
    )


def _missing(found: DeadLetters) -> Finding | None:
    missing = {name: n for name, n in found.missing.items() if n}
    if not missing:
        return None
    said = ", ".join(f"{_NAMES.get(name, name)} {n:,}" for name, n in missing.items())
    return _finding(
        "fields_missing",
        (
            "Dead letters that do not say what happened",
            "low",
            1.0,
            "let the consumer write reason, attempts, first failure and the whole message into the letter",
        ),
        f"Of {_count(len(found.letters))} some lack what a replay must know: {said}.",
        [x for x in found.letters if x.reason is None or x.attempts is None or x.first_failed_at is None],
        missing,
        ("a field lacks when its key is absent, null or an empty text",),
    )


def _left_lying(found: DeadLetters) -> Finding | None:
    newest = found.last_at
    ends = [(x, x.last_failed_at or x.first_failed_at) for x in found.letters]
    old = [x for x, at in ends if newest and at and (newest - at).total_seconds() > OLD_S]
    if not old or found.first_at is None or newest is None:
        return None
    return _finding(
        "left_lying",
        (
            "Dead letters that nobody looks at",
            "low",
            0.8,
            "raise an alarm on the age of the oldest letter, and give the queue an owner",
        ),
        f"{_count(len(old))} failed over 30 days before the newest one; the first is of {found.first_at:%Y-%m-%d}.",
        old,
        {"old": len(old), "records": len(found.letters)},
    )


def _plan(found: DeadLetters) -> Finding | None:
    counts = {verdict: found.count(verdict) for verdict in ("safe", "unsafe", "fix_first", "ask_source", "unknown")}
    most = next(iter(found.families), "unknown")
    return _finding(
        "replay_plan",
        (
            "What can be replayed, and what cannot",
            "note",
            0.9,
            "replay in the batches of replay.csv, small ones first, and count the effects after each before the next",
        ),
        f"Of {_count(len(found.letters))}, {counts['safe']:,} can be sent again, {counts['fix_first']:,} need a repair "
        f"first, {counts['ask_source']:,} their source must be asked about, {counts['unsafe']:,} must not be sent, and "
        f"{counts['unknown']:,} cannot be told from this evidence.",
        [x for x in found.letters if x.verdict == "safe"],
        {**counts, "batches": len(found.batches)},
        (f"most speak of one kind of fault: {family_words(most)}",),
    )
