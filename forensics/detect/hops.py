"""What each hop's requests carry, and which of their ids repeat: asked by every question that ties attempts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forensics.runner import Runner

_DISTINCT = (
    ("idempotency_key", "with_key", "keys"),
    ("request_id", "with_request", "request_ids"),
    ("trace_id", "with_trace", "traces"),
    ("order_id", "with_order", "orders"),
)

Hop = Mapping[str, Any]


def read_hops(runner: Runner) -> list[Hop]:
    """The records of traffic/identities, each with its distinct `keys`, `request_ids`, `traces` and `orders`.

    One id is counted at a time: to tell all of them apart at once needs four times the memory.
    """
    hops = runner.run("traffic/identities").records()
    for tied_by, covered, distinct in _DISTINCT:
        counted: dict[str, int] = {}
        if any(hop[covered] for hop in hops):
            rows = runner.run("traffic/distinct_ids", tied_by=tied_by).rows
            counted = {name: ids for name, _, ids in rows}
        for hop in hops:
            hop[distinct] = counted.get(hop["hop"], 0)
    return list(hops)


def busiest(hops: list[Hop]) -> Hop:
    """The last hop before the ledger: retries multiply inwards, so it is asked most often."""
    return max(hops, key=lambda hop: (hop["requests"], hop["hop"]))
