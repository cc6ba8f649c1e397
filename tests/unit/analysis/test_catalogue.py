"""The catalogue loads, and says which products have given waits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forensics.analysis.catalogue import entries_like, entries_that_fit, load_catalogue
from forensics.analysis.schedules import JITTERS, SHAPES
from forensics.model import Policy

TEXTBOOK = Policy("exponential", 1.0, 2.0, None, (1.0, 2.0, 4.0), "none", None, 3.0, 4)


def test_every_entry_has_an_id_of_its_own_a_source_and_known_words() -> None:
    entries = load_catalogue()
    assert len(entries) > 150
    assert len({e.id for e in entries}) == len(entries)
    assert all(e.source and e.policy.shape in SHAPES and e.policy.jitter in JITTERS for e in entries)


def test_one_two_four_seconds_without_jitter_are_what_several_clients_wait() -> None:
    ids = entries_that_fit(TEXTBOOK)
    assert {"tenacity-wait-exponential", "p-retry-default", "node-retry-default", "go-retryablehttp"} <= set(ids)
    assert "backoff-expo" not in ids  # full jitter
    assert "urllib3-retry-factor-1" not in ids  # 0, 2, 4


def test_more_attempts_than_a_client_makes_rule_it_out() -> None:
    seven = replace(TEXTBOOK, schedule_s=(1.0, 2.0, 4.0, 8.0, 16.0, 32.0), max_attempts=7)
    assert "go-retryablehttp" not in entries_that_fit(seven)
    assert "p-retry-default" in entries_that_fit(seven)


def test_a_timeout_counts_only_where_the_entry_has_one() -> None:
    full = replace(TEXTBOOK, jitter="full", schedule_s=(1.0, 2.0), timeout_s=60.0, max_attempts=3)
    assert "botocore-standard-2024" in entries_that_fit(full)
    assert "botocore-standard-2024" not in entries_that_fit(replace(full, timeout_s=5.0))
    assert "backoff-expo" in entries_that_fit(replace(full, timeout_s=5.0))


def test_an_entry_whose_formula_has_an_offset_is_kept_as_its_schedule() -> None:
    (sidekiq,) = entries_like("sidekiq")
    assert sidekiq.policy.shape == "schedule"
    assert sidekiq.policy.schedule_s[:4] == (15, 16, 31, 96)


def test_a_first_wait_of_its_own_is_kept() -> None:
    (entry,) = entries_like("urllib3-retry-factor-1")
    assert entry.policy.first_wait_s == 0.0
    assert entry.expected_waits_s[:4] == (0, 2, 4, 8)


def test_a_multiplier_keeps_its_bounds() -> None:
    (entry,) = entries_like("axios-retry-exponential")
    assert entry.policy.jitter == "proportional"
    assert entry.policy.jitter_range == pytest.approx((1.0, 1.2))


def test_filtering_asks_for_every_word_whatever_the_case() -> None:
    assert {e.kind for e in entries_like("Webhook")} == {"webhook-sender"}
    assert {e.id for e in entries_like("STRIPE python")} >= {"stripe-python"}
    assert entries_like("no such product") == ()
