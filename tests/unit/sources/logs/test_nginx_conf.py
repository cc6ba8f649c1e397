"""The formats of an nginx configuration: how it is read, which of them a log is in, and what is said when none is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forensics import store
from forensics.errors import UsageError
from forensics.sources.load import Loaded, load_files
from forensics.sources.logs.nginx_conf import directives, read_nginx_conf
from forensics.sources.options import Options

CONF = r"""
# log_format old '$remote_addr';
user nginx; worker_processes 2;
http {
    log_format  main  '$remote_addr - $remote_user [$time_local] "$request" '   # who and what
                      '$status $body_bytes_sent '
                      '"$http_x_retry_count" $request_time';
    log_format json escape=json
      '{'
        '"at":"$time_iso8601",'
        '"status":$status,'
        '"uri":"$request_uri","method":"$request_method","took":$request_time'
      '}';
    log_format short "$remote_addr [$time_local] \"$request\" $status";
    log_format bytes '$bytes_sent'; access_log /var/log/nginx/access.log main;
}
"""
MAIN = '10.0.0.1 - - [14/Mar/2026:01:00:0{} +0000] "POST /pay HTTP/1.1" 200 17 "{}" 0.250\n'
JSON = '{{"at":"2026-03-14T01:00:0{}+00:00","status":200,"uri":"/pay","method":"POST","took":0.250}}\n'


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "nginx.conf"
    path.write_text(CONF)
    return path


def _load(tmp_path: Path, text: str, columns: str, **options: Any) -> tuple[Loaded, list[tuple[Any, ...]]]:
    path = tmp_path / "access.log"
    path.write_text(text)
    connection = store.open_for_loading(Path(":memory:"))
    loaded = load_files(connection, [path], Options(**options))
    rows = connection.execute(f"SELECT {columns} FROM requests ORDER BY line_no").fetchall()
    connection.close()
    return loaded, rows


def test_directives_are_read_as_nginx_reads_them() -> None:
    assert directives(CONF) == {
        "main": (
            "default",
            (
                '$remote_addr - $remote_user [$time_local] "$request" '
                '$status $body_bytes_sent "$http_x_retry_count" $request_time'
            ),
        ),
        "json": (
            "json",
            (
                '{"at":"$time_iso8601","status":$status,'
                '"uri":"$request_uri","method":"$request_method","took":$request_time}'
            ),
        ),
        "short": ("default", '$remote_addr [$time_local] "$request" $status'),
        "bytes": ("default", "$bytes_sent"),
    }


@pytest.mark.parametrize(
    "text", ["", "log_format main '$a", "log_format main;", "#log_format a '$b';", "x 'log_format a b;", "\ufffd\x00{"]
)
def test_what_is_no_whole_directive_is_none(text: str) -> None:
    assert directives(text) == {}


def test_the_format_that_reads_the_lines_is_taken(conf: Path, tmp_path: Path) -> None:
    loaded, rows = _load(
        tmp_path, MAIN.format(1, 0) + MAIN.format(2, 1), "CAST(started_at AS VARCHAR), attempt, bytes", nginx_conf=conf
    )
    assert rows == [("2026-03-14 01:00:00.75", 1, 17), ("2026-03-14 01:00:01.75", 2, 17)]
    assert "nginx, by log_format main of nginx.conf: reads 100% of 2 sample lines" in loaded.sources[0].notes


def test_a_json_format_is_read_by_its_keys(conf: Path, tmp_path: Path) -> None:
    columns = "CAST(started_at AS VARCHAR), method, path, status, duration_us"
    loaded, rows = _load(tmp_path, JSON.format(1) + JSON.format(2), columns, nginx_conf=conf)
    assert rows[0] == ("2026-03-14 01:00:00.75", "POST", "/pay", 200, 250_000)
    assert loaded.sources[0].format == "nginx_json"


def test_escape_json_in_a_text_format_writes_quotes_with_a_backslash(tmp_path: Path) -> None:
    conf = tmp_path / "n.conf"
    conf.write_text('log_format a escape=json \'[$time_local] "$request" $status "$http_user_agent"\';')
    line = '[14/Mar/2026:01:00:00 +0000] "POST /pay HTTP/1.1" 200 "a \\"b\\" c"\n'
    assert _load(tmp_path, line, "status, user_agent", nginx_conf=conf)[1] == [(200, 'a "b" c')]


def test_a_format_is_picked_by_its_name(conf: Path, tmp_path: Path) -> None:
    lines = MAIN.format(1, 0) * 3 + '10.0.0.1 [14/Mar/2026:01:00:09 +0000] "GET /a HTTP/1.1" 404\n'
    loaded, rows = _load(tmp_path, lines, "line_no, path", nginx_conf=conf, log_format="short")
    assert rows == [(4, "/a")]
    assert (loaded.sources[0].rows_loaded, loaded.sources[0].rows_rejected) == (1, 3)


def test_a_log_that_no_format_of_it_reads_is_recognised_as_ever_and_that_is_said(conf: Path, tmp_path: Path) -> None:
    line = '10.0.0.1 - - [14/Mar/2026:01:00:00 +0000] "POST /pay HTTP/1.1" 200 1 "-" "curl"\n'
    loaded, rows = _load(tmp_path, line, "path", nginx_conf=conf)
    assert rows == [("/pay",)]
    assert any(n.endswith("; the formats of --nginx-conf do not read them") for n in loaded.sources[0].notes)


@pytest.mark.parametrize(
    ("text", "name", "seen", "todo"),
    [
        ("server { listen 80; }", None, "no log_format directive in it", "grep -r log_format /etc/nginx"),
        (CONF, "mian", "--log-format mian: ", "it defines main, json, short, bytes"),
        (CONF, "bytes", "no log_format of it can be used; ", "give the string of your configuration"),
    ],
)
def test_a_configuration_that_does_not_help_is_wrong_use(
    tmp_path: Path, text: str, name: str | None, seen: str, todo: str
) -> None:
    path = tmp_path / "nginx.conf"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_nginx_conf(path, name)
    assert seen in caught.value.message
    assert todo in str(caught.value.hint)


def test_a_configuration_that_is_not_there_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.conf: the file cannot be read: No such file"):
        _load(tmp_path, "x\n", "path", nginx_conf=tmp_path / "absent.conf")
