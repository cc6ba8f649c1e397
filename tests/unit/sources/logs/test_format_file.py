"""Log formats of one's own in a TOML file: logs are read by them, samples are checked, wrong files are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forensics import store
from forensics.errors import UsageError
from forensics.sources.format_file import read_format_file
from forensics.sources.load import Loaded, load_files
from forensics.sources.options import Options

TILL = r"""
[[text]]
id = "till"
product = "the till's own log"
pattern = '^@(?P<time>\S+) (?P<method>[A-Z]+) (?P<target>\S+) (?P<status>\d+) in (?P<duration>\d+) try (?P<attempt>\d)$'
units = { time = "iso", duration = "ms" }
time_is = "end"

[[sample]]
format = "till"
line = '@2027-01-02T10:15:30.500+09:00 POST /v1/orders/A-7/pay 201 in 250 try 2'
expect = { started_at = "2027-01-02 01:15:30.25", method = "POST", status = 201, attempt = 2, order_id = "A-7" }
"""
LINE = "@2027-01-02T01:15:3{n}Z POST /v1/orders/A-7/pay 201 in 250 try {n}\n"
JSON = """
[[json]]
id = "desk"
product = "the desk"
needs = ["wann", "was", "wo"]
time_is = "start"
fields = [
  { role = "time", path = "wann", unit = "epoch" },
  { role = "method", path = "was" },
  { role = "target", path = "wo" },
  { role = "duration", path = "dauer", unit = "us" },
]

[[wrapper]]
id = "shelf"
pattern = '^shelf [0-9]+: '

[[sample]]
format = "desk"
line = 'shelf 7: {"wann":1798852530.5,"was":"POST","wo":"/pay","dauer":1500}'
expect = { started_at = "2027-01-02 01:15:30.5", duration_us = 1500 }
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "formats.toml"
    path.write_text(TILL + JSON)
    return path


def _load(tmp_path: Path, text: str, columns: str, **options: Any) -> tuple[Loaded, list[tuple[Any, ...]]]:
    path = tmp_path / "access.log"
    path.write_text(text)
    connection = store.open_for_loading(Path(":memory:"))
    loaded = load_files(connection, [path], Options(**options))
    rows = connection.execute(f"SELECT {columns} FROM requests ORDER BY line_no").fetchall()
    connection.close()
    return loaded, rows


def test_a_log_is_read_by_a_format_of_ones_own(tmp_path: Path, own: Path) -> None:
    columns = "CAST(started_at AS VARCHAR), duration_us, status, attempt, attempt_source"
    loaded, rows = _load(tmp_path, LINE.format(n=1) + LINE.format(n=2), columns, log_format_file=own)
    assert rows == [
        ("2027-01-02 01:15:30.75", 250_000, 201, 1, "attempt"),
        ("2027-01-02 01:15:31.75", 250_000, 201, 2, "attempt"),
    ]
    assert loaded.sources[0].format == "till"
    assert "the till's own log: reads 100% of 2 sample lines" in loaded.sources[0].notes


def test_it_is_read_behind_the_prefix_of_a_collector_too(tmp_path: Path, own: Path) -> None:
    line = "2027-01-02T03:00:00.1Z stdout F " + LINE.format(n=1)
    assert _load(tmp_path, line, "CAST(started_at AS VARCHAR)", log_format_file=own)[1] == [("2027-01-02 01:15:30.75",)]


def test_objects_and_wrappers_may_be_described_too(tmp_path: Path, own: Path) -> None:
    line = 'shelf 1: {"wann":"1798852530","was":"GET","wo":"/x","dauer":7}\n'
    loaded, rows = _load(tmp_path, line, "path, duration_us", log_format_file=own)
    assert (loaded.sources[0].format, rows) == ("desk", [("/x", 7)])


def test_one_of_them_may_be_named(tmp_path: Path, own: Path) -> None:
    text = LINE.format(n=1) + "something else\n" * 3
    _, rows = _load(tmp_path, text, "line_no", log_format_file=own, log_format="till")
    assert rows == [(1,)]
    with pytest.raises(UsageError, match="describes no format of that id"):
        read_format_file(own, "tell")


