"""A log without durations may stamp the ends of requests: what its gaps say is said with that doubt."""

from __future__ import annotations

from typing import Any

import pytest

from forensics.detect.attempts import measure_attempts
from forensics.detect.causes import Setting, explain
from forensics.detect.ledger import judge_rows

UNTIMED = "the log has no durations"


@pytest.mark.parametrize(("duration_us", "timed"), [(None, False), (20_000, True)])
def test_a_policy_read_from_a_log_without_durations_cannot_be_told_from_one_with_a_timeout(
    given: Any, duration_us: int | None, timed: bool
) -> None:
    # forty calls, each tried again after 8, 16 and 32 s
    requests = [
        {"at": 100.0 * n + at, "request_id": f"r-{n}", "duration_us": duration_us, "status": 503}
        for n in range(40)
        for at in (0.0, 8.0, 24.0, 56.0)
    ]
    runner = given(payments=[{"at": 0.0}], requests=requests)
    attempts = measure_attempts(runner)
    assert attempts is not None
    assert attempts.timed is timed
    explained = explain(runner, judge_rows(runner), Setting(1000, 1000, None, attempts))
    assert explained.policies
    assert any(UNTIMED in text for text in explained.policies[0].ranked.cannot_tell_from) is not timed
