"""MySQL and MariaDB through PyMySQL: one read-only snapshot, rows unbuffered, cells as the server prints them.

PyMySQL is kept, pure Python and MIT; its decoders are switched off, so DECIMAL stays the server's own text.
https://dev.mysql.com/doc/refman/8.4/en/commit.html, https://mariadb.com/kb/en/start-transaction/
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, cast

from forensics.errors import EvidenceError, UsageError
from forensics.sources.databases.driver import (
    Column,
    Kind,
    Since,
    hexadecimal,
    import_driver,
    no_such_table,
    record,
    reworded,
)
from forensics.sources.databases.postgresql import epoch_seconds
from forensics.sources.urls import Url

# https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html
_KINDS: Mapping[int, Kind] = {
    7: "instant",  # TIMESTAMP is kept in UTC and shown in the session's zone, which is set to UTC
    12: "naive",
    10: "date",
    0: "decimal",
    246: "decimal",
    **dict.fromkeys((1, 2, 3, 8, 9), "integer"),
    **dict.fromkeys((4, 5), "float"),
}
_BINARY_TYPES = (16, 249, 250, 251, 252, 253, 254, 255)
_BINARY_CHARSET = 63
_TAKEN = ("ssl_ca", "ssl_cert", "ssl_key", "unix_socket", "connect_timeout", "read_timeout")
_TLS = ("ssl-mode", "ssl_mode", "sslmode")
_SESSION = (
    "SET SESSION time_zone = '+00:00'",
    "SET SESSION sql_mode = REPLACE(@@SESSION.sql_mode, 'NO_BACKSLASH_ESCAPES', '')",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET SESSION TRANSACTION READ ONLY",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
)
_LOST = (0, 2006, 2013, 2014, 2055, 1927, 1053)


class MySQL:
    """One session."""

    def __init__(self, url: Url) -> None:
        """Connect.

        Raises:
            EvidenceError: no server, wrong password, no such database, or the library is missing.
            UsageError: a parameter of the URL that is not known.
        """
        self._url = url
        self._pymysql = cast("Any", import_driver(url, "pymysql", "mysql"))
        self._connection = self._connect()
        self._fields: list[Any] = []
        with self._worded("the session could not be set up"), self._connection.cursor() as cursor:
            for statement in _SESSION:
                cursor.execute(statement)

    def _connect(self) -> Any:
        url = self._url
        given: dict[str, Any] = {"user": url.user, "host": url.host or "localhost", "database": url.path or None}
        password = url.password if url.password is not None else os.environ.get("MYSQL_PWD", "")
        given["password"] = password.encode()  # PyMySQL would take text for Latin-1
        given["port"] = int(url.port) if url.port else 3306
        given |= _parameters(url)
        encoders = dict(self._pymysql.converters.encoders)
        try:
            return self._pymysql.connect(
                **given, charset="utf8mb4", use_unicode=False, conv=encoders, program_name="forensics"
            )
        except (self._pymysql.Error, OSError, RuntimeError, ValueError) as exc:
            raise _refusal(url, reworded(url, exc), _code(exc)) from None

    def tables(self) -> list[str]:
        """The tables of the database of the URL; those of others by database.name."""
        return [name if own else f"{schema}.{name}" for schema, name, own in self._catalogue()]

    def _catalogue(self) -> list[tuple[str, str, bool]]:
        with self._worded("its tables cannot be listed"), self._connection.cursor() as cursor:
            cursor.execute(
                "SELECT table_schema, table_name, table_schema <=> DATABASE() FROM information_schema.tables WHERE "
                "table_schema NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys') ORDER BY 3 DESC, 1, 2"
            )
            return [(s.decode(), n.decode(), own == b"1") for s, n, own in cursor.fetchall()]

    def find(self, table: str) -> str:
        """A table by its bare name or by database.name; to the user, a table that may not be read is not there."""
        rows = self._catalogue()
        for schema, name, own in rows:
            if (own and name == table) or f"{schema}.{name}" == table:
                return f"{_quote(schema)}.{_quote(name)}"
        raise no_such_table(self._url, table, self.tables(), f" that the user {self._url.user or '(none)'} may read")

    def describe(self, select: str) -> tuple[Column, ...]:
        """By way of a derived table where that can be, which a query with a repeated column name cannot."""
        with self._worded("the rows cannot be read"), self._connection.cursor() as cursor:
            try:
                cursor.execute(f"SELECT * FROM ({select}\n) AS forensics_rows LIMIT 0")
            except self._pymysql.Error as exc:
                if _code(exc) != 1060:
                    raise
                again = self._pymysql.cursors.SSCursor(self._connection)
                again.execute(select)
                self._fields = list(again._result.fields)
                again.close()
            else:
                self._fields = list(cursor._result.fields)
        return tuple(Column(f.name, _KINDS.get(f.type_code, "text")) for f in self._fields)

    def records(self, select: str, since: Since | None) -> Generator[bytes, None, None]:
        """Cells as the server prints them, binary ones in hexadecimal."""
        arguments = None
        if since is not None:
            condition, value = self._condition(since)
            select = f"SELECT * FROM ({select}\n) AS forensics_rows WHERE ".replace("%", "%%") + condition
            arguments = (value,)
        shown = [_reader(field) for field in self._fields]
        cursor = self._connection.cursor(self._pymysql.cursors.SSCursor)
        try:
            with self._worded("the rows cannot be read"):
                cursor.execute(select, arguments)
                while (row := cursor.fetchone()) is not None:
                    yield record([None if c is None else show(c) for c, show in zip(row, shown, strict=True)])
        finally:
            if cursor._result is not None:  # else closing would read all rows that are left
                cursor._result.unbuffered_active = False
            cursor.connection = None

    def _condition(self, since: Since) -> tuple[str, str]:
        column = _quote(since.column.heading).replace("%", "%%")
        if since.column.kind in ("integer", "decimal"):
            return f"{epoch_seconds(column)} >= CAST(%s AS DECIMAL(30,6))", f"{since.epoch_s:f}"
        moment = since.instant if since.column.kind == "instant" else since.local
        return f"{column} >= CAST(%s AS DATETIME(6))", moment.isoformat(sep=" ")

    def kinds(self) -> Mapping[str, Kind]:
        """Nothing: the server has told all."""
        return {}

    def close(self) -> None:
        """Closing the socket ends the transaction."""
        with suppress(self._pymysql.Error):
            self._connection.close()

    @contextmanager
    def _worded(self, what: str) -> Iterator[None]:
        try:
            yield
        except (self._pymysql.Error, OSError) as exc:
            raise _failure(self._url, what, reworded(self._url, exc), _code(exc)) from None


def _quote(identifier: str) -> str:
    return "`" + identifier.replace("`", "``") + "`"


def _reader(field: Any) -> Callable[[bytes], bytes]:
    """How a cell of a column becomes text; NUL, which no text has, becomes U+FFFD."""
    if field.type_code == 16 or (field.type_code in _BINARY_TYPES and field.charsetnr == _BINARY_CHARSET):
        return hexadecimal
    if field.type_code in _BINARY_TYPES:
        return lambda cell: cell.replace(b"\0", b"\xef\xbf\xbd") if b"\0" in cell else cell
    return lambda cell: cell


def _parameters(url: Url) -> dict[str, Any]:
    taken: dict[str, Any] = {}
    for name, value in url.parameters.items():
        if name in _TLS:
            taken |= _tls(value)
        elif name in _TAKEN:
            taken[name] = int(value) if name.endswith("timeout") and value.isdigit() else value
        elif name != "charset":
            raise UsageError(f"{url}: the parameter {name!r} is not known", f"known are ssl-mode, {', '.join(_TAKEN)}")
    return taken


def _tls(mode: str) -> dict[str, Any]:
    """As https://dev.mysql.com/doc/refman/8.4/en/connection-options.html#option_general_ssl-mode has it."""
    import ssl

    mode = mode.upper().replace("-", "_")
    if mode in ("VERIFY_CA", "VERIFY_IDENTITY", "VERIFY_FULL"):
        return {"ssl_verify_cert": True, "ssl_verify_identity": mode != "VERIFY_CA", "ssl": {"check_hostname": True}}
    if mode in ("REQUIRED", "REQUIRE"):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return {"ssl": context}
    return {"ssl_disabled": True} if mode in ("DISABLED", "DISABLE") else {}


