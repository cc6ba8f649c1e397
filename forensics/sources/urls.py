"""URLs as evidence: what they name, and how they are shown. A password is kept apart and never shown.

Everything that prints, stores or raises takes `str(url)`, which holds no password and no parameters; the password
leaves this module only through `Url.password`, for the driver.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, unquote

from forensics.errors import UsageError

Engine = Literal["postgresql", "mysql", "sqlite", "remote"]

_ENGINES: Mapping[str, Engine] = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlite": "sqlite",
    **dict.fromkeys(("http", "https", "s3", "s3a", "s3n", "gs", "gcs", "r2", "hf", "az", "azure", "abfss"), "remote"),
}
_SCHEME = re.compile(r"(?:jdbc:)?([A-Za-z][A-Za-z0-9.-]*)(?:\+[A-Za-z0-9_]+)?://")
_SECRET = re.compile(r"([A-Za-z][\w.+-]*:/{1,2}[^\s:@/]*:)(\S*)@")
_SECRET_ARGUMENT = re.compile(r"([A-Za-z][\w.+-]*:/{1,2}[^:@/]*:)(.*)@", re.DOTALL)
_SECRET_PARAMETER = re.compile(r"(?i)((?:password|passwd|pwd|secret|token|signature|credential)[\w-]*=)([^&\s'\"]+)")
_HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class Url:
    """Where evidence is, when it is no file; the text of it (`str`) holds no secret."""

    scheme: str
    """As written, without driver: postgres, mysql, s3."""
    engine: Engine
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    host: str | None = None
    """With several, separated by commas."""
    port: str | None = None
    path: str = ""
    """Database name; for SQLite the file; for remote files all after the scheme, as written."""
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)
    rows: str | None = None
    """The table, or 'query'; shown as fragment."""

    def __str__(self) -> str:
        fragment = f"#{self.rows.replace('/', '%2F')}" if self.rows else ""
        if self.engine == "sqlite":
            return f"{self.path}{fragment}"
        if self.engine == "remote":
            return f"{self.scheme}://{self.path.partition('?')[0].rpartition('@')[2]}"
        user = f"{self.user}@" if self.user else ""
        return f"{self.scheme}://{user}{self.place}/{self.path}{fragment}"

    @property
    def place(self) -> str:
        """Host and port as people write them."""
        host = self.host or self.parameters.get("host", "") or self.parameters.get("unix_socket", "")
        shown = f"[{host}]" if ":" in host else host
        return f"{shown}:{self.port}" if self.port else shown

    @property
    def name(self) -> str:
        """The last part: what a report calls it."""
        return str(self).rsplit("/", 1)[-1]

    def of(self, rows: str) -> Url:
        """The same place, narrowed to one table or the query."""
        return replace(self, rows=rows)


def is_url(text: str) -> bool:
    """Whether text is a URL and not a path."""
    return _SCHEME.match(text) is not None


def parse(text: str) -> Url:
    """A URL in its parts.

    Raises:
        UsageError: an unknown scheme, or parts that cannot be told apart. The message never repeats the URL, because
            where the password ends is what is unclear.
    """
    found = _SCHEME.match(text)
    scheme = found[1].lower() if found else ""
    if found is None or scheme not in _ENGINES:
        raise UsageError(
            f"{scheme or 'the URL'}://: this is no place that evidence is read from",
            "known are postgresql://, mysql://, sqlite:///FILE, https:// and s3://",
        )
    engine, rest = _ENGINES[scheme], text[found.end() :]
    if engine == "remote":
        return Url(scheme, engine, path=rest)
    if engine == "sqlite":
        return Url(scheme, engine, path=_sqlite_file(rest.partition("?")[0]))
    return _parse_server(scheme, engine, rest)


def _parse_server(scheme: str, engine: Engine, rest: str) -> Url:
    authority, slash, tail = rest.partition("/")
    if not slash:
        authority, _, query = rest.partition("?")
        tail = f"?{query}"
    database, _, query = tail.partition("?")
    if "@" in database or any(c in authority for c in "?#") or "#" in tail:
        raise UsageError(
            f"{scheme}://: where user and password end cannot be told",
            "in a URL write / as %2F, ? as %3F, # as %23 and @ as %40 inside the password; or leave it out "
            "and set PGPASSWORD or MYSQL_PWD",
        )
    userinfo, at, hosts = authority.rpartition("@")
    user, colon, password = userinfo.partition(":")
    parameters = dict(parse_qsl(query, keep_blank_values=True))
    asked = (parameters.pop("user", None), parameters.pop("password", None))
    host, port = _hosts(scheme, hosts)
    return Url(
        scheme,
        engine,
        unquote(user) if at and user else asked[0],
        unquote(password) if colon else asked[1],
        host,
        port or parameters.pop("port", None),
        unquote(database),
        parameters,
    )


def _hosts(scheme: str, text: str) -> tuple[str | None, str | None]:
    """Host and port, or hosts and ports separated by commas (libpq takes several)."""
    pairs = []
    for part in text.split(","):
        found = re.fullmatch(r"(\[[0-9A-Fa-f:.%]+\]|[^:\[\]]*)(?::(\d+))?", part)
        if found is None:
            raise UsageError(
                f"{scheme}://: host and port cannot be read", "expected HOST:PORT, such as db.internal:5432"
            )
        pairs.append((found[1].strip("[]"), found[2] or ""))
    hosts, ports = ",".join(h for h, _ in pairs), ",".join(p for _, p in pairs)
    return unquote(hosts) or None, ports if ports.strip(",") else None


def _sqlite_file(rest: str) -> str:
    """sqlite:///a.db is a.db here or /a.db at the root, whichever exists; sqlite:////a.db is /a.db."""
    path = unquote(rest)
    if path.startswith("//") or not path.startswith("/"):
        return path[1:] if path.startswith("//") else path
    relative = path[1:]
    return path if Path(path).exists() and not Path(relative).exists() else relative


def without_passwords(text: str) -> str:
    """Any text with the passwords of URLs in it hidden; for what was not parsed, such as a whole command line."""
    secret = _SECRET_ARGUMENT if is_url(text) else _SECRET
    return _SECRET_PARAMETER.sub(rf"\1{_HIDDEN}", secret.sub(rf"\1{_HIDDEN}@", text))


def secrets(argument: str) -> tuple[str, ...]:
    """What must not be seen of one argument of a command line: the passwords of URLs in it, as written."""
    found = [*_SECRET_ARGUMENT.finditer(argument), *_SECRET_PARAMETER.finditer(argument)]
    return tuple(m[2] for m in found if m[2])
