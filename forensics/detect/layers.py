"""Retries multiplied through hops: who retries, how often, and what would be left if only the edge did.

The lines of several hops' logs are brought together by an id that they share; a hop's tries are the requests at the
next hop for each that failed throughout, or the tries that a proxy lists in one line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from forensics.analysis.layers import CallCounts, HopPair, Tries, measure_tries, order_hops
from forensics.detect.hops import read_hops
from forensics.detect.timeline import Seen, Window, span_us
from forensics.model import Finding, LayerHop, Layers
from forensics.runner import Runner

# An id of the whole call is better than one of a request; an order number also ties separate acts.
_IDS = (
    ("trace_id", "with_trace", "traces", "trace id"),
    ("request_id", "with_request", "request_ids", "request id"),
    ("idempotency_key", "with_key", "keys", "idempotency key"),
    ("order_id", "with_order", "orders", "order in the path"),
)
_COVERED = 0.5
_WELL_COVERED = 0.9
_AGREES = 0.2
_ENTRY = re.compile(r"[^\s,:]+")

Hops = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class _Chain:
    """Hops in order, and the id that brought them together."""

    hops: tuple[str, ...]
    apart: tuple[str, ...]
    tied_by: str
    covered: str
    words: str


def measure_layers(runner: Runner, incident: Window | None = None) -> Layers | str:
    """The chain of hops and its product; the reason, where the logs cannot show it.

    Args:
        incident: calls that began in it are looked at; all where it is None, or where none of these failed throughout.
    """
    hops = {record["hop"]: record for record in read_hops(runner)}
    if not hops:
        return "no request in the logs can make an effect"
    if len(hops) == 1:
        return f"only one hop's log was given{''.join(f' ({hop})' for hop in hops if hop)}: give the log of each hop"
    chain = _chain(runner, hops)
    if chain is None:
        return "the logs of the hops share no id, so their lines cannot be brought together: log a trace id at each"
    for window in (incident, None) if incident else (None,):
        tries = _tries(runner, chain, window)
        if any(found for found, _ in tries.values()):
            return _layers(runner, hops, chain, tries, Seen.of(window, incident))
    return "no call failed throughout at any hop, so no hop had to show how often it tries"


def _chain(runner: Runner, hops: Hops) -> _Chain | None:
    """The longest chain that any id gives; of equals, by the id that comes first."""
    best: _Chain | None = None
    for tied_by, covered, distinct, words in _IDS:
        able = {hop: r[distinct] for hop, r in hops.items() if r[covered] >= _COVERED * r["requests"]}
        if len(able) < 2 or (best and len(able) <= len(best.hops)):
            continue
        pairs = [HopPair(*row) for row in runner.run("traffic/hop_pairs", tied_by=tied_by).rows]
        chained, _ = order_hops(able, [p for p in pairs if p.a in able and p.b in able])
        if len(chained) >= 2 and (best is None or len(chained) > len(best.hops)):
            apart = tuple(hop for hop in sorted(hops) if hop not in chained)
            best = _Chain(chained, apart, tied_by, covered, words)
    return best


def _tries(runner: Runner, chain: _Chain, window: Window | None) -> dict[str, tuple[Tries | None, str]]:
    """For each hop its tries and what told them: the next hop's requests, or its own lists where those hold more."""
    inside = _inside(runner, window)
    found: dict[str, tuple[Tries | None, str]] = {}
    for outer, inner in zip(chain.hops, (*chain.hops[1:], None), strict=True):
        between = measure_tries(_counts(runner, chain.tied_by, (outer, inner), window)) if inner is not None else None
        listed = inside.get(outer)
        if between and not (listed and listed.number > between.number):
            found[outer] = between, f"requests at {_name(inner or '')} for each at {_name(outer)}"
        elif listed:
            found[outer] = listed, "the tries that its own log lists in one line"
        elif inner is None:
            found[outer] = None, "it is the last hop given, and its log lists no tries behind it"
        else:
            found[outer] = None, "no call failed here, so it did not have to show how often it tries"
    return found


def _counts(runner: Runner, tied_by: str, pair: tuple[str, str], window: Window | None) -> list[CallCounts]:
    spans = span_us(window)
    result = runner.run("traffic/tries_between_hops", tied_by=tied_by, outer_hop=pair[0], inner_hop=pair[1], **spans)
    return [CallCounts(a, b, c, d, calls, bool(inside)) for inside, a, b, c, d, calls in result.rows]


def _inside(runner: Runner, window: Window | None) -> dict[str, Tries]:
    """Tries that each hop's own log lists: each entry of the list is one."""
    counts: dict[str, list[CallCounts]] = {}
    for in_span, hop, failed, statuses, requests in runner.run("traffic/tries_inside_lines", **span_us(window)).rows:
        entries = len(_ENTRY.findall(statuses))
        if entries:
            lost = entries - (1 - failed)
            counts.setdefault(hop, []).append(CallCounts(1, failed, entries, lost, requests, bool(in_span)))
    measured = {hop: measure_tries(of_hop) for hop, of_hop in counts.items()}
    return {hop: tries for hop, tries in measured.items() if tries}


