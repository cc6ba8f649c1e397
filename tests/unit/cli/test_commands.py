"""Every command does what its line says: the answer on stdout, the story on stderr, the verdict as exit code."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from forensics import __version__, packs
from forensics.analysis.catalogue import load_catalogue
from forensics.cli import COMMANDS, cli

Run = Callable[..., Any]
PAYMENTS = """\
id,order_id,amount,currency,status,created_at,instrument
1,A,10000,KRW,APPROVED,2026-11-30T13:00:00.000Z,****1
2,A,10000,KRW,APPROVED,2026-11-30T13:00:04.000Z,****1
3,B,5000,KRW,APPROVED,2026-11-30T13:01:00.000Z,****2
"""
BAD_AMOUNTS = [(4, "x"), (5, "it's"), (6, "y' found"), (7, "z")]


@pytest.fixture
def payments(tmp_path: Path) -> Path:
    path = tmp_path / "payments.csv"
    path.write_text(PAYMENTS, encoding="utf-8")
    return path


@pytest.fixture
def case(forensics: Run, payments: Path, tmp_path: Path) -> Path:
    path = tmp_path / "case.duckdb"
    assert forensics("load", path, payments).code == 0
    return path


# investigate and demo -------------------------------------------------------------------------------------------


def test_investigate_writes_the_report_its_twins_and_the_case(forensics: Run, payments: Path, tmp_path: Path) -> None:
    said = forensics("investigate", payments, "--out", tmp_path / "out")
    names = {"report.html", "findings.json", "duplicates.csv", "refunds.csv", "review.csv", "case.duckdb"}
    assert {p.name for p in (tmp_path / "out").iterdir()} == names
    assert said.code == 0
    assert "happened   1 of 2 orders were paid more than once: 1 payment too many" in said.out
    assert said.out.rstrip().endswith(f"report     {tmp_path / 'out' / 'report.html'}")
    assert said.err == "reading payments.csv\nasking the questions\n"


def test_investigate_writes_under_the_name_of_the_evidences_folder_when_no_folder_is_named(
    forensics: Run, payments: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert forensics("investigate", payments.name).code == 0
    assert (tmp_path / "reports" / tmp_path.name / "report.html").is_file()


def test_a_folder_is_investigated_under_its_own_name(
    forensics: Run, payments: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = tmp_path / "night"
    evidence.mkdir()
    payments.rename(evidence / payments.name)
    (evidence / "README.md").write_text("words")
    monkeypatch.chdir(tmp_path)
    said = forensics("investigate", "night")
    assert (said.code, (tmp_path / "reports" / "night" / "report.html").is_file()) == (0, True)
    assert said.err.startswith("in night not read: README.md\n")


def test_investigate_uses_what_it_can_and_the_exit_code_tells_of_the_rest(
    forensics: Run, payments: Path, tmp_path: Path
) -> None:
    said = forensics("investigate", payments, tmp_path / "absent.log", "--out", tmp_path / "out")
    assert said.code == 1
    assert "1 file could not be used" in said.out
    assert "absent.log: there is no such file" in said.err
    (refused,) = json.loads((tmp_path / "out" / "findings.json").read_text(encoding="utf-8"))["refused"]
    assert refused["path"] == "absent.log"


def test_a_run_that_fails_leaves_the_last_case_as_it_was(forensics: Run, payments: Path, tmp_path: Path) -> None:
    forensics("investigate", payments, "--out", tmp_path / "out")
    before = {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()}
    assert forensics("investigate", tmp_path / "absent.csv", "--out", tmp_path / "out").code == 1
    assert forensics("investigate", payments, "--zone", "Nowhere/City", "--out", tmp_path / "out").code == 2
    assert {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()} == before


def test_a_second_run_replaces_the_first(forensics: Run, payments: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert forensics("investigate", payments, "--out", tmp_path / "out").code == 0
    assert forensics("sources", tmp_path / "out" / "case.duckdb").out.count("payments.csv:") == 1


def test_demo_says_where_the_report_is(demo: Any) -> None:
    assert demo.said.code == 0
    assert demo.said.out.rstrip().endswith(f"report     {demo.folder / 'report.html'}")


# load and sources -----------------------------------------------------------------------------------------------


def test_load_tells_how_each_file_was_read_and_the_same_bytes_twice_change_nothing(
    forensics: Run, payments: Path, tmp_path: Path
) -> None:
    first = forensics("load", tmp_path / "c.duckdb", payments)
    assert first.code == 0
    assert "rows       3 read = 3 loaded + 0 rejected" in first.out
    assert "order_id <- order_id" in first.out
    again = forensics("load", tmp_path / "c.duckdb", payments)
    assert (again.code, again.out) == (0, f"{payments}: the case holds these bytes already; nothing was changed\n")
    assert forensics("sources", tmp_path / "c.duckdb").out == first.out


def test_load_makes_no_case_that_would_hold_nothing(forensics: Run, payments: Path, tmp_path: Path) -> None:
    assert forensics("load", tmp_path / "c.duckdb", tmp_path / "absent.csv").code == 1
    assert forensics("load", tmp_path / "c.duckdb", payments, "--zone", "Nowhere/City").code == 2
    assert not (tmp_path / "c.duckdb").exists()


BROKEN = PAYMENTS + "".join(f"{n},C,{cell},KRW,APPROVED,2026-11-30T13:0{n}:00Z,****3\n" for n, cell in BAD_AMOUNTS)
BROKEN += "".join(f"{n},E{n},100,KRW,APPROVED,2026-11-30T14:{n}:00Z,****4\n" for n in range(10, 30))


def test_sources_shows_rejected_rows_by_reason_with_three_examples_each(
    forensics: Run, payments: Path, tmp_path: Path
) -> None:
    payments.write_text(BROKEN + "8,D,1,KRW\n", encoding="utf-8")
    assert forensics("load", tmp_path / "case.duckdb", payments).code == 0
    lines = forensics("sources", tmp_path / "case.duckdb").out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("    rejected   "))
    assert [line.partition(": ")[0] for line in lines[start:]] == [
        "    rejected   4 rows",
        "    rejected line 5",
        "    rejected line 6",
        "    rejected line 7",
        "    rejected   1 row",
        "    rejected line 29",
    ]
    assert lines[start].endswith("amount: an amount of money expected, something else found")
    assert lines[start + 4].endswith("4 fields where the headings have 7")


def test_a_dry_run_shows_what_sources_would_and_makes_no_case(forensics: Run, payments: Path, tmp_path: Path) -> None:
    payments.write_text(BROKEN, encoding="utf-8")
    case = tmp_path / "case.duckdb"
    tried = forensics("load", case, payments, "--dry-run")
    assert (tried.code, case.exists()) == (0, False)
    assert tried.err.endswith("dry run: nothing was changed\n")
    assert forensics("load", case, payments).code == 0
    assert tried.out == forensics("sources", case).out


def test_a_dry_run_knows_what_the_case_holds_and_leaves_it_as_it_is(
    forensics: Run, case: Path, payments: Path, tmp_path: Path
) -> None:
    before = case.read_bytes()
    other = tmp_path / "other.csv"
    other.write_text(PAYMENTS.replace("APPROVED", "DECLINED"), encoding="utf-8")
    said = forensics("load", "--dry-run", case, payments, other, tmp_path / "absent.csv")
    assert said.code == 1
    assert f"{payments}: the case holds these bytes already" in said.out
    assert "other.csv: payments, csv" in said.out
    assert "payments.csv: payments, csv" not in said.out
    assert "absent.csv: there is no such file" in said.err
    assert case.read_bytes() == before


def test_a_dry_run_into_what_is_no_case_is_refused(forensics: Run, payments: Path) -> None:
    said = forensics("load", "--dry-run", payments, payments)
    assert (said.code, "this is not a case file" in said.err) == (1, True)


def test_sources_shows_some_of_the_rejected_rows(forensics: Run, tmp_path: Path) -> None:
    path = tmp_path / "payments.csv"
    path.write_text(PAYMENTS + "4,C,lots,KRW,APPROVED,2026-11-30T13:02:00Z,****3\n", encoding="utf-8")
    forensics("load", tmp_path / "c.duckdb", path)
    out = forensics("sources", tmp_path / "c.duckdb").out
    assert "4 read = 3 loaded + 1 rejected" in out
    assert "    rejected line 5: " in out


def test_options_of_the_evidence_are_used(forensics: Run, tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    text = "Vorgang,Zeit,Wert,Lage\nA,2026-07-01 12:00:00,1050,BEZAHLT_TEIL\nA,2026-07-01 12:00:04,1050,BEZAHLT_TEIL\n"
    path.write_text(text, encoding="utf-8")
    words = ["--as", "payments", "--map", "order_id=Vorgang", "--map", "created_at=Zeit", "--map", "amount=Wert"]
    words += ["--map", "status=Lage", "--zone", "Europe/Berlin", "--unit", "minor", "--currency", "EUR"]
    said = forensics("load", tmp_path / "c.duckdb", path, *words, "--status", "BEZAHLT_TEIL=captured")
    assert said.code == 0
    (row, _) = rows_of(forensics, tmp_path / "c.duckdb", "duplicates/rows_of_repeated_orders")
    # 12:00 in Berlin in July is 10:00 UTC; 1050 cents are 10.50.
    assert (row["created_at"], row["amount"], row["currency"]) == ("2026-07-01T10:00:00Z", "10.50", "EUR")


def test_a_log_format_is_used(forensics: Run, tmp_path: Path) -> None:
    path = tmp_path / "odd.log"
    path.write_text('[30/Nov/2026:13:00:00 +0000] 201 "POST /pay HTTP/1.1" ~2~\n' * 3, encoding="utf-8")
    log_format = '[$time_local] $status "$request" ~$http_x_retry_attempt~'
    said = forensics("load", tmp_path / "c.duckdb", path, "--log-format", log_format)
    assert (said.code, said.out.startswith("odd.log: requests, ")) == (0, True)


# scan and report ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code"), [([], 0), (["--fail-on", "high"], 3), (["--fail-on", "note"], 3)], ids=["", "high", "note"]
)
def test_scan_exits_with_3_when_a_finding_is_at_or_above_the_threshold(
    forensics: Run, case: Path, words: list[str], code: int
) -> None:
    said = forensics("scan", case, *words)
    assert said.code == code
    assert "1 payment too many" in said.out


def test_scan_passes_a_clean_ledger(forensics: Run, payments: Path, tmp_path: Path) -> None:
    payments.write_text("".join(PAYMENTS.splitlines(keepends=True)[:2]), encoding="utf-8")
    forensics("load", tmp_path / "c.duckdb", payments)
    assert forensics("scan", tmp_path / "c.duckdb", "--fail-on", "note").code == 0


def test_windows_may_carry_an_offset(forensics: Run, demo: Any) -> None:
    window = "2026-11-30T19:10+09:00/2026-11-30T19:22+09:00"
    assert (
        forensics("report", demo.folder / "case.duckdb", "--incident", window, "--out", demo.folder / "again").code == 0
    )
    traffic = json.loads((demo.folder / "again" / "findings.json").read_text(encoding="utf-8"))["traffic"]
    assert (traffic["incident_start"], traffic["incident_end"]) == ("2026-11-30T10:10:00Z", "2026-11-30T10:22:00Z")


def test_the_refund_threshold_decides_what_refunds_csv_lists(forensics: Run, case: Path, tmp_path: Path) -> None:
    lines = {}
    for threshold in ("0.5", "1"):
        forensics("report", case, "--out", tmp_path / threshold, "--refund-confidence", threshold)
        lines[threshold] = len((tmp_path / threshold / "refunds.csv").read_text(encoding="utf-8").splitlines())
    assert lines == {"0.5": 2, "1": 1}


def test_report_writes_what_investigate_writes(forensics: Run, payments: Path, tmp_path: Path) -> None:
    forensics("investigate", payments, "--out", tmp_path / "a")
    said = forensics("report", tmp_path / "a" / "case.duckdb", "--out", tmp_path / "b")
    assert said.code == 0
    assert said.err == ""
    for name in ("findings.json", "duplicates.csv", "refunds.csv", "review.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


# query, queries, order ------------------------------------------------------------------------------------------


def rows_of(forensics: Run, case: Path, name: str, *words: str) -> list[dict[str, Any]]:
    said = forensics("query", case, name, "--format", "json", *words)
    assert (said.code, said.err) == (0, "")
    return [json.loads(line) for line in said.out.splitlines()]


def test_query_answers_as_table_csv_or_json_lines(forensics: Run, case: Path) -> None:
    (row,) = rows_of(forensics, case, "duplicates/repeated_orders")
    assert (row["business_key"], row["effects"]) == ("A", 2)
    table = forensics("query", case, "duplicates/repeated_orders").out
    assert table.splitlines()[0].startswith("business_key")
    assert table.splitlines()[-1] == "(1 row)"
    text = forensics("query", case, "duplicates/repeated_orders", "--format", "csv").out
    assert [cells["business_key"] for cells in csv.DictReader(io.StringIO(text))] == ["A"]


def test_query_sets_parameters_and_takes_a_short_name(forensics: Run, case: Path) -> None:
    assert rows_of(forensics, case, "repeated_orders", "--set", "min_effects=3") == []


def test_query_names_acts_by_the_columns_of_key(forensics: Run, tmp_path: Path) -> None:
    """Two orders of one message: one act by its number, none that repeats by the order."""
    ledger = tmp_path / "ledger.csv"
    rows = "".join(f"till-1,77,{order},10.00,2026-03-14T09:00:0{n}Z\n" for n, order in enumerate("AB"))
    ledger.write_text("sender,message_no,order_id,amount,created_at\n" + rows, encoding="utf-8")
    path = tmp_path / "messages.duckdb"
    assert forensics("load", path, ledger).code == 0
    assert rows_of(forensics, path, "repeated_orders") == []
    (row,) = rows_of(forensics, path, "repeated_orders", "--key", "sender,message_no")
    assert (row["business_key"], row["effects"]) == ("till-1 / 77", 2)


def test_queries_lists_every_query_of_the_packs_with_its_title(forensics: Run) -> None:
    lines = forensics("queries").out.splitlines()
    assert [line.split()[0] for line in lines] == list(packs.load_all())
    assert all(query.title in line for query, line in zip(packs.load_all().values(), lines, strict=True))


def test_queries_shows_one_as_it_stands_or_for_another_engine(forensics: Run) -> None:
    assert forensics("queries", "duplicates/gaps").out == packs.get("duplicates/gaps").text
    spark = forensics("queries", "duplicates/repeated_orders", "--dialect", "spark", "--set", "min_effects=3")
    assert spark.code == 0
    assert "SELECT" in spark.out


def test_order_shows_a_life_in_time_order(forensics: Run, case: Path) -> None:
    said = forensics("order", case, "A", "--format", "json")
    times = [json.loads(line)["at"] for line in said.out.splitlines()]
    assert times == ["2026-11-30T13:00:00Z", "2026-11-30T13:00:04Z"]


# match and policies ---------------------------------------------------------------------------------------------


def test_match_names_a_policy_and_draws_the_gaps(forensics: Run) -> None:
    said = forensics("match", *["4.0,5.0,7.0"] * 6)
    assert said.code == 0
    assert said.out.splitlines()[0].startswith("     4.000 s  █")
    assert "exponential waits of 1, 2, 4 s" in said.out
    assert "timeout 3 s" in said.out


def test_match_takes_the_timeout_and_the_clock(forensics: Run) -> None:
    said = forensics("match", *["4,5,7"] * 6, "--timeout", "3", "--resolution", "1")
    assert "timeout 3 s" in said.out


@pytest.mark.parametrize("gaps", [["4.0"], [","], ["0"], ["4.0", "71.3"]])
def test_match_says_that_few_gaps_show_no_schedule(forensics: Run, gaps: list[str]) -> None:
    said = forensics("match", *gaps)
    assert said.code == 0
    assert "no policy: " in said.out


def test_policies_lists_the_catalogue_and_shows_one_entry_with_its_source(forensics: Run) -> None:
    entries = load_catalogue()
    assert len(forensics("policies").out.splitlines()) == len(entries)
    said = forensics("policies", "stripe-python")  # another id begins with it
    assert said.code == 0
    assert said.out.count("    source     ") == 1
    assert forensics("policies", "stripe").out.count("\n") > 1


# help -----------------------------------------------------------------------------------------------------------


def test_the_help_table_is_what_each_command_says_of_itself() -> None:
    context = click.Context(cli)
    for name, (_, line) in COMMANDS.items():
        command = cli.get_command(context, name)
        assert command is not None
        assert command.get_short_help_str(limit=200) == line


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_for_each_option(forensics: Run, name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    options = [p for p in command.params if isinstance(p, click.Option)]
    assert [o.name for o in options if not o.help] == []
    said = forensics(name, "--help")
    assert said.code == 0
    assert all(o.opts[0] in said.out for o in options)


def test_help_lists_the_commands_and_version_is_the_packages(forensics: Run) -> None:
    said = forensics("--help")
    assert said.code == 0
    assert all(f"  {name} " in said.out for name in COMMANDS)
    assert forensics("--version").out == f"forensics, version {__version__}\n"


def test_without_a_command_the_help_is_shown_as_wrong_use(forensics: Run) -> None:
    said = forensics()
    assert (said.code, said.out) == (2, "")
    assert "Commands:" in said.err