def test_a_log_that_none_of_them_reads_is_recognised_as_ever_and_that_is_said(tmp_path: Path, own: Path) -> None:
    line = '10.0.0.1 - - [14/Mar/2026:01:00:01 +0000] "POST /pay HTTP/1.1" 200 17 "-" "a"\n'
    loaded, rows = _load(tmp_path, line, "path", log_format_file=own)
    assert rows == [("/pay",)]
    assert any("the formats of --log-format-file do not read them" in n for n in loaded.sources[0].notes)


PATTERN = r"pattern = '^(?P<time>\S+) (?P<request>.*)$'"
TEXT = f'[[text]]\nid = "x"\nproduct = "x"\ntime_is = "end"\n{PATTERN}\nunits = {{ time = "iso" }}\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[text]\n", "not a TOML file"),
        ("", "it describes no format"),
        ("[[texts]]\n", "[[texts]] means nothing here"),
        ("[text]\n", "[text], expected [[text]]"),
        ('[[text]]\nid = "x"\n', "[[text]] x: without pattern and product and time_is"),
        (TEXT.replace("units", "unit"), "[[text]] x: 'unit' means nothing here"),
        (TEXT.replace('"end"', '"now"'), "time_is is 'now', expected start or end"),
        (TEXT.replace('product = "x"', "product = 7"), "product is 7, expected a text"),
        (TEXT.replace("P<time>", "P<when>"), "'when' is no role"),
        (TEXT.replace('time = "iso"', 'time = "unix"'), "the unit of time is 'unix'"),
        (TEXT.replace('time = "iso"', ""), "no unit is said for time"),
        (TEXT.replace("P<request>", "P<client>"), "no group is the request"),
        (TEXT.replace(r"\S+)", r"\S+"), "the pattern of x cannot be read"),
        (TEXT.replace(r"(?P<time>\S+)", r"(?P<time>\S+)(?= )"), "no look-around and no back-references"),
        (TEXT.replace(r"(?P<request>.*)", r"(?P<request>(a|b).*)"), "1 of its groups bear no name"),
        (TILL.replace('duration = "ms"', 'duration = "s"'), "sample 1: started_at comes out as"),
        (TILL.replace("line = '@2027", "line = '2027"), "sample 1: no line of it reads as till"),
        (TILL.replace("T10:15", "T30:15"), "sample 1: the line cannot be read: the time is none that can be read"),
        (TILL.replace("status = 201", "state = 201"), "'state' is no column of requests"),
        (TILL.replace('format = "till"', 'format = "tell"'), "sample 1: no line of it reads as tell"),
        (JSON.replace('unit = "us"', 'unit = "hours"'), "the unit of duration is 'hours'"),
        (JSON.replace('path = "was"', 'key = "was"'), "[[json]] desk: a field is"),
        (JSON.replace("pattern = '^shelf [0-9]+: '", ""), "[[wrapper]] shelf: expected a pattern"),
    ],
)
def test_a_file_that_is_wrong_is_told_in_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "formats.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_format_file(path)
    assert f"--log-format-file {path}: " in caught.value.message
    assert said in caught.value.message
    assert caught.value.hint


def test_a_file_that_is_not_there_or_not_text_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_format_file(tmp_path / "absent.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not a TOML file"):
        read_format_file(tmp_path / "binary.toml")


def test_every_built_in_format_is_of_the_shape_that_files_are_checked_for(tmp_path: Path) -> None:
    from importlib.resources import files

    built_in = files("forensics.sources").joinpath("data/log_formats.toml").read_text(encoding="utf-8")
    tables = [part for part in built_in.split("\n[[") if part.startswith(("text]]", "json]]", "wrapper]]"))]
    path = tmp_path / "copy.toml"
    path.write_text("".join(f"\n[[{part.split(chr(10) + '[')[0]}" for part in tables), encoding="utf-8")
    assert len(read_format_file(path).text) == built_in.count("[[text]]\n")
