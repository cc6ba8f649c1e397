"""Whether the new calls came from many callers or from a few: one client's flood is no growth of users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from forensics.detect.timeline import Window, WindowCounts
from forensics.runner import Runner

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PART_OF_GROWTH = 0.1
_FEWEST_CALLS = 20
_FEWEST_CLIENTS = 20
_TIMES_BEFORE = 3.0
_CONVERTS = 0.5


@dataclass(frozen=True, slots=True)
class Flood:
    """Calls that a few clients added, beyond what they sent before."""

    clients: int
    calls: int
    """Calls they started in the incident."""
    added: float
    """Those beyond the rate of the baseline."""
    good_share: float
    """Of those calls, answered below 400; above a half the flood makes effects."""
    orders: int
    """Distinct orders in the paths of its requests; 0 where paths name none."""
    of_clients: int
    """Clients in the incident."""

    @property
    def converts(self) -> bool:
        """Whether it ends in effects, as a partner's campaign through one address would."""
        return self.good_share >= _CONVERTS


def find_flood(
    runner: Runner, told_by: tuple[str, str], windows: tuple[Window, Window], counts: tuple[WindowCounts, WindowCounts]
) -> Flood | None:
    """The clients that each carry a tenth or more of the growth of calls; None when there are none.

    Args:
        told_by: hop, and what tells attempts apart there.
        windows, counts: baseline and incident.
    """
    before, during = counts
    scale = during.seconds / before.seconds if before.seconds else 0.0
    spans = {
        f"{name}_{edge}_us": (at - _EPOCH) // timedelta(microseconds=1)
        for name, window in zip(("baseline", "incident"), windows, strict=True)
        for edge, at in zip(("start", "end"), window, strict=True)
    }
    rows = runner.run("traffic/busiest_clients", at_hop=told_by[0], basis=told_by[1], **spans).rows
    if not rows or rows[0][6] < _FEWEST_CLIENTS:
        return None
    return _flood(rows, scale, during.first + during.unnumbered - scale * (before.first + before.unnumbered))


def _flood(rows: Sequence[tuple[Any, ...]], scale: float, growth: float) -> Flood | None:
    chosen: list[tuple[int, int, float, int]] = []
    for _, client, earlier, calls, good, orders, _ in rows:
        if not client:  # of no known client
            continue
        added = calls - scale * earlier
        sudden = calls >= _TIMES_BEFORE * scale * earlier and calls >= _FEWEST_CALLS
        if sudden and growth > 0 and added >= _PART_OF_GROWTH * growth:
            chosen.append((calls, good, added, orders))
    if not chosen:
        return None
    calls = sum(c for c, _, _, _ in chosen)
    return Flood(
        clients=len(chosen),
        calls=calls,
        added=sum(a for _, _, a, _ in chosen),
        good_share=min(1.0, sum(g for _, g, _, _ in chosen) / calls),
        orders=sum(o for _, _, _, o in chosen),
        of_clients=rows[0][6],
    )
