"""The finding that answers: did people come, or did clients retry?"""

from __future__ import annotations

from forensics.detect.probes import probe_words
from forensics.detect.split import split_words
from forensics.detect.traffic import TrafficAnswer
from forensics.model import Finding, Traffic

_COARSE = 0.02
"""Of an incident's length; below it the edges do not matter."""
_TITLES = {
    "retries": "The growth is retries, not users",
    "users": "The growth is users, not retries",
    "both": "Both users and retries grew",
    "neither": "Neither users nor their retries grew",
    "cannot_tell": "Users and retries cannot be told apart",
}


def find_traffic(answer: TrafficAnswer) -> Finding:
    """The finding, with the windows argued and what the verdict cannot be told apart from."""
    traffic = answer.traffic
    return Finding(
        id="traffic-growth",
        rule="traffic/users_or_retries",
        title=_TITLES[traffic.verdict],
        severity={"retries": "high", "both": "medium"}.get(traffic.verdict, "note"),
        confidence=_confidence(traffic),
        statement=_statement(traffic),
        why=(
            *traffic.verdict_why,
            *(text for split in traffic.splits if (text := split_words(split))),
            *((probe_words(traffic.probes),) if traffic.probes else ()),
            _windows(traffic),
            *_edges(answer),
            f"first attempts are told from retries by: {traffic.basis}",
            f"{traffic.header_coverage:.0%} of the requests carry an attempt number",
            f"counted: {traffic.scope}",
            *(f"cannot be told from {text}" for text in traffic.cannot_tell_from),
        ),
        alternatives=(),
        numbers={
            "requests_ratio": traffic.requests_ratio,
            "users_ratio": traffic.users_ratio,
            "users_ratio_low": traffic.users_ratio_low,
            "users_ratio_high": traffic.users_ratio_high,
            "growth_by_retries": traffic.growth_by_retries,
            "amplification_baseline": traffic.amplification_baseline,
            "amplification_incident": traffic.amplification_incident,
            "retry_share_incident": traffic.retry_share_incident,
            "retry_share_low": traffic.retry_share_low,
            "retry_share_high": traffic.retry_share_high,
        },
        money={},
        query="traffic/requests_by_bin",
        parameters=answer.parameters,
        evidence=(),
        evidence_total=0,
        next_steps=_next_steps(traffic),
    )


def _confidence(traffic: Traffic) -> float:
    if traffic.verdict == "cannot_tell":
        return 0.3
    if traffic.header_coverage >= 0.95 and traffic.basis == "attempt header":
        return 0.95
    return 0.7 if traffic.cannot_tell_from else 0.8


def _windows(traffic: Traffic) -> str:
    text = (
        f"incident {traffic.incident_start:%Y-%m-%d %H:%M:%S} to {traffic.incident_end:%H:%M:%S} UTC, baseline "
        f"{traffic.baseline_start:%Y-%m-%d %H:%M:%S} to {traffic.baseline_end:%H:%M:%S}: {traffic.windows_why}"
    )
    if traffic.recovered_at is not None:
        text += f"; a recovery tail follows until {traffic.recovered_at:%H:%M:%S}, not counted"
    return text


def _edges(answer: TrafficAnswer) -> tuple[str, ...]:
    """How far the rates hang on where a short incident is cut; nothing for windows as given."""
    traffic = answer.traffic
    lasted_s = (traffic.incident_end - traffic.incident_start).total_seconds()
    if answer.looked_at is None or traffic.windows_why.startswith("incident as given"):
        return ()
    if answer.load_step_s < _COARSE * lasted_s:
        return ()
    text = (
        f"the incident's edges are known to {answer.load_step_s:g} s of its {lasted_s:g} s: each may move its rates by "
        f"{answer.load_step_s / lasted_s:.0%}. It ends with its last failures and retries; when it was over by another "
        "measure the log does not show, but --incident can say"
    )
    return (text,)


def _statement(traffic: Traffic) -> str:
    """What was counted, and how far it can be trusted."""
    low, high = traffic.retry_share_low, traffic.retry_share_high
    text = growth_words(traffic)
    if low is not None and high is not None and high - low >= 0.005:
        text += f"; between {low:.0%} and {high:.0%} of the incident's requests are retries"
        if traffic.retry_share_incident is not None:
            text += f", likeliest {traffic.retry_share_incident:.0%}"
    elif traffic.retry_share_incident is not None:
        text += f"; {traffic.retry_share_incident:.0%} of the incident's requests are retries"
    if traffic.verdict in ("cannot_tell", "neither") and traffic.verdict_why:
        text += f"; {traffic.verdict_why[0]}"
    return f"{text}."


def growth_words(traffic: Traffic) -> str:
    """The growth taken apart, in words: 'requests x3.0 = users x1.05 x retries x2.86'."""
    requests, users = traffic.requests_ratio, traffic.users_ratio
    if requests is None or users is None or not users:
        return "the growth cannot be taken apart"
    return f"requests x{requests:.2f} = users x{users:.2f} x retries x{requests / users:.2f}"


def _next_steps(traffic: Traffic) -> tuple[str, ...]:
    if traffic.verdict in ("retries", "both"):
        return (
            "retry at one layer only, with full jitter and a budget of 10 % of first attempts",
            "let clients send the attempt number, and log it at every hop",
        )
    if traffic.verdict == "cannot_tell":
        return ("log the attempt number or the idempotency key, then the next incident can be told apart",)
    return ()
