"""Folders, patterns and standard input: which files are meant, in which order, and what is said when there are none."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forensics.errors import UsageError
from forensics.sources.gather import gather, in_time_order

if TYPE_CHECKING:
    from tests.unit.sources.conftest import Desk

ROWS = "order_id,amount,currency,created_at\nA,1.00,EUR,2026-03-14T09:00:0{}Z\nB,1.00,EUR,2026-03-14T11:00:00Z\n"
LINE = '10.0.0.1 - - [14/Mar/2026:0{}:00:00 +0000] "POST /pay HTTP/1.1" 200 1 "-" "curl"\n'


def _touch(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text("x")
    return folder


def _type(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize(
    "names",
    [
        ["access.log.10.gz", "access.log.2.gz", "access.log.1", "access.log"],
        ["access.log-20261129.gz", "access.log-20261130", "access.log"],
        ["access.log.2026-11-29", "access.log.2026-11-30", "access.log"],
        ["a.log.1", "a.log", "b.csv", "b.log.1.zst", "b.log"],
        ["payments-1.csv", "payments-2.csv", "payments.csv"],
    ],
)
def test_rotated_logs_stand_oldest_first_and_all_else_by_name(names: list[str]) -> None:
    assert [p.name for p in in_time_order(Path("logs") / name for name in sorted(names))] == names


def test_a_folder_is_its_files_without_what_is_hidden_or_only_about_them(tmp_path: Path) -> None:
    names = ("payments.csv", ".DS_Store", "README.txt", "LICENSE", "notes.md", "truth.csv", "case.duckdb", "a.log")
    folder = _touch(tmp_path / "evidence", *names)
    (folder / "old").mkdir()
    told: list[str] = []
    found, refused = gather([folder], told.append)
    assert (found, refused) == ([folder / "a.log", folder / "payments.csv"], [])
    assert told == [f"in {folder} not read: LICENSE, README.txt, case.duckdb, notes.md, old/, truth.csv"]


def test_a_folder_without_evidence_is_refused_in_one_sentence(tmp_path: Path) -> None:
    empty = _touch(tmp_path / "empty")
    (_, (refused,)) = gather([empty])
    assert refused.message == f"{empty}: the folder holds no file of evidence"
    (_, (refused,)) = gather([_touch(tmp_path / "words", "README.md", ".hidden")])
    assert refused.message.endswith("words: the folder holds no file of evidence (only README.md)")


def test_a_pattern_is_the_files_that_match_it(tmp_path: Path) -> None:
    folder = _touch(tmp_path / "logs", "access.log", "access.log.1", "access.log.2.gz", "error.log")
    (folder / "access.log.d").mkdir()
    found, refused = gather([f"{folder}/access.log*"])
    assert found == [folder / n for n in ("access.log.2.gz", "access.log.1", "access.log")]
    assert refused == []


def test_a_pattern_that_matches_nothing_is_refused_and_spoils_nothing_else(tmp_path: Path) -> None:
    folder = _touch(tmp_path / "logs", "error.log")
    found, (refused,) = gather([folder / "access*", folder / "error.log"])
    assert found == [folder / "error.log"]
    assert refused.message == f"{folder}/access*: no file matches the pattern"
    assert refused.hint == "see what is there with ls; * stands for any part of one name"


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    folder = _touch(tmp_path / "x", "export [1].csv", "export 1.csv")
    assert gather([folder / "export [1].csv"]) == ([folder / "export [1].csv"], [])


@pytest.mark.parametrize("name", ["x\x00y", "a" * 5000])
def test_a_name_that_no_file_can_have_is_left_to_the_reader(name: str) -> None:
    assert gather([name]) == ([Path(name)], [])


def test_a_folder_of_rotated_logs_loads_in_time_order(desk: Desk) -> None:
    logs = desk.folder / "logs"
    logs.mkdir()
    (logs / "access.log").write_text(LINE.format(3) + LINE.format(4))
    (logs / "access.log.1").write_text(LINE.format(2))
    (logs / "access.log.2.gz").write_bytes(gzip.compress(LINE.format(1).encode()))
    loaded = desk.load(logs)
    assert [Path(s.path).name for s in loaded.sources] == ["access.log.2.gz", "access.log.1", "access.log"]
    assert [s.first_at.hour for s in loaded.sources if s.first_at] == [1, 2, 3]
    assert loaded.refused == ()


# Standard input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input_is_read_like_a_file(desk: Desk, monkeypatch: pytest.MonkeyPatch, pack: type[bytes]) -> None:
    _type(monkeypatch, pack(ROWS.format(0).encode()))
    (source,) = desk.load(Path("-")).sources
    assert (source.path, source.kind, source.rows_loaded) == ("-", "payments", 2)
    _type(monkeypatch, pack(ROWS.format(0).encode()))
    assert desk.load(Path("-")).already == ("-",)


def test_a_log_at_standard_input_names_no_hop(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    _type(monkeypatch, LINE.format(1).encode())
    (source,) = desk.load(Path("-")).sources
    assert (source.kind, source.hop) == ("requests", None)


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (b"", "-: the file is empty"),
        (b"%PDF-1.7\n", "-: this is a PDF document; expected a table or an access log"),
        (b"hello\n", "-:1: neither a table nor a log that a known format reads half of: 'hello'"),
    ],
)
def test_what_cannot_be_used_is_told_under_its_name(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, content: bytes, seen: str
) -> None:
    _type(monkeypatch, content)
    (refused,) = desk.load(Path("-")).refused
    assert (refused.path, refused.message) == ("-", seen)


def test_a_closed_standard_input_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    (refused,) = desk.load(Path("-")).refused
    assert refused.message == "-: there is no standard input"


def test_standard_input_cannot_be_given_twice(desk: Desk) -> None:
    with pytest.raises(UsageError, match="- is given twice: standard input can be read once"):
        desk.load(Path("-"), Path("-"))
