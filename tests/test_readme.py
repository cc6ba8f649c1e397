"""The README is true: what it prints is printed, what it types can be typed, and what can be typed is in it."""

from __future__ import annotations

import difflib
import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from forensics.cli import COMMANDS, cli
from forensics.detect.duplicates import REFUND_PROBABILITY
from forensics.model import KEY_MODES

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = ("README.md", "examples/README.md", "queries/README.md")


def typed(text: str) -> list[list[str]]:
    """The words of every command line that a document shows in full: indented, from `forensics` on."""
    lines = re.findall(r"^ {4}(?:\$ )?forensics (.+)$", text, re.MULTILINE)
    return [shlex.split(re.sub(r"\s+# .*$", "", line)) for line in lines]


def mentioned(text: str) -> list[list[str]]:
    """The words of every command that it speaks of: in backquotes."""
    return [line.split() for line in re.findall(r"`forensics ([^`]+)`", text)]


def commands_of(context: click.Context) -> Iterator[tuple[str, click.Command]]:
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        yield name, command


def test_the_demo_block_is_what_the_demo_prints(demo: Any) -> None:
    block = re.search(r"<!-- demo -->\n```text\n(.*?)```\n<!-- /demo -->", README, re.DOTALL)
    assert block is not None
    printed = demo.said.out.replace(str(demo.folder), "reports/demo")
    difference = "".join(difflib.unified_diff(block[1].splitlines(True), printed.splitlines(True), "README.md", "demo"))
    assert not difference, f"\n{difference}\nput what 'forensics demo' prints between the <!-- demo --> marks"


def test_the_demo_writes_where_the_readme_says(demo: Any) -> None:
    command = cli.get_command(click.Context(cli), "demo")
    assert command is not None
    assert {o.default for o in command.params} >= {Path("reports/demo")}
    for name in ("report.html", "findings.json", "duplicates.csv", "refunds.csv", "review.csv", "case.duckdb"):
        assert f"`{name}`" in README
        assert (demo.folder / name).is_file()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_in_the_documents_can_be_typed(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    assert typed(text) or mentioned(text)
    for name, *words in typed(text):
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, name
        with command.make_context(name, words) as context:
            assert context.params.keys() == {p.name for p in command.params if p.name != "help"}
    for name, *words in mentioned(text):
        if not name.startswith("-"):
            command = cli.get_command(click.Context(cli), name)
            assert command is not None, name
            known = {option for p in command.params for option in p.opts}
            assert {w.strip("[]") for w in words if w.lstrip("[").startswith("--")} <= known


def test_every_command_is_in_the_readmes_table() -> None:
    table = re.findall(r"^\| `forensics (\w+)", README, re.MULTILINE)
    assert table == list(COMMANDS)


def test_every_option_is_in_the_readme_or_in_the_commands_help() -> None:
    context = click.Context(cli)
    for name, command in commands_of(context):
        shown = command.get_help(click.Context(command, info_name=name))
        for option in (p for p in command.params if isinstance(p, click.Option)):
            assert option.opts[0] in README or option.opts[0] in shown, f"{name} {option.opts[0]}"


def test_options_that_the_readme_names_exist() -> None:
    context = click.Context(cli)
    known = {o for _, command in commands_of(context) for p in command.params for o in p.opts}
    # Options of the documents' own shell lines (git, pip, zstd) would be listed here; there are none.
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README)) <= known | {"--help", "--version"}


def test_numbers_and_words_that_the_readme_repeats_are_the_codes() -> None:
    assert f"`--refund-confidence` ({REFUND_PROBABILITY}:" in README
    assert all(f"`{mode}`" in README for mode in KEY_MODES)


def test_files_and_folders_that_the_readme_names_exist() -> None:
    named = set(re.findall(r"`((?:examples|queries|forensics|reports)/[\w./-]*)`", README))
    made = {"reports/demo/"}
    assert named
    assert [name for name in named - made if not (ROOT / name).exists()] == []


def test_the_readmes_python_runs_on_the_demo(demo: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    blocks = re.findall(r"(?:^(?: {4}.*)?\n)+", README, re.MULTILINE)
    (program,) = (textwrap.dedent(block) for block in blocks if "from forensics import" in block)
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "demo").symlink_to(demo.folder)
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "README.md", "exec"), {})  # noqa: S102
