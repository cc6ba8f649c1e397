"""Measure speed as ratios to a named baseline in the same run: `make bench`.

    python -m tests.bench [ROWS] [ROUNDS]

Each pair of commands runs in turn, as whole processes; the median ratio is what to compare, not seconds.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BASELINE = [sys.executable, "-m", "tests.bench.baseline"]
FORENSICS = [sys.executable, "-c", "from forensics.cli import main; main()"]


@dataclass(frozen=True, slots=True)
class Run:
    """One finished process."""

    seconds: float
    peak_mib: float


def run(command: Sequence[str]) -> Run:
    """Run a command to its end; its output is thrown away."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{' '.join(command)} failed: run it by hand to see why")
    return Run(seconds, usage.ru_maxrss / 1024)


def compare(what: str, ours: Sequence[str], baseline: str, theirs: Sequence[str], rounds: int) -> str:
    """A line of the table: medians of both, and the median of the ratios pair by pair."""
    pairs = [(run(ours), run(theirs)) for _ in range(rounds)]
    ratio = statistics.median(a.seconds / b.seconds for a, b in pairs)
    a_s, b_s = (statistics.median(p[i].seconds for p in pairs) for i in (0, 1))
    a_mib, b_mib = (statistics.median(p[i].peak_mib for p in pairs) for i in (0, 1))
    return f"{what:34} {a_s:7.2f} s {a_mib:6.0f} MiB   {baseline:34} {b_s:7.2f} s {b_mib:6.0f} MiB   x{ratio:.2f}"


def loads(files: Sequence[Path], base: Path, rounds: int) -> list[str]:
    """Loading alone, each file against the obvious way and, where it is installed, a log also against GoAccess."""
    lines = []
    for file in files:
        ours = _anew(base / "load.duckdb", [*FORENSICS, "load", str(base / "load.duckdb"), str(file)])
        raw = [*BASELINE, str(base / "raw.duckdb"), str(file)]
        lines.append(compare(f"load {file.name}", ours, "raw DuckDB, CREATE TABLE AS", raw, rounds))
        if file.suffix == ".log" and shutil.which("goaccess"):
            counted = [
                "goaccess",
                str(file),
                "--log-format=COMBINED",
                "-o",
                str(base / "goaccess.json"),
                "--no-progress",
            ]
            lines.append(compare(f"load {file.name}", ours, "goaccess to JSON", counted, rounds))
    return lines


def _anew(path: Path, command: Sequence[str]) -> list[str]:
    """The command, with a file removed before it."""
    return ["sh", "-c", 'rm -f "$0"; exec "$@"', str(path), *command]


def main(rows: int, rounds: int) -> None:
    """Make the evidence, run the pairs, print the table."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        files = [base / name for name in ("payments.parquet", "payments.csv", "access.log")]
        payments, table, log = files
        # In a process of its own: a child's peak memory counts what its parent held when it was started.
        subprocess.run([sys.executable, "-m", "tests.bench.evidence", str(rows), *map(str, files)], check=True)
        lines = [
            compare(
                f"investigate, {rows:,} + {rows:,} rows",
                [*FORENSICS, "investigate", str(payments), str(log), "--out", str(base / "out")],
                "raw DuckDB, load and gaps only",
                [*BASELINE, str(base / "raw.duckdb"), str(payments), str(log)],
                rounds,
            ),
            *loads((table, payments, log), base, rounds),
            compare(
                "forensics --help",
                [*FORENSICS, "--help"],
                "python importing click",
                [sys.executable, "-c", "import click"],
                max(5, rounds),
            ),
        ]
    print("\n".join(lines))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, int(sys.argv[2]) if len(sys.argv) > 2 else 3)
