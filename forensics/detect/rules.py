"""The rules of retrying, as data: what breaks each, how grave it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

BREAKER_FAILURES = 10
"""Failures in a row after which a breaker is taken to open."""
MOST_ATTEMPTS = 10
"""Attempts of one call beyond which no further one is sensible while somebody waits."""
BUDGET = 0.1
"""Retries for each first attempt beyond which they are load of their own: a tenth is the usual retry budget, a fifth is
what meshes allow at most (Google SRE book, chapter 21; Linkerd's retry budget defaults to 20 %)."""

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
    "too_little_time_left": Rule(
        "Calls began with less time left than they need",
        "low",
        0.85,
        "conduct/too_little_time",
        "before each attempt compare the time left with the median of that call, and fail at once when it is less",
    ),
    "attempts_after_hang_up": Rule(
        "A hop went on trying for callers who had gone",
        "medium",
        0.85,
        "conduct/after_hang_up",
        "pass the caller's deadline or cancellation on, and stop trying when the caller has hung up",
    ),
    "faster_after_429": Rule(
        "Callers came back faster after 429 than after other failures",
        "medium",
        0.8,
        "conduct/answers",
        "treat 429 as a request to slow down: wait longer after it than after a failure, and honour Retry-After",
    ),
    "retries_over_budget": Rule(
        "Retries exceed a tenth of the first attempts",
        "medium",
        0.9,
        "conduct/answers",
        "give each client a retry budget: no retry while retries exceed 10 % of its first attempts",
    ),
    "idempotent_methods_repeated": Rule(
        "PUT or DELETE took effect more than once",
        "high",
        0.85,
        "duplicates/requests_of_repeated_orders",
        "the method alone promises nothing: let the receiver refuse the second effect by key or by state",
    ),
    "no_jitter": Rule(
        "Retries wait without jitter",
        "medium",
        0.85,
        "traffic/waves_after",
        "draw every wait between zero and its length (full jitter), so that clients do not come back together",
    ),
    "retries_in_layers": Rule(
        "More than one layer retries",
        "medium",
        0.9,
        "traffic/tries_between_hops",
        "let one layer retry, the one nearest the edge that knows the act, and switch the others off",
    ),
    "no_breaker_requests": Rule(
        "Requests went on while nothing succeeded",
        "medium",
        0.85,
        "conduct/stretches_without_breaker",
        f"put a circuit breaker in the client that opens after {BREAKER_FAILURES} failures in a row and then probes",
    ),
}
