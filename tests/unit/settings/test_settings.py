"""forensics.toml: what it may say, how a mistake in it is told, and that the command line counts more."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from forensics.errors import UsageError
from forensics.settings import find_decisions, find_settings, read_settings
from forensics.sources.options import Options, laid_over

Write = Callable[[str], Path]
LEDGER = """Vorgang,Kasse,Beleg,Wert,Stand,Zeit
1,k1,7,1250,BEZAHLT,2026-03-02 10:00:00
2,k1,7,1250,BEZAHLT,2026-03-02 10:00:05
3,k2,7,1250,BEZAHLT,2026-03-02 10:00:07
"""
SETTINGS = """
zone = "Europe/Berlin"
key = ["sender", "message_no"]
refund_confidence = 0.8

[status]
BEZAHLT = "captured"

[[files]]
pattern = "kasse*.csv"
unit = "minor"
currency = "EUR"
[files.map]
payment_id = "Vorgang"
sender = "Kasse"
message_no = "Beleg"
amount = "Wert"
status = "Stand"
created_at = "Zeit"
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a settings file."""

    def written(text: str) -> Path:
        path = tmp_path / "forensics.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return written


# Reading --------------------------------------------------------------------------------------------------------


def test_what_is_said_of_some_files_is_laid_over_what_is_said_of_all(write: Write) -> None:
    options = read_settings(write(SETTINGS)).evidence
    table = options.for_file("kasse-3.csv")
    assert (table.zone, table.unit, table.currency, table.status) == (
        "Europe/Berlin",
        "minor",
        "EUR",
        {"BEZAHLT": "captured"},
    )
    assert table.mapping["sender"] == "Kasse"
    assert options.for_file("access.log") == options


def test_holidays_are_days_of_toml_or_text(write: Write) -> None:
    settings = read_settings(write('holidays = [2026-12-25, "2027-01-01"]\n'))
    assert settings.holidays == (date(2026, 12, 25), date(2027, 1, 1))


def test_the_first_pattern_that_matches_counts(write: Write) -> None:
    text = '[[files]]\npattern = "a*"\ncurrency = "EUR"\n[[files]]\npattern = "*"\ncurrency = "USD"\n'
    options = read_settings(write(text)).evidence
    assert (options.for_file("a.csv").currency, options.for_file("b.csv").currency) == ("EUR", "USD")


def test_special_words_count_more_and_maps_are_joined_word_by_word() -> None:
    general = Options(zone="UTC", unit="minor", status={"A": "captured", "B": "failed"})
    assert laid_over(general, Options(zone="Asia/Seoul", status={"B": "voided"})) == Options(
        zone="Asia/Seoul", unit="minor", status={"A": "captured", "B": "voided"}
    )


def test_the_file_of_the_working_folder_is_found_and_none_is_none(write: Write, tmp_path: Path) -> None:
    assert find_settings(None, tmp_path) is None
    write('zone = "UTC"')
    found = find_settings(None, tmp_path)
    assert found is not None
    assert (found.file, found.said) == ("forensics.toml", ("zone",))


def test_a_users_policy_has_the_waits_that_its_shape_gives(write: Write) -> None:
    text = '[[policy]]\nid = "our-gateway"\nbase_s = 2\nmax_attempts = 4\ntimeout_s = 10\n'
    (entry,) = read_settings(write(text)).policies
    assert (entry.id, entry.kind, entry.confidence, entry.expected_waits_s) == (
        "our-gateway",
        "own",
        "given",
        (2, 2, 2),
    )
    assert (entry.policy.shape, entry.policy.timeout_s, entry.policy.max_attempts) == ("fixed", 10, 4)


def test_waits_of_a_users_policy_may_be_listed_and_jittered(write: Write) -> None:
    text = '[[policy]]\nid = "w"\nwaits_s = [1, 5, 25]\njitter = "proportional"\njitter_share = 0.2\n'
    (entry,) = read_settings(write(text)).policies
    assert (entry.policy.shape, entry.expected_waits_s) == ("schedule", (1, 5, 25))
    assert (entry.policy.jitter, entry.policy.jitter_amount) == ("proportional", 0.2)


def test_decisions_may_stand_in_the_settings_with_a_day_of_either_kind(write: Write) -> None:
    one = (
        '[[decision]]\ngroup_id = "a"\ngroup_state = "s"\ndecision = "not a duplicate"\n'
        'by = "jin"\nwhy = "w"\nuntil = {}\n'
    )
    decisions = read_settings(write(one.format("2027-03-31") + one.format('"2027-03-31"'))).decisions
    assert [(d.until, d.is_duplicate) for d in decisions] == [(date(2027, 3, 31), False)] * 2
    assert [d.where for d in decisions] == ["forensics.toml: [[decision]] 1", "forensics.toml: [[decision]] 2"]


def test_decisions_are_taken_from_the_settings_and_from_the_file_that_they_name(write: Write, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("group_id,group_state,decision,by,why\nb,t,duplicate,jin,w\n")
    (tmp_path / "decisions.csv").write_text("group_id,group_state,decision,by,why\nc,t,duplicate,jin,w\n")
    one = '[[decision]]\ngroup_id = "a"\ngroup_state = "s"\ndecision = "duplicate"\nby = "j"\nwhy = "w"\n'
    settings = read_settings(write(f'decisions = "d.csv"\n{one}'))
    assert [d.group_id for d in find_decisions(None, settings, tmp_path)] == ["a", "b"]
    assert [d.group_id for d in find_decisions(tmp_path / "decisions.csv", settings, tmp_path)] == ["a", "c"]
    assert [d.group_id for d in find_decisions(None, None, tmp_path)] == ["c"]


# Refusals: file, key, what was seen, what is expected -------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("zone = ", "forensics.toml: expected TOML: Invalid value (at end of document)"),
        ("zonne = 'UTC'", "forensics.toml: unknown key 'zonne'; expected one of zone, "),
        ("zone = 9", 'forensics.toml: zone: expected an IANA zone such as "Asia/Seoul", found 9'),
        ("zone = 'Mars/Base'", "forensics.toml: zone Mars/Base: there is no such zone"),
        ("unit = 'cents'", 'forensics.toml: unit: expected "minor" or "major", found \'cents\''),
        ("currency = 'wons'", "forensics.toml: currency wons: expected an ISO 4217 code"),
        ("refund_confidence = 95", "forensics.toml: refund_confidence: expected a number from 0 to 1, found 95"),
        (
            'holidays = ["25 Dec"]',
            """forensics.toml: holidays: expected local days such as ["2026-12-25", "2027-01-01"], found '25 Dec'""",
        ),
        ("timeout_s = true", "forensics.toml: timeout_s: expected seconds, zero or more, found True"),
        ("timeout_s = nan", "forensics.toml: timeout_s: expected seconds, zero or more, found nan"),
        ("key = 'order_id'", "forensics.toml: key: expected columns of the ledger, such as"),
        ("key = ['Bestellung']", "forensics.toml: key: 'Bestellung' is no column that can name a business act"),
        ("[status]\nX = 'paid'", "forensics.toml: status X=paid: 'paid' is no status"),
        ("[status]\nX = 1", "forensics.toml: status: expected words and what they mean"),
        ("files = 1", "forensics.toml: files: expected tables, each under [[files]], found 1"),
        (
            "[[files]]\nunit = 'minor'",
            "forensics.toml: [[files]] 1: the key pattern is missing; expected a name or pattern",
        ),
        (
            "[[files]]\npattern = 'a'\nkind = 'bills'",
            "forensics.toml: [[files]] 1: kind: expected the name of a canonical",
        ),
        ("[[policy]]\nbase_s = 1", "forensics.toml: [[policy]] 1: the key id is missing"),
        ("[[policy]]\nid = 'x'", "forensics.toml: [[policy]] 1: expected either base_s or waits_s, found neither"),
        (
            "[[policy]]\nid = 'x'\nbase_s = 1\nwaits_s = [1]",
            "[[policy]] 1: expected either base_s or waits_s, found both",
        ),
        ("[[policy]]\nid = 'x'\nbase_s = -1", "[[policy]] 1: base_s: expected seconds, zero or more, found -1"),
        ("[[policy]]\nid = 'x'\nwaits_s = [1, 'a']", "[[policy]] 1: waits_s: expected waits before attempts"),
        (
            "[[policy]]\nid = 'x'\nbase_s = 1\nmax_attempts = 1",
            "max_attempts: expected tries, the first included: 2 or more",
        ),
        ("[[policy]]\nid = 'x'\nbase_s = 1\njitter = 'additive'", "[[policy]] 1: expected jitter_max_s with jitter"),
        ("[[policy]]\nid = 'p-retry-default'\nbase_s = 1", "[[policy]] 1: id: expected a name that no other policy"),
        (
            "[[policy]]\nid = 'x'\nbase_s = 1\n[[policy]]\nid = 'x'\nbase_s = 1",
            "[[policy]] 2: id: expected a name that no",
        ),
        ("[[decision]]\nby = 'x'", "[[decision]] 1: the key group_state is missing; expected the group_state of"),
    ],
)
def test_a_mistake_is_told_with_file_key_and_what_is_expected(write: Write, text: str, says: str) -> None:
    path = write(text)
    with pytest.raises(UsageError) as raised:
        read_settings(path)
    assert says in raised.value.message.replace(str(path), "forensics.toml")
    assert "\n" not in raised.value.message


def test_a_near_miss_is_guessed(write: Write) -> None:
    with pytest.raises(UsageError) as raised:
        read_settings(write("zonne = 'UTC'"))
    assert raised.value.hint == "did you mean zone?"


def test_a_file_that_is_not_there_or_not_text_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the settings cannot be read: No such file"):
        read_settings(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"zone = '\xff'")
    with pytest.raises(UsageError, match="expected TOML in UTF-8, found other bytes at 8"):
        read_settings(tmp_path / "bytes.toml")


# On the command line --------------------------------------------------------------------------------------------


@pytest.fixture
def folder(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a ledger under German headings and settings that say how to read it."""
    write(SETTINGS)
    (tmp_path / "kasse-1.csv").write_text(LEDGER, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def findings(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out" / "findings.json").read_text(encoding="utf-8"))
    return found


def test_investigate_reads_and_groups_as_the_settings_say_and_tells_their_name(forensics: Any, folder: Path) -> None:
    said = forensics("investigate", "kasse-1.csv", "--out", "out")
    assert said.code == 0, said.err
    assert "settings from forensics.toml: zone, key, refund_confidence, status, 1 file pattern" in said.err
    assert "settings   forensics.toml: zone, key" in said.out
    found = findings(folder)
    assert found["settings"]["file"] == "forensics.toml"
    assert found["sources"][0]["zone"] == "Europe/Berlin"
    assert found["business_key"]["columns"] == ["sender", "message_no"]
    # 1250 cents; 10:00:05 in Berlin is 09:00:05 UTC in winter.
    assert found["payments"]["excess_amount"] == {"EUR": "12.50"}
    assert "2026-03-02T09:00:05Z" in (folder / "out" / "duplicates.csv").read_text()
    assert "forensics.toml (zone, key" in (folder / "out" / "report.html").read_text()


def test_the_command_line_counts_more_than_the_settings(forensics: Any, folder: Path) -> None:
    words = ["--zone", "UTC", "--unit", "major", "--currency", "USD", "--key", "message_no"]
    assert forensics("investigate", "kasse-1.csv", "--out", "out", *words).code == 0
    found = findings(folder)
    assert found["sources"][0]["zone"] == "UTC"
    assert found["business_key"]["columns"] == ["message_no"]
    assert found["payments"]["excess_amount"] == {"USD": "2500"}


def test_the_settings_and_decisions_of_a_folder_are_no_evidence(forensics: Any, folder: Path) -> None:
    (folder / "decisions.csv").write_text("group_id,group_state,decision,by,why\n")
    said = forensics("load", "c.duckdb", ".")
    assert said.code == 0, said.err
    assert "decisions.csv, forensics.toml" in said.err


def test_a_users_policy_is_in_the_catalogue_that_is_shown_and_matched(forensics: Any, folder: Path) -> None:
    own = folder / "own.toml"
    own.write_text('[[policy]]\nid = "our-gateway"\nbase_s = 2\nmax_attempts = 4\ntimeout_s = 10\n')
    shown = forensics("policies", "our-gateway", "--config", own)
    assert "after a lost reply: 12, 12, 12 s (timeout 10 s)" in shown.out
    matched = forensics("match", "12.0,12.01", "12.0", "12.02,12.0", "12.01", "--config", own)
    assert "[our-gateway" in matched.out


def test_a_mistake_in_the_settings_stops_before_anything_is_read(forensics: Any, folder: Path, write: Write) -> None:
    write("zonne = 'UTC'")
    said = forensics("investigate", "kasse-1.csv", "--out", "out")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("forensics: error: forensics.toml: unknown key 'zonne'")
    assert not (folder / "out").exists()
