"""Two runs held against each other: what is new, gone, changed, and how the figures moved."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from forensics.analysis.comparison import compare_runs
from forensics.model.comparison import FindingChange, Moved, PastGroup, PastRow, PastRun

KEPT = PastRow("P1", "kept", "", Decimal(10), "EUR", "captured")
EXCESS = PastRow("P2", "excess", "retry", Decimal(10), "EUR", "captured")
TWICE = PastGroup("A", (KEPT, EXCESS))
LAWFUL = PastGroup("B", (replace(KEPT, role="legitimate"), replace(EXCESS, role="legitimate", cause="")))
RUN = PastRun(
    name="old",
    key=("order_id",),
    evidence={"aa": "p.csv"},
    groups={"g": TWICE, "h": LAWFUL},
    findings={"excess-payments": ("high", "1 order paid more than once")},
    counts={"excess_rows": 1},
    money={"excess_amount": {"EUR": Decimal(10)}},
)


def with_groups(**groups: PastGroup) -> PastRun:
    return replace(RUN, name="new", groups=groups)


def test_equal_runs_do_not_differ() -> None:
    found = compare_runs(RUN, replace(RUN, name="new"))
    assert found.same
    assert (found.groups, found.findings, found.notes) == ((), (), ())


def test_a_group_is_new_or_gone_with_its_money() -> None:
    (gone,) = compare_runs(RUN, with_groups(h=LAWFUL)).groups
    assert (gone.group_id, gone.business_key, gone.kind) == ("g", "A", "gone")
    assert (gone.old_excess, gone.new_excess) == ({"EUR": Decimal(10)}, {})
    assert gone.what == ("not among the repeated acts of the other run",)
    (new,) = compare_runs(with_groups(h=LAWFUL), RUN).groups
    assert (new.kind, new.old_excess, new.new_excess) == ("new", {}, {"EUR": Decimal(10)})


def test_what_changed_in_a_group_is_said_row_by_row() -> None:
    third = PastRow("P3", "excess", "retry", Decimal(10), "EUR", "captured")
    refunded = replace(EXCESS, role="refunded", status="refunded")
    (changed,) = compare_runs(RUN, with_groups(g=PastGroup("A", (KEPT, refunded, third)), h=LAWFUL)).groups
    assert (changed.kind, changed.new_excess) == ("changed", {"EUR": Decimal(20)})
    assert changed.what == ("P3 added (excess)", "P2: role excess -> refunded", "P2: status captured -> refunded")


def test_a_group_that_came_to_be_read_as_lawful_is_gone_and_says_so() -> None:
    lawful = PastGroup("A", (KEPT, replace(EXCESS, role="legitimate", cause="")))
    (gone,) = compare_runs(RUN, with_groups(g=lawful, h=LAWFUL)).groups
    assert (gone.kind, gone.what) == ("gone", ("P2: role excess -> legitimate", "P2: cause retry -> none"))


def test_groups_without_excess_in_either_run_are_no_news() -> None:
    assert compare_runs(RUN, with_groups(g=TWICE)).same


def test_one_payment_in_two_rows_is_held_against_itself_row_by_row() -> None:
    again = PastGroup("A", (KEPT, replace(KEPT, role="recorded_twice"), EXCESS))
    (changed,) = compare_runs(RUN, with_groups(g=again, h=LAWFUL)).groups
    assert changed.what == ("P1 added (recorded_twice)",)


def test_findings_and_figures_are_compared_by_name() -> None:
    new = replace(
        RUN,
        findings={"excess-payments": ("high", "2 orders paid more than once"), "herd": ("low", "Waves")},
        counts={"excess_rows": 2},
        money={"excess_amount": {"EUR": Decimal(10), "KRW": Decimal(500)}},
    )
    found = compare_runs(RUN, new)
    assert found.findings == (
        FindingChange("excess-payments", "changed", "1 order paid more than once -> 2 orders paid more than once"),
        FindingChange("herd", "new", "Waves"),
    )
    assert found.figures == (
        Moved("excess_rows", None, Decimal(1), Decimal(2)),
        Moved("excess_amount", "EUR", Decimal(10), Decimal(10)),
        Moved("excess_amount", "KRW", Decimal(0), Decimal(500)),
    )
    assert not found.same


def test_other_evidence_and_another_key_are_notes_and_no_difference() -> None:
    found = compare_runs(RUN, replace(RUN, key=("provider_ref",), evidence={"aa": "p.csv", "bb": "q.csv"}))
    assert found.same
    key, evidence = found.notes
    assert key.startswith(
        "acts are named by order_id in the old run and by provider_ref in the new: their groups cannot"
    )
    assert evidence == "evidence of the new run only: q.csv"


ROWS = st.builds(
    PastRow,
    st.sampled_from(("P1", "P2", "P3")),
    st.sampled_from(("kept", "excess", "refunded", "legitimate")),
    st.just(""),
    st.decimals(0, 100, places=2),
    st.sampled_from(("EUR", "KRW")),
    st.just("captured"),
)
GROUPS = st.dictionaries(
    st.sampled_from("abcd"), st.lists(ROWS, min_size=1, max_size=4).map(lambda rows: PastGroup("A", tuple(rows)))
)


@given(GROUPS, GROUPS)
def test_there_and_back_swaps_new_and_gone_and_the_money(old: dict[str, PastGroup], new: dict[str, PastGroup]) -> None:
    swapped = {"new": "gone", "gone": "new", "changed": "changed"}
    there = compare_runs(replace(RUN, groups=old), replace(RUN, groups=new)).groups
    back = compare_runs(replace(RUN, groups=new), replace(RUN, groups=old)).groups
    assert {(g.group_id, g.kind, str(g.old_excess), str(g.new_excess)) for g in there} == {
        (g.group_id, swapped[g.kind], str(g.new_excess), str(g.old_excess)) for g in back
    }
