"""PostgreSQL through psycopg: one read-only, repeatable-read transaction, rows by COPY ... TO STDOUT.

COPY is the server's own text: NUMERIC to the last digit, every type as it prints. It takes no parameters, so the moment
of --since is bound into a setting of the transaction, and the query reads it there.
https://www.postgresql.org/docs/current/sql-copy.html, .../functions-admin.html (set_config)
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from forensics.errors import EvidenceError
from forensics.sources.databases.driver import Column, Kind, Since, import_driver, no_such_table, reworded
from forensics.sources.urls import Url
from forensics.store import quote

if TYPE_CHECKING:
    import psycopg

# Object identifiers of types: https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat
_KINDS: Mapping[int, Kind] = {
    1184: "instant",
    1114: "naive",
    1082: "date",
    1700: "decimal",
    16: "boolean",
    **dict.fromkeys((20, 21, 23, 26), "integer"),
    **dict.fromkeys((700, 701), "float"),
}
_SESSION = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "iso_8601",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "lc_monetary": "C",
}
_SINCE = "forensics.since"
_TABLES = (
    "SELECT n.nspname, c.relname, pg_table_is_visible(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = "
    "c.relnamespace WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname NOT IN ('pg_catalog', "
    "'information_schema') AND n.nspname NOT LIKE 'pg\\_t%' ORDER BY 3 DESC, 1, 2"
)
_AUTHENTICATION = ("28P01", "28000")
_CONNECT_S = 10


class PostgreSQL:
    """One session."""

    def __init__(self, url: Url) -> None:
        """Connect.

        Raises:
            EvidenceError: no server, wrong password, no such database, or the library is missing.
        """
        self._url = url
        self._psycopg = cast("Any", import_driver(url, "psycopg", "postgresql"))
        self._connection = self._connect()
        self._connection.read_only = True
        self._connection.isolation_level = self._psycopg.IsolationLevel.REPEATABLE_READ
        with self._worded("the session could not be set up"):
            for name, value in _SESSION.items():
                self._connection.execute("SELECT set_config(%s, %s, true)", (name, value))

    def _connect(self) -> psycopg.Connection[Any]:
        url = self._url
        given = {"user": url.user, "password": url.password, "host": url.host, "port": url.port}
        given |= {"dbname": url.path or None, "connect_timeout": str(_CONNECT_S), "application_name": "forensics"}
        given |= {**url.parameters, "client_encoding": "UTF8"}
        try:
            connection: psycopg.Connection[Any] = self._psycopg.connect(
                **{name: value for name, value in given.items() if value is not None}
            )
        except self._psycopg.ProgrammingError as exc:
            raise EvidenceError(f"{url}: a parameter of the URL is not known: {reworded(url, exc)}", None) from None
        except self._psycopg.Error as exc:
            raise _refusal(url, reworded(url, exc), exc.sqlstate or "") from None  # `from exc` would keep its arguments
        return connection

    def tables(self) -> list[str]:
        """Visible tables by their bare names, others as schema.name."""
        return [name if visible else f"{schema}.{name}" for schema, name, visible in self._catalogue()]

    def _catalogue(self) -> list[tuple[str, str, bool]]:
        with self._worded("its tables cannot be listed"):
            return self._connection.execute(_TABLES).fetchall()

    def find(self, table: str) -> str:
        """A table by its bare name, or by schema.name."""
        rows = self._catalogue()
        exact = [r for r in rows if r[1] == table and r[2]] or [r for r in rows if f"{r[0]}.{r[1]}" == table]
        found = exact or [r for r in rows if r[1] == table]
        if len(found) > 1:
            names = " or ".join(f"{r[0]}.{r[1]}" for r in found)
            raise EvidenceError(f"{self._url}: several schemas have a table {table!r}", f"say which: --table {names}")
        if not found:
            raise no_such_table(self._url, table, self.tables())
        return f"{quote(found[0][0])}.{quote(found[0][1])}"

    def describe(self, select: str) -> tuple[Column, ...]:
        """Prepared, so that the server itself refuses more than one statement."""
        with self._worded("the rows cannot be read"):
            cursor = self._connection.execute(
                f"SELECT * FROM ({select}\n) AS forensics_rows LIMIT 0".encode(), prepare=True
            )
        return tuple(Column(c.name, _KINDS.get(c.type_code, "text")) for c in cursor.description or ())

    def records(self, select: str, since: Since | None) -> Generator[bytes, None, None]:
        """The server's own CSV."""
        if since is not None:
            condition, value = self._condition(since)
            select = f"SELECT * FROM ({select}\n) AS forensics_rows WHERE {condition}"
            with self._worded("the session could not be set up"):
                self._connection.execute("SELECT set_config(%s, %s, true)", (_SINCE, value))
        copy_out = f"COPY ({select}\n) TO STDOUT (FORMAT csv, FORCE_QUOTE *, NULL '')".encode()
        with (
            self._worded("the rows cannot be read"),
            self._connection.cursor() as cursor,
            cursor.copy(copy_out) as copy,
        ):
            for block in copy:
                yield bytes(block)

    def _condition(self, since: Since) -> tuple[str, str]:
        column, setting = quote(since.column.heading), f"current_setting('{_SINCE}')"
        if since.column.kind == "instant":
            return f"{column} >= CAST({setting} AS timestamptz)", since.instant.isoformat() + "+00"
        if since.column.kind in ("naive", "date"):
            return f"{column} >= CAST({setting} AS timestamp)", since.local.isoformat()
        return f"{epoch_seconds(column)} >= CAST({setting} AS numeric)", f"{since.epoch_s:f}"

    def kinds(self) -> Mapping[str, Kind]:
        """Nothing: the server has told all."""
        return {}

    def close(self) -> None:
        """Closing the socket ends the transaction."""
        self._connection.close()

    @contextmanager
    def _worded(self, what: str) -> Iterator[None]:
        try:
            yield
        except self._psycopg.Error as exc:
            raise _failure(self._url, what, reworded(self._url, exc), exc.sqlstate or "") from None


