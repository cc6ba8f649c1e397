"""Servers of the tests' own: made in a temporary folder, on a free port, and gone at the end.

Only the programs are needed: `apt-get install postgresql mariadb-server-core mariadb-client-core`. Where they are
missing, the tests fail and say so. A server refuses to run as root, so root runs it as the user that the package made.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pymysql
import pytest

READER_PASSWORD = "Kornblume/9@ü#7%:x"  # noqa: S105  (a password that would be recognised, and that must be encoded)
OWNER_PASSWORD = "Rittersporn"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Server:
    """A running server; `reader` may read some of it, `owner` may do all."""

    scheme: str
    port: int

    def url(self, database: str, user: str = "reader", password: str = READER_PASSWORD) -> str:
        """The URL that a user would type."""
        return f"{self.scheme}://{user}:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}"

    def run(self, database: str, *statements: str) -> list[Any]:
        """Run statements as the owner; the rows of the last."""
        if self.scheme == "postgresql":
            with psycopg.connect(
                host="127.0.0.1",
                port=self.port,
                dbname=database,
                user="owner",
                password=OWNER_PASSWORD,
                autocommit=True,
            ) as connection:
                for statement in statements:
                    cursor = connection.execute(statement.encode())
                return cursor.fetchall() if cursor.description else []
        with (
            pymysql.connect(
                host="127.0.0.1",
                port=self.port,
                database=database or None,
                user="owner",
                password=OWNER_PASSWORD,
                autocommit=True,
            ) as other,
            other.cursor() as rows,
        ):
            for statement in statements:
                rows.execute(statement)
            return list(rows.fetchall())


def _find(program: str, *folders: str) -> str:
    found = shutil.which(program) or next(
        (str(p) for f in folders for p in sorted(Path("/").glob(f"{f}/{program}"), reverse=True)), None
    )
    if found is None:
        pytest.fail(
            f"these tests run a database server of their own, and {program} is not installed: "
            "apt-get install postgresql mariadb-server-core mariadb-client-core",
            pytrace=False,
        )
    return found


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _as_user(name: str) -> dict[str, Any]:
    """How a process is started: as another user where this one is root."""
    if os.geteuid() != 0:
        return {}
    try:
        user = pwd.getpwnam(name)
    except KeyError:
        user = pwd.getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@dataclass(frozen=True, slots=True)
class _Home:
    """A folder that belongs to the server, and the user that it runs as."""

    folder: Path
    runs_as: dict[str, Any]

    def run(self, *command: str) -> None:
        """Run a program of the server to its end."""
        with (self.folder / "log").open("a") as log:
            done = subprocess.run(command, stdout=log, stderr=log, cwd=self.folder, timeout=120, **self.runs_as)
        if done.returncode:
            pytest.fail(f"{Path(command[0]).name} failed: {(self.folder / 'log').read_text()[-1000:]}", pytrace=False)

    def start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start the server itself."""
        with (self.folder / "log").open("a") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, **self.runs_as)

    def wait(self, process: subprocess.Popen[bytes], port: int) -> None:
        """Until it listens."""
        for _ in range(600):
            if process.poll() is not None:
                break
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.1)
        pytest.fail(f"the server did not start: {(self.folder / 'log').read_text()[-1000:]}", pytrace=False)


@pytest.fixture(scope="session")
def home() -> Iterator[Any]:
    """Makes folders for servers; removed at the end."""
    made: list[Path] = []

    def make(user: str) -> _Home:
        """A folder that the user of that name owns, where this process may give it away."""
        folder = Path(tempfile.mkdtemp(prefix="forensics-test-"))
        made.append(folder)
        runs_as = _as_user(user)
        if runs_as:
            os.chown(folder, runs_as["user"], runs_as["group"])
        return _Home(folder, runs_as)

    yield make
    for folder in made:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgresql(home: Any) -> Iterator[Server]:
    """A PostgreSQL with the empty database `shop`."""
    initdb = _find("initdb", "usr/lib/postgresql/*/bin", "opt/homebrew/bin", "usr/pgsql-*/bin")
    place = home("postgres")
    data, secret = place.folder / "data", place.folder / "password"
    secret.write_text(OWNER_PASSWORD)
    secret.chmod(0o644)
    settings = ("--username=owner", f"--pwfile={secret}", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C")
    place.run(initdb, "--no-sync", *settings, "-D", str(data))
    port = _free_port()
    options = {"port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": place.folder, "fsync": "off"}
    process = place.start(
        [str(Path(initdb).with_name("postgres")), "-D", str(data), *(f"--{k}={v}" for k, v in options.items())]
    )
    try:
        place.wait(process, port)
        server = Server("postgresql", port)
        _until(lambda: server.run("postgres", "CREATE DATABASE shop"))
        server.run("shop", f"CREATE ROLE reader LOGIN PASSWORD '{READER_PASSWORD}'")
        yield server
    finally:
        _stop(process, signal.SIGINT)  # fast: sessions that are still open are ended


@pytest.fixture(scope="session")
def mariadb(home: Any) -> Iterator[Server]:
    """A MariaDB with the empty database `shop`."""
    install, daemon = _find("mariadb-install-db", "usr/bin"), _find("mariadbd", "usr/sbin", "usr/libexec")
    place = home("mysql")
    data, first = place.folder / "data", place.folder / "first.sql"
    first.write_text(
        f"CREATE USER owner@'%' IDENTIFIED BY '{OWNER_PASSWORD}';\nGRANT ALL ON *.* TO owner@'%' WITH GRANT OPTION;\n"
        f"CREATE USER reader@'%' IDENTIFIED BY '{READER_PASSWORD}';\nCREATE DATABASE shop;\n",
        encoding="utf-8",
    )
    place.run(
        install, "--no-defaults", f"--datadir={data}", "--skip-test-db", "--auth-root-authentication-method=normal"
    )
    port = _free_port()
    settings = (f"--datadir={data}", f"--socket={place.folder}/socket", f"--port={port}", "--bind-address=127.0.0.1")
    charset = ("--character-set-server=utf8mb4", "--innodb-buffer-pool-size=64M", f"--init-file={first}")
    process = place.start([daemon, "--no-defaults", *settings, *charset])
    try:
        place.wait(process, port)
        server = Server("mysql", port)
        _until(lambda: server.run("shop", "SELECT 1"))
        yield server
    finally:
        _stop(process, signal.SIGTERM)


def _stop(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    process.send_signal(how)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _until(attempt: Any) -> None:
    """Try for a while: a server listens before it is ready."""
    for left in range(100, -1, -1):
        try:
            attempt()
            return
        except (psycopg.OperationalError, pymysql.err.OperationalError):
            if not left:
                raise
            time.sleep(0.1)
