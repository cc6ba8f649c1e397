"""The obvious way to the same rows, in raw DuckDB: what the benchmark is a ratio to.

    python -m tests.bench.baseline DATABASE FILE...

A payment table is copied into a table, the lines of a log are read whole and cut by one regular expression with named
groups; where both are given, repeated orders and the gaps between their effects are counted. No column is recognised,
no row is accounted for. The database file is written anew.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

PATTERN = r'^(\S+) \S+ (\S+) \[([^\]]+)\] "(\S+) (\S+) [^"]*" (\d+) (\S+) "([^"]*)" "([^"]*)" (\S+) "([^"]*)" "([^"]*)"'
NAMES = ["addr", "who", "at", "method", "path", "status", "bytes", "referer", "agent", "seconds", "attempt", "request"]

GAPS = """
WITH repeated AS (
  SELECT order_id FROM payments WHERE status = 'APPROVED' GROUP BY order_id HAVING count(*) > 1
)
SELECT count(*), sum(gap) FROM (
  SELECT date_diff('microsecond', lag(created_at) OVER (PARTITION BY order_id ORDER BY created_at), created_at) AS gap
  FROM payments SEMI JOIN repeated USING (order_id)
  WHERE status = 'APPROVED'
)
"""


def main(database: str, *files: str) -> None:
    """Load the files and, where payments and a log are given, count the gaps."""
    Path(database).unlink(missing_ok=True)
    connection = duckdb.connect(database)
    for file in files:
        if file.endswith(".log"):
            connection.execute(
                "CREATE TABLE requests AS SELECT p.*, strptime(p.at, '%d/%b/%Y:%H:%M:%S %z') AS started_at FROM ("
                "SELECT regexp_extract(line, $pattern, $names) AS p FROM read_csv($path, "
                "columns = {'line': 'VARCHAR'}, delim = chr(31), quote = '', escape = '', header = false, "
                "auto_detect = false))",
                {"path": file, "pattern": PATTERN, "names": NAMES},
            )
        else:
            reader = "read_parquet" if file.endswith(".parquet") else "read_csv"
            connection.execute(f"CREATE TABLE payments AS SELECT * FROM {reader}($path)", {"path": file})
    if len(files) > 1:
        print(connection.execute(GAPS).fetchall())
    connection.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
