"""Dead letters: what may be sent again and what may not, by the first thing that holds."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from forensics.detect.dead_letters import measure_letters
from forensics.detect.letter_findings import find_letters
from forensics.model import DeadLetter, DeadLetters

DAY = 86_400.0
LEDGER = [{"at": 0, "order_id": "PAID"}, {"at": 2 * DAY, "order_id": "LATER"}]


def letter(key: str | None = "FREE", at: float = DAY, **cells: Any) -> dict[str, Any]:
    """A letter of a system fault within the ledger's two days, unless it says otherwise."""
    body = {"order_id": key, "amount": 1000}
    return {"at": at, "business_key": key, "message_id": f"m-{key}-{at:g}", "original": json.dumps(body), **cells}


def measure(given: Any, *letters: dict[str, Any], payments: Any = LEDGER, **tables: Any) -> DeadLetters:
    found = measure_letters(given(dead_letters=letters, payments=payments, **tables))
    assert found is not None
    return found


def verdict(given: Any, *letters: dict[str, Any], **tables: Any) -> str:
    """The verdict of the last letter given."""
    found = measure(given, *letters, **tables)
    return next(x.verdict for x in found.letters if x.line_no == len(letters))


def test_a_letter_of_a_system_fault_without_an_effect_is_safe(given: Any) -> None:
    assert verdict(given, letter()) == "safe"


def test_a_letter_whose_order_was_paid_is_unsafe(given: Any) -> None:
    assert verdict(given, letter("PAID")) == "unsafe"


def test_a_letter_whose_message_was_paid_under_another_key_is_unsafe(given: Any) -> None:
    rows = [*LEDGER, {"at": 10, "order_id": "X", "request_id": "m-1"}]
    assert verdict(given, letter(message_id="m-1"), payments=rows) == "unsafe"


def test_a_second_letter_of_an_act_is_unsafe_and_the_first_is_not(given: Any) -> None:
    found = measure(given, letter(at=DAY + 60), letter(at=DAY))
    assert [(x.line_no, x.verdict) for x in found.letters] == [(2, "safe"), (1, "unsafe")]


def test_another_amount_of_the_same_order_is_another_act(given: Any) -> None:
    second = letter(at=DAY + 60, original=json.dumps({"order_id": "FREE", "amount": 500}))
    assert verdict(given, letter(), second) == "safe"


def test_the_same_message_twice_in_a_dump_is_one_letter_to_send(given: Any) -> None:
    found = measure(given, letter(message_id="m"), letter(message_id="m"))
    assert (found.count("safe"), found.count("unsafe"), found.repeated_messages) == (1, 1, 1)


def test_a_reason_that_says_done_is_unsafe(given: Any) -> None:
    assert verdict(given, letter(reason="duplicate key value violates unique constraint")) == "unsafe"


@pytest.mark.parametrize("reason", ["400: unknown currency", "JSON parse error at line 1"])
def test_a_fault_of_the_data_is_fixed_first(given: Any, reason: str) -> None:
    assert verdict(given, letter(reason=reason)) == "fix_first"


def test_a_message_that_is_cut_off_is_fixed_first(given: Any) -> None:
    cut = json.dumps('{"order_id": "FREE", "amo')
    assert verdict(given, letter(None, reason=None, original=cut)) == "fix_first"


def test_a_message_that_is_missing_must_be_asked_for(given: Any) -> None:
    assert verdict(given, letter(original=None)) == "ask_source"


def test_a_letter_older_than_the_ledger_cannot_be_told(given: Any) -> None:
    assert verdict(given, letter(at=-60)) == "unknown"


def test_a_letter_much_newer_than_the_ledger_cannot_be_told(given: Any) -> None:
    assert verdict(given, letter(at=4 * DAY)) == "unknown"


def test_those_who_run_the_consumer_are_asked_about_a_letter_without_a_reason(given: Any) -> None:
    assert verdict(given, letter(reason=None)) == "ask_source"


def test_deliveries_on_record_stand_in_for_a_reason(given: Any) -> None:
    handled = [{"at": DAY, "message_id": "m"}]
    assert verdict(given, letter(reason=None, message_id="m"), deliveries=handled) == "safe"


def test_the_sender_is_asked_about_a_letter_that_names_no_order(given: Any) -> None:
    assert verdict(given, letter(None)) == "ask_source"


