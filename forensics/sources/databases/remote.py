"""Files at https:// and s3:// URLs: fetched by DuckDB where its extension httpfs is installed, else refused.

Nothing is ever installed from the network.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from forensics.errors import EvidenceError
from forensics.sources.urls import Url

_MOST_BYTES = 2 << 30


def fetch(connection: duckdb.DuckDBPyConnection, url: Url, workdir: Path) -> Path:
    """A remote file as a local one, which is then recognised by its content like any other.

    Raises:
        EvidenceError: httpfs is not installed, or the file cannot be fetched.
    """
    connection.execute("SET autoinstall_known_extensions = false")
    row = connection.execute("SELECT installed FROM duckdb_extensions() WHERE extension_name = 'httpfs'").fetchone()
    if not (row and row[0]):
        raise EvidenceError(
            f"{url}: URLs are read through DuckDB's extension httpfs, which is not installed",
            "fetch the file yourself and give its path; or install the extension: duckdb -c 'INSTALL httpfs'",
        )
    try:
        connection.execute("LOAD httpfs")
    except duckdb.Error as exc:
        raise EvidenceError(f"{url}: DuckDB's extension httpfs cannot be loaded", "fetch the file yourself") from exc
    return copy_blob(connection, url, f"{url.scheme}://{url.path}", workdir)


def copy_blob(connection: duckdb.DuckDBPyConnection, url: Url, address: str, workdir: Path) -> Path:
    """Whatever DuckDB reads under an address, as a local file under the name that it has there.

    Raises:
        EvidenceError: it cannot be read, or is too large to be held.
    """
    try:
        row = connection.execute(
            "SELECT CASE WHEN size <= $most THEN content END FROM read_blob($address)",
            {"address": address, "most": _MOST_BYTES},
        ).fetchone()
    except duckdb.Error as exc:
        # DuckDB repeats the address, which may be signed; what kind of error it was says enough
        raise EvidenceError(f"{url}: the file cannot be fetched ({type(exc).__name__})", "check the address") from None
    if row is None:
        raise EvidenceError(f"{url}: there is no such file", "check the address")
    if row[0] is None:
        raise EvidenceError(f"{url}: the file is larger than 2 GiB", "fetch it yourself and give its path")
    folder = workdir / "fetched"
    folder.mkdir(exist_ok=True)
    path = folder / (url.name or "file")
    path.write_bytes(row[0])
    return path
