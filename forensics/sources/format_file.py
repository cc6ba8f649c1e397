"""Log formats of one's own, described in a TOML file of the shape of data/log_formats.toml.

    [[text]]                                      a line of its own: named groups are roles
    id = "till"
    product = "the till's own log"
    pattern = '^(?P<time>\\S+) (?P<method>[A-Z]+) (?P<target>\\S+) (?P<status>\\d{3}) (?P<duration>\\d+)ms$'
    units = { time = "iso", duration = "ms" }
    time_is = "end"                               or start: which moment the stamp is

    [[sample]]                                    checked whenever the file is used
    format = "till"
    line = '2027-01-02T10:15:30.500+09:00 POST /v1/payments 201 250ms'
    expect = { started_at = "2027-01-02 01:15:30.25", method = "POST", status = 201 }

[[json]] (an object a line) and [[wrapper]] (what a collector puts around it) as in the built-in file.
"""

from __future__ import annotations

import re
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from forensics import schema
from forensics.errors import UsageError
from forensics.sources import logs
from forensics.sources.logs.added import without_marks
from forensics.sources.logs.catalogue import Catalogue, Sample, catalogue_of
from forensics.sources.logs.fields import ROLES

_KEYS = {
    "text": ({"id", "product", "pattern", "time_is"}, {"units", "names", "hangup", "notes"}),
    "json": ({"id", "product", "needs", "fields", "time_is"}, {"hangup", "notes"}),
    "wrapper": ({"id"}, {"pattern", "line", "time", "time_unit"}),
    "sample": ({"format", "line", "expect"}, {"sample", "latest"}),
}
"""Keys that a record must have, and may have."""
_TYPES: dict[str, type] = {
    "units": dict, "names": dict, "expect": dict, "notes": list, "needs": list, "fields": list, "sample": list,
}  # fmt: skip
_WORDS: dict[type, str] = {str: "a text", dict: "a table", list: "a list"}
_UNITS = {
    "time": ("clf", "clf_local", "iso", "iso_local", "epoch", "no_year"),
    "duration": ("s", "ms", "us", "ns", "text"),
    "deadline": ("epoch", "s", "ms", "grpc"),
    "retry_after": ("s", "ms"),
    "upstream_retries": ("", "array", "tries"),
}
_MOST_BYTES = 1 << 20
_HINT = "the shape is that of the built-in formats: [[text]], [[json]], [[wrapper]], [[sample]]; see the README"


def read_format_file(path: Path, name: str | None = None) -> Catalogue:
    """The formats of a file, each sample of it checked.

    Args:
        path: the file.
        name: the id of the one format that is wanted.

    Raises:
        UsageError: the file cannot be read, a record is not of the shape, or a sample does not come out as it says.
    """
    data = _parsed(path)
    for table, number, record in _records(data, path):
        _check_record(table, record, f"--log-format-file {path}: {_called(table, number, record)}")
    catalogue = catalogue_of(data)
    ids = [*(f.id for f in catalogue.text), *(s.id for s in catalogue.json)]
    if not ids:
        raise UsageError(f"--log-format-file {path}: it describes no format: no [[text]] and no [[json]] in it", _HINT)
    if name is not None and name not in ids:
        raise UsageError(f"--log-format {name[:80]}: {path} describes no format of that id", f"it has {', '.join(ids)}")
    with duckdb.connect() as connection, tempfile.TemporaryDirectory(prefix="forensics-") as folder:
        connection.execute("SET TimeZone = 'UTC'")
        _check_patterns(connection, catalogue, path)
        for number, sample in enumerate(catalogue.samples, 1):
            wrong = _wrong(connection, catalogue, sample, Path(folder))
            if wrong:
                raise UsageError(
                    f"--log-format-file {path}: sample {number}: {wrong}", "correct the pattern, the units or `expect`"
                )
    return catalogue


