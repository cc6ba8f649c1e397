"""Growth of requests taken apart: users times retries, exactly, and which of the two carries it."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from forensics.analysis.retry_share import Share

_GREW = 1.2
_MOSTLY = 0.65


@dataclass(frozen=True, slots=True)
class Growth:
    """requests = users x retries; ratios of rates, incident against baseline."""

    requests: float
    users: float
    users_low: float
    users_high: float
    by_retries: float | None
    """Share of the growth's logarithm that retries carry, users the rest; None below a growth of a fifth."""


def take_apart(requests: float, before: Share, during: Share) -> Growth | None:
    """First attempts and retries in the growth of requests; None where no share is known.

    Args:
        requests: ratio of the rates of requests, above 0.
        before, during: shares of retries in the baseline and in the incident.
    """
    if before.point is None or during.point is None or requests <= 0 or max(before.point, during.point) >= 1:
        return None
    users = requests * (1 - during.point) / (1 - before.point)
    low = requests * (1 - during.high) / (1 - before.low)
    high = requests * (1 - during.low) / max(1e-9, 1 - before.high)
    growth = log(requests)
    by_retries = (growth - log(users)) / growth if requests >= _GREW and users > 0 else None
    return Growth(requests, users, low, high, by_retries)


def judge(requests: float, users: float) -> str:
    """retries | users | both | neither: the factor that carries the growth, by its logarithmic share."""
    if requests <= 0 or users <= 0:
        return "retries" if requests >= _GREW else "neither"
    growth, people = log(requests), log(users)
    retries = growth - people
    if max(growth, retries, people) < log(_GREW):
        return "neither"
    share = retries / (abs(retries) + abs(people))
    return "retries" if share > _MOSTLY else "users" if share < 1 - _MOSTLY else "both"


def judge_between(requests: float, before: Share, during: Share) -> tuple[str, str]:
    """The verdict, cannot_tell where the bounds of the incident's share allow another; and the likeliest in any case.

    Between `both` and either of its parts there is no contradiction.
    """
    apart = take_apart(requests, before, during)
    if apart is None or before.point is None:
        return "cannot_tell", "cannot_tell"
    likeliest = judge(requests, apart.users)
    ends = {judge(requests, requests * (1 - share) / (1 - before.point)) for share in (during.low, during.high)}
    contradict = len((ends | {likeliest}) - {"both"}) > 1
    return ("cannot_tell" if contradict else likeliest), likeliest
