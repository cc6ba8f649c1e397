"""What the last hop would have got, had callers retried otherwise: a small model over what was seen.

The first attempts of each step of time are taken as they came, and so are the failures: had fewer requests come, fewer
might have failed, so that every number is an upper bound of what would have remained. Nothing is fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forensics.model import Supposed

ASSUMPTIONS = (
    "first attempts come as they came: nobody stays away, nobody presses again",
    "each step fails as often as it failed: the relief of fewer requests is not counted, so these are upper bounds",
    "with one layer, the tries of the hops behind it are divided out of every step",
    "with full jitter all retries come, and the waves are as high as jitter would have left the highest",
    "a budget allows retries up to its share of the first attempts of the same step, without saving up",
    "a breaker opens when half of at least 20 requests of a step failed; one in twenty of the next step passes",
)
_OPENS_AT = 0.5
_FEWEST = 20
_PROBES = 0.05
_BUDGETS = (0.1, 0.2)


@dataclass(frozen=True, slots=True)
class Load:
    """Requests in one step of time."""

    first: float
    retries: float
    failures: float

    @property
    def requests(self) -> float:
        """All of them."""
        return self.first + self.retries


def suppose(steps: Sequence[Load], one_layer: float | None, jittered_peak: float | None) -> tuple[Supposed, ...]:
    """Every scenario that the evidence allows.

    Args:
        steps: the incident's steps of time in order.
        one_layer: requests at the last hop if the outermost hop alone retried, as a share of those with all hops;
            None when no more than one hop is known to retry.
        jittered_peak: the peak of the waves of retries under full jitter as a share of the one seen; None unless
            retries came in waves.
    """
    seen = [step.requests for step in steps]
    supposed = [_supposed("as_seen", seen), _supposed("no_retries", [s.first for s in steps])]
    if one_layer is not None:
        supposed.append(_supposed("one_layer", [s.first + max(0.0, s.requests * one_layer - s.first) for s in steps]))
    if jittered_peak is not None:
        peak = max((s.first + s.retries * jittered_peak for s in steps), default=0.0)
        supposed.append(Supposed("full_jitter", round(sum(seen)), round(peak)))
    for budget in _BUDGETS:
        allowed = [s.first + min(s.retries, budget * s.first) for s in steps]
        supposed.append(_supposed(f"budget_{budget * 100:.0f}", allowed))
    return (*supposed, _supposed("breaker", _broken(steps)))


def _supposed(name: str, requests: Sequence[float]) -> Supposed:
    return Supposed(name, round(sum(requests)), round(max(requests, default=0.0)))


def _broken(steps: Sequence[Load]) -> list[float]:
    """Requests let through: what failed in a step decides about the next, and what a step sends decides what fails."""
    through: list[float] = []
    opened = False
    for step in steps:
        sent = step.requests * (_PROBES if opened else 1.0)
        through.append(sent)
        bad = step.failures / step.requests if step.requests else 0.0
        opened = bad >= _OPENS_AT and (opened or step.requests >= _FEWEST)
    return through