def _parsed(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES).decode("utf-8")
        return tomllib.loads(text)
    except OSError as exc:
        raise UsageError(
            f"--log-format-file {path}: the file cannot be read: {exc.strerror}", "check the path"
        ) from exc
    except (ValueError, RecursionError) as exc:
        raise UsageError(f"--log-format-file {path}: not a TOML file: {exc}", _HINT) from exc


def _records(data: Mapping[str, Any], path: Path) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for table, records in data.items():
        if table == "schema_version":
            continue
        if table not in _KEYS:
            raise UsageError(f"--log-format-file {path}: [[{table}]] means nothing here", _HINT)
        if not isinstance(records, list) or not all(isinstance(r, dict) for r in records):
            raise UsageError(f"--log-format-file {path}: [{table}], expected [[{table}]], once for each", _HINT)
        yield from ((table, number, record) for number, record in enumerate(records, 1))


def _called(table: str, number: int, record: Mapping[str, Any]) -> str:
    name = record.get("id")
    return f"[[{table}]] {name}" if isinstance(name, str) else f"[[{table}]] number {number}"


def _check_record(table: str, record: dict[str, Any], where: str) -> None:
    needed, known = _KEYS[table]
    missing, odd = sorted(needed - record.keys()), sorted(record.keys() - needed - known)
    if missing:
        raise UsageError(f"{where}: without {' and '.join(missing)}", _HINT)
    if odd:
        raise UsageError(f"{where}: {odd[0]!r} means nothing here", f"it may hold {', '.join(sorted(needed | known))}")
    for key, value in record.items():
        wanted = _TYPES.get(key, str)
        if not isinstance(value, wanted):
            raise UsageError(f"{where}: {key} is {value!r}, expected {_WORDS[wanted]}", _HINT)
        if key in ("units", "names") and not all(isinstance(v, str) for v in record[key].values()):
            raise UsageError(f"{where}: {key} is {value!r}, expected a text for each role", _HINT)
        if key in ("notes", "needs", "sample") and not all(isinstance(v, str) for v in record[key]):
            raise UsageError(f"{where}: {key} is {value!r}, expected a list of texts", _HINT)
    if record.get("time_is", "end") not in ("start", "end"):
        raise UsageError(f"{where}: time_is is {record['time_is']!r}, expected start or end", _HINT)
    if table == "text":
        _check_roles(re.findall(r"\(\?P<(\w+)>", record["pattern"]), record.get("units", {}), where)
    elif table == "json":
        _check_paths(record["fields"], where)
    elif table == "wrapper":
        _check_wrapper(record, where)
    elif table == "sample":
        _check_sample(record, where)


def _check_roles(roles: list[str], units: Mapping[str, Any], where: str) -> None:
    for role in (*roles, *units):
        if role not in ROLES:
            raise UsageError(
                f"{where}: {role!r} is no role", f"roles are {', '.join(r for r in ROLES if r != 'undecided')}"
            )
    if "request" not in roles and not {"method", "target"} <= set(roles):
        raise UsageError(f"{where}: no group is the request, and none are method and target", _HINT)
    for role in dict.fromkeys(roles):
        _check_unit(role, units.get(role, ""), where)


def _check_unit(role: str, unit: Any, where: str) -> None:
    wanted = _UNITS.get(role)
    if wanted is None or unit in wanted or (role == "time" and isinstance(unit, str) and "%" in unit):
        return
    more = ", or a strptime format" if role == "time" else ""
    said = f"the unit of {role} is {unit!r}" if unit else f"no unit is said for {role}"
    raise UsageError(f"{where}: {said}", f"it is one of {', '.join(u for u in wanted if u)}{more}")


