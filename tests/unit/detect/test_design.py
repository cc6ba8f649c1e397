"""Rules that rest on what was measured before: each violated, kept, or not examined for want of a measurement."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from forensics.detect.causes import Setting, explain
from forensics.detect.design import judge_design
from forensics.detect.layers import measure_layers
from forensics.detect.ledger import judge_rows
from forensics.model import CohortPolicy, ConductRule, Layers, Policy, RankedPolicy

Line = dict[str, Any]


def judged(runner: Any, rows: Any = (), policies: Any = (), layers: Layers | None = None) -> dict[str, ConductRule]:
    return {r.name: r for r in judge_design(runner, rows, policies, layers, None, 1000)}


# Jitter ---------------------------------------------------------------------------------------------------------


def strongest(jitter: str, probability: float = 0.9, base_s: float = 1.0) -> list[CohortPolicy]:
    policy = Policy("fixed", base_s, 1.0, None, (base_s, base_s), jitter, None, 3.0, 3)
    return [CohortPolicy("rows of the ledger", 40, 1.0, 1.0, RankedPolicy(policy, probability, False, (), ()))]


@pytest.mark.parametrize(
    ("policies", "outcome"),
    [
        (strongest("none"), ("violated", 40)),
        (strongest("full"), ("kept", 0)),
        (strongest("none", probability=0.4), ("not_examined", None)),
        (strongest("none", base_s=0.0), ("not_examined", None)),
        ([], ("not_examined", None)),
    ],
    ids=["no jitter", "jitter", "not sure", "no wait to jitter", "no policy"],
)
def test_jitter_is_read_from_the_strongest_policy(given: Any, policies: Any, outcome: tuple[str, int | None]) -> None:
    rule = judged(given(), policies=policies)["no_jitter"]
    assert (rule.status, rule.broken) == outcome


# Layers and hang-ups --------------------------------------------------------------------------------------------


def chain(inner_tries: int, calls: int = 30) -> list[Line]:
    """Calls that fail throughout, with two tries at the edge and so many behind each; twice as many that do not."""
    lines: list[Line] = []
    for n in range(3 * calls):
        failed, begin, call_id = n < calls, n * 50.0, {"trace_id": f"t{n}"}
        for k in range(2 if failed else 1):
            at = begin + 10 * k
            edge = {"at": at, "hop": "edge", "duration_us": 3_000_000, "status": 503 if failed else 201}
            lines.append({**edge, **call_id})
            for m in range(inner_tries if failed else 1):
                inner = {"at": at + 0.5 + 0.5 * m, "hop": "ledger", "duration_us": 100_000}
                lines.append({**inner, **call_id, "status": 503 if failed else 201})
    return lines


def layered(runner: Any) -> Layers:
    found = measure_layers(runner)
    assert isinstance(found, Layers)
    return found


@pytest.mark.parametrize(("listed", "status"), [("503, 503 : 503", "violated"), (None, "kept")])
def test_one_layer_may_retry(given: Any, listed: str | None, status: str) -> None:
    # The edge is seen to send two requests for one; the ledger's own log lists three tries behind it, or none.
    lines = chain(inner_tries=2)
    for line in lines:
        if line["hop"] == "ledger" and line["status"] == 503:
            line["upstream_statuses"] = listed
    runner = given(requests=lines)
    rule = judged(runner, layers=layered(runner))["retries_in_layers"]
    assert rule.status == status


def test_without_a_chain_of_hops_neither_layers_nor_hang_ups_are_examined(given: Any) -> None:
    rules = judged(given())
    assert {rules[name].status for name in ("retries_in_layers", "attempts_after_hang_up")} == {"not_examined"}


@pytest.mark.parametrize(
    ("late_s", "outcome"), [(5.0, ("violated", 1)), (2.9, ("kept", 0))], ids=["after the hang-up", "before it"]
)
def test_a_hop_that_goes_on_after_its_caller_hung_up_works_for_nobody(
    given: Any, late_s: float, outcome: tuple[str, int]
) -> None:
    gone = [
        {"at": 9000.0, "hop": "edge", "trace_id": "g", "status": 499, "duration_us": 3_000_000},
        {"at": 9000.5, "hop": "ledger", "trace_id": "g", "status": 503, "duration_us": 100_000},
        {"at": 9000 + late_s, "hop": "ledger", "trace_id": "g", "status": 201, "duration_us": 100_000},
    ]
    runner = given(requests=[*chain(2), *gone])
    rule = judged(runner, layers=layered(runner))["attempts_after_hang_up"]
    assert (rule.status, rule.broken) == outcome
    assert rule.parameters.get("inner_hop") == ("ledger" if outcome[1] else None)


# Methods --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "outcome"), [("PUT", ("violated", 1)), ("DELETE", ("violated", 1)), ("POST", ("not_examined", None))]
)
def test_what_took_effect_twice_was_not_idempotent_whatever_its_method(
    given: Any, method: str, outcome: tuple[str, int | None]
) -> None:
    rows = [{"at": 0.1, "request_id": "r"}, {"at": 4.1, "request_id": "r"}]
    log = [{"at": t, "request_id": "r", "method": method, "duration_us": 200_000} for t in (0.0, 4.0)]
    runner = given(payments=rows, requests=log)
    found = explain(runner, judge_rows(runner), Setting(1000, 1000, None, None)).rows
    rule = judged(runner, rows=found)["idempotent_methods_repeated"]
    assert (rule.status, rule.broken) == outcome


def test_two_parts_of_one_bill_sent_by_put_are_two_acts(given: Any) -> None:
    rows = [
        {"at": 0.1, "request_id": "a", "amount": Decimal(7000)},
        {"at": 9.1, "request_id": "b", "amount": Decimal(3000)},
    ]
    log = [{"at": t, "request_id": r, "method": "PUT", "duration_us": 200_000} for t, r in ((0.0, "a"), (9.0, "b"))]
    runner = given(payments=rows, requests=log)
    found = explain(runner, judge_rows(runner), Setting(1000, 1000, None, None)).rows
    rule = judged(runner, rows=found)["idempotent_methods_repeated"]
    assert (rule.status, rule.broken, rule.chances) == ("kept", 0, 2)
