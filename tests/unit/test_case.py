"""The facade: what has no evidence is said, what fails is a failure, and equal evidence gives equal bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from forensics import Case, Options, ScanOptions
from forensics.case import write_reports
from forensics.errors import CaseError, QueryError, UsageError
from forensics.model import Examined, Scan
from forensics.render.html import ReportMeta
from forensics.runner import Runner

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NO_KEY = EXAMPLES / "textbook" / "no-key"
ONE_KEY = EXAMPLES / "textbook" / "one-key"
META = ReportMeta("0", "forensics", "report")
ASKED = ("duplicates", "policies", "traffic", "keys")


def scanned(folder: Path, *files: Path, **options: Any) -> Scan:
    with Case(folder / "case.duckdb") as case:
        case.load(files)
        return case.scan(ScanOptions(**options))


def examined(scan: Scan) -> Mapping[str, Examined]:
    return {e.question: e for e in scan.examined}


def status(scan: Scan) -> dict[str, str]:
    return {name: e.status for name, e in examined(scan).items() if name in ASKED}


# Examined -------------------------------------------------------------------------------------------------------


def test_every_question_is_examined_once_and_says_what_became_of_it(tmp_path: Path) -> None:
    scan = scanned(tmp_path, NO_KEY / "payments.csv", NO_KEY / "access.log")
    names = [e.question for e in scan.examined]
    assert len(names) == len(set(names))
    assert {*ASKED, "settlement"} <= set(names)
    assert status(scan) == dict.fromkeys(ASKED, "ran")
    assert all((e.why is None) == (e.status == "ran") for e in scan.examined)
    assert not scan.failed


def test_without_a_log_traffic_is_not_examined(tmp_path: Path) -> None:
    scan = scanned(tmp_path, NO_KEY / "payments.csv")
    assert status(scan) == {"duplicates": "ran", "policies": "ran", "traffic": "not_examined", "keys": "ran"}
    assert examined(scan)["traffic"].why == "no access log was given"
    assert (scan.traffic, scan.timeline, scan.timeline_step_s) == (None, (), None)


def test_without_payments_only_traffic_is_examined(tmp_path: Path) -> None:
    scan = scanned(tmp_path, NO_KEY / "access.log")
    assert status(scan) == {**dict.fromkeys(ASKED, "not_examined"), "traffic": "ran"}
    assert {examined(scan)[name].why for name in ("duplicates", "policies", "keys")} == {"no payment table was given"}
    assert (scan.payments, scan.rows, scan.causes, scan.keys) == (None, (), (), None)


def test_a_ledger_without_repeats_has_no_gaps_to_examine(tmp_path: Path) -> None:
    scan = scanned(tmp_path, ONE_KEY / "payments.csv")
    assert examined(scan)["policies"].status == "not_examined"
    assert (examined(scan)["policies"].why or "").startswith("no gap between duplicates can be a retry's")
    assert scan.payments is not None
    assert scan.payments.excess_rows == 0
    assert scan.findings == ()


def test_a_log_of_reads_only_holds_nothing_that_traffic_is_about(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    line = '198.51.100.7 - - [30/Nov/2026:13:00:{:02} +0000] "GET /cart HTTP/1.1" 200 5 "-" "till/3.2"\n'
    log.write_text("".join(line.format(n) for n in range(9)), encoding="utf-8")
    found = examined(scanned(tmp_path, log))["traffic"]
    assert (found.status, found.why) == ("not_examined", "the evidence holds no rows that the question is about")


# Failures -------------------------------------------------------------------------------------------------------


def failing(name: str) -> Callable[..., Any]:
    real = Runner.run

    def run(self: Runner, query: str, /, **values: Any) -> Any:
        if query == name:
            raise QueryError(f"query {name} failed: out of luck")
        return real(self, query, **values)

    return run


@pytest.mark.parametrize(
    ("query", "failed", "rest"),
    [
        ("duplicates/rows_of_repeated_orders", "duplicates", {"policies", "keys"}),
        ("duplicates/requests_of_repeated_orders", "duplicates", {"policies", "keys"}),
        ("duplicates/ledger", "duplicates", {"policies", "keys"}),
        ("traffic/requests_by_bin", "traffic", set()),
        ("keys/orders_by_channel", "keys", set()),
    ],
)
def test_a_query_that_fails_is_a_failure_and_never_nothing_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, failed: str, rest: set[str]
) -> None:
    monkeypatch.setattr(Runner, "run", failing(query))
    scan = scanned(tmp_path, NO_KEY / "payments.csv", NO_KEY / "access.log")
    assert scan.failed
    assert examined(scan)[failed] == Examined(failed, "failed", f"query {query} failed: out of luck")
    assert {name for name, of in status(scan).items() if of == "not_examined"} == rest
    assert {examined(scan)[name].why for name in rest} <= {"it rests on duplicates, which failed"}
    if failed == "duplicates":
        assert scan.payments is None
        assert not any(f.rule.startswith(("duplicates/", "keys/", "policies/")) for f in scan.findings)


@pytest.mark.parametrize("command", ["scan", "report", "investigate"])
def test_a_failed_question_is_shown_and_decides_the_exit_code(
    forensics: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    with Case(tmp_path / "c.duckdb") as case:
        case.load([NO_KEY / "payments.csv"])
    monkeypatch.setattr(Runner, "run", failing("duplicates/ledger"))
    first = NO_KEY / "payments.csv" if command == "investigate" else tmp_path / "c.duckdb"
    said = forensics(command, first, *([] if command == "scan" else ["--out", tmp_path / "out"]))
    assert said.code == 1
    assert "FAILED     duplicates: query duplicates/ledger failed: out of luck" in said.out
    assert "happened   failed: query duplicates/ledger failed: out of luck" in said.out
    assert "no order" not in said.out
    assert "nothing must go back" not in said.out


# Loading --------------------------------------------------------------------------------------------------------


def test_loading_twice_changes_nothing(tmp_path: Path) -> None:
    files = [NO_KEY / "payments.csv", NO_KEY / "access.log"]
    with Case(tmp_path / "case.duckdb") as case:
        first = case.load(files)
        before = case.sources(), case.scan()
        again = case.load(files)
        after = case.sources(), case.scan()
    assert (len(first.sources), first.already) == (2, ())
    assert (again.sources, sorted(again.already)) == ((), sorted(map(str, files)))
    assert after == before


def test_evidence_may_come_in_parts(tmp_path: Path) -> None:
    with Case(tmp_path / "case.duckdb") as case:
        case.load([NO_KEY / "payments.csv"])
        assert status(case.scan())["traffic"] == "not_examined"
        case.load([NO_KEY / "access.log"])
        assert status(case.scan())["traffic"] == "ran"


def test_what_cannot_be_used_is_named_and_the_rest_is_used(tmp_path: Path) -> None:
    with Case(tmp_path / "case.duckdb") as case:
        loaded = case.load([tmp_path / "absent.csv", NO_KEY / "payments.csv"])
        scan = case.scan(refused=loaded.refused)
    assert [s.name for s in loaded.sources] == ["payments.csv"]
    assert [r.path for r in scan.refused] == [str(tmp_path / "absent.csv")]


def test_a_case_that_would_hold_nothing_is_not_made(tmp_path: Path) -> None:
    with Case(tmp_path / "case.duckdb") as case:
        assert case.load([tmp_path / "absent.csv"]).sources == ()
        with pytest.raises(UsageError):
            case.load([NO_KEY / "payments.csv"], Options(zone="Nowhere/City"))
        with pytest.raises(CaseError, match="there is no such case"):
            case.sources()
    assert list(tmp_path.iterdir()) == []


def test_a_load_of_nothing_leaves_a_case_that_holds_something(tmp_path: Path) -> None:
    with Case(tmp_path / "case.duckdb") as case:
        case.load([NO_KEY / "payments.csv"])
        case.load([tmp_path / "absent.csv"])
        assert [s.name for s in case.sources()] == ["payments.csv"]


# Asking ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def case(tmp_path: Path) -> Case:
    case = Case(tmp_path / "case.duckdb")
    case.load([NO_KEY / "payments.csv", NO_KEY / "access.log"])
    return case


def test_a_case_answers_queries_and_orders(case: Case) -> None:
    with case:
        assert case.query("duplicates/repeated_orders", min_effects=3).column("business_key") == ["ORD-20261130-00004"]
        life = case.order("ORD-20261130-00002")
    # Two payments of the order, and the two requests that bear their request id.
    assert sorted(life.column("what")) == ["payment", "payment", "request", "request"]
    assert life.column("at") == sorted(life.column("at"))


@pytest.mark.parametrize("order", ["", "ORD", "ord-20261130-00002", "' OR 1=1 --"])
def test_orders_are_matched_whole_and_exactly(case: Case, order: str) -> None:
    with case, pytest.raises(UsageError, match="nothing in the case names the order"):
        case.order(order)


def test_a_parameter_of_any_name_is_the_querys(case: Case) -> None:
    with case, pytest.raises(UsageError, match="has no parameter 'name'"):
        case.query("duplicates/repeated_orders", name="x")


def test_a_closed_case_opens_itself_again(case: Case) -> None:
    case.close()
    assert len(case.sources()) == 2
    case.close()


def test_a_case_that_is_not_there_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="there is no such case"):
        Case.open(tmp_path / "absent.duckdb")


# Equal input, equal bytes ---------------------------------------------------------------------------------------


def test_two_runs_over_the_same_files_write_the_same_bytes(tmp_path: Path) -> None:
    written = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        scan = scanned(folder, NO_KEY / "payments.csv", NO_KEY / "access.log")
        write_reports(scan, folder, META)
        written.append({p.name: p.read_bytes() for p in folder.iterdir() if p.suffix != ".duckdb"})
    assert written[0].keys() == {"report.html", "findings.json", "duplicates.csv", "refunds.csv", "review.csv"}
    assert written[0] == written[1]


def test_the_order_of_the_ledgers_lines_changes_only_line_numbers(tmp_path: Path) -> None:
    heading, *lines = (NO_KEY / "payments.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    scans = []
    for name, body in (("forth", lines), ("back", lines[::-1])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "payments.csv").write_text("".join([heading, *body]), encoding="utf-8")
        scan = scanned(tmp_path / name, tmp_path / name / "payments.csv")
        scans.append([(r.payment_id, r.role, r.cause, r.confidence, r.group_id) for r in scan.rows])
    assert scans[0] == scans[1]


def test_ids_of_findings_are_stable_and_unique(tmp_path: Path) -> None:
    ids = [f.id for f in scanned(tmp_path, NO_KEY / "payments.csv", NO_KEY / "access.log").findings]
    assert len(ids) == len(set(ids))
    assert {"excess-payments", "retry-policy", "traffic-growth", "no-key"} <= set(ids)


def test_the_case_name_and_threshold_are_those_given(tmp_path: Path) -> None:
    scan = scanned(tmp_path, NO_KEY / "payments.csv", refund_confidence=0.5)
    assert (scan.case_name, scan.refund_confidence) == ("case", 0.5)


def test_a_report_that_cannot_be_written_is_wrong_use(tmp_path: Path) -> None:
    scan = scanned(tmp_path, ONE_KEY / "payments.csv")
    with pytest.raises(UsageError, match=r"--out .*case\.duckdb: cannot be written"):
        write_reports(scan, tmp_path / "case.duckdb", META)
