"""Two runs held against each other, as text for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from forensics.amounts import many, money_words, plain, plain_by_currency
from forensics.model.comparison import Comparison, GroupChange, Moved

_SHOWN = 40
_FIGURES = {
    "orders_with_excess": "acts with excess",
    "excess_rows": "payments too many",
    "already_refunded_rows": "already given back",
    "refund_rows": "in refunds.csv",
    "review_rows": "to be judged",
    "excess_amount": "too much",
    "already_refunded_amount": "already given back",
    "refund_amount": "in refunds.csv",
}


def render_comparison(found: Comparison) -> str:
    """What differs, in words: the figures that moved, then groups and findings."""
    lines = [f"old        {found.old}", f"new        {found.new}", *(f"note       {note}" for note in found.notes)]
    if found.same:
        return "\n".join([*lines, "no differences"])
    lines += _figures(found)
    for kind in ("new", "gone", "changed"):
        groups = [g for g in found.groups if g.kind == kind]
        if groups:
            lines.append(f"{kind:<10} {many(len(groups), 'group')}")
            lines += [_group(g) for g in groups[:_SHOWN]]
        if len(groups) > _SHOWN:
            lines.append(f"           and {len(groups) - _SHOWN:,} more: --format json lists them all")
    lines += [f"finding    {f.kind}: {f.id}: {f.what}" for f in found.findings]
    return "\n".join(line.replace("\n", " ").replace("\r", " ") for line in lines)


def render_comparison_json(found: Comparison) -> str:
    """The same as JSON: keys sorted, money as decimal text."""
    document = {
        "schema": "forensics-comparison/1",
        "old": found.old,
        "new": found.new,
        "same": found.same,
        "notes": list(found.notes),
        "groups": [
            {
                "group_id": g.group_id,
                "business_key": g.business_key,
                "kind": g.kind,
                "what": list(g.what),
                "old_excess": plain_by_currency(g.old_excess),
                "new_excess": plain_by_currency(g.new_excess),
            }
            for g in found.groups
        ],
        "findings": [{"id": f.id, "kind": f.kind, "what": f.what} for f in found.findings],
        "counts": {f.name: {"old": int(f.old), "new": int(f.new)} for f in found.figures if f.currency is None},
        "money": [
            {
                "name": f.name,
                "currency": f.currency,
                "old": plain(f.old),
                "new": plain(f.new),
                "difference": plain(f.new - f.old),
            }
            for f in found.figures
            if f.currency is not None
        ],
    }
    return json.dumps(document, sort_keys=True, ensure_ascii=False, indent=1)


def _figures(found: Comparison) -> Iterator[str]:
    for figure in found.figures:
        if figure.old != figure.new:
            label = "rows" if figure.currency is None else "money"
            yield f"{label:<10} {_FIGURES[figure.name]}: {_amount(figure, old=True)} -> {_amount(figure, old=False)}"


def _amount(figure: Moved, *, old: bool) -> str:
    value = figure.old if old else figure.new
    return f"{int(value):,}" if figure.currency is None else money_words({figure.currency: value})


def _group(group: GroupChange) -> str:
    money = f"{money_words(group.old_excess)} -> {money_words(group.new_excess)}"
    what = "; ".join(group.what[:6]) + (f"; {len(group.what) - 6} more" if len(group.what) > 6 else "")
    return f"           {group.group_id} {group.business_key}: {money}; {what}"
