"""Layers: a chain of logs whose product is known, and the reasons where there is none."""

from __future__ import annotations

from typing import Any

from forensics.detect.layers import find_layers, measure_layers, remaining_words
from forensics.model import Layers

CHAIN = (("edge", 2), ("orders", 3), ("ledger", 1))


def storm(calls: int = 30, healthy: int = 60, chain: Any = CHAIN) -> list[dict[str, Any]]:
    """Healthy calls pass every hop once; the others fail at every hop, which tries as often as it is said to."""
    lines: list[dict[str, Any]] = []
    for call in range(calls + healthy):
        count, failed = 1, call < calls
        for depth, (hop, tries) in enumerate(chain):
            for n in range(count):
                took = {"duration_us": 1_000_000 // 4**depth, "status": 503 if failed else 201}
                lines.append({"at": call * 5 + n / 50, "hop": hop, "trace_id": f"t{call}", **took})
            count *= tries if failed else 1
    return lines


def measured(given: Any, lines: list[dict[str, Any]]) -> Layers:
    found = measure_layers(given(requests=lines))
    assert isinstance(found, Layers)
    return found


def test_tries_multiply_from_the_edge_inwards(given: Any) -> None:
    layers = measured(given, storm())
    assert [(h.hop, h.attempts_per_request) for h in layers.hops] == [("edge", 2.0), ("orders", 3.0), ("ledger", None)]
    assert (layers.product, layers.seen_product, layers.tied_by) == (6.0, 6.0, "trace id")
    assert [h.requests for h in layers.hops] == [90, 120, 240]  # 60 + 30, 60 + 30 x 2, 60 + 30 x 6
    assert [h.product_without for h in layers.hops] == [3.0, 2.0, None]
    assert layers.switch_off_first == "orders"
    assert remaining_words(layers) == "with retries at edge only: 6 -> 2"
    assert layers.confidence == 0.97


def test_the_finding_says_what_would_have_remained(given: Any) -> None:
    finding = find_layers(measured(given, storm()))
    assert (finding.id, finding.severity) == ("layers", "medium")
    assert finding.statement == (
        "When all fails, one request at edge becomes 6 tries at ledger (tries of one request: edge 2, orders 3); "
        "with retries at edge only: 6 -> 2."
    )
    assert finding.next_steps == (
        "switch off retries at orders first (6 -> 2), then behind the edge: with retries at edge only: 6 -> 2",
    )


def test_tries_that_never_reached_the_next_hop_are_read_from_the_proxys_own_list(given: Any) -> None:
    lines = storm(chain=(("edge", 2), ("ledger", 1)))
    for line in lines:
        if line["hop"] == "edge" and line["status"] == 503:
            line["upstream_statuses"] = "502, 503, 503 : 503"
    layers = measured(given, lines)
    assert layers.hops[0].attempts_per_request == 4.0
    assert layers.confidence == 0.6  # only half of them arrived, so the count from end to end does not agree


def test_one_hop_that_retries_multiplies_nothing(given: Any) -> None:
    layers = measured(given, storm(chain=(("edge", 3), ("ledger", 1))))
    assert (layers.product, layers.switch_off_first, remaining_words(layers)) == (3.0, None, "")
    assert find_layers(layers).severity == "note"


def test_a_hop_that_logs_no_id_is_named(given: Any) -> None:
    lines = storm()
    for line in lines:
        if line["hop"] == "orders":
            del line["trace_id"]
    layers = measured(given, lines)
    assert [h.hop for h in layers.hops] == ["edge", "ledger"]
    assert "orders bears no trace id and is not in the chain" in layers.notes
    assert layers.hops[0].attempts_per_request == 6.0  # its tries count as those of the hop before it


def test_an_order_number_ties_where_no_better_id_is_logged(given: Any) -> None:
    lines = [{**line, "order_id": line["trace_id"], "trace_id": None} for line in storm()]
    layers = measured(given, lines)
    assert (layers.product, layers.tied_by) == (6.0, "order in the path")


def test_without_evidence_the_reason_is_given(given: Any) -> None:
    assert measure_layers(given()) == "no request in the logs can make an effect"


def test_one_log_is_not_enough(given: Any) -> None:
    only = [line for line in storm() if line["hop"] == "edge"]
    assert measure_layers(given(requests=only)) == "only one hop's log was given (edge): give the log of each hop"


def test_logs_without_a_common_id_are_not_enough(given: Any) -> None:
    lines = [{**line, "trace_id": f"{line['hop']}-{line['trace_id']}"} for line in storm()]
    assert "share no id" in str(measure_layers(given(requests=lines)))


def test_where_nothing_failed_nothing_is_said(given: Any) -> None:
    assert "no call failed throughout" in str(measure_layers(given(requests=storm(calls=0))))


def test_a_log_whose_file_names_no_hop_is_spoken_of(given: Any) -> None:
    lines = [{**line, "hop": None if line["hop"] == "edge" else line["hop"]} for line in storm()]
    layers = measured(given, lines)
    assert layers.hops[0].hop == ""
    assert find_layers(layers).statement.startswith("When all fails, one request at the log without a name becomes 6")


def test_the_numbers_of_the_chain_are_what_the_queries_count(given: Any) -> None:
    runner = given(requests=storm())
    layers = measure_layers(runner)
    assert isinstance(layers, Layers)
    counted = {row["hop"]: row["requests"] for row in runner.run("traffic/identities").records()}
    assert {h.hop: h.requests for h in layers.hops} == counted
    for outer, inner in zip(layers.hops, layers.hops[1:], strict=False):
        spans = {"tied_by": "trace_id", "outer_hop": outer.hop, "inner_hop": inner.hop}
        rows = runner.run("traffic/tries_between_hops", **spans).records()
        lost = [r for r in rows if r["outer_failures"] == r["outer_requests"]]
        assert {r["inner_requests"] / r["outer_requests"] for r in lost} == {outer.attempts_per_request}
