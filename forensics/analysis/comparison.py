"""Hold two runs against each other. A group counts where it has excess in either; its id is the same in all runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from decimal import Decimal

from forensics.model.comparison import Comparison, FindingChange, GroupChange, Moved, PastGroup, PastRow, PastRun
from forensics.model.payments import Amounts

_OWED = ("excess", "refunded")
_NO_GROUP = PastGroup("", ())


def compare_runs(old: PastRun, new: PastRun) -> Comparison:
    """What differs from the old run to the new."""
    return Comparison(
        old=old.name,
        new=new.name,
        notes=tuple(_notes(old, new)),
        groups=tuple(_groups(old.groups, new.groups)),
        findings=tuple(_findings(old.findings, new.findings)),
        figures=tuple(_figures(old, new)),
    )


def _notes(old: PastRun, new: PastRun) -> Iterator[str]:
    if old.key != new.key and old.key and new.key:
        yield (
            f"acts are named by {','.join(old.key)} in the old run and by {','.join(new.key)} in the new: "
            "their groups cannot be held against each other"
        )
    for run, other, word in ((new, old, "new"), (old, new, "old")):
        names = sorted(name for sha, name in run.evidence.items() if sha not in other.evidence)
        if names:
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            yield f"evidence of the {word} run only: {', '.join(names[:5])}{more}"


def _groups(old: Mapping[str, PastGroup], new: Mapping[str, PastGroup]) -> Iterator[GroupChange]:
    """By kind (new, gone, changed) and business key."""
    found = []
    for group_id in old.keys() | new.keys():
        before, after = old.get(group_id, _NO_GROUP), new.get(group_id, _NO_GROUP)
        was, now = _excess(before), _excess(after)
        if not (was or now) or before == after:
            continue
        kind = "changed" if was and now else "new" if now else "gone"
        business_key = after.business_key or before.business_key
        found.append(GroupChange(group_id, business_key, kind, tuple(_what(before, after)), was, now))
    order = ("new", "gone", "changed")
    yield from sorted(found, key=lambda g: (order.index(g.kind), g.business_key, g.group_id))


def _excess(group: PastGroup) -> Amounts:
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for row in group.rows:
        if row.role in _OWED:
            sums[row.currency] += row.amount
    return dict(sorted(sums.items()))


def _what(before: PastGroup, after: PastGroup) -> Iterator[str]:
    if not before.rows or not after.rows:
        yield "not among the repeated acts of the other run"
        return
    left, right = _by_name(before), _by_name(after)
    for name in sorted(right.keys() - left.keys()):
        yield f"{name[0]} added ({right[name].role})"
    for name in sorted(left.keys() - right.keys()):
        yield f"{name[0]} no longer there (was {left[name].role})"
    for name in sorted(left.keys() & right.keys()):
        for field in ("role", "cause", "amount", "currency", "status"):
            was, now = getattr(left[name], field), getattr(right[name], field)
            if was != now:
                yield f"{name[0]}: {field} {was or 'none'} -> {now or 'none'}"


def _by_name(group: PastGroup) -> dict[tuple[str, int], PastRow]:
    """Rows by name and, because one payment may stand in several rows, their place among those of that name."""
    seen: Counter[str] = Counter()
    found = {}
    for row in group.rows:
        found[row.name, seen[row.name]] = row
        seen[row.name] += 1
    return found


def _findings(old: Mapping[str, tuple[str, str]], new: Mapping[str, tuple[str, str]]) -> Iterator[FindingChange]:
    for id_ in sorted(old.keys() | new.keys()):
        if id_ not in old:
            yield FindingChange(id_, "new", new[id_][1])
        elif id_ not in new:
            yield FindingChange(id_, "gone", old[id_][1])
        elif old[id_] != new[id_]:
            severity = "" if old[id_][0] == new[id_][0] else f" ({old[id_][0]} -> {new[id_][0]})"
            yield FindingChange(id_, "changed", f"{old[id_][1]} -> {new[id_][1]}{severity}")


def _figures(old: PastRun, new: PastRun) -> Iterator[Moved]:
    for name in dict.fromkeys((*old.counts, *new.counts)):
        yield Moved(name, None, Decimal(old.counts.get(name, 0)), Decimal(new.counts.get(name, 0)))
    for name in dict.fromkeys((*old.money, *new.money)):
        was, now = old.money.get(name, {}), new.money.get(name, {})
        for currency in sorted(was.keys() | now.keys()):
            yield Moved(name, currency, was.get(currency, Decimal(0)), now.get(currency, Decimal(0)))
