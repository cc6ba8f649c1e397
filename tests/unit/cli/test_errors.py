"""What goes wrong is one sentence, a hint and an exit code: never a traceback, and never a silent success."""

from __future__ import annotations

import contextlib
import ctypes
import gzip
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forensics import cli
from forensics.errors import CaseError, EvidenceError

Run = Callable[..., Any]
LOG = '198.51.100.7 - - [30/Nov/2026:13:00:{:02} +0000] "POST /v1/payments HTTP/1.1" 201 5 "-" "till/3.2"\n'
PAYMENTS = """\
id,order_id,amount,currency,status,created_at
1,A,10000,KRW,APPROVED,2026-11-30T13:00:00.000Z
2,A,10000,KRW,APPROVED,2026-11-30T13:00:04.000Z
"""
HOLD = """
import sys
from pathlib import Path
from forensics import store
held = store.open_for_loading(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""
FORENSICS = Path(sys.executable).with_name("forensics")


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


def is_one_sentence(said: Any) -> bool:
    """Whether the last thing told is an error and at most one hint, and nothing was answered."""
    lines = [line for line in said.err.splitlines() if not line.startswith(("reading ", "asking "))]
    shape = [line.split(":")[0] for line in lines]
    return said.out == "" and shape in (["forensics", "hint"], ["forensics"]) and "Traceback" not in said.err


# Evidence -------------------------------------------------------------------------------------------------------


def write(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


UNUSABLE: dict[str, tuple[str, bytes | str, str]] = {
    "empty": ("a.csv", b"", "the file is empty"),
    "PDF": ("a.pdf", b"%PDF-1.7\n%...", "this is a PDF document; expected a table or an access log"),
    "picture": ("a.png", b"\x89PNG\r\n\x1a\n....", "this is a PNG picture"),
    "no known heading": ("a.csv", "a,b\n1,2\n", "no heading is known and no log format reads half of its lines"),
    "no amount": ("a.csv", "order_id,created_at\nA,2026-11-30T13:00:00Z\n", "no column could be recognised as amount"),
    "no order": ("a.csv", "amount,created_at\n5,2026-11-30T13:00:00Z\n", "no column could be recognised as order_id"),
    "prose": ("a.txt", "Dear all,\nthe totals do not match.\n", "neither a table nor a log"),
    "cut off gzip": ("a.csv.gz", gzip.compress(PAYMENTS.encode() * 50)[:60], "the file cannot be read to its end"),
    "heading only": ("a.csv", PAYMENTS.splitlines()[0] + "\n", ""),
    "bytes": ("a.bin", bytes(range(256)) * 40, ""),
}


@pytest.mark.parametrize("what", UNUSABLE)
def test_evidence_that_cannot_be_used_is_refused_in_one_sentence(forensics: Run, tmp_path: Path, what: str) -> None:
    name, content, words = UNUSABLE[what]
    path = write(tmp_path, name, content)
    said = forensics("investigate", path, "--out", tmp_path / "out")
    assert (said.code, is_one_sentence(said)) == (1, True), said.err
    assert words in said.err
    assert str(path) in said.err
    assert list((tmp_path / "out").iterdir()) == []


def test_an_empty_folder_and_a_missing_file_are_refused(forensics: Run, payments: Path, tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    for path, words in (
        (tmp_path / "dir", "the folder holds no file of evidence"),
        (tmp_path / "access.log*", "no file matches the pattern"),
        (tmp_path / "paymens.csv", "there is no such file"),
    ):
        said = forensics("investigate", path, "--out", tmp_path / "out")
        assert (said.code, is_one_sentence(said)) == (1, True)
        assert words in said.err
    assert f"hint: did you mean {payments}?" in said.err


def test_a_log_cut_in_the_middle_of_a_line_is_read_up_to_it_and_the_rest_is_rejected(
    forensics: Run, tmp_path: Path
) -> None:
    path = write(tmp_path, "access.log", "".join(LOG.format(n) for n in range(9)) + LOG.format(9)[:60])
    said = forensics("load", tmp_path / "c.duckdb", path)
    assert said.code == 0
    assert "10 read = 9 loaded + 1 rejected" in said.out


def obey_permissions() -> None:
    """Take from root the right to read what its mode forbids (prctl PR_CAPBSET_DROP; it counts from the next exec)."""
    if os.getuid() == 0:
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            if ctypes.CDLL(None, use_errno=True).prctl(24, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "cannot drop the right to read everything")


def test_a_file_without_read_permission_is_refused(payments: Path, tmp_path: Path) -> None:
    payments.chmod(0)
    command = [str(FORENSICS), "investigate", str(payments), "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=obey_permissions)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"forensics: error: {payments}: no permission to read the file\nhint: chmod u+r ")


# Options --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--zone", "Nowhere/City"], "--zone Nowhere/City: there is no such zone"),
        (["--map", "order_id"], "--map order_id: expected NAME=VALUE"),
        (["--map", "order_id=absent"], "--map order_id=absent: the file has no column 'absent'"),
        (["--map", "no_such=amount"], "--map no_such"),
        (["--status", "APPROVED=fine"], "--status APPROVED=fine: 'fine' is no status"),
        (["--status", "APPROVED"], "--status APPROVED: expected NAME=VALUE"),
        (["--currency", "WONS"], "--currency WONS: expected an ISO 4217 code"),
        (["--log-format", "words"], "--log-format 'words': no $variable"),
        (["--incident", "10:00"], "--incident 10:00: expected START/END, START before END"),
        (["--incident", "2026-11-30/2026-11-29"], "--incident 2026-11-30/2026-11-29: expected START/END"),
        (["--baseline", "yesterday/today"], "--baseline yesterday/today: expected START/END"),
        (["--incident", "0001-01-01T00:00+14:00/0001-01-02"], "expected START/END, START before END"),
    ],
)
def test_an_option_that_means_nothing_is_wrong_use(
    forensics: Run, payments: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    kind = ["--as", "payments"] if words[0] == "--map" else []
    said = forensics("investigate", payments, "--out", tmp_path / "out", *kind, *words)
    assert (said.code, is_one_sentence(said)) == (2, True), said.err
    assert message in said.err


@pytest.mark.parametrize(
    "words",
    [
        ["investigate"],
        ["investigate", "a.csv", "--unit", "pennies"],
        ["investigate", "a.csv", "--as", "nonsense"],
        ["investigate", "a.csv", "--timeout", "-1"],
        ["investigate", "a.csv", "--refund-confidence", "1.5"],
        ["scan", "case", "--fail-on", "catastrophe"],
        ["query", "case", "name", "--format", "xml"],
        ["report", "case"],
        ["nonsense"],
        ["scan", "case", "--nonsense"],
        ["match"],
        ["match", "-1"],
    ],
)
def test_words_that_no_command_takes_are_wrong_use(forensics: Run, words: list[str]) -> None:
    said = forensics(*words)
    assert (said.code, said.out) == (2, "")
    assert "Error: " in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["queries", "nope"], "no query is called 'nope'"),
        (["queries", "duplicates/gaps", "--dialect", "cobol"], "no dialect is called 'cobol'"),
        (["policies", "no-such-product"], "no policy of the catalogue is like 'no-such-product'"),
        (["match", "4.0", "soon"], "gap 'soon': expected a number of seconds, zero or more"),
        (["match", "nan"], "gap 'nan': expected"),
        (["match", "1e99"], "gap '1e99': expected"),
    ],
)
def test_names_and_numbers_that_do_not_exist_are_wrong_use(forensics: Run, words: list[str], message: str) -> None:
    said = forensics(*words)
    assert (said.code, is_one_sentence(said)) == (2, True)
    assert message in said.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["query", "nope"], "no query is called 'nope'"),
        (["query", "repeated_orders", "--set", "min_effect=3"], "has no parameter 'min_effect'"),
        (["query", "repeated_orders", "--set", "min_effects=many"], "min_effects expects BIGINT, got 'many'"),
        (["query", "repeated_orders", "--set", "min_effects=9" + 30 * "9"], "min_effects expects BIGINT"),
        (["query", "repeated_orders", "--set", "min_effects"], "--set min_effects: expected NAME=VALUE"),
        (["query", "repeated_orders", "--set", "name=1"], "has no parameter 'name'"),
        (["query", "repeated_orders", "--set", "self=1"], "has no parameter 'self'"),
        (["order", "NO-SUCH"], "nothing in the case names the order 'NO-SUCH'"),
    ],
)
def test_questions_that_a_case_cannot_take_are_wrong_use(
    forensics: Run, case: Path, words: list[str], message: str
) -> None:
    command, *rest = words
    said = forensics(command, case, *rest)
    assert (said.code, is_one_sentence(said)) == (2, True), said.err
    assert message in said.err


@pytest.mark.parametrize("command", ["investigate", "report"])
def test_a_folder_that_cannot_be_written_is_wrong_use(
    forensics: Run, payments: Path, case: Path, tmp_path: Path, command: str
) -> None:
    said = forensics(command, {"investigate": payments, "report": case}[command], "--out", payments)
    assert (said.code, is_one_sentence(said)) == (2, True)
    assert f"--out {payments}: cannot be " in said.err


# Cases ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["scan", "sources", "order", "query", "report", "load"])
def test_what_is_no_case_is_refused(forensics: Run, payments: Path, tmp_path: Path, command: str) -> None:
    more = {"order": ["A"], "query": ["case/sources"], "report": ["--out", tmp_path / "o"], "load": [payments]}
    before = payments.read_bytes()
    said = forensics(command, payments, *more.get(command, []))
    assert (said.code, is_one_sentence(said)) == (1, True)
    assert f"{payments}: this is not a case file" in said.err
    assert payments.read_bytes() == before


def test_a_case_that_is_not_there_is_refused_and_not_made(forensics: Run, tmp_path: Path) -> None:
    said = forensics("scan", tmp_path / "absent.duckdb")
    assert (said.code, is_one_sentence(said)) == (1, True)
    assert "there is no such case" in said.err
    assert not (tmp_path / "absent.duckdb").exists()


@pytest.mark.parametrize("command", ["scan", "load"])
def test_a_case_that_another_process_holds_is_refused_and_the_process_named(
    forensics: Run, case: Path, payments: Path, command: str
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(case)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        said = forensics(command, case, *([payments] if command == "load" else []))
        holder.communicate("")
    assert (said.code, is_one_sentence(said)) == (1, True)
    assert f"{case}: the case is open in another process (process {holder.pid})" in said.err


# Interrupts, pipes, mistakes ------------------------------------------------------------------------------------


def interrupted(words: list[object], ready: Callable[[subprocess.Popen[str]], None]) -> tuple[int, str, str]:
    command = [str(FORENSICS), *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        ready(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_an_interrupt_while_evidence_is_read_ends_with_130_and_leaves_nothing(tmp_path: Path) -> None:
    pipe = tmp_path / "endless.csv"
    os.mkfifo(pipe)
    held: list[int] = []

    def wait_until_it_reads(process: subprocess.Popen[str]) -> None:
        while not held and process.poll() is None:  # a pipe can be opened to write once somebody reads it
            with contextlib.suppress(OSError):
                held.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
            time.sleep(0.02)

    code, out, err = interrupted(["investigate", pipe, "--out", tmp_path / "out"], wait_until_it_reads)
    os.close(held[0])
    assert (code, out) == (130, "")
    assert "Traceback" not in err
    assert list((tmp_path / "out").iterdir()) == []


def test_an_interrupt_in_the_middle_of_a_query_ends_with_130(tmp_path: Path) -> None:
    log = write(tmp_path, "access.log", "".join(LOG.format(n % 60) for n in range(400_000)))

    def wait_until_it_loads(process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        assert process.stderr.readline() == "reading access.log\n"
        time.sleep(0.2)

    code, out, err = interrupted(["load", tmp_path / "c.duckdb", log], wait_until_it_loads)
    assert (code, out) == (130, "")
    assert "Traceback" not in err
    assert not (tmp_path / "c.duckdb").exists()


def shell(command: str, *words: object) -> subprocess.CompletedProcess[str]:
    bash = shutil.which("bash")
    assert bash is not None
    program = f"set -o pipefail; {command}"
    return subprocess.run([bash, "-c", program, str(FORENSICS), *map(str, words)], capture_output=True, text=True)


def test_a_reader_that_goes_away_is_no_error() -> None:
    done = shell('"$0" queries | head -1')
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1


def test_a_reader_that_goes_away_does_not_take_the_verdict_with_it(case: Path) -> None:
    done = shell('"$0" scan "$1" --fail-on low | true', case)
    assert (done.returncode, done.stderr) == (3, "")


def test_a_full_disk_is_said_in_one_sentence() -> None:
    done = shell('"$0" queries > /dev/full')
    assert done.returncode == 1
    assert done.stderr.startswith("forensics: error: output: ")
    assert "Traceback" not in done.stderr


def test_a_terminal_that_lacks_a_letter_gets_its_number() -> None:
    done = shell('PYTHONIOENCODING=latin-1 "$0" match 4.0')
    assert done.returncode == 0
    assert "\\u2588" in done.stdout


@pytest.mark.parametrize(
    ("raised", "code", "words"),
    [
        (ZeroDivisionError("division by zero"), 1, "this is a mistake in forensics, not in your files"),
        (KeyboardInterrupt(), 130, ""),
        (RuntimeError("Query interrupted"), 130, ""),
        (MemoryError(), 1, "MemoryError"),
        (CaseError("c: broken", "mend it"), 1, "forensics: error: c: broken\nhint: mend it\n"),
        (EvidenceError("a\nb \x1b[31m\u202e"), 1, "forensics: error: a b \\x1b[31m\\x202e\n"),
        (PermissionError(13, "Permission denied", "x"), 1, "forensics: error: x: Permission denied\n"),
    ],
)
def test_whatever_is_raised_ends_in_words(
    forensics: Run, monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int, words: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr(cli.cli, "invoke", fail)
    said = forensics("queries")
    assert (said.code, said.out) == (code, "")
    assert words in said.err
    assert "Traceback" not in said.err