def test_without_a_ledger_nothing_is_safe_but_a_fault_of_the_data_is_still_one(given: Any) -> None:
    found = measure(given, letter("A"), letter("B", reason="400"), payments=())
    assert [(x.business_key, x.verdict) for x in found.letters] == [("B", "fix_first"), ("A", "unknown")]


@pytest.mark.parametrize(("ordered", "verdict_then"), [("ELSE", "unknown"), ("K0", "safe")])
def test_many_keys_of_which_the_ledger_knows_none_say_nothing(given: Any, ordered: str, verdict_then: str) -> None:
    letters = [letter(f"K{n}", at=DAY + n) for n in range(20)]
    rows = [*LEDGER, {"at": 5, "order_id": ordered, "status": "failed"}]
    assert {x.verdict for x in measure(given, *letters, payments=rows).letters} == {verdict_then}


def test_an_amount_below_zero_is_safe_but_comes_last(given: Any) -> None:
    odd = letter("ODD", at=DAY - 5, original=json.dumps({"amount": "-500"}))
    found = measure(given, odd, letter("A"), letter("B", at=DAY + 5))
    assert [x.business_key for x in found.letters] == ["A", "B", "ODD"]
    assert "not above zero" in found.letters[-1].why


# Sums -----------------------------------------------------------------------------------------------------------


def test_fields_that_are_missing_are_counted(given: Any) -> None:
    found = measure(given, letter(), letter("B", reason=None), letter(None, attempts=None, original=None))
    assert found.missing == {"original": 1, "reason": 1, "attempts": 1, "first_failed_at": 0, "business_key": 1}


def test_attempts_beyond_what_the_queue_shares_are_over_its_cap(given: Any) -> None:
    tries = [5] * 9 + [1] * 3 + [40]
    found = measure(given, *(letter(f"K{i}", attempts=n) for i, n in enumerate(tries)))
    assert (found.cap, found.over_cap) == (5, 1)


def test_where_no_cap_shows_a_sensible_one_is_taken(given: Any) -> None:
    found = measure(given, letter("A", attempts=3), letter("B", attempts=4000))
    assert (found.cap, found.over_cap) == (25, 1)


def test_batches_grow(given: Any) -> None:
    found = measure(given, *(letter(f"K{n}", at=DAY + n) for n in range(15)), letter("PAID"))
    assert found.batches == (1, 10, 4)
    assert [x.batch for x in found.letters] == [1, *[2] * 10, *[3] * 4, None]


def test_times_and_ages_are_of_the_failures(given: Any) -> None:
    found = measure(given, letter("A", at=0), letter("B", at=10), letter("C", at=30))
    assert (found.median_age_s, found.first_at and found.first_at.second, found.last_at and found.last_at.second) == (
        20.0,  # 30, 20 and 0 s before the newest
        0,
        30,
    )


def test_no_letters_are_no_answer(given: Any) -> None:
    assert measure_letters(given(payments=LEDGER)) is None


# Findings -------------------------------------------------------------------------------------------------------


def test_what_must_not_be_sent_is_the_gravest_finding(given: Any) -> None:
    found = measure(
        given, letter("PAID"), letter("A", reason=None), letter("B", attempts=4000), letter("C", at=-50 * DAY)
    )
    findings = {f.id: f for f in find_letters(found)}
    assert list(findings) == [
        "dead-letters-unsafe-to-replay",
        "dead-letters-attempts-over-cap",
        "dead-letters-fields-missing",
        "dead-letters-left-lying",
        "dead-letters-replay-plan",
    ]
    unsafe = findings["dead-letters-unsafe-to-replay"]
    assert (unsafe.severity, unsafe.evidence[0].line_no, unsafe.evidence[0].table) == ("high", 1, "dead_letters")
    assert unsafe.numbers == {"unsafe": 1, "paid": 1, "records": 4}
    assert all(len(f.next_steps) == 1 for f in findings.values())


def test_letters_that_lack_nothing_leave_only_the_plan(given: Any) -> None:
    assert [f.id for f in find_letters(measure(given, letter()))] == ["dead-letters-replay-plan"]


def test_a_letter_is_frozen() -> None:
    one = DeadLetter(1, 1, "m", "k", None, "system", "503", 1, None, datetime.min, "safe", "", 1, False)  # noqa: DTZ901
    with pytest.raises(AttributeError):
        one.verdict = "unsafe"  # type: ignore[misc]