def _code(exc: Exception) -> int:
    first = exc.args[0] if exc.args else None
    return first if isinstance(first, int) else -1


def _refusal(url: Url, said: str, code: int) -> EvidenceError:
    if code in (1045, 1698, 1251, 2059) or "cryptography" in said:
        return EvidenceError(
            f"{url}: the server refused the user {url.user or '(none)'} or the password",
            "check both; without a password in the URL, MYSQL_PWD is read",
        )
    if code == 1044:
        return EvidenceError(f"{url}: the user {url.user!r} has no access to {url.path!r}", "ask its owner for SELECT")
    if code == 1049:
        return EvidenceError(f"{url}: the server has no database {url.path!r}", "check the last part of the URL")
    return EvidenceError(
        f"{url}: cannot connect to {url.place or 'localhost'}: {said[:300]}",
        "check host and port, and that the server runs",
    )


def _failure(url: Url, what: str, said: str, code: int) -> EvidenceError:
    if code in (1044, 1142, 1143, 1227):
        return EvidenceError(
            f"{url}: no permission: {said[:300]}", f"its owner can: GRANT SELECT ON TABLE TO {url.user or 'USER'}"
        )
    if code == 1792:
        return EvidenceError(f"{url}: the query writes, and the session only reads: {said[:300]}", "give one SELECT")
    if code in (3024, 1969, 1317):
        return EvidenceError(
            f"{url}: the server ended the query: {said[:300]}", "narrow it with --since, or ask for a longer timeout"
        )
    if code in _LOST:
        return EvidenceError(f"{url}: the connection was lost: {said[:300]}", "nothing of it was loaded; load it again")
    return EvidenceError(f"{url}: {what}: {said[:300]}", None)
