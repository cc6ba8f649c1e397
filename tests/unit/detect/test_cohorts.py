"""Cohorts: split where the gaps of the parts differ and so do their policies; one cohort otherwise."""

from __future__ import annotations

import random
from typing import Any

from forensics.detect.causes import Explained, Setting, explain
from forensics.detect.ledger import judge_rows
from forensics.model import BROKER_COHORT


def explained(given: Any, **tables: Any) -> Explained:
    runner = given(**tables)
    return explain(runner, judge_rows(runner), Setting(1000, 1_000_000, None, None))


def orders(channel: str, gaps: tuple[float, ...], count: int, seed: int) -> list[dict[str, Any]]:
    """Orders of one channel with these gaps, each up to 40 ms late."""
    rng = random.Random(seed)  # noqa: S311
    found = []
    for n in range(count):
        at = 100.0 * n
        for gap in (0.0, *gaps):
            at += gap + rng.uniform(0.0, 0.04)
            found.append({"at": at, "order_id": f"{channel}{n:03}", "channel": channel})
    return found


def test_two_channels_that_wait_differently_are_two_cohorts_the_larger_first(given: Any) -> None:
    payments = orders("app", (4.0, 5.0, 7.0), 40, 1) + orders("web", (15.0, 15.0, 15.0), 25, 2)
    found = explained(given, payments=payments)
    first = {p.cohort: p for p in reversed(found.policies)}
    assert list(dict.fromkeys(p.cohort for p in found.policies)) == [
        "rows of the ledger, channel app",
        "rows of the ledger, channel web",
    ]
    app, web = first["rows of the ledger, channel app"], first["rows of the ledger, channel web"]
    assert (app.ranked.policy.shape, app.ranked.policy.base_s, app.ranked.policy.timeout_s) == ("exponential", 1.0, 3.0)
    assert web.ranked.policy.shape in ("fixed", "none")
    assert (app.groups, web.groups) == (40, 25)
    assert (round(app.share, 3), round(web.share, 3)) == (0.615, 0.385)
    texts = {r.channel: r.policy for r in found.rows if r.cause == "retry"}
    assert texts["app"] != texts["web"]


def test_two_channels_that_wait_alike_are_one_cohort(given: Any) -> None:
    payments = orders("app", (4.0, 5.0, 7.0), 30, 1) + orders("web", (4.0, 5.0, 7.0), 30, 2)
    found = explained(given, payments=payments)
    assert {p.cohort for p in found.policies} == {"rows of the ledger"}
    assert found.policies[0].share == 1.0


def deliveries(returns: list[float]) -> dict[str, Any]:
    """Messages paid twice, each delivered again after so many seconds."""
    acts = [(f"A{n}", 100.0 * n, wait) for n, wait in enumerate(returns)]
    return {
        "payments": [{"at": at + late + 0.2, "order_id": act} for act, at, wait in acts for late in (0.0, wait)],
        "deliveries": [
            {"at": at + late, "message_id": f"m-{act}", "business_key": act, "delivery_no": k}
            for act, at, wait in acts
            for k, late in enumerate((0.0, wait), 1)
        ],
    }


def test_messages_that_come_back_after_one_time_name_a_visibility_timeout(given: Any) -> None:
    found = explained(given, **deliveries([30.0, 30.1, 30.2, 30.1, 30.3, 30.1, 48.0]))
    broker = found.policies[0]
    policy = broker.ranked.policy
    assert (broker.cohort, broker.groups, broker.share) == (BROKER_COHORT, 7, 1.0)
    assert (policy.shape, policy.base_s, policy.timeout_s, policy.jitter) == ("fixed", 30.0, 30.0, "none")
    assert broker.explained_share == 6 / 7
    assert "sqs-visibility-timeout" in broker.ranked.policy_ids


def test_messages_that_come_back_within_a_second_were_given_back(given: Any) -> None:
    found = explained(given, **deliveries([0.1, 0.2, 7.0, 0.4, 2.5, 0.9, 19.0]))
    policy = found.policies[0].ranked.policy
    assert (policy.shape, policy.base_s, policy.timeout_s) == ("none", 0.0, 0.0)


def test_messages_that_come_back_at_no_common_time_name_no_policy(given: Any) -> None:
    assert explained(given, **deliveries([2.0, 5.0, 11.0, 23.0, 47.0, 95.0])).policies == ()
