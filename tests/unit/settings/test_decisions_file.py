"""decisions.csv: a table that people keep; a line that cannot be followed is told with its number."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from forensics.errors import UsageError
from forensics.model import Decision
from forensics.settings.decisions import read_decisions

HEAD = "group_id,business_key,group_state,decision,by,why,until\n"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "decisions.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_line_is_a_decision_and_blank_lines_are_none(tmp_path: Path) -> None:
    text = HEAD + "g1,,s1,Not a  duplicate,jin,two people,2027-03-31\n,,,,,,\n,ORD-7,s2,duplicate,kim,asked the shop,\n"
    assert read_decisions(written(tmp_path, "\ufeff" + text)) == (
        Decision("g1", None, "s1", False, "jin", "two people", date(2027, 3, 31), "decisions.csv:2"),
        Decision(None, "ORD-7", "s2", True, "kim", "asked the shop", None, "decisions.csv:4"),
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("group_id,decision\n", r"decisions.csv:1: no column is called group_state or by or why"),
        ("group_state,decision,by,why\n", r"decisions.csv:1: no column is called group_id \(or business_key\)"),
        ("", r"decisions.csv:1: no column is called group_state or decision or by or why; the columns are: none"),
        (HEAD.replace("until", "til"), r"decisions.csv:1: unknown column 'til'; expected group_id"),
        (HEAD + ",,s,duplicate,jin,w,\n", r"^decisions.csv:2: expected a group_id or a business_key, found neither"),
        (HEAD + "g,,,duplicate,jin,w,\n", r"^decisions.csv:2: group_state is blank; expected the group_state of dup"),
        (HEAD + "g,,s,duplicate,,w,\n", r"^decisions.csv:2: by is blank; expected who decided"),
        (HEAD + "g,,s,perhaps,jin,w,\n", r"^decisions.csv:2: decision: expected .* found 'perhaps'"),
        (HEAD + "g,,s,duplicate,jin,w,31.03.2027\n", r"^decisions.csv:2: until: expected .* found '31.03.2027'"),
        (HEAD + 'g,,s,duplicate,jin,"w,\n', r"expected CSV with commas"),
    ],
)
def test_what_cannot_be_followed_is_wrong_use(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_decisions(written(tmp_path, text))
    assert re.search(says, raised.value.message.replace(str(tmp_path) + "/", ""))


def test_a_file_that_is_not_there_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the decisions cannot be read: No such file"):
        read_decisions(tmp_path / "none.csv")
