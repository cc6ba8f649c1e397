"""Evidence into a case: all of a file or nothing, every row accounted for, nothing in it but data."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from forensics import schema, store
from forensics.errors import ForensicsError
from forensics.sources import register
from forensics.sources.load import load_files
from forensics.sources.options import Options

if TYPE_CHECKING:
    from tests.unit.sources.conftest import Desk

HEAD = "order_id,amount,currency,created_at,status\n"
LEDGER = HEAD + "A,10.00,EUR,2026-03-14T09:00:00Z,captured\nB,20.00,EUR,2026-03-14T10:00:00Z,failed\n"
LOG = "".join(
    f'10.0.0.1 - - [14/Mar/2026:09:00:0{n} +0000] "POST /pay HTTP/1.1" 200 12 "-" "curl/8"\n' for n in range(3)
)


def _everything(desk: Desk) -> dict[str, list[tuple[object, ...]]]:
    return {table.name: desk.rows(f"SELECT * FROM {table.name} ORDER BY ALL") for table in schema.TABLES}


# The same evidence ----------------------------------------------------------------------------------------------


def test_the_same_bytes_twice_change_nothing(desk: Desk) -> None:
    path = desk.file(LEDGER)
    desk.load(path)
    before = _everything(desk)
    again = desk.load(path, desk.file(LEDGER, "copy of payments.csv"), zone="Asia/Seoul")
    assert (again.sources, again.refused) == ((), ())
    assert again.already == (str(path), str(desk.folder / "copy of payments.csv"))
    assert _everything(desk) == before


def test_a_file_named_twice_in_one_call_is_loaded_once(desk: Desk) -> None:
    path = desk.file(LEDGER)
    loaded = desk.load(path, path)
    assert (len(loaded.sources), loaded.already) == (1, (str(path),))


# What is written down -------------------------------------------------------------------------------------------


def test_a_source_is_described_in_full(desk: Desk) -> None:
    path = desk.file(gzip.compress(LEDGER.encode()), "march.csv.gz")
    (source,) = desk.load(path).sources
    described = desk.connection.execute("SELECT * FROM sources")
    columns = [c[0] for c in described.description or ()]
    row = dict(zip(columns, described.fetchall()[0], strict=True))
    mapping, sha = row.pop("mapping"), row.pop("sha256")
    assert row == {
        "source_id": 1,
        "path": str(path),
        "kind": "payments",
        "format": "csv",
        "encoding": "utf-8",
        "zone": None,
        "zone_reason": None,
        "resolution_us": 60_000_000,
        "hop": None,
        "notes": "unpacked from gzip",
        "rows_read": 2,
        "rows_loaded": 2,
        "rows_rejected": 0,
        "first_at": datetime(2026, 3, 14, 9),  # noqa: DTZ001
        "last_at": datetime(2026, 3, 14, 10),  # noqa: DTZ001
    }
    assert len(sha) == 64
    assert '"order_id": "order_id (name)"' in mapping
    assert source.sha256 == sha


def test_rejects_are_kept_with_reason_and_capped_text(desk: Desk) -> None:
    long = "x" * 2000
    desk.source(LEDGER + f"C,{long},EUR,2026-03-14T10:00:00Z,captured\nD,1.00,EUR,soon,captured\n")
    assert desk.rejects() == [
        (4, f"amount: an amount of money expected, '{'x' * 60}' found"),
        (5, "created_at: a time expected, 'soon' found"),
    ]
    assert desk.rows("SELECT length(text) FROM rejects WHERE line_no = 4") == [(500,)]
    assert desk.rows("SELECT text FROM rejects WHERE line_no = 5") == [("D,1.00,EUR,soon,captured",)]


def test_a_file_of_which_nothing_can_be_read_is_refused_with_the_first_reason(desk: Desk) -> None:
    refused = desk.refusal(HEAD + "A,10.00,EUR,,captured\n" * 3 + "B,,EUR,2026-03-14T10:00:00Z,captured\n")
    assert "none of its 4 rows could be read as payments; line 2: created_at: a time expected" in refused.message
    assert _everything(desk)["rejects"] == []


# One file at a time ---------------------------------------------------------------------------------------------


def test_a_refused_file_does_not_stop_the_others(desk: Desk) -> None:
    paths = [
        desk.file(b"%PDF-1.4 ...", "report.pdf"),
        desk.folder / "missing.csv",
        desk.file("hello\n", "hello.txt"),
        desk.file(LEDGER),
        desk.file(LOG, "access.log"),
    ]
    loaded = desk.load(*paths)
    assert {(s.kind, s.rows_loaded) for s in loaded.sources} == {("payments", 2), ("requests", 3)}
    assert [Path(r.path).name for r in loaded.refused] == ["report.pdf", "missing.csv", "hello.txt"]
    assert all(r.message.startswith(r.path) and r.hint for r in loaded.refused)


def test_progress_tells_the_file_in_hand(desk: Desk) -> None:
    told: list[str] = []
    load_files(desk.connection, [desk.file(LEDGER)], Options(), told.append)
    assert told == ["reading payments.csv"]


def _fail(*_: object, **__: object) -> None:
    raise MemoryError


def test_a_load_that_breaks_off_leaves_the_case_as_it_was(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.load(desk.file(LEDGER))
    before = _everything(desk)
    other = desk.file(LEDGER.replace("A,", "C,"), "other.csv")
    with monkeypatch.context() as patch:
        patch.setattr(register, "record", _fail)
        with pytest.raises(MemoryError):
            desk.load(other)
    assert _everything(desk) == before
    assert [s.source_id for s in desk.load(other).sources] == [2]


def test_a_failure_of_the_engine_refuses_the_file_and_leaves_the_case_as_it_was(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise duckdb.IOException("IO Error: no space left on device\nand a stack")

    monkeypatch.setattr(register, "record", full)
    refused = desk.refusal(LEDGER)
    assert refused.message.endswith("payments.csv: the file could not be loaded: IO Error: no space left on device")
    assert _everything(desk)["payments"] == []


def test_a_kill_in_the_middle_leaves_whole_sources_only_and_loading_again_completes(tmp_path: Path) -> None:
    small, large, case = tmp_path / "small.csv", tmp_path / "large.csv", tmp_path / "case.duckdb"
    small.write_text(LEDGER)
    row = "ORD-{0},10.00,EUR,2026-03-14T09:00:00.{0:06}Z,captured\n"
    large.write_text(HEAD + "".join(row.format(n) for n in range(150_000)))
    program = (
        "import sys; from pathlib import Path; from forensics.case import Case\n"
        "Case(sys.argv[1]).load(sys.argv[2:], progress=lambda words: print(words, flush=True))"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(case), str(small), str(large)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    with child.stdout:
        assert [child.stdout.readline() for _ in range(2)] == ["reading small.csv\n", "reading large.csv\n"]
        time.sleep(0.15)
        os.kill(child.pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL

    connection = store.open_for_loading(case)
    counted = "SELECT s.rows_loaded, count(*) FROM payments p LEFT JOIN sources s USING (source_id) GROUP BY ALL"
    assert (2, 2) in (found := connection.execute(counted).fetchall())
    assert all(said == seen for said, seen in found)
    loaded = load_files(connection, [small, large], Options())
    assert (len(loaded.sources) + len(loaded.already), loaded.refused) == (2, ())
    assert sorted(connection.execute(counted).fetchall()) == [(2, 2), (150_000, 150_000)]
    connection.close()


# Nothing but data -----------------------------------------------------------------------------------------------

HOSTILE = [
    '"; DROP TABLE payments; --',
    "'); DELETE FROM sources; --",
    "$source_id_",
    "{0} %s ${name}",
    "a;b",
    "line\nbreak",
    '=HYPERLINK("http://x")',
    "\\",
    "' || (SELECT 1) || '",
    "?",
    "🦆\u202e",
]


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


@pytest.mark.parametrize("evil", HOSTILE)
def test_headings_and_cells_are_data_whatever_they_say(desk: Desk, evil: str) -> None:
    text = (
        f"order_id,amount,created_at,memo,{_quoted(evil)}\n"
        f"{_quoted(evil)},1.00,2026-03-14T09:00:00Z,{_quoted(evil)},{_quoted(evil)}\n"
        f"B,{_quoted(evil)},2026-03-14T09:00:00Z,m,e\n"
        "C,2.00,2026-03-14T09:00:00Z,m,e\n"
    )
    source = desk.source(text)
    assert (source.rows_loaded, source.rows_rejected) == (2, 1)
    ((order, memo, extra),) = desk.rows("SELECT order_id, memo, CAST(extra AS VARCHAR) FROM payments WHERE amount = 1")
    assert (order, memo, json.loads(extra)) == (evil, evil, {evil: evil})
    assert desk.rows("SELECT count(*) FROM rejects WHERE contains(reason, 'an amount of money expected')") == [(1,)]


@pytest.mark.parametrize("evil", HOSTILE)
def test_file_names_zones_and_words_are_data_too(desk: Desk, evil: str) -> None:
    name = evil.replace("/", "_") + ".csv"
    source = desk.source(LEDGER, name, status={evil: "voided"})
    assert source.path == str(desk.folder / name)
    with pytest.raises(ForensicsError):
        desk.load(desk.folder / name, zone=evil)


@pytest.mark.parametrize("name", ["100%.csv", "a*.csv", "[ab].csv", "~x.csv", "ü 주문.csv", "payments"])
def test_a_path_is_no_pattern(desk: Desk, name: str) -> None:
    desk.file(LEDGER.replace("A,", "Z,"), "ab.csv")
    desk.source(LEDGER, name)
    assert desk.rows("SELECT count(*) FROM payments") == [(2,)]


def test_with_several_tables_a_given_heading_need_not_stand_in_each(desk: Desk, tmp_path: Path) -> None:
    payments, settled = tmp_path / "p.csv", tmp_path / "s.csv"
    payments.write_text(
        "pid,vorgang,amount,created_at\np1,A,5.00,2026-03-02T01:00:00Z\np2,A,5.00,2026-03-02T01:00:04Z\n"
    )
    settled.write_text("tid,order_id,gross,fee,net,settled_at\nt1,A,5.00,0.10,4.90,2026-03-02T01:00:00Z\n")
    loaded = load_files(desk.connection, [payments, settled], Options(mapping={"order_id": "vorgang"}))
    assert {s.kind: s.mapping["order_id"].split(" ")[0] for s in loaded.sources} == {
        "payments": "vorgang",
        "settlements": "order_id",
    }


def test_a_format_that_reads_no_line_is_refused_with_what_most_lines_are(desk: Desk, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text('203.0.113.7 - - [02/Mar/2026:01:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "a"\n' * 3)
    (refused,) = load_files(desk.connection, [log], Options(format="haproxy_http")).refused
    assert "no line reads as --format haproxy_http; most lines are nginx_combined" in refused.message


def test_a_text_called_csv_is_not_taken_for_json(desk: Desk, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text('{"odd":1},order_id,amount,created_at\nx,A,5.00,2026-03-02T01:00:00Z\n')
    (source,) = load_files(desk.connection, [table], Options(format="csv")).sources
    assert (source.format, source.rows_loaded) == ("csv", 1)


@pytest.mark.parametrize(
    ("amount", "currency"),
    [("33,000", "KRW"), ("33.50", None)],
    ids=["whole amounts under Korean headings are won", "amounts with a fraction are not"],
)
def test_a_currency_is_assumed_from_the_language_only_where_it_fits(
    desk: Desk, tmp_path: Path, amount: str, currency: str | None
) -> None:
    table = tmp_path / "p.csv"
    table.write_text(f'결제번호,주문번호,금액,처리일시\np1,A,"{amount}",2026-03-02 10:00:00\n')
    (source,) = load_files(desk.connection, [table], Options()).sources
    assert desk.rows("SELECT currency FROM payments") == [(currency,)]
    assert any(("KRW assumed" if currency else "under XXX") in note for note in source.notes)


MESSAGES = "id,terminal,msg_no,amount,currency,created_at\n1,pos-1,0001,5.00,EUR,2026-03-02T01:00:00Z\n"
BY_MESSAGE = {"sender": "terminal", "message_no": "msg_no"}


def test_a_ledger_whose_acts_are_named_by_sender_and_message_needs_no_order_number(desk: Desk, tmp_path: Path) -> None:
    table = tmp_path / "p.csv"
    table.write_text(MESSAGES)
    (source,) = load_files(desk.connection, [table], Options(mapping=BY_MESSAGE)).sources
    assert (source.kind, source.rows_loaded) == ("payments", 1)
    assert desk.rows("SELECT order_id, sender, message_no FROM payments") == [(None, "pos-1", "0001")]


def test_without_an_order_number_the_users_key_decides_whether_a_ledger_can_be_used(desk: Desk, tmp_path: Path) -> None:
    table = tmp_path / "p.csv"
    table.write_text(MESSAGES.replace("terminal,msg_no", "till,slip"))
    given = Options(mapping={"instrument": "slip"})
    (refused,) = load_files(desk.connection, [table], given).refused
    assert "no column could be recognised as order_id" in refused.message
    (again,) = load_files(desk.connection, [table], replace(given, key=("provider_ref", "day"))).refused
    assert again.message == refused.message
    (source,) = load_files(desk.connection, [table], replace(given, key=("instrument", "day"))).sources
    assert source.rows_loaded == 1
