"""The rules of retrying, as data: what breaks each, how grave it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

BREAKER_FAILURES = 10
"""Failures in a row after which a breaker is taken to open."""
MOST_ATTEMPTS = 10
"""Attempts of one call beyond which no further one is sensible while somebody waits."""

FINAL: Mapping[int, str] = {
    400: "the request itself is wrong",
    401: "the same credentials are refused again",
    402: "the payment was declined",
    403: "it is forbidden, and stays so",
    404: "it is not there",
    405: "the method is not allowed",
    406: "no acceptable answer exists",
    407: "the proxy refuses the same credentials again",
    409: "the act may be done already: a conflict says so",
    410: "it is gone",
    411: "the request itself is wrong",
    412: "the precondition does not hold",
    413: "it is too large",
    414: "it is too long",
    415: "the format is not known there",
    416: "the range cannot be met",
    417: "the expectation cannot be met",
    418: "the answer is final",
    422: "the content is refused",
    426: "another protocol is asked for",
    428: "a precondition is missing",
    431: "its headers are too large",
    451: "it is forbidden by law",
}
"""Answers that another attempt of the same request cannot change, and why."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule that callers may keep or break."""

    title: str
    """As a finding, when it is broken."""
    severity: str
    confidence: float
    query: str
    next_step: str


def rule(name: str) -> Rule:
    """The rule of that name; KeyError when there is none."""
    if name.startswith("retried_"):
        return _retried(int(name.removeprefix("retried_")))
    return RULES[name]


def _retried(status: int) -> Rule:
    why = FINAL[status]
    step = {
        401: "renew the credentials, then try once; give up when they are refused again",
        402: "show the decline to the person who pays, and let them choose",
        409: "after 409 ask for the state of the act and take what is there as the answer",
    }.get(status, f"take {status} out of what the client retries, and log it as a fault of its own")
    return Rule(
        f"Retried after {status}: {why}",
        "medium" if status in (402, 409) else "low",
        0.95,
        "conduct/broken_rules",
        step,
    )


RULES: Mapping[str, Rule] = {
    "retry_after_ignored": Rule(
        "Retry-After was ignored",
        "medium",
        0.9,
        "conduct/broken_rules",
        "wait at least as long as Retry-After says before the next attempt, and let it beat the backoff schedule",
    ),
    "posts_retried_without_key": Rule(
        "POSTs were retried without an idempotency key",
        "high",
        0.95,
        "conduct/answers",
        "send one idempotency key per business act on every attempt, or do not retry POST",
    ),
    "attempts_over_deadline": Rule(
        "Attempts began after the caller's own deadline",
        "medium",
        0.9,
        "conduct/broken_rules",
        "check the time left before each attempt, and give up when the deadline leaves none",
    ),
    "attempts_beyond_cap": Rule(
        f"Calls were tried more than {MOST_ATTEMPTS} times",
        "medium",
        0.9,
        "conduct/answers",
        "cap the attempts of one call at three to five, and hand the rest to a queue that a person looks at",
    ),
    "no_breaker_requests": Rule(
        "Requests went on while nothing succeeded",
        "medium",
        0.85,
        "conduct/stretches_without_breaker",
        f"put a circuit breaker in the client that opens after {BREAKER_FAILURES} failures in a row and then probes",
    ),
}
