"""How often each hop tries: counts of calls at two hops in, tries of the outer one out.

A hop that tries m times makes m requests at the next hop of each request that fails throughout, and between 1 and m of
one that is saved. So m is read from calls of which nothing was saved. What the next hop gets of a healthy call (more
than one request, where one act is made of several) is divided out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

FEWEST_CALLS = 5
"""Failed calls below which a number is only a lower bound."""
_COMMON = 0.2
_SUPPORTED = 3
_TOGETHER = 0.5


@dataclass(frozen=True, slots=True)
class CallCounts:
    """Calls with the same numbers of requests and failures at two hops."""

    outer_requests: int
    outer_failures: int
    inner_requests: int
    inner_failures: int
    calls: int
    in_span: bool = True
    """Whether they began in the span under suspicion."""

    @property
    def ratio(self) -> float:
        """Requests at the inner hop for one at the outer."""
        return self.inner_requests / self.outer_requests


@dataclass(frozen=True, slots=True)
class Tries:
    """Tries that the outer hop makes of one request."""

    number: float
    at_least: bool
    """True when it was read from calls that were saved in the end."""
    calls: int
    """Calls that failed throughout; with `at_least` those with any failure."""
    share: float
    """Share of them that shows exactly this number."""
    healthy: float
    """Requests at the inner hop for one at the outer when nothing fails; divided out of `number`."""


@dataclass(frozen=True, slots=True)
class HopPair:
    """Two hops compared over the calls that both saw."""

    a: str
    b: str
    calls: int
    a_earlier: int
    b_earlier: int
    a_longer: int
    b_longer: int
    a_fewer: int
    b_fewer: int

    @property
    def outward(self) -> int:
        """Above zero when a stands before b: it is asked first, takes longer, and, above all, is asked less often."""
        return 2 * (self.a_fewer - self.b_fewer) + (self.a_longer - self.b_longer) + (self.a_earlier - self.b_earlier)


def measure_tries(counts: Sequence[CallCounts]) -> Tries | None:
    """Tries of the outer hop, read from the calls of the span; None when none of them failed, so that none was retried.

    What a healthy call looks like is read from all.
    """
    healthy = _ratios([c for c in counts if not c.outer_failures and not c.inner_failures], 1.0)
    base = max(1.0, max(healthy, key=lambda ratio: (healthy[ratio], -ratio), default=1.0))
    counts = [c for c in counts if c.in_span]
    failed = [c for c in counts if c.outer_failures == c.outer_requests]
    throughout = [c for c in failed if c.inner_failures == c.inner_requests]
    for chosen in (throughout, failed):
        if sum(c.calls for c in chosen) >= FEWEST_CALLS:
            return _settled(chosen, base)
    return _at_least([c for c in counts if c.outer_failures or c.inner_failures], base)


def _ratios(counts: Sequence[CallCounts], base: float) -> Counter[float]:
    seen: Counter[float] = Counter()
    for c in counts:
        seen[round(c.ratio / base, 2)] += c.calls
    return seen


def _settled(counts: Sequence[CallCounts], base: float) -> Tries:
    """The largest ratio that is common: what was cut short, or not worth a retry, shows fewer; nothing shows more."""
    seen = _ratios(counts, base)
    total = sum(seen.values())
    common = [ratio for ratio, calls in seen.items() if calls >= _COMMON * total]
    number = max(common) if common else _quantile(seen, 0.9)
    return Tries(number, at_least=False, calls=total, share=seen[number] / total, healthy=base)


def _at_least(counts: Sequence[CallCounts], base: float) -> Tries | None:
    """The largest ratio that a few calls reach: no request makes more tries than its hop allows."""
    seen = _ratios(counts, base)
    total = sum(seen.values())
    reached = 0
    for ratio in sorted(seen, reverse=True):
        reached += seen[ratio]
        if reached >= _SUPPORTED:
            return Tries(ratio, at_least=True, calls=total, share=seen[ratio] / total, healthy=base)
    return None


def _quantile(seen: Mapping[float, int], share: float) -> float:
    left = share * sum(seen.values())
    for ratio in sorted(seen):
        left -= seen[ratio]
        if left <= 0:
            return ratio
    return max(seen)


def order_hops(calls: Mapping[str, int], pairs: Sequence[HopPair]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Hops that follow each other, from the edge inwards, and those that share too few calls with them.

    Args:
        calls: calls seen at each hop.
        pairs: every two hops that share calls.
    """
    wins = dict.fromkeys(calls, 0)
    for pair in pairs:
        sign = (pair.outward > 0) - (pair.outward < 0)
        wins[pair.a] += sign
        wins[pair.b] -= sign
    shared = {frozenset((p.a, p.b)): p.calls for p in pairs}
    ranked = sorted(calls, key=lambda hop: (-wins[hop], hop))

    def follows(outer: str, inner: str) -> bool:
        return shared.get(frozenset((outer, inner)), 0) >= _TOGETHER * min(calls[outer], calls[inner])

    chain = max((_chain(ranked[i:], follows) for i in range(len(ranked))), key=len, default=())
    return chain, tuple(hop for hop in ranked if hop not in chain)


def _chain(ranked: Sequence[str], follows: Callable[[str, str], bool]) -> tuple[str, ...]:
    chain = list(ranked[:1])
    for hop in ranked[1:]:
        if follows(chain[-1], hop):
            chain.append(hop)
    return tuple(chain)
