"""Three scans made by hand: a rich incident, a clean ledger, and payments only with hostile evidence."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from forensics.model import (
    KEY_MODES,
    CauseTotal,
    CohortPolicy,
    EvidenceRow,
    Examined,
    Finding,
    GapPicture,
    KeyHabit,
    KeyUse,
    PaymentsSummary,
    Policy,
    RankedPolicy,
    Refused,
    RepeatRow,
    Scan,
    Source,
    Traffic,
    TrafficBin,
)
from forensics.render.html import ReportMeta

START = datetime(2026, 10, 31, 14, 2, 7, 118000, tzinfo=UTC)
HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<!-- <script>",
    "\" onmouseover='alert(3)' x=\"",
    "javascript:alert(4)",
    "\u202egnp.exe\u0000\n\r\tend",
    "{{ 7 * 7 }}{% raw %}",
    "\ud800 lone",
)


def _source(number: int, name: str, kind: str, rows: int, rejected: int = 0, **changes: object) -> Source:
    source = Source(
        source_id=number,
        path=f"/evidence/{name}",
        sha256=hashlib.sha256(name.encode()).hexdigest(),
        kind=kind,
        format="CSV, comma, header" if kind == "payments" else "nginx combined with request time",
        mapping={"order_id": "주문번호 (synonym)", "amount": "금액 (synonym)", "created_at": "승인일시 (synonym)"}
        if kind == "payments"
        else {},
        encoding="utf-8",
        zone="Asia/Seoul" if kind == "payments" else None,
        zone_reason="hours of sale fit Asia/Seoul; given by --zone" if kind == "payments" else None,
        resolution_us=1000,
        hop="edge" if kind == "requests" else None,
        notes=(),
        rows_read=rows,
        rows_loaded=rows - rejected,
        rows_rejected=rejected,
        first_at=START - timedelta(hours=14),
        last_at=START + timedelta(hours=9),
    )
    return replace(source, **changes)  # type: ignore[arg-type]


def row(group: int, place: int, at: datetime, amount: str, role: str, **changes: object) -> RepeatRow:
    """One ledger row of a made-up order."""
    excess = role in ("excess", "refunded")
    made = RepeatRow(
        group_id=f"g{group:05d}",
        business_key=f"ORD-{20261031000000 + group * 37}",
        order_id=f"ORD-{20261031000000 + group * 37}",
        payment_id=f"pay_{group:05d}_{place}",
        created_at=at,
        amount=Decimal(amount),
        currency="KRW",
        status="captured",
        kind="charge",
        gap_us=None,
        role=role,
        why="same order, amount and card; a new key for each attempt" if excess else "first payment of the order",
        cause="retry" if excess else None,
        policy="waits 1, 2, 4 s after a timeout of 3 s" if excess else None,
        confidence=0.97,
        excess_probability=(0.82 if group % 6 == 0 else 0.985) if excess else None,
        alternatives=(("double_submit", 0.02),) if excess else (),
        kept_payment_id=f"pay_{group:05d}_1" if excess else None,
        same_key=False if excess else None,
        provider_ref=None,
        customer_id=f"c{group}",
        channel="web",
        source_id=1,
        line_no=120 + group * 11 + place,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def incident_rows(groups: int) -> tuple[RepeatRow, ...]:
    """Orders that a client with a timeout of 3 s and waits of 1, 2, 4 s paid again."""
    rows: list[RepeatRow] = []
    for group in range(1, groups + 1):
        at = START + timedelta(milliseconds=(group * 7919) % 5_400_000)
        dollars = group % 5 == 0
        amount = f"{19 + group % 80}.{group % 100:02d}" if dollars else f"{(9_900 + 4_300 * (group % 41))}"
        extra: dict[str, object] = {"currency": "USD", "channel": "app", "policy": None} if dollars else {}
        rows.append(row(group, 1, at, amount, "kept", **extra))
        for place, nominal in enumerate((4, 5, 7)[: 1 + group % 3], 2):
            jitter = ((group * 31 + place * 17) % 400) / 1000
            gap_us = round((nominal + jitter) * 1_000_000)
            at += timedelta(microseconds=gap_us)
            role = "refunded" if group % 17 == 0 and place == 2 else "excess"
            extra_row = extra | ({"cause": "redelivery", "policy": None} if group % 13 == 0 else {})
            rows.append(row(group, place, at, amount, role, gap_us=gap_us, **extra_row))
    return tuple(rows)


def _picture() -> GapPicture:
    edges = tuple(i * 0.25 for i in range(65))
    bumps = ((4.0, 620.0), (5.0, 350.0), (7.0, 190.0), (9.0, 80.0), (12.0, 38.0))
    middles = tuple(e + 0.125 for e in edges[:-1])

    def bump(x: float) -> float:
        return sum(height * math.exp(-(((x - at - 0.12) / 0.3) ** 2)) for at, height in bumps)

    counts = tuple(int(bump(x) * (0.9 + 0.2 * ((i * 7) % 5) / 4)) + i % 3 for i, x in enumerate(middles))
    curve_s = tuple(i * 0.05 for i in range(321))
    expected = (("1→2", 4.0), ("2→3", 5.0), ("3→4", 7.0), ("1→3", 9.0), ("2→4", 12.0))
    fitted = tuple(bump(x) for x in middles)
    return GapPicture(edges, counts, curve_s, tuple(bump(x) for x in curve_s), expected, beyond=23, fitted=fitted)


def _timeline() -> tuple[TrafficBin, ...]:
    bins = []
    for i in range(180):
        firsts = 900 + round(140 * math.sin(i / 17)) + (i * 37) % 60
        storm = 60 <= i < 150
        retries = round(firsts * (1.95 - 0.9 * abs(i - 105) / 45)) if storm else round(firsts * 0.04)
        bins.append(
            TrafficBin(
                START.replace(second=0, microsecond=0) - timedelta(minutes=60 - i), firsts, retries, 40 + (i * 13) % 17
            )
        )
    return tuple(bins)


def _policies() -> tuple[CohortPolicy, ...]:
    strongest = Policy("exponential", 1.0, 2.0, None, (1.0, 2.0, 4.0), "none", None, 3.0, 4)
    tied = Policy("exponential", 1.0, 2.0, 30.0, (1.0, 2.0, 4.0), "proportional", 0.1, 3.0, 5)
    queue = Policy("fixed", 30.0, None, None, (30.0,), "none", None, 0.0, 10)
    why = ("exponential waits of 1, 2, 4 s, proportional jitter, timeout 3 s", "only the sum of timeout and wait shows")
    ids = ("p-retry-default", "node-retry-default", "go-retryablehttp-default")
    return (
        CohortPolicy("channel web", 980, 0.763, 0.98, RankedPolicy(strongest, 0.93, False, ids, why)),
        CohortPolicy("channel web", 980, 0.763, 0.98, RankedPolicy(tied, 0.05, True, (), ())),
        CohortPolicy("queue captures", 121, 0.094, 0.9, RankedPolicy(queue, 0.997, False, ("sqs-visibility-30",), ())),
    )


def _traffic() -> Traffic:
    return Traffic(
        baseline_start=START - timedelta(hours=1),
        baseline_end=START,
        incident_start=START,
        incident_end=START + timedelta(minutes=90),
        windows_why="the incident is where the share of retries stays above five times the baseline",
        requests_ratio=3.0,
        users_ratio=1.05,
        amplification_baseline=1.04,
        amplification_incident=2.971,
        retry_share_incident=0.6634,
        retry_share_low=0.652,
        retry_share_high=0.675,
        header_coverage=0.981,
        basis="attempt header",
        verdict="retries",
        scope="POST /v1/payments and POST /v1/orders/{id}/pay at the edge; no GETs, assets or probes.",
    )


def _findings() -> tuple[Finding, ...]:
    evidence = tuple(EvidenceRow("payments", 1, 131 + i * 11, "excess") for i in range(20))
    duplicates = Finding(
        id="duplicates-7d31c0",
        rule="duplicates",
        title="Orders paid more than once",
        severity="high",
        confidence=0.97,
        statement="1,284 orders have 2,377 captured payments beyond the first, of the same amount and card.",
        why=(
            "amount, currency and card are equal within each order",
            "each payment came with a new idempotency key, so the receiver could not recognise the repeat",
            "the gaps lie on 4, 5 and 7 s, where a client with a timeout of 3 s and waits of 1, 2, 4 s puts them",
        ),
        alternatives=(("legitimate", 0.02), ("double_submit", 0.01)),
        numbers={"orders": 1284, "excess_rows": 2377, "gap_median_s": 4.183, "retry_share": 0.6634, "channel": "web"},
        money={"excess": {"KRW": Decimal("187654300.0000"), "USD": Decimal("12345.6700")}},
        query="duplicates/repeated_orders",
        parameters={"min_effects": 2},
        evidence=evidence,
        evidence_total=2377,
        next_steps=(
            "Give back what is in refunds.csv, after a second pair of eyes.",
            "Make the web client send one idempotency key for the order, not one for each attempt.",
            "Review the payments with confidence below 0.90 in duplicates.csv.",
        ),
    )
    growth = replace(
        duplicates,
        id="traffic-10ba2f",
        rule="traffic",
        title="Traffic grew by retries, not by users",
        severity="medium",
        confidence=0.992,
        statement="Requests rose to three times the baseline while first attempts rose by a twentieth.",
        why=("98.1% of the requests carry the attempt number",),
        alternatives=(),
        numbers={"requests_ratio": 3.0, "users_ratio": 1.05},
        money={},
        query=None,
        parameters={},
        evidence=(),
        evidence_total=0,
        next_steps=("Put a retry budget on the edge: at most one retry for ten first attempts.",),
    )
    note = replace(growth, id="n-1", title="The settlement is not in the evidence", severity="note", next_steps=())
    return (note, growth, duplicates)


@pytest.fixture
def meta() -> ReportMeta:
    return ReportMeta("0.1.0", "forensics investigate payments.csv access.log.gz", "Month-end totals, 31 October 2026")


def make_incident(groups: int = 240) -> Scan:
    """Retries in two currencies, traffic tripled by them, two cohorts."""
    payments = PaymentsSummary(
        rows=51_377,
        orders=48_210,
        effects=50_731,
        without_order=12,
        unknown_status=3,
        duplicate_orders=1_325,
        orders_with_excess=1_284,
        excess_rows=2_377,
        excess_amount={"KRW": Decimal("187654300.0000"), "USD": Decimal("12345.6700")},
        already_refunded_rows=76,
        already_refunded_amount={"KRW": Decimal("5120400.0000"), "USD": Decimal("310.0000")},
        recorded_twice_rows=9,
        legitimate_rows=41,
        review_rows=118,
        refund_rows=2_183,
        refund_amount={"KRW": Decimal("173200900.0000"), "USD": Decimal("11710.4700")},
    )
    causes = (
        CauseTotal("retry", 2_103, {"KRW": Decimal("168020300"), "USD": Decimal("12345.67")}),
        CauseTotal("redelivery", 205, {"KRW": Decimal("14800000")}),
        CauseTotal("double_submit", 41, {"KRW": Decimal("3120000")}),
        CauseTotal("unexplained", 28, {"KRW": Decimal("1714000")}),
    )
    return Scan(
        case_name="month-end",
        sources=(
            _source(1, "payments.csv", "payments", 51_391, 14, notes=("14 rows end in the middle of a line",)),
            _source(2, "access.log.gz", "requests", 298_113),
        ),
        refused=(),
        examined=(
            Examined("duplicates", "ran", None),
            Examined("causes", "ran", None),
            Examined("policies", "ran", None),
            Examined("traffic", "ran", None),
            Examined("keys", "ran", None),
            Examined("dead letters", "not_examined", "no dead-letter dump was given"),
            Examined("settlement", "not_examined", "no settlement was given"),
        ),
        payments=payments,
        rows=incident_rows(groups),
        causes=causes,
        policies=_policies(),
        gap_picture=_picture(),
        traffic=_traffic(),
        timeline=_timeline(),
        timeline_step_s=60.0,
        keys=_keys(),
        findings=_findings(),
        refund_confidence=0.95,
    )


def _keys() -> KeyUse:
    """web: no keys and one per order; app: one per attempt, two payments too many."""
    modes = dict.fromkeys(KEY_MODES, 0)
    web = {**modes, "none": 205, "one_key": 46_000, "race": 3}
    app = {**modes, "key_per_attempt": 1_079}
    return KeyUse(
        (
            KeyHabit("app", "shop-app/4.1", app, 1_081, 2, 2, {"KRW": Decimal(20000)}),
            KeyHabit("web", "", web, 46_208, 0, 0, {}),
            KeyHabit("web", None, {**modes, "one_key": 852}, 852, 0, 0, {}),
        )
    )


def make_clean() -> Scan:
    """Every question but one had evidence, and nothing is wrong."""
    summary = PaymentsSummary(8143, 8120, 8120, 0, 0, 0, 0, 0, {}, 0, {}, 0, 0, 0, 0, {})
    return Scan(
        case_name="quiet-night",
        sources=(_source(1, "payments.csv", "payments", 8_143),),
        refused=(),
        examined=(
            Examined("duplicates", "ran", None),
            Examined("traffic", "not_examined", "no access log was given"),
        ),
        payments=summary,
        rows=(),
        causes=(),
        policies=(),
        gap_picture=None,
        traffic=None,
        timeline=(),
        timeline_step_s=None,
        keys=None,
        findings=(),
        refund_confidence=0.95,
    )


def make_hostile() -> Scan:
    """Payments only, one file refused, and evidence that tries to break out of the page everywhere it can."""
    huge = "A" * 1_000_000
    rows: list[RepeatRow] = []
    for group, text in enumerate((*HOSTILE, huge), 1):
        names: dict[str, object] = dict.fromkeys(("order_id", "business_key", "payment_id", "why", "currency"), text)
        names |= {"group_id": text, "currency": "KRW" if group % 2 else "BHD", "alternatives": ((text, 0.1),)}
        rows.append(row(group, 1, START, "1200", "kept", **names))
        later = {**names, "gap_us": 4_000_000, "policy": text, "cause": "unexplained"}
        rows.append(row(group, 2, START + timedelta(seconds=4), "1200.125", "excess", **later))
    evil = " ".join(HOSTILE)
    policy = Policy("exponential", 1.0, 2.0, None, (1.0, 2.0), "full", None, None, None)
    finding = replace(_findings()[2], id=evil, title=evil, statement=evil + huge, why=(evil,), next_steps=(evil, huge))
    finding = replace(finding, numbers={evil: evil}, parameters={"min_effects": evil}, severity="low")
    excess = {"BHD": Decimal("4800.500"), "KRW": Decimal("6000.625")}
    summary = PaymentsSummary(18, 9, 18, 1, 1, 9, 9, 9, excess, 0, {}, 0, 0, 9, 0, {})
    return Scan(
        case_name=evil,
        sources=(_source(1, HOSTILE[1].replace("/", "⁄"), "payments", 20, 2, zone=evil, notes=(evil, huge)),),
        refused=(Refused(f"{evil}{huge}", evil, evil),),
        examined=(Examined(evil, "failed", evil), Examined("traffic", "not_examined", "no access log was given")),
        payments=summary,
        rows=tuple(rows),
        causes=(CauseTotal("unexplained", 9, excess),),
        policies=(CohortPolicy(evil, 9, 1.0, 1.0, RankedPolicy(policy, 0.5, False, (evil,), (evil, huge))),),
        gap_picture=GapPicture((0.0, 2.0, 4.0, 6.0), (0, 3, 6), (), (), ((HOSTILE[1], 4.0),), 0),
        traffic=None,
        timeline=(),
        timeline_step_s=None,
        keys=KeyUse((KeyHabit(evil, evil + huge, dict.fromkeys(KEY_MODES, 1), 9, 9, 9, excess),)),
        findings=(finding,),
        refund_confidence=0.95,
    )


@pytest.fixture
def incident() -> Scan:
    return make_incident()


@pytest.fixture
def clean() -> Scan:
    return make_clean()


@pytest.fixture
def hostile() -> Scan:
    return make_hostile()


@pytest.fixture
def many_rows() -> Scan:
    return make_incident(5_000)