def _layers(
    runner: Runner, hops: Hops, chain: _Chain, tries: Mapping[str, tuple[Tries | None, str]], seen_in: Seen
) -> Layers:
    numbers = {hop: found.number for hop, (found, _) in tries.items() if found}
    product = prod(numbers.values())
    last = chain.hops[-1]
    through = measure_tries(_counts(runner, chain.tied_by, (chain.hops[0], last), seen_in.window))
    seen = None if through is None or through.at_least else through.number * numbers.get(last, 1.0)
    records = tuple(_hop(hop, hops[hop], *tries[hop], product) for hop in chain.hops)
    retrying = [h for h in records if h.attempts_per_request is not None and h.attempts_per_request > 1]
    # The outermost that retries may stay; of those behind it the one that multiplies most goes first, the innermost
    # among equals, because nobody before it sees its tries.
    inner = [(h.attempts_per_request or 0, place, h.hop) for place, h in enumerate(retrying) if place]
    return Layers(
        hops=records,
        product=round(product, 2),
        seen_product=None if seen is None else round(seen, 2),
        tied_by=chain.words,
        switch_off_first=max(inner)[2] if inner else None,
        notes=_notes(hops, chain, records),
        confidence=_confidence(hops, chain, tries, product, seen),
        window=seen_in.window,
        window_why=seen_in.why,
    )


def _hop(hop: str, record: Mapping[str, Any], found: Tries | None, told_by: str, product: float) -> LayerHop:
    return LayerHop(
        hop=hop,
        attempts_per_request=found.number if found else None,
        at_least=bool(found and found.at_least),
        told_by=told_by,
        requests=record["requests"],
        failed_calls=found.calls if found else 0,
        share=round(found.share, 4) if found else None,
        product_without=round(product / found.number, 2) if found else None,
    )


def _notes(hops: Hops, chain: _Chain, records: Sequence[LayerHop]) -> tuple[str, ...]:
    notes = [
        f"{1 - share:.0%} of the lines of {_name(hop)} bear no {chain.words} and are left out"
        for hop in chain.hops
        if (share := hops[hop][chain.covered] / hops[hop]["requests"]) < _WELL_COVERED
    ]
    for hop in chain.apart:
        bears = hops[hop][chain.covered] >= _COVERED * hops[hop]["requests"]
        why = "shares too few calls with the others" if bears else f"bears no {chain.words}"
        notes.append(f"{_name(hop)} {why} and is not in the chain")
    notes += [f"{_name(h.hop)}: no call failed throughout, so it may try more often" for h in records if h.at_least]
    notes.append("a hop whose log is missing multiplies unseen: its tries count as those of the hop before it")
    return tuple(notes)


def _confidence(
    hops: Hops, chain: _Chain, tries: Mapping[str, tuple[Tries | None, str]], product: float, seen: float | None
) -> float:
    """As sure as the hop that is known worst, less where counting end to end gives another number."""
    worst = min(_sure(found) for found, _ in tries.values() if found)
    worst *= min(float(hops[hop][chain.covered] / hops[hop]["requests"]) for hop in chain.hops)
    if seen is not None and abs(seen - product) > _AGREES * product:
        worst = min(worst, 0.6)
    unknown = any(found is None for hop, (found, _) in tries.items() if hop != chain.hops[-1])
    return round(min(worst, 0.6) if unknown else worst, 2)


def _sure(found: Tries) -> float:
    if found.at_least:
        return 0.6
    return 0.97 if found.calls >= 20 and found.share >= 0.8 else 0.85 if found.share >= 0.5 else 0.7


def _name(hop: str) -> str:
    return hop or "the log without a name"


def remaining_words(layers: Layers) -> str:
    """The load that would have remained: 'with retries at gateway only: 64 -> 4'; empty without a product."""
    retrying = [h for h in layers.hops if h.attempts_per_request is not None and h.attempts_per_request > 1]
    if len(retrying) < 2:
        return ""
    return f"with retries at {_name(retrying[0].hop)} only: {layers.product:g} -> {retrying[0].attempts_per_request:g}"


def find_layers(layers: Layers) -> Finding:
    """The finding that answers: who retries, and what do they multiply to?"""
    known = [h for h in layers.hops if h.attempts_per_request is not None]
    product = layers.product
    most = "at least " if any(h.at_least for h in known) else ""
    each = ", ".join(f"{_name(h.hop)} {'at least ' if h.at_least else ''}{h.attempts_per_request:g}" for h in known)
    remaining = remaining_words(layers)
    outer, inner = layers.hops[0].hop, layers.hops[-1].hop
    return Finding(
        id="layers",
        rule="layers/product",
        title="Retries multiply through the hops" if remaining else "Retries do not multiply through the hops",
        severity="note" if not remaining else "high" if product >= 8 else "medium",
        confidence=layers.confidence,
        statement=f"When all fails, one request at {_name(outer)} becomes {most}{product:g} tries at {_name(inner)} "
        f"(tries of one request: {each}){'; ' + remaining if remaining else ''}.",
        why=(
            *(f"{_name(h.hop)}: read from {h.told_by}; {h.failed_calls:,} calls failed throughout" for h in known),
            f"counted from end to end: {layers.seen_product:g}"
            if layers.seen_product is not None
            else "no call failed from end to end, so the product could not be counted whole",
            f"looked at: {layers.window_why}",
            f"lines of different hops were brought together by the {layers.tied_by}",
            *layers.notes,
        ),
        alternatives=(),
        numbers={
            "product": product,
            "seen_product": layers.seen_product,
            **{f"attempts_{h.hop}": h.attempts_per_request for h in layers.hops},
        },
        money={},
        query="traffic/tries_between_hops",
        parameters={
            "tied_by": _tie_name(layers),
            "outer_hop": outer,
            "inner_hop": inner,
            **span_us(layers.window),
        },
        evidence=(),
        evidence_total=0,
        next_steps=_next_steps(layers),
    )


def _tie_name(layers: Layers) -> str:
    return next(name for name, _, _, words in _IDS if words == layers.tied_by)


def _next_steps(layers: Layers) -> tuple[str, ...]:
    first = next((h for h in layers.hops if h.hop == layers.switch_off_first), None)
    if first is None:
        return ()
    less = f"{layers.product:g} -> {first.product_without:g}"
    return (
        f"switch off retries at {_name(first.hop)} first ({less}), then behind the edge: {remaining_words(layers)}",
    )
