"""The catalogue of known retry policies (data/policies.toml, each with its source) and which of them fit a policy."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from forensics.analysis.schedules import SHAPES, waits
from forensics.model import CatalogueEntry, Policy

__all__ = ["CatalogueEntry", "entries_like", "entries_that_fit", "entry_of", "load_catalogue"]

_COMPARED = 6  # waits that are compared; later ones are seldom seen
OWN = "own"
"""Kind of the policies that the users named themselves."""


@cache
def load_catalogue() -> tuple[CatalogueEntry, ...]:
    """All entries, in the order of the file."""
    text = files("forensics.analysis").joinpath("data", "policies.toml").read_text(encoding="utf-8")
    return tuple(entry_of(raw) for raw in tomllib.loads(text)["policy"])


def entries_that_fit(policy: Policy, catalogue: Sequence[CatalogueEntry] | None = None) -> tuple[str, ...]:
    """Ids of the entries with the policy's waits and jitter and, where both have one, its timeout.

    Waits within 15 % or 50 ms as far as both go; timeouts within 15 % or half a second; no more attempts seen than the
    entry makes. The users' own policies are known to run, so they are held against timeout + wait (within 5 % or 50 ms)
    where both have a timeout: how a fit splits that sum is often arbitrary.
    """
    entries = load_catalogue() if catalogue is None else catalogue
    return tuple(entry.id for entry in entries if _fits(policy, entry))


def entries_like(text: str, catalogue: Sequence[CatalogueEntry] | None = None) -> tuple[CatalogueEntry, ...]:
    """Entries whose id, product, kind or language contains every word of the text, whatever the case."""
    words = text.lower().split()
    entries = load_catalogue() if catalogue is None else catalogue
    return tuple(e for e in entries if all(w in f"{e.id} {e.product} {e.kind} {e.language}".lower() for w in words))


def _fits(policy: Policy, entry: CatalogueEntry) -> bool:
    known = entry.expected_waits_s[:_COMPARED]
    if not known or _kind(policy) != _kind(entry.policy):
        return False
    ours = policy.schedule_s[: len(known)] or waits(policy, len(known))
    own = entry.policy.timeout_s
    by_sum = entry.kind == OWN and bool(own) and policy.timeout_s is not None
    if by_sum:
        ours, known = _after_timeout(policy.timeout_s, ours), _after_timeout(own, known)
    if not all(_near(a, b, 0.05 if by_sum else 0.15, 0.05) for a, b in zip(ours, known, strict=False)):
        return False
    if policy.jitter == "additive" and not _near(policy.jitter_amount or 0, entry.policy.jitter_amount or 0, 0.3, 0.05):
        return False
    limit, seen = entry.policy.max_attempts, policy.max_attempts
    if limit and seen and seen > limit:
        return False
    return by_sum or not own or policy.timeout_s is None or _near(policy.timeout_s, own, 0.15, 0.5)


def _after_timeout(timeout_s: float | None, plan: Iterable[float]) -> tuple[float, ...]:
    """The gaps that lost replies leave."""
    return tuple((timeout_s or 0.0) + wait for wait in plan)


def _kind(policy: Policy) -> str:
    """Jitters that may be compared; waits of 0 have none."""
    return "none" if policy.shape == "none" else policy.jitter


def _near(a: float, b: float, relative: float, absolute: float) -> bool:
    return abs(a - b) <= max(absolute, relative * b)


def entry_of(raw: Mapping[str, Any]) -> CatalogueEntry:
    """One table of data/policies.toml, or one written like it, as an entry. KeyError where it lacks a needed key."""
    return CatalogueEntry(
        id=raw["id"],
        product=raw["product"],
        kind=raw["kind"],
        language=raw["language"],
        version=raw["version"],
        policy=_policy(raw),
        expected_waits_s=_floats(raw.get("expected_waits_s", ())),
        total_window_s=raw.get("total_window_s"),
        retries_post=raw.get("retries_post"),
        honours_retry_after=raw.get("honours_retry_after"),
        attempt_header=raw.get("attempt_header", ""),
        idempotency=raw.get("idempotency", "none"),
        note=raw.get("note", ""),
        source=raw["source"],
        confidence=raw["confidence"],
    )


def _policy(raw: Mapping[str, Any]) -> Policy:
    """The entry as a policy; one whose formula does not give its waits (an offset, a floor) becomes a schedule."""
    shape = raw["shape"] if raw["shape"] in SHAPES else "schedule"
    jitter, amount, bounds = _jitter(raw)
    expected = _floats(raw.get("expected_waits_s", raw.get("schedule_s", ())))
    policy = Policy(
        shape=shape,
        base_s=_float(raw.get("base_s")),
        factor=_float(raw.get("factor")) if shape in ("linear", "exponential", "polynomial") else None,
        cap_s=_float(raw.get("cap_s")),
        schedule_s=expected,
        jitter=jitter,
        jitter_amount=amount,
        timeout_s=_float(raw.get("timeout_s")),
        max_attempts=raw.get("max_attempts"),
        jitter_range=bounds,
        first_wait_s=_float(raw.get("first_wait_s")),
    )
    if policy.base_s is None and shape not in ("none", "schedule"):
        policy = _as_schedule(policy)
    if expected and shape not in ("schedule", "decorrelated") and not _gives(policy, expected):
        policy = _as_schedule(policy)
    return policy


def _as_schedule(policy: Policy) -> Policy:
    return Policy(
        "schedule", None, None, None, policy.schedule_s, policy.jitter, policy.jitter_amount, policy.timeout_s,
        policy.max_attempts, policy.jitter_range,
    )  # fmt: skip


def _gives(policy: Policy, expected: Iterable[float]) -> bool:
    known = tuple(expected)
    return all(_near(a, b, 0.02, 0.01) for a, b in zip(waits(policy, len(known)), known, strict=True))


def _jitter(raw: Mapping[str, Any]) -> tuple[str, float | None, tuple[float, float] | None]:
    """(jitter, amount, multiplier bounds); 'multiplicative' is proportional with its own bounds."""
    jitter = raw.get("jitter", "none")
    if jitter == "multiplicative":
        low, high = float(raw.get("jitter_low", 1)), float(raw.get("jitter_high", 1))
        even = abs(low + high - 2) < 1e-9
        return "proportional", round((high - low) / 2, 6), None if even else (low, high)
    if jitter == "additive":
        return "additive", float(raw.get("jitter_max_s", 0)), None
    return jitter, None, None


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def _floats(values: Iterable[Any]) -> tuple[float, ...]:
    return tuple(float(v) for v in values)