def _check_paths(fields: list[Any], where: str) -> None:
    for field in fields:
        if not isinstance(field, dict) or not {"role", "path"} <= field.keys():
            raise UsageError(f"{where}: a field is {field!r}, expected {{ role = ..., path = ... }}", _HINT)
        texts = {key: value for key, value in field.items() if key != "counts_from"}
        if not all(isinstance(v, str) for v in texts.values()) or not isinstance(field.get("counts_from", 0), int):
            raise UsageError(f"{where}: a field is {field!r}, expected texts, and a number for counts_from", _HINT)
        unit = field.get("unit", "")
        if field["role"] == "time" and not unit:
            continue  # the values tell
        _check_unit(str(field["role"]), unit, where)
    _check_roles([str(f["role"]) for f in fields if f["role"] not in _UNITS], {}, where)


def _check_wrapper(record: Mapping[str, Any], where: str) -> None:
    if ("pattern" in record) == ("line" in record):
        raise UsageError(f"{where}: expected a pattern of the text before the line, or the key of the line", _HINT)
    if "time" in record or "(?P<time>" in record.get("pattern", ""):
        _check_unit("time", record.get("time_unit", ""), where)


def _check_sample(record: Mapping[str, Any], where: str) -> None:
    columns = {c.name for c in schema.REQUESTS.columns}
    odd = sorted(set(record["expect"]) - columns)
    if odd:
        raise UsageError(f"{where}: {odd[0]!r} is no column of requests", f"columns are {', '.join(sorted(columns))}")
    if "latest" in record:
        try:
            datetime.fromisoformat(record["latest"])
        except ValueError as exc:
            raise UsageError(f"{where}: latest is {record['latest']!r}, expected a time", _HINT) from exc


def _check_patterns(connection: duckdb.DuckDBPyConnection, catalogue: Catalogue, path: Path) -> None:
    """Patterns are read by Python and by the database alike."""
    patterns = [(f.id, without_marks(f.pattern), len(f.fields)) for f in catalogue.text]
    patterns += [(w.id, w.pattern, int(w.time is not None)) for w in catalogue.wrappers if w.pattern]
    for name, pattern, fields in patterns:
        where = f"--log-format-file {path}: the pattern of {name}"
        try:
            groups = re.compile(pattern, re.ASCII).groups
            connection.execute("SELECT regexp_matches('', $pattern)", {"pattern": pattern}).fetchall()
        except (re.error, RecursionError, OverflowError) as exc:
            raise UsageError(f"{where} cannot be read: {exc}", _HINT) from exc
        except duckdb.Error as exc:
            raise UsageError(f"{where} cannot be read: no look-around and no back-references", _HINT) from exc
        if groups != fields:
            raise UsageError(
                f"{where}: {groups - fields} of its groups bear no name", "write (?:...) where none is meant"
            )


def _wrong(connection: duckdb.DuckDBPyConnection, catalogue: Catalogue, sample: Sample, folder: Path) -> str | None:
    """What does not come out of a sample as it says; None when all does."""
    found = logs.recognise(sample.sample, sample.format_id, catalogue)
    if found is None:
        return f"no line of it reads as {sample.format_id}"
    if found.format.stamp is None:
        return f"{sample.format_id} has no time, and nothing before the line does"
    path = folder / "sample.log"
    path.write_text(sample.line.rstrip("\r\n") + "\n", encoding="utf-8")
    select, values = logs.requests_sql(replace(found.format, latest=sample.latest), str(path), "UTC")
    result = connection.execute(select, values)
    names = [d[0] for d in result.description or ()]
    rows = result.fetchall()
    if not rows:
        rejected = connection.execute(*logs.rejects_sql(found.format, str(path))).fetchall()
        return f"the line cannot be read: {rejected[0][1]}" if rejected else "the line is blank"
    read = dict(zip(names, rows[0], strict=True))
    for column, wanted in sample.expect.items():
        if column in read and not _equal(read[column], wanted):
            return f"{column} comes out as {read[column]!s:.80}, expected {wanted!s:.80}"
    return None


def _equal(read: Any, wanted: Any) -> bool:
    if isinstance(read, datetime):
        try:
            moment = wanted if isinstance(wanted, datetime) else datetime.fromisoformat(str(wanted))
        except ValueError:
            return False
        return read == (moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment)
    return bool(read == wanted)
