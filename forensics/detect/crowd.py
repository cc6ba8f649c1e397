"""Whether the new calls came from many callers or from a few: one client's flood is no growth of users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forensics.detect.timeline import WindowCounts
from forensics.runner import Runner

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
    runner: Runner, told_by: tuple[str, str], spans: Mapping[str, int], counts: tuple[WindowCounts, WindowCounts]
) -> Flood | None:
    """The clients that each carry a tenth or more of the growth of calls; None when there are none.

    Args:
        told_by: hop, and what tells attempts apart there.
        spans: baseline and incident as traffic/split takes them.
        counts: what these hold.
    """
    before, during = counts
    scale = during.seconds / before.seconds if before.seconds else 0.0
    rows = runner.run("traffic/split", split_by="client", at_hop=told_by[0], basis=told_by[1], **spans).records()
    if not rows or rows[0]["incident_parts"] < _FEWEST_CLIENTS:
        return None
    return _flood(rows, scale, during.first + during.unnumbered - scale * (before.first + before.unnumbered))


def _flood(rows: Sequence[Mapping[str, Any]], scale: float, growth: float) -> Flood | None:
    chosen: list[tuple[int, float, Mapping[str, Any]]] = []
    for row in rows:
        if not row["part"]:  # of no known client
            continue
        calls = row["incident_first"] + row["incident_unnumbered"]
        earlier = scale * (row["baseline_first"] + row["baseline_unnumbered"])
        sudden = calls >= _TIMES_BEFORE * earlier and calls >= _FEWEST_CALLS
        if sudden and growth > 0 and calls - earlier >= _PART_OF_GROWTH * growth:
            chosen.append((calls, calls - earlier, row))
    if not chosen:
        return None
    calls = sum(n for n, _, _ in chosen)
    return Flood(
        clients=len(chosen),
        calls=calls,
        added=sum(added for _, added, _ in chosen),
        good_share=min(1.0, sum(row["incident_good"] for _, _, row in chosen) / max(1, calls)),
        orders=sum(row["incident_orders"] for _, _, row in chosen),
        of_clients=rows[0]["incident_parts"],
    )
