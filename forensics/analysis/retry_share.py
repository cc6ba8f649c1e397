"""How many of some requests are retries, as an interval: where ids tell them, and where only traces of them do.

Without an attempt number a retry leaves a trace: it comes soon after a request of the same client, route and user agent
that failed or was slow. People press again too, and several share an address, so the trace is held against what follows
a good answer, and where some requests carry the number, against what it shows of those (Rogan and Gladen 1978,
doi 10.1093/oxfordjournals.aje.a112510).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

_Z = 1.96
_TELLS = 0.2
_FEWEST = 20
_CROWDED = 0.8
"""Where so much follows even a good answer, one address stands for many callers and following tells nothing."""


@dataclass(frozen=True, slots=True)
class Share:
    """A share of retries, 0 to 1."""

    low: float
    point: float | None
    """None when nothing between the bounds is likelier than the rest."""
    high: float


@dataclass(frozen=True, slots=True)
class Followed:
    """What some requests came after: one that failed or was slow, one answered well, or none within reach."""

    trouble: int = 0
    answer: int = 0
    nothing: int = 0
    unknown: int = 0
    """Of no known client."""
    troubled: int = 0
    """Those of them that failed or were slow themselves."""

    @property
    def requests(self) -> int:
        """All of them."""
        return self.trouble + self.answer + self.nothing + self.unknown


def of_counts(retries: int, in_doubt: tuple[int, int], requests: int) -> Share:
    """The share where ids tell retries.

    Args:
        in_doubt: how many of the retries may be none, and how many of the others may be retries.
    """
    low, _ = wilson(max(0, retries - in_doubt[0]), requests)
    _, high = wilson(min(requests, retries + in_doubt[1]), requests)
    return Share(low, retries / requests if requests else None, high)


def calibrated(headed_retries: int, followed: Mapping[int, Followed]) -> Share:
    """The share where some requests carry the number: those as stated, the others by what the trace shows of these.

    Args:
        headed_retries: requests that say they are retries.
        followed: by what the requests state: 0 nothing, 1 a first attempt, 2 a later one.
    """
    silent, first, later = (followed.get(k, Followed()) for k in (0, 1, 2))
    total = silent.requests + first.requests + later.requests
    if not total:
        return Share(0.0, None, 1.0)
    inner = Share(0.0, None, 1.0)
    if min(first.requests, later.requests, silent.requests) >= _FEWEST:
        hit, false, seen = (wilson(f.trouble, f.requests) for f in (later, first, silent))
        middle = [f.trouble / f.requests for f in (later, first, silent)]
        if hit[0] - false[1] >= _TELLS:
            inner = Share(
                _clipped((seen[0] - false[1]) / (hit[1] - false[1])),
                _clipped((middle[2] - middle[1]) / (middle[0] - middle[1])),
                _clipped((seen[1] - false[0]) / (hit[0] - false[0])),
            )
    if inner.point is None and later.requests + first.requests >= _FEWEST:
        point = later.requests / (later.requests + first.requests)
        inner = Share(0.0, point, 1.0)
        if later.requests < _FEWEST and 2 * later.trouble >= later.requests:
            # Too few retries say so to calibrate by, and they leave the trace: it bounds the others by itself.
            traced = by_trace(silent)
            inner = Share(min(point, traced.low), point, max(point, traced.high))

    def whole(share: float) -> float:
        return (headed_retries + share * silent.requests) / total

    return Share(whole(inner.low), None if inner.point is None else whole(inner.point), whole(inner.high))


def by_trace(followed: Followed) -> Share:
    """The share where no request says anything: how much surer something follows trouble than a good answer.

    A caller that is not tried again is still followed by chance, as often as after a good answer: of the share f of
    requests in trouble that are followed, (f - c) / (1 - c) are tried again. The lower bound takes half of that, for
    people press again too; the upper takes every request that followed another of its client, or one retry for every
    request in trouble, whichever is more.
    """
    total, troubled = followed.requests, followed.troubled
    if not total or 2 * followed.unknown > total:
        return Share(0.0, None, 1.0)
    chance = followed.answer / max(1, total - troubled)
    most = max(followed.trouble + followed.answer + followed.unknown, troubled)
    high = wilson(min(total, most), total)[1]
    if chance > _CROWDED:
        return Share(0.0, None, high)
    if not troubled:
        return Share(0.0, 0.0, high)
    again, least = (
        _clipped((seen - chance) / (1 - chance)) * troubled / total
        for seen in (min(1.0, followed.trouble / troubled), wilson(min(followed.trouble, troubled), troubled)[0])
    )
    return Share(min(least / 2, high), min(again, high), high)


def wilson(part: int, whole: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share; 0 to 1 of nothing."""
    if not whole:
        return 0.0, 1.0
    p, zz = part / whole, _Z * _Z
    middle = (p + zz / (2 * whole)) / (1 + zz / whole)
    half = _Z / (1 + zz / whole) * sqrt(p * (1 - p) / whole + zz / (4 * whole * whole))
    return max(0.0, middle - half), min(1.0, middle + half)


def _clipped(share: float) -> float:
    return min(1.0, max(0.0, share))
