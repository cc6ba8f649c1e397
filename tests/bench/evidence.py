"""Make large evidence, the same on every machine: a payment table and an access log with planted repeats.

    python -m tests.bench.evidence ROWS FILE...

A file that ends in .log becomes an access log, one in .parquet or .csv a payment table.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

PAYMENTS_SQL = """
COPY (
  WITH orders AS (
    SELECT i, 1 + CASE WHEN hash(i) % 1000 < 5 THEN 1 + hash(i, 1) % 3 ELSE 0 END AS effects
    FROM range({rows}) AS t(i)
  ),
  effects AS (
    SELECT i, unnest(range(CAST(effects AS BIGINT))) AS n FROM orders
  )
  SELECT
    'pay_' || lpad(CAST(row_number() OVER (ORDER BY i, n) AS VARCHAR), 10, '0') AS payment_id,
    'ORD-' || lpad(CAST(i AS VARCHAR), 9, '0') AS order_id,
    CAST(1000 + 100 * (hash(i, 2) % 900) AS DECIMAL(18,2)) AS amount,
    'KRW' AS currency,
    CASE WHEN hash(i, 3) % 100 = 0 THEN 'DECLINED' ELSE 'APPROVED' END AS status,
    TIMESTAMPTZ '2026-10-01 00:00:00+00'
      + to_microseconds(CAST(i * 2500000.0 * 1000000 / {rows} AS BIGINT))
      + to_microseconds(CAST(CASE n WHEN 0 THEN 0 WHEN 1 THEN 4.05 WHEN 2 THEN 9.1 ELSE 16.2 END * 1000000 AS BIGINT)
      + CAST(hash(i, n, 4) % 200000 AS BIGINT)) AS created_at,
    'C' || lpad(CAST(hash(i, 5) % 50000 AS VARCHAR), 6, '0') AS customer_id,
    ['web', 'app', 'pos'][CAST(1 + hash(i, 6) % 3 AS BIGINT)] AS channel
  FROM effects
  ORDER BY created_at
) TO '{path}' ({options})
"""

LOG_SQL = """
COPY (
  SELECT
    '203.0.113.' || CAST(hash(i, 1) % 250 AS VARCHAR) || ' - - ['
    || strftime(
      TIMESTAMP '2026-10-01' + to_milliseconds(CAST(i * 2500000000.0 / {rows} AS BIGINT)), '%d/%b/%Y:%H:%M:%S'
    )
    || ' +0000] "' || CASE WHEN hash(i, 2) % 10 < 3 THEN 'POST /v1/payments'
      ELSE 'GET /v1/items/' || CAST(hash(i, 3) % 9999 AS VARCHAR) END
    || ' HTTP/1.1" ' || CASE WHEN hash(i, 4) % 50 = 0 THEN '499 0'
      ELSE '200 ' || CAST(100 + hash(i, 5) % 900 AS VARCHAR) END
    || ' "-" "PayApp/5.2 (Android 14)" 0.' || lpad(CAST(hash(i, 6) % 1000 AS VARCHAR), 3, '0')
    || ' "' || CASE WHEN hash(i, 7) % 20 = 0 THEN '2' ELSE '1' END || '" "' || md5(CAST(i AS VARCHAR)) || '"' AS line
  FROM range({rows}) AS t(i)
) TO '{path}' (FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x1f')
"""


def make_payments(path: Path, rows: int) -> None:
    """A payment table of that many orders, 0.5 % of them repeated, as Parquet or CSV by the ending of the path."""
    options = "FORMAT parquet" if path.suffix == ".parquet" else "FORMAT csv, HEADER true"
    duckdb.connect().execute(PAYMENTS_SQL.format(rows=rows, path=path, options=options))


def make_log(path: Path, rows: int) -> None:
    """An nginx access log (combined, then request time, attempt, request id) of that many lines."""
    duckdb.connect().execute(LOG_SQL.format(rows=rows, path=path))


if __name__ == "__main__":
    for name in sys.argv[2:]:
        (make_log if name.endswith(".log") else make_payments)(Path(name), int(sys.argv[1]))
