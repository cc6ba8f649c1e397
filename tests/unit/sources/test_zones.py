"""In which zone times without an offset are read, and the reason that is written down for it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from forensics.errors import UsageError
from forensics.sources import zones

if TYPE_CHECKING:
    from tests.unit.sources.conftest import Desk


def _window(day: int, first: int, last: int) -> tuple[datetime, datetime]:
    return datetime(2026, 3, day, first), datetime(2026, 3, day, last)  # noqa: DTZ001


NAIVE = "order_id,amount,created_at\nA,1.00,2026-03-14 09:00:00\nB,1.00,2026-03-14 11:00:00\n"
BESIDE = "order_id,amount,created_at\nC,1.00,2026-03-14T00:00:00Z\nD,1.00,2026-03-14T02:00:00Z\n"


@pytest.mark.parametrize(
    ("words", "zone"),
    [
        (["주문번호", "amount"], "Asia/Seoul"),
        (["注文番号", "金額"], "Asia/Tokyo"),
        (["オーダーID"], "Asia/Tokyo"),
        (["Betrag", "Währung", "x"], "Europe/Berlin"),
        (["Betrag", "x"], None),
        (["order_id", "amount"], None),
        ([], None),
    ],
)
def test_the_language_of_the_headings_speaks_for_a_zone(words: list[str], zone: str | None) -> None:
    found = zones.of_words(words)
    assert (found.name if found else None) == zone


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../etc/passwd", "KST; DROP TABLE", "Asia/seoul\x00"])
def test_a_zone_that_does_not_exist_is_wrong_use(name: str) -> None:
    with pytest.raises(UsageError, match="there is no such zone") as caught:
        zones.check(name)
    assert "IANA name" in str(caught.value.hint)


def test_nothing_known_means_utc_and_is_said_to_be_assumed() -> None:
    assert zones.choose(_window(14, 9, 11), [], None) == zones.Zone("UTC", "assumed: nothing in the file names a zone")


def test_times_that_fall_beside_the_others_only_nine_hours_off_are_korean_time() -> None:
    found = zones.choose(_window(14, 9, 11), [_window(14, 0, 2)], None)
    assert found.name == "Etc/GMT-9"
    assert found.why.startswith("so read, the times fall beside those of the other evidence")


def test_a_language_that_fits_the_other_evidence_keeps_its_name() -> None:
    seoul = zones.Zone("Asia/Seoul", "assumed, because the headings are Korean")
    assert zones.choose(_window(14, 9, 11), [_window(14, 0, 2)], seoul) is seoul


def test_a_language_that_the_other_evidence_contradicts_gives_way() -> None:
    seoul = zones.Zone("Asia/Seoul", "assumed, because the headings are Korean")
    assert zones.choose(_window(14, 9, 11), [_window(14, 9, 11)], seoul).name == "UTC"


def test_evidence_of_another_month_moves_nothing() -> None:
    assert zones.choose(_window(14, 9, 11), [_window(1, 0, 2)], None).name == "UTC"


def test_the_years_by_which_systems_mean_never_break_nothing() -> None:
    never = (datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59))  # noqa: DTZ001
    assert zones.choose(never, [_window(14, 0, 2)], None).name == "UTC"


def test_a_naive_file_is_placed_beside_one_with_offsets(desk: Desk) -> None:
    naive, beside = desk.file(NAIVE, "naive.csv"), desk.file(BESIDE, "beside.csv")
    desk.load(beside)
    (source,) = desk.load(naive).sources
    assert source.zone == "Etc/GMT-9"
    assert desk.rows("SELECT CAST(min(created_at) AS VARCHAR) FROM payments WHERE source_id = 2") == [
        ("2026-03-14 00:00:00",)
    ]


def test_a_naive_file_is_placed_beside_a_log_given_after_it(desk: Desk) -> None:
    lines = "".join(
        f'10.0.0.1 - - [14/Mar/2026:0{hour}:00:00 +0000] "POST /pay HTTP/1.1" 200 1 "-" "curl"\n' for hour in (0, 1, 2)
    )
    loaded = desk.load(desk.file(NAIVE), desk.file(lines, "access.log"))
    assert [(s.kind, s.zone) for s in loaded.sources] == [("requests", None), ("payments", "Etc/GMT-9")]


def test_the_zone_that_the_user_gives_wins(desk: Desk) -> None:
    desk.load(desk.file(BESIDE, "beside.csv"))
    (source,) = desk.load(desk.file(NAIVE), zone="Europe/Berlin").sources
    assert (source.zone, source.zone_reason) == ("Europe/Berlin", "given")
    assert desk.rows("SELECT CAST(min(created_at) AS VARCHAR) FROM payments WHERE source_id = 2") == [
        ("2026-03-14 08:00:00",)
    ]


def test_a_heading_that_says_utc_is_believed(desk: Desk) -> None:
    desk.load(desk.file(BESIDE, "beside.csv"))
    (source,) = desk.load(desk.file(NAIVE.replace("created_at", "Created (UTC)"))).sources
    assert (source.zone, source.zone_reason) == ("UTC", "the heading says so")


def test_a_file_whose_zone_was_guessed_places_no_other(desk: Desk) -> None:
    desk.load(desk.file(NAIVE.replace("09:", "00:").replace("11:", "02:"), "guessed.csv"))
    assert desk.source(NAIVE).zone == "UTC"


def test_an_unknown_zone_is_wrong_use_before_anything_is_read(desk: Desk) -> None:
    with pytest.raises(UsageError, match="--zone Asia/Soul"):
        desk.load(desk.folder / "missing.csv", zone="Asia/Soul")