def epoch_seconds(column: str) -> str:
    """A number as seconds since 1970, whether it counts seconds, milli-, micro- or nanoseconds."""
    steps = ((1e17, 1_000_000_000), (1e14, 1_000_000), (1e11, 1_000))
    whens = " ".join(f"WHEN {column} > {above:.0f} THEN {column} / {by}.0" for above, by in steps)
    return f"(CASE {whens} ELSE {column} END)"


def _refusal(url: Url, said: str, state: str) -> EvidenceError:
    low = said.lower()
    if state in _AUTHENTICATION or "authentication failed" in low or "no password supplied" in low:
        return EvidenceError(
            f"{url}: the server refused the user {url.user or '(none)'} or the password",
            "check both; without a password in the URL, PGPASSWORD and ~/.pgpass are read",
        )
    if "pg_hba.conf" in low:
        return EvidenceError(
            f"{url}: the server takes no connection of the user {url.user or '(none)'} from this machine",
            "ask its owner for access (pg_hba.conf), or try ?sslmode=require at the end of the URL",
        )
    if state == "3D000" or ("database" in low and "does not exist" in low):
        return EvidenceError(f"{url}: the server has no database {url.path!r}", "check the last part of the URL")
    if "role" in low and "does not exist" in low:
        return EvidenceError(f"{url}: the server has no user {url.user!r}", "check the part of the URL before the @")
    place = url.place or "the local socket"
    return EvidenceError(
        f"{url}: cannot connect to {place}: {said[:300]}", "check host and port, and that the server runs"
    )


def _failure(url: Url, what: str, said: str, state: str) -> EvidenceError:
    if state == "42501":
        return EvidenceError(
            f"{url}: no permission: {said[:300]}", f"its owner can: GRANT SELECT ON TABLE TO {url.user or 'USER'}"
        )
    if state == "25006":
        return EvidenceError(f"{url}: the query writes, and the session only reads: {said[:300]}", "give one SELECT")
    if state == "57014":
        return EvidenceError(
            f"{url}: the server ended the query: {said[:300]}", "narrow it with --since, or ask for a longer timeout"
        )
    if state == "40001":
        return EvidenceError(
            f"{url}: a standby gave up the snapshot for its replay: {said[:300]}",
            "read from the primary, or narrow with --since",
        )
    if not state or state[:2] in ("08", "57"):
        return EvidenceError(f"{url}: the connection was lost: {said[:300]}", "nothing of it was loaded; load it again")
    return EvidenceError(f"{url}: {what}: {said[:300]}", None)
