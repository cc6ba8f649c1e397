"""The report as one HTML page that stands alone: every number is the scan's, every word is in the templates.

Lists are capped so that the page stays small for any input; what is left out is said in its place. Evidence is hostile
until shown otherwise: autoescaping is on everywhere, what cannot be seen is spelled out, and no link is built from it.
"""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from forensics import packs
from forensics.errors import UsageError
from forensics.model import SEVERITIES, Finding, RepeatRow, Scan
from forensics.render import figures, words
from forensics.render.charts import draw_charts

BUDGET_BYTES = 1_600_000
"""No page is larger."""
_EXCESS_ROLES = ("excess", "refunded")


@dataclass(frozen=True, slots=True)
class ReportMeta:
    """What the page says about the run that made it. It holds no clock: equal input gives equal bytes."""

    tool_version: str
    command: str
    """The command line as it was typed."""
    title: str
    case_path: str = "case.duckdb"
    """The case as the commands on the page name it."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Most items of a kind that the page shows, and most characters of one piece of evidence."""

    groups: int = 20
    group_rows: int = 25
    findings: int = 60
    evidence: int = 15
    listed: int = 60
    bins: int = 240
    text: int = 160
    sql: int = 12_000


_LADDER = (
    Caps(),
    Caps(20, 10, 40, 10, 40, 160, 120, 6_000),
    Caps(20, 6, 20, 5, 20, 120, 80, 3_000),
    Caps(5, 3, 5, 3, 6, 60, 40, 1_000),
)


@dataclass(frozen=True, slots=True)
class Group:
    """One business act with excess, as the page shows it."""

    anchor: str
    business_key: str
    excess: Mapping[str, Decimal]
    excess_rows: int
    causes: tuple[str, ...]
    rows: tuple[RepeatRow, ...]
    hidden: int
    """Rows of the act that only duplicates.csv holds."""


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """A finding with what the page adds: its anchor, and its query as text."""

    finding: Finding
    anchor: str
    sql: str | None
    command: str | None


def render_report(scan: Scan, generated: ReportMeta) -> str:
    """The page as text, to be written as UTF-8. The same scan and meta give the same text."""
    page = ""
    for caps in _LADDER:
        page = _render(scan, generated, caps)
        if len(page.encode()) <= BUDGET_BYTES:
            break
    return page


def _render(scan: Scan, meta: ReportMeta, caps: Caps) -> str:
    charts, balance = draw_charts(scan, caps.bins), _balance(scan)
    scripts = [_asset(path) for path in (*(["assets/plotly-basic.min.js"] if charts else []), "templates/report.js")]
    groups, hidden_groups = _worst_groups(scan.rows, caps)
    shown = _shown_findings(scan, meta, caps)
    excess_at = [row.created_at for row in scan.rows if row.role in _EXCESS_ROLES]
    template = _environment(caps.text).get_template("report.html.j2")
    return template.render(
        scan=scan,
        meta=meta,
        caps=caps,
        css=_trusted(_asset("templates/report.css")),
        scripts=[_trusted(text) for text in scripts],
        script_hashes=" ".join(_csp_hash(text) for text in scripts),
        charts=charts,
        chart_width=figures.WIDTH,
        windows=[name for name, _, _ in figures.windows(scan.traffic)],
        groups=groups,
        hidden_groups=hidden_groups,
        group_causes=sorted({cause for group in groups for cause in group.causes}),
        findings=shown,
        lead=shown[0].finding if shown else None,
        next_steps=_next_steps(scan),
        began=min(excess_at, default=None),
        ended=max(excess_at, default=None),
        currencies=list(balance),
        balance=balance,
        sources={source.source_id: source for source in scan.sources},
        lossy=[s for s in scan.sources if s.rows_rejected * 100 > s.rows_read],
        not_examined=[e for e in scan.examined if e.status == "not_examined"],
        failed=[e for e in scan.examined if e.status == "failed"],
    )


@cache
def _asset(path: str) -> str:
    """A file beside this module."""
    return (files("forensics.render") / path).read_text(encoding="utf-8")


def _trusted(text: str) -> Markup:
    """Our own style and scripts, which are not escaped; no text of the evidence comes here."""
    return Markup(text)  # noqa: S704  (files of this package only)


def _csp_hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


@cache
def _environment(most: int) -> Environment:
    """Templates with escaping on, undefined names an error, and evidence cleaned wherever it is put out."""

    def finalize(value: object) -> object:
        if isinstance(value, Markup):
            return value
        if isinstance(value, str):
            return words.clean(value, most)
        if isinstance(value, int) and not isinstance(value, bool):
            return words.count(value)
        raise TypeError(f"{type(value).__name__} reached the page without words: {value!r}")

    environment = Environment(
        loader=PackageLoader("forensics.render"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(_filters(most))
    return environment


def _filters(most: int) -> dict[str, Callable[..., Any]]:
    """The words of `words`, as filters; `long` and `lines` for text that may be longer than the rest."""

    def time(at: datetime, resolution_us: int | None = None) -> Markup:
        return Markup('<time datetime="{}">{}</time>').format(words.stamp(at), words.clock(at, resolution_us))

    named = ("amount", "currency", "money", "ratio", "share", "probability", "sure", "seconds", "waits", "gap", "until")
    return {
        **{name: getattr(words, name) for name in (*named, "resolution", "label", "number")},
        "time": time,
        "lines": lambda text, size: escape(words.clean_lines(text, size)),
        "long": lambda text, size: escape(words.clean(text, size * most // _LADDER[0].text)),
        "sentence": lambda text: text[:1].upper() + text[1:],
    }


def _worst_groups(rows: Sequence[RepeatRow], caps: Caps) -> tuple[list[Group], int]:
    """The acts with the most excess, and how many more there are.

    Sums do not cross currencies, so acts are ranked within their currency and the ranks then taken in turn.
    """
    acts: dict[str, list[RepeatRow]] = {}
    for row in rows:
        acts.setdefault(row.group_id, []).append(row)
    by_currency: dict[str, list[tuple[Decimal, int, str]]] = {}
    for key, members in acts.items():
        excess = [row for row in members if row.role in _EXCESS_ROLES]
        if excess:
            code = min(row.currency for row in excess)
            total = sum((row.amount for row in excess if row.currency == code), Decimal(0))
            by_currency.setdefault(code, []).append((-total, -len(excess), key))
    turns = [(place, code, rank[2]) for code, ranks in by_currency.items() for place, rank in enumerate(sorted(ranks))]
    chosen = [key for _, _, key in sorted(turns)[: caps.groups]]
    return [_group(key, acts[key], caps) for key in chosen], len(turns) - len(chosen)


def _group(key: str, members: Sequence[RepeatRow], caps: Caps) -> Group:
    ordered = sorted(members, key=lambda row: (row.created_at, row.source_id, row.line_no))
    excess = [row for row in ordered if row.role in _EXCESS_ROLES]
    sums: dict[str, Decimal] = {}
    for row in excess:
        sums[row.currency] = sums.get(row.currency, Decimal(0)) + row.amount
    return Group(
        anchor=words.anchor("order", key),
        business_key=ordered[0].business_key,
        excess=sums,
        excess_rows=len(excess),
        causes=tuple(sorted({row.cause or "unexplained" for row in excess})),
        rows=tuple(ordered[: caps.group_rows]),
        hidden=max(0, len(ordered) - caps.group_rows),
    )


def _by_severity(findings: Sequence[Finding]) -> list[Finding]:
    """The gravest first; within a severity as the scan has them."""
    return sorted(findings, key=lambda f: -SEVERITIES.index(f.severity))


def _shown_findings(scan: Scan, meta: ReportMeta, caps: Caps) -> list[ShownFinding]:
    shown, taken = [], set()
    for finding in _by_severity(scan.findings)[: caps.findings]:
        anchor = words.anchor("finding", finding.id)
        while anchor in taken:
            anchor += "-2"
        taken.add(anchor)
        shown.append(ShownFinding(finding, anchor, _sql(finding), _command(finding, meta)))
    return shown


def _sql(finding: Finding) -> str | None:
    """The text of its query; None where the packs of this version have none of that name."""
    try:
        return packs.get(finding.query).sql if finding.query else None
    except UsageError:
        return None


def _command(finding: Finding, meta: ReportMeta) -> str | None:
    """What a reader types to see the rows again."""
    if finding.query is None:
        return None
    texts = [words.clean(f"{name}={value}") for name, value in sorted(finding.parameters.items())]
    settings = [f"--set {shlex.quote(text)}" for text in texts]
    return " ".join(["forensics query", shlex.quote(meta.case_path), shlex.quote(finding.query), *settings])


def _next_steps(scan: Scan) -> list[str]:
    """What to do, gravest finding first, each step once."""
    return list(dict.fromkeys(step for finding in _by_severity(scan.findings) for step in finding.next_steps))


def _balance(scan: Scan) -> dict[str, Decimal]:
    """The closing line of the statement: what is in excess and neither given back nor in refunds.csv."""
    summary, zero = scan.payments, Decimal(0)
    if summary is None:
        return {}
    return {
        code: summary.excess_amount.get(code, zero)
        - summary.already_refunded_amount.get(code, zero)
        - summary.refund_amount.get(code, zero)
        - summary.refused_amount.get(code, zero)
        for code in sorted({*summary.excess_amount, *summary.already_refunded_amount, *summary.refund_amount})
    }
